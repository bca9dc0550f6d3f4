"""A file that tells when somebody writes to it: how a test knows that a command runs."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from types import TracebackType


class Doorbell:
    """A named pipe at `path`; `rung` is done at the first write to it. A context manager, in an event loop."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = path
        self._loop = asyncio.get_running_loop()
        self._fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        self.rung: asyncio.Future[None] = self._loop.create_future()

    def __enter__(self) -> Doorbell:
        self._loop.add_reader(self._fd, self._heard)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.remove_reader(self._fd)
        os.close(self._fd)
        self.path.unlink()

    def _heard(self) -> None:
        self._loop.remove_reader(self._fd)
        if not self.rung.done():
            self.rung.set_result(None)
