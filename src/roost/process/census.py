"""Counting the members of agents' trees without holding up the loop: in a thread, one reading for all who ask."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from roost.process import table
from roost.process.table import Process, Roots

Families = dict[str, list[Process]]


class Census:
    """Takes one count at a time. Whoever asks shares a count that began after they asked.

    `roots` is called in the loop when a count begins. A count of a thousand processes takes 10 ms in the thread.
    """

    def __init__(self, token: str, since: int, roots: Callable[[], Roots]) -> None:
        self._token = token
        self._since = since
        self._roots = roots
        self._running: asyncio.Task[Families] | None = None
        self._next: asyncio.Task[Families] | None = None
        # Its own thread: one that others also use may be busy for long, and agents have to be closed in time.
        self._thread: ThreadPoolExecutor | None = None

    async def take(self) -> Families:
        """The living members of every agent's tree, by the agent's name."""
        if self._next is None:
            self._next = asyncio.get_running_loop().create_task(self._count(after=self._running))
        # Shielded: one of several that wait may be cancelled.
        return await asyncio.shield(self._next)

    def close(self) -> None:
        """Let the thread go."""
        if self._thread is not None:
            self._thread.shutdown(wait=False)
            self._thread = None

    async def _count(self, after: asyncio.Task[Families] | None) -> Families:
        if after is not None:
            await asyncio.wait([after])
        self._running, self._next = self._next, None
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, "roost-census")
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, self._read, self._roots())
        finally:
            if self._next is None:
                self._running = None

    def _read(self, roots: Roots) -> Families:
        return table.families(table.process_table(self._since), self._token, roots)
