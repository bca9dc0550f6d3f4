"""Signals that ask a run to stop: the first asks, the second insists, and what does not obey is left behind."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from roost.cli.status import ExitStatus

# From the second request to giving up on an orderly end. The agents end with us even then (process/guard.py).
LEAVE_GRACE = 2.0

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def interrupts(heard: Callable[[int, int], None]) -> Iterator[None]:
    """Calls `heard(signal number, how many so far)` in the running loop for each signal that asks us to stop.

    Python's own handlers, not the loop's: they run even while a write to a terminal that is held up blocks the loop.
    """
    loop = asyncio.get_running_loop()
    before: dict[int, Any] = {}
    count = 0

    def handle(number: int, frame: FrameType | None) -> None:
        nonlocal count
        count += 1
        if (count == 2 or number != signal.SIGINT) and signal.SIGALRM not in before:
            before[signal.SIGALRM] = signal.signal(signal.SIGALRM, lambda *_: os._exit(ExitStatus.CUT_SHORT))
            signal.setitimer(signal.ITIMER_REAL, LEAVE_GRACE)
        loop.call_soon_threadsafe(heard, number, count)

    for number in _SIGNALS:
        before[number] = signal.signal(number, handle)
    try:
        yield
    finally:
        if signal.SIGALRM in before:
            signal.setitimer(signal.ITIMER_REAL, 0)
        for changed, handler in before.items():
            signal.signal(changed, handler)
