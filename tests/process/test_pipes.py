"""Pipes in the loop: bounded pieces, nothing lost, each descriptor closed once."""

from __future__ import annotations

import asyncio
import fcntl
import math
import os

import pytest

from roost.errors import LimitError, ProcessError
from roost.process import read_turns
from roost.process.pipes import PipeReader, PipeWriter
from roost.process.read_turns import LEAST_BYTES, MOST_BYTES, ReadTurns


def is_open(fd: int) -> bool:
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True


class Collector:
    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.begun = asyncio.Event()
        self.ended = asyncio.Event()

    def took(self, piece: bytes) -> None:
        self.pieces.append(piece)
        self.begun.set()

    async def until_begun(self) -> None:
        async with asyncio.timeout(5):
            await self.begun.wait()

    @property
    def text(self) -> bytes:
        return b"".join(self.pieces)


@pytest.fixture(autouse=True)
def every_read_is_quick(monkeypatch):
    """So that the size of a read does not depend on how busy this machine is."""
    monkeypatch.setattr(read_turns, "READ_SECONDS", math.inf)


@pytest.fixture
async def reading():
    fd, other = os.pipe()
    collector = Collector()
    turns = ReadTurns(asyncio.get_running_loop())
    reader = PipeReader(turns, fd, collector.took, collector.ended.set)
    yield reader, collector, fd, other
    reader.close()
    if is_open(other):
        os.close(other)


async def test_a_reader_delivers_until_the_end_and_closes_its_descriptor(reading):
    reader, collector, fd, other = reading
    os.write(other, b"abc")
    os.close(other)
    async with asyncio.timeout(5):
        await collector.ended.wait()
    assert collector.text == b"abc"
    assert reader.closed
    assert not is_open(fd)
    reader.close()
    reader.resume()
    reader.pause()


async def test_one_turn_of_the_loop_reads_one_piece(reading):
    _, collector, _, other = reading
    fcntl.fcntl(other, fcntl.F_SETPIPE_SZ, 1024 * 1024)
    os.write(other, b"x" * (1024 * 1024))
    os.close(other)
    async with asyncio.timeout(5):
        await collector.ended.wait()
    assert max(map(len, collector.pieces)) == MOST_BYTES
    assert len(collector.pieces) >= 4


async def rounds(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def fill(fd: int, size: int) -> None:
    fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, 1024 * 1024)
    assert os.write(fd, b"x" * size) == size


async def test_a_reader_that_floods_and_is_paused_reads_nothing_until_it_is_resumed(reading):
    reader, collector, _, other = reading
    fill(other, 3 * MOST_BYTES)
    await collector.until_begun()
    reader.pause()
    await rounds(20)
    assert len(collector.pieces) == 1
    reader.resume()
    await rounds(20)
    assert len(collector.text) == 3 * MOST_BYTES


async def test_a_reader_that_floods_and_is_closed_delivers_nothing_more(reading):
    reader, collector, _, other = reading
    fill(other, 3 * MOST_BYTES)
    await collector.until_begun()
    reader.close()
    await rounds(20)
    assert len(collector.pieces) == 1
    assert not collector.ended.is_set()


async def test_a_reader_that_has_emptied_its_pipe_with_a_full_read_hears_what_comes_later(reading):
    _, collector, _, other = reading
    fill(other, MOST_BYTES)
    await collector.until_begun()
    await rounds(20)
    os.write(other, b"later")
    os.close(other)
    async with asyncio.timeout(5):
        await collector.ended.wait()
    assert collector.text[MOST_BYTES:] == b"later"


async def test_less_is_read_at_a_time_while_what_follows_takes_long_and_more_when_it_no_longer_does(
    reading, monkeypatch
):
    _, collector, _, other = reading
    monkeypatch.setattr(read_turns, "READ_SECONDS", -1.0)  # whatever it takes is too long
    sizes = [MOST_BYTES, MOST_BYTES // 2, MOST_BYTES // 4, LEAST_BYTES, LEAST_BYTES]
    fill(other, sum(sizes))
    await rounds(40)
    assert [len(piece) for piece in collector.pieces] == sizes
    monkeypatch.setattr(read_turns, "READ_SECONDS", math.inf)
    sizes = [LEAST_BYTES, MOST_BYTES // 4, MOST_BYTES // 2, MOST_BYTES, MOST_BYTES]
    collector.pieces.clear()
    fill(other, sum(sizes))
    await rounds(40)
    assert [len(piece) for piece in collector.pieces] == sizes


async def test_a_listener_that_fails_is_read_on_for(reading):
    reader, collector, _, other = reading
    loop = asyncio.get_running_loop()
    faults: list[object] = []
    loop.set_exception_handler(lambda _loop, context: faults.append(context["exception"]))

    def fail(piece: bytes) -> None:
        collector.pieces.append(piece)
        raise RuntimeError

    reader._deliver = fail
    fill(other, 3 * MOST_BYTES + 1)
    os.close(other)
    async with asyncio.timeout(5):
        await collector.ended.wait()
    assert len(collector.text) == 3 * MOST_BYTES + 1
    assert len(faults) == 4


async def test_finish_takes_what_is_there_although_paused_and_although_nobody_hung_up(reading):
    reader, collector, fd, other = reading
    reader.pause()
    os.write(other, b"x" * 5000)
    reader.finish()
    assert collector.text == b"x" * 5000
    assert not is_open(fd)
    assert not collector.ended.is_set()
    reader.finish()
    assert len(collector.pieces) == 1


async def test_finish_does_not_follow_somebody_who_keeps_writing(reading):
    reader, collector, _, other = reading
    reader.pause()
    os.write(other, b"x" * 100)
    reader._deliver = lambda piece: (collector.pieces.append(piece), os.write(other, b"y" * 100))
    reader.finish()
    assert collector.text == b"x" * 100


async def test_finish_closes_also_when_the_listener_fails(reading):
    reader, _, fd, other = reading

    def fail(_piece: bytes) -> None:
        raise RuntimeError

    reader.pause()
    reader._deliver = fail
    os.write(other, b"x")
    with pytest.raises(RuntimeError):
        reader.finish()
    assert not is_open(fd)


async def read_all(fd: int) -> bytes:
    """Everything until the end, read in a thread as slowly as a program would."""

    def read() -> bytes:
        with open(fd, "rb", buffering=0) as file:
            return file.readall()

    return await asyncio.get_running_loop().run_in_executor(None, read)


@pytest.fixture
async def writing():
    other, fd = os.pipe()
    writer = PipeWriter(asyncio.get_running_loop(), fd, 10_000_000)
    yield writer, fd, other
    writer.abandon()


async def test_a_writer_queues_what_does_not_fit_and_keeps_the_order(writing):
    writer, fd, other = writing
    pieces = [bytes([n % 256]) * (n * 997 % 50_000) for n in range(300)]
    for piece in pieces:
        writer.write(piece)
    assert sum(map(len, pieces)) - 65536 <= writer.queued < sum(map(len, pieces))
    writer.close()
    assert await read_all(other) == b"".join(pieces)
    assert writer.queued == 0
    assert not is_open(fd)


async def test_a_writer_refuses_what_would_exceed_the_bound_and_keeps_the_rest(writing):
    writer, _, other = writing
    writer.write(b"a" * 9_000_000)
    with pytest.raises(LimitError):
        writer.write(b"b" * 2_000_000)
    writer.close()
    assert await read_all(other) == b"a" * 9_000_000


async def test_one_message_larger_than_the_bound_is_refused_although_the_pipe_is_empty(writing):
    writer, _, other = writing
    with pytest.raises(LimitError):
        writer.write(b"a" * 10_000_001)
    writer.close()
    assert await read_all(other) == b""


async def test_a_reader_that_hangs_up_empties_the_queue(writing, tools):
    writer, fd, other = writing
    writer.write(b"a" * 100_000)
    os.close(other)
    await tools.until(lambda: writer.queued == 0)
    assert not is_open(fd)
    with pytest.raises(ProcessError):
        writer.write(b"b")


async def test_an_empty_write_is_nothing(writing):
    writer, _, other = writing
    writer.write(b"")
    writer.close()
    writer.close()
    assert await read_all(other) == b""


async def test_a_writer_that_is_abandoned_forgets_its_queue_and_closes_once(writing):
    writer, fd, other = writing
    writer.write(b"a" * 100_000)
    writer.abandon()
    assert writer.queued == 0
    assert not is_open(fd)
    writer.abandon()
    assert await read_all(other) == b"a" * 65536
