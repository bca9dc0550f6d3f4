"""Pipes that are always full, all at once: each has its place in one line, and nobody waits behind the whole of it."""

from __future__ import annotations

import asyncio
import fcntl
import math
import os
import socket
from collections.abc import Callable

import pytest

from roost.process import read_turns
from roost.process.pipes import PipeReader
from roost.process.read_turns import MOST_BYTES, ReadTurns


@pytest.fixture(autouse=True)
def a_turn_is_one_read_and_every_read_is_quick(monkeypatch):
    """So that nothing depends on how busy this machine is."""
    monkeypatch.setattr(read_turns, "TURN_SECONDS", 0.0)
    monkeypatch.setattr(read_turns, "READ_SECONDS", math.inf)


class Flood:
    """Pipes that are full again whenever they were read, and what is told of each read."""

    def __init__(self, count: int, told: Callable[[], None]) -> None:
        turns = ReadTurns(asyncio.get_running_loop())
        self.reads = [0] * count
        self.refill = True
        self._told = told
        self.others: list[int] = []
        self.readers: list[PipeReader] = []
        for number in range(count):
            fd, other = os.pipe()
            fcntl.fcntl(other, fcntl.F_SETPIPE_SZ, 4 * MOST_BYTES)
            os.write(other, b"x" * 2 * MOST_BYTES)
            self.others.append(other)
            self.readers.append(PipeReader(turns, fd, lambda piece, n=number: self._took(n, piece), lambda: None))

    def _took(self, number: int, piece: bytes) -> None:
        if self.refill:
            os.write(self.others[number], piece)
        self.reads[number] += 1
        self._told()

    def close(self) -> None:
        for reader in self.readers:
            reader.close()
        for fd in self.others:
            os.close(fd)


async def flooded(flood: Flood, reads: int) -> None:
    async with asyncio.timeout(15):
        while sum(flood.reads) < reads:  # noqa: ASYNC110 - rounds of the loop are what is waited for
            await asyncio.sleep(0)


async def test_a_reader_that_is_paused_in_line_loses_its_place_and_finds_another_when_it_is_resumed():
    flood = Flood(5, lambda: None)
    try:
        await flooded(flood, 50)
        flood.readers[3].pause()
        before = flood.reads[3]
        await flooded(flood, 100)
        assert flood.reads[3] == before
        flood.readers[3].resume()
        others = flood.reads[0]
        await flooded(flood, 200)
        assert abs((flood.reads[3] - before) - (flood.reads[0] - others)) <= 2
    finally:
        flood.close()


async def test_a_reader_that_is_closed_in_line_delivers_nothing_more_and_holds_up_nobody():
    flood = Flood(5, lambda: None)
    try:
        await flooded(flood, 50)
        flood.readers[3].close()
        before = flood.reads[3]
        await flooded(flood, 100)
        assert flood.reads[3] == before
    finally:
        flood.close()


async def test_a_line_that_ends_with_an_empty_pipe_leaves_nobody_unheard():
    flood = Flood(5, lambda: None)
    try:
        await flooded(flood, 50)
        flood.refill = False
        await flooded(flood, 60)  # two reads are in each pipe
        for _ in range(40):
            await asyncio.sleep(0)
        before = list(flood.reads)
        flood.refill = True
        for fd in flood.others:
            os.write(fd, b"later")
        await flooded(flood, sum(before) + 20)
        assert min(now - then for now, then in zip(flood.reads, before, strict=True)) >= 2
    finally:
        flood.close()


async def test_a_reader_that_is_paused_and_resumed_in_line_has_one_place_there():
    enough = asyncio.Event()

    def fidget() -> None:
        for _ in range(3):
            flood.readers[3].pause()
            flood.readers[3].resume()
        if sum(flood.reads) == 200:
            enough.set()

    flood = Flood(5, fidget)
    try:
        async with asyncio.timeout(15):
            await enough.wait()
    finally:
        flood.close()
    assert max(flood.reads) - min(flood.reads) <= 2  # one for the first, which was read before there was a line


async def test_a_request_that_comes_while_pipes_flood_waits_for_one_turn_at_most():
    loop = asyncio.get_running_loop()
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    waits: list[int] = []
    asked_at: list[int] = []
    enough = asyncio.Event()

    def ask() -> None:
        """In the middle of a read, which is when a request finds the daemon busy."""
        if not asked_at and sum(flood.reads) % 3 == 0:
            asked_at.append(sum(flood.reads))
            theirs.send(b"?")

    def answer() -> None:
        ours.recv(1)
        waits.append(sum(flood.reads) - asked_at.pop())
        if len(waits) == 50:
            enough.set()

    flood = Flood(20, ask)
    loop.add_reader(ours, answer)
    try:
        async with asyncio.timeout(15):
            await enough.wait()
    finally:
        loop.remove_reader(ours)
        ours.close()
        theirs.close()
        flood.close()
    assert waits == [0] * 50
    assert max(flood.reads) - min(flood.reads) <= 2  # one for the first, which was read before there was a line
