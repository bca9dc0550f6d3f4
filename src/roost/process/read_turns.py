"""Taking turns: however many agents flood, everybody else of the event loop waits for one short turn at most.

A pipe that has more than one read takes, or that finds the turn's time used up, stands in line and is not watched
meanwhile. The line is read in turns, one read each, first come first served; between two turns the loop looks at
everything else it watches. So no pipe starves, and no request waits behind two turns.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Protocol

# What reading agents' output, and everything that follows from it, may take of one turn, one read over it; and what
# that one read should take. Together they are what a request waits for: a millisecond.
TURN_SECONDS = 0.00025
READ_SECONDS = 0.00075

# One read. A pipe holds 64 KiB unless somebody made it larger, so the most is all that is there; with less than the
# least, reading itself is most of the work.
MOST_BYTES = 64 * 1024
LEAST_BYTES = 8 * 1024


def fitting(asked: int, got: int, seconds: float) -> int:
    """How many bytes to ask for next, when so many of those asked for came and kept everybody for so long.

    What a byte costs differs: in short lines or in long ones, kept in a journal or not, through a bridge or not.
    """
    if seconds > READ_SECONDS:
        return max(LEAST_BYTES, got // 2)
    if got == asked and seconds < READ_SECONDS / 2:
        return min(MOST_BYTES, asked * 2)
    return asked


class Readable(Protocol):
    def take_turn(self) -> None:
        """Reads once, and stands in line again if there is more."""


class ReadTurns:
    """The readers of one event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._end: float | None = None  # of the turn that goes on
        self._line: deque[Readable] = deque()

    def admits(self) -> bool:
        """Whether a reader that has just become readable may read at once; if not it should stand in line."""
        if self._line:
            return False
        if self._end is None:
            self._end = self.loop.time() + TURN_SECONDS
            self.loop.call_soon(self._pass)
            return True
        return self.loop.time() < self._end

    def wait(self, reader: Readable) -> None:
        """Stands in line: after `admits`, or when a read it admitted has left something."""
        self._line.append(reader)

    def _pass(self) -> None:
        """A turn is over. In what is left of this round of the loop everything else is looked at."""
        if self._line:
            self.loop.call_soon(self._turn)
        else:
            self._end = None

    def _turn(self) -> None:
        self._end = end = self.loop.time() + TURN_SECONDS
        try:
            while self._line:
                self._line.popleft().take_turn()
                if self.loop.time() >= end:
                    break
        finally:  # a listener that fails does so before the loop's handler, and stops nobody else
            self.loop.call_soon(self._pass)
