"""Taking turns: however many agents flood at once, everything else of the event loop waits a millisecond at most.

Pipes report themselves readable again in every turn of the loop, always in the same order. Those that find the
turn's time used up are read first in the next one, so that none starves.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Protocol
from weakref import WeakKeyDictionary

# What reading agents' output, and everything that follows from it, may take of one turn. One read over it is the rule.
TURN_SECONDS = 0.001


class Readable(Protocol):
    def read_once(self) -> None: ...


class ReadTurns:
    """The readers of one event loop. Ask `admits` before each read."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._end: float | None = None
        self._late: deque[Readable] = deque()

    def admits(self, reader: Readable) -> bool:
        """Whether this reader may read in this turn; if not it will be asked to in the next."""
        if self._end is None:
            self._end = self._loop.time() + TURN_SECONDS
            self._loop.call_soon(self._next_turn)
            return True
        if self._loop.time() < self._end:
            return True
        if reader not in self._late:
            self._late.append(reader)
        return False

    def _next_turn(self) -> None:
        self._end = None
        late, self._late = self._late, deque()
        for reader in late:
            reader.read_once()


_turns: WeakKeyDictionary[asyncio.AbstractEventLoop, ReadTurns] = WeakKeyDictionary()


def turns_of(loop: asyncio.AbstractEventLoop) -> ReadTurns:
    found = _turns.get(loop)
    if found is None:
        found = _turns[loop] = ReadTurns(loop)
    return found
