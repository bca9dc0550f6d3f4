"""Handles on the processes of one tree: each is signalled and waited for as itself, never by its number alone."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable

from roost.process import table
from roost.process.table import Process

# Where a process has no descriptor to wait on: looked at this often. Seconds.
_POLL_INTERVAL = 0.02


class Members:
    """A growing set of processes of which the dead drop out."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        # (pid, start) to the handle; None where the system has none to give.
        self._alive: dict[tuple[int, int], int | None] = {}
        self._groups: dict[tuple[int, int], int] = {}
        self._signalled: set[tuple[int, int, int]] = set()
        self._changed = asyncio.Event()

    @property
    def alive(self) -> list[int]:
        """The pids of those not yet seen dead."""
        return [pid for pid, _ in self._alive]

    def add(self, found: Iterable[Process]) -> None:
        """Take in those that are new and still alive."""
        for process in found:
            who = (process.pid, process.start)
            if who in self._alive:
                continue
            try:
                handle = table.open_handle(*who)
            except OSError:
                handle = None
            else:
                if handle is None:
                    continue
                self._loop.add_reader(handle, self._died, who)
            self._alive[who] = handle
            self._groups[who] = process.group

    def count_as_signalled(self, sig: int, group: int) -> None:
        """The whole group has had this signal. Twice is not the same as once: many programs then leave in a hurry."""
        self._signalled.update((*who, sig) for who in self._alive if self._groups[who] == group)

    def signal(self, sig: int) -> None:
        """Send it to each one that has not had it yet."""
        for who, handle in self._alive.items():
            if (*who, sig) not in self._signalled:
                self._signalled.add((*who, sig))
                table.signal_process(*who, sig, handle)

    def notify(self) -> None:
        """Something else that `wait` depends on has changed."""
        self._changed.set()

    async def wait(self, also: asyncio.Event, at_most: float) -> None:
        """Until all are dead and `also` is set, or something is notified, or `at_most` seconds are over."""
        deadline = self._loop.time() + at_most
        self._changed.clear()
        while self._alive or not also.is_set():
            left = deadline - self._loop.time()
            if left <= 0:
                return
            unwatched = [who for who, handle in self._alive.items() if handle is None]
            try:
                async with asyncio.timeout(min(left, _POLL_INTERVAL) if unwatched else left):
                    await self._changed.wait()
                return
            except TimeoutError:
                for who in unwatched:
                    if not table.is_alive(*who):
                        del self._alive[who]

    def close(self) -> None:
        """Let go of everybody, and of what they were sent."""
        for handle in self._alive.values():
            self._release(handle)
        self._alive.clear()
        self._groups.clear()
        self._signalled.clear()

    def _died(self, who: tuple[int, int]) -> None:
        self._release(self._alive.pop(who))
        if not self._alive:
            self._changed.set()

    def _release(self, handle: int | None) -> None:
        if handle is not None:
            self._loop.remove_reader(handle)
            os.close(handle)
