"""However many pipes flood, the rest of the loop gets its turn, and so does every pipe."""

from __future__ import annotations

import asyncio

import pytest

from roost.process import read_turns
from roost.process.read_turns import ReadTurns, turns_of


class Pipe:
    """Always readable; each read takes as long as a whole turn may."""

    def __init__(self, turns: ReadTurns, clock: list[float]) -> None:
        self.turns = turns
        self.clock = clock
        self.reads = 0

    def read_once(self) -> None:
        if self.turns.admits(self):
            self.reads += 1
            self.clock[0] += read_turns.TURN_SECONDS


class Loop:
    """The two things a ReadTurns wants of an event loop."""

    def __init__(self) -> None:
        self.clock = [0.0]
        self.soon: list = []

    def time(self) -> float:
        return self.clock[0]

    def call_soon(self, action) -> None:
        self.soon.append(action)

    def turn(self, pipes: list[Pipe]) -> None:
        """One turn: what was called for, then every pipe that is readable, always in the same order."""
        soon, self.soon = self.soon, []
        for action in soon:
            action()
        for pipe in pipes:
            pipe.read_once()


def test_a_turn_reads_no_more_than_its_time_allows() -> None:
    loop = Loop()
    turns = ReadTurns(loop)  # type: ignore[arg-type]
    pipes = [Pipe(turns, loop.clock) for _ in range(20)]
    for count in range(1, 6):
        loop.turn(pipes)
        assert sum(pipe.reads for pipe in pipes) <= count


@pytest.mark.parametrize("count", [2, 7, 50])
def test_no_pipe_starves_though_they_are_always_told_in_the_same_order(count: int) -> None:
    loop = Loop()
    turns = ReadTurns(loop)  # type: ignore[arg-type]
    pipes = [Pipe(turns, loop.clock) for _ in range(count)]
    for _ in range(count * 10):
        loop.turn(pipes)
    reads = [pipe.reads for pipe in pipes]
    assert min(reads) >= 5
    assert max(reads) - min(reads) <= 10


async def test_a_loop_has_one_budget() -> None:
    loop = asyncio.get_running_loop()
    assert turns_of(loop) is turns_of(loop)
