"""Stdout, written in batches: everything shown in one turn of the event loop goes out at once."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import BinaryIO, TextIO

# More than this is not gathered: the reader sees it, and we feel how fast it reads.
_BATCH_BYTES = 64 * 1024


class Output:
    """Writes to a stream; None is one that was closed before we started, and says nothing.

    When it cannot be written any more, `on_closed` is called once with the error, and what is written is dropped.
    """

    def __init__(self, stream: TextIO | None, on_closed: Callable[[OSError], None]) -> None:
        self._stream: BinaryIO | None = None if stream is None else stream.buffer
        self._encoding = "utf-8" if stream is None else stream.encoding or "utf-8"
        self._on_closed = on_closed
        self._waiting: list[bytes] = []
        self._size = 0
        self.error: OSError | None = None

    def write(self, text: str) -> None:
        """Text in the stream's encoding; what that cannot say is spelt `\\u…`."""
        self.write_bytes(text.encode(self._encoding, "backslashreplace"))

    def write_bytes(self, data: bytes) -> None:
        if self._stream is None or self.error is not None or not data:
            return
        if not self._waiting:
            asyncio.get_running_loop().call_soon(self.flush)
        self._waiting.append(data)
        self._size += len(data)
        if self._size >= _BATCH_BYTES:
            self.flush()

    def flush(self) -> None:
        waiting, self._waiting, self._size = self._waiting, [], 0
        if self._stream is None or self.error is not None or not waiting:
            return
        try:
            self._stream.write(b"".join(waiting))
            self._stream.flush()
        except OSError as error:
            self.error = error
            self._on_closed(error)


def abandon(stream: TextIO) -> None:
    """Whoever read the stream is gone: what Python would still flush into it at exit goes nowhere, in silence."""
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, stream.fileno())
        os.close(null)
    except (OSError, ValueError):
        return  # not a file of the system
