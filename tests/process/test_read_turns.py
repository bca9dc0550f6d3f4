"""However many pipes flood, the rest of the loop gets its turn, and so does every pipe."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest

from roost.process import read_turns
from roost.process.read_turns import LEAST_BYTES, MOST_BYTES, READ_SECONDS, ReadTurns, fitting


class Loop:
    """What a ReadTurns wants of an event loop: a clock that only reads move, and what is called for next."""

    def __init__(self) -> None:
        self.clock = 0.0
        self.soon: list[Callable[[], None]] = []
        self.faults: list[Exception] = []

    def time(self) -> float:
        return self.clock

    def call_soon(self, action: Callable[[], None]) -> None:
        self.soon.append(action)

    def round(self, pipes: list[Pipe]) -> int:
        """One round: what was called for, then every watched pipe, always in the same order; how many were read."""
        before = sum(pipe.reads for pipe in pipes)
        soon, self.soon = self.soon, []
        for action in soon:
            try:
                action()
            except RuntimeError as error:
                self.faults.append(error)
        for pipe in pipes:
            if not pipe.in_line:
                pipe.readable()
        return sum(pipe.reads for pipe in pipes) - before


class Pipe:
    """There is always more in it; each read takes as long as a whole turn may, or that share of it."""

    def __init__(self, turns: ReadTurns, loop: Loop, share: float = 1.0) -> None:
        self.turns = turns
        self.loop = loop
        self.share = share
        self.reads = 0
        self.in_line = False
        self.fails = False

    def readable(self) -> None:
        if self.turns.admits():
            self.read()
        else:
            self.stand()

    def take_turn(self) -> None:
        self.in_line = False
        self.read()

    def read(self) -> None:
        self.reads += 1
        self.loop.clock += read_turns.TURN_SECONDS * self.share
        self.stand()
        if self.fails:
            raise RuntimeError

    def stand(self) -> None:
        self.in_line = True
        self.turns.wait(self)


def flood(count: int, share: float = 1.0) -> tuple[Loop, list[Pipe]]:
    loop = Loop()
    turns = ReadTurns(loop)  # type: ignore[arg-type]
    return loop, [Pipe(turns, loop, share) for _ in range(count)]


@pytest.mark.parametrize(("share", "most"), [(2.0, 1), (1.0, 1), (0.375, 3)])
def test_a_turn_reads_no_more_than_its_time_allows_and_one_read_over(share: float, most: int) -> None:
    loop, pipes = flood(20, share)
    for _ in range(30):
        assert loop.round(pipes) <= most


def test_between_two_turns_the_loop_has_a_round_without_any_read() -> None:
    loop, pipes = flood(20)
    counts = [loop.round(pipes) for _ in range(40)]
    assert not any(one and other for one, other in pairwise(counts))
    assert sum(counts) >= 20


@pytest.mark.parametrize("count", [1, 2, 7, 50])
def test_pipes_that_always_have_more_are_read_equally_often(count: int) -> None:
    loop, pipes = flood(count)
    for _ in range(count * 10):
        loop.round(pipes)
    reads = [pipe.reads for pipe in pipes]
    assert min(reads) >= 4
    assert max(reads) - min(reads) <= 2  # one for the first, which was read before there was a line


def test_a_pipe_that_was_quiet_is_read_before_any_that_stand_in_line_are_read_twice() -> None:
    loop, pipes = flood(10)
    for _ in range(25):
        loop.round(pipes)
    late = Pipe(pipes[0].turns, loop)
    before = [pipe.reads for pipe in pipes]
    while not late.reads:
        loop.round([*pipes, late])
    assert max(pipe.reads - count for pipe, count in zip(pipes, before, strict=True)) <= 1


def test_pipes_that_share_a_turn_are_read_in_the_round_in_which_they_are_seen(monkeypatch) -> None:
    monkeypatch.setattr(read_turns, "TURN_SECONDS", 1.0)
    loop = Loop()
    turns = ReadTurns(loop)  # type: ignore[arg-type]
    assert turns.admits()
    loop.clock = 0.5
    assert turns.admits()
    loop.clock = 1.0
    assert not turns.admits()


def test_whoever_becomes_readable_while_others_stand_in_line_stands_behind_them() -> None:
    loop, pipes = flood(1, 0.0)
    loop.round(pipes)
    assert pipes[0].in_line
    assert not pipes[0].turns.admits()  # although there is time left


def test_a_turn_that_is_over_leaves_nothing_to_be_called() -> None:
    loop = Loop()
    turns = ReadTurns(loop)  # type: ignore[arg-type]
    assert turns.admits()
    loop.round([])
    assert loop.soon == []
    assert turns.admits()


def test_a_listener_that_fails_takes_no_turn_from_the_others() -> None:
    loop, pipes = flood(5)
    pipes[2].fails = True
    for _ in range(50):
        try:
            loop.round(pipes)
        except RuntimeError as error:  # in the round in which it is first seen, where asyncio catches it
            loop.faults.append(error)
    reads = [pipe.reads for pipe in pipes]
    assert len(loop.faults) == pipes[2].reads
    assert min(reads) >= 4
    assert max(reads) - min(reads) <= 2  # one for the first, which was read before there was a line


@pytest.mark.parametrize(
    ("asked", "got", "seconds", "then"),
    [
        (MOST_BYTES, MOST_BYTES, READ_SECONDS * 1.1, MOST_BYTES // 2),
        (MOST_BYTES, 30_000, READ_SECONDS * 1.1, 15_000),
        (MOST_BYTES, 10, READ_SECONDS * 100, LEAST_BYTES),
        (LEAST_BYTES, LEAST_BYTES, READ_SECONDS * 100, LEAST_BYTES),
        (20_000, 20_000, READ_SECONDS * 0.9, 20_000),
        (20_000, 20_000, READ_SECONDS * 0.4, 40_000),
        (20_000, 19_999, 0.0, 20_000),
        (40_000, 40_000, 0.0, MOST_BYTES),
        (MOST_BYTES, MOST_BYTES, 0.0, MOST_BYTES),
    ],
)
def test_a_read_is_as_large_as_what_follows_from_it_is_quick(asked: int, got: int, seconds: float, then: int) -> None:
    assert fitting(asked, got, seconds) == then
