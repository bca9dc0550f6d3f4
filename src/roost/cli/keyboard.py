"""The person at the terminal: asked on it, and heard a line at a time, without a thread that could not be stopped."""

from __future__ import annotations

import asyncio
import os
import sys
import termios
from typing import TextIO

# Longer than any answer; a terminal in line mode gives no longer line anyway (termios(3): 4096).
_LINE_BYTES = 4096


class Keyboard:
    """A terminal to ask at. `source` is read, `sink` written; both are descriptors of it."""

    def __init__(self, source: int, sink: int) -> None:
        self._source = source
        self._sink = sink
        self.turn = asyncio.Lock()  # one question at a time (PER-9): held from its first line to its answer

    def write(self, text: str) -> None:
        data = text.encode("utf-8", "backslashreplace")
        try:
            while data:
                data = data[os.write(self._sink, data) :]
        except OSError:
            return  # the terminal is gone; reading says so too

    async def ask(self, prompt: str) -> str | None:
        """The next line, None at the end of input. What was typed before it was asked for does not count."""
        loop = asyncio.get_running_loop()
        heard: asyncio.Future[str | None] = loop.create_future()

        def readable() -> None:
            if heard.done():
                return
            try:
                data = os.read(self._source, _LINE_BYTES)
            except OSError:
                data = b""
            heard.set_result(data.decode("utf-8", "replace") if data else None)

        try:
            termios.tcflush(self._source, termios.TCIFLUSH)
        except termios.error:
            return None
        self.write(prompt)
        loop.add_reader(self._source, readable)
        try:
            return await heard
        finally:
            loop.remove_reader(self._source)


def is_terminal(stream: TextIO | None) -> bool:
    """None is a stream that was closed before we started."""
    try:
        return stream is not None and stream.isatty()
    except ValueError:
        return False


def at_terminal() -> Keyboard | None:
    """The terminal this program is used at: what is typed reaches it, and what it says on stderr is seen."""
    if is_terminal(sys.stdin) and is_terminal(sys.stderr):
        return Keyboard(sys.stdin.fileno(), sys.stderr.fileno())
    return None


def controlling_terminal() -> Keyboard | None:
    """The terminal of the login, also when stdin and stderr lead elsewhere; None where there is none."""
    try:
        handle = os.open("/dev/tty", os.O_RDWR | os.O_CLOEXEC | os.O_NOCTTY)
    except OSError:
        return None
    return Keyboard(handle, handle)
