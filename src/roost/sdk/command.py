"""Running a command for a terminal: its output as it comes, how it ended, and nothing left running afterwards.

A command gets a session, and so a process group, of its own, no input, and an environment variable by which its
descendants are known even when they have left that group. Cancelled, it gets SIGTERM and, a moment later, SIGKILL with
everything that carries the mark.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import IO, Final

from msgspec import Struct

_MARK: Final = "ROOST_COMMAND"
_READ: Final = 64 * 1024
_TERM_GRACE: Final = 0.3  # seconds between SIGTERM and SIGKILL: a cancel is felt at once, a lock file still removed
_OUTPUT_GRACE: Final = 0.5  # seconds for output after the command's end, while something it started holds the pipe
_SWEEPS: Final = 8  # a process may fork while the others are being killed


class CommandResult(Struct, frozen=True):
    """How a command ended: by itself with a code, or by a signal, which is named."""

    exit_code: int | None
    signal: str | None
    output_bytes: int

    @property
    def succeeded(self) -> bool:
        """Whether it ended by itself with code 0."""
        return self.exit_code == 0


async def run_command(
    command: str | Sequence[str],
    *,
    cwd: str,
    output: Callable[[bytes], Awaitable[None]],
    env: Mapping[str, str] | None = None,
    run_timeout: float | None = None,
) -> CommandResult:
    """Runs it to its end; `output(chunk)` gets standard output and error, as they are mixed.

    A text is given to the shell. OSError: it could not be started. TimeoutError after `run_timeout` seconds. However
    this ends, so has everything the command started.
    """
    argv = ["/bin/sh", "-c", command] if isinstance(command, str) else list(command)
    mark = secrets.token_hex(8)
    process = subprocess.Popen(  # noqa: ASYNC220  # takes a millisecond or two
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=cwd,
        env={**os.environ, **(env or {}), _MARK: mark},
        start_new_session=True,
    )
    assert process.stdout is not None
    pump = asyncio.ensure_future(_pump(process.stdout, output))
    ended = asyncio.ensure_future(_exit_of(process))
    try:
        async with asyncio.timeout(run_timeout):
            await asyncio.wait({ended, pump}, return_when=asyncio.FIRST_COMPLETED)
            if pump.done():
                pump.result()  # an output that cannot be taken ends the command
            await ended
            await asyncio.wait({pump}, timeout=_OUTPUT_GRACE)
            _kill_marked(mark)  # whoever holds the pipe still
            total = await pump
    except BaseException:
        pump.cancel()
        await _end(process, ended, mark)
        raise
    finally:
        _kill_marked(mark)
        process.stdout.close()
    code = process.returncode
    if code is not None and code < 0:
        return CommandResult(None, _signal_name(-code), total)
    return CommandResult(code, None, total)


async def _pump(pipe: IO[bytes], output: Callable[[bytes], Awaitable[None]]) -> int:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=_READ)
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
    total = 0
    try:
        while chunk := await reader.read(_READ):
            total += len(chunk)
            await output(chunk)
    finally:
        transport.close()
    return total


async def _exit_of(process: subprocess.Popen[bytes]) -> None:
    """Returns when the process has ended, and reaps it."""
    loop = asyncio.get_running_loop()
    try:
        handle = os.pidfd_open(process.pid) if sys.platform == "linux" else -1
    except OSError:
        handle = -1
    if handle < 0:
        await loop.run_in_executor(None, process.wait)
        return
    ended = asyncio.Event()
    loop.add_reader(handle, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(handle)
        os.close(handle)
    process.wait()


async def _end(process: subprocess.Popen[bytes], ended: asyncio.Future[None], mark: str) -> None:
    try:
        _signal_group(process, signal.SIGTERM)
        await asyncio.wait({ended}, timeout=_TERM_GRACE)
    finally:
        _signal_group(process, signal.SIGKILL)
        _kill_marked(mark)
    await asyncio.wait({ended})


def _signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Only while the leader is not reaped: later the number of its group may be somebody else's."""
    if process.returncode is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)


def _kill_marked(mark: str) -> None:
    """Kills every process that carries the mark. Linux; elsewhere the group is all there is."""
    if sys.platform != "linux":
        return
    for _ in range(_SWEEPS):
        found = False
        for name in os.listdir("/proc"):
            if name.isdecimal() and _kill_if_marked(int(name), mark.encode()):
                found = True
        if not found:
            return


def _kill_if_marked(pid: int, mark: bytes) -> bool:
    try:
        if not _is_marked(pid, mark):
            return False
        handle = os.pidfd_open(pid)  # from here on it is this process, whatever becomes of the number
        try:
            if not _is_marked(pid, mark):
                return False
            signal.pidfd_send_signal(handle, signal.SIGKILL)
        finally:
            os.close(handle)
    except OSError:
        return False
    return True


def _is_marked(pid: int, mark: bytes) -> bool:
    with open(f"/proc/{pid}/environ", "rb") as file:
        return _MARK.encode() + b"=" + mark in file.read().split(b"\0")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIG{number}"
