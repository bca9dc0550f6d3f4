"""An event loop whose clock stands still until the simulation moves it: no files, no sleeping, no surprise."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from typing import Any

START = 1000.0


class _NoFiles:
    """What the loop would sleep in. It never has to: the simulation always has something ready."""

    def select(self, timeout: float | None) -> list[Any]:
        if timeout != 0:
            raise RuntimeError(f"the simulation would sleep for {timeout} s")
        return []


class VirtualLoop(asyncio.BaseEventLoop):
    """`now` is the time, in seconds."""

    def __init__(self) -> None:
        super().__init__()
        self.now = START
        self._selector = _NoFiles()
        self.disk_delay: Callable[[], float | None] = lambda: 0.0  # of what has a thread of its own; None: for ever

    def time(self) -> float:
        return self.now

    # What is due within the clock's resolution fires. Ours is exact: a callback that came early would find that nothing
    # is due, and be set again for a moment that does not pass.
    @property
    def _clock_resolution(self) -> float:
        return math.ulp(self.now)

    @_clock_resolution.setter
    def _clock_resolution(self, value: float) -> None: ...

    def next_timer(self) -> float | None:
        """When the next callback is due that nobody has cancelled."""
        return min((handle.when() for handle in self._scheduled if not handle.cancelled()), default=None)

    @property
    def busy(self) -> bool:
        """Whether a callback waits for its turn."""
        return bool(self._ready)

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *arguments: Any) -> asyncio.Future[Any]:
        """There is no other thread: it is done at once, or when the disk has thought about it."""
        future = self.create_future()

        def do() -> None:
            if future.done():
                return
            try:
                future.set_result(func(*arguments))
            except Exception as error:
                future.set_exception(error)

        delay = 0.0 if executor is None else self.disk_delay()
        if delay == 0:
            do()
        elif delay is not None:
            self.call_later(delay, do)
        return future

    def _process_events(self, event_list: list[Any]) -> None: ...

    def _write_to_self(self) -> None: ...
