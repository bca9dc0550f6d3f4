"""Channels of lines over a pair of pipes (STD-1, STD-6)."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from roost.transport.lines import LineChannel, connect_lines


class Ear:
    """Remembers what it is told."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []
        self.events: list[str] = []
        self.error: Exception | None = None
        self.changed = asyncio.Event()

    def received(self, messages: list[bytes]) -> None:
        self.heard += messages
        self.changed.set()

    def overflowed(self, count: int, limit: int) -> None:
        self._note(f"overflowed {count} {limit}")

    def congested(self) -> None:
        self._note("congested")

    def eased(self) -> None:
        self._note("eased")

    def ended(self) -> None:
        self._note("ended")

    def closed(self, error: Exception | None) -> None:
        self.error = error
        self._note("closed")

    def _note(self, event: str) -> None:
        self.events.append(event)
        self.changed.set()

    async def until(self, condition: Callable[[], Any]) -> None:
        async with asyncio.timeout(10):
            while not condition():
                self.changed.clear()
                await self.changed.wait()


class Pipes:
    """A channel, its listener, and the far ends of its pipes."""

    def __init__(self, channel: LineChannel, feed: int, drain: int) -> None:
        self.channel = channel
        self.feed = feed
        self.drain = drain
        self.ear = Ear()

    def close(self) -> None:
        for fd in (self.feed, self.drain):
            if fd >= 0:
                os.close(fd)


async def pipes(limit: int = 1000, high_water: int = 64 * 1024) -> Pipes:
    here, feed = os.pipe()
    drain, there = os.pipe()
    reader: IO[bytes] = open(here, "rb", buffering=0)  # noqa: ASYNC230, SIM115
    writer: IO[bytes] = open(there, "wb", buffering=0)  # noqa: ASYNC230, SIM115
    channel = await connect_lines(reader, writer, peer="a test", limit=limit, high_water=high_water)
    return Pipes(channel, feed, drain)


async def end(p: Pipes) -> None:
    p.channel.close()
    await p.ear.until(lambda: "closed" in p.ear.events)
    p.close()


async def test_lines_come_and_go_whole_however_they_are_cut() -> None:
    p = await pipes()
    p.channel.open(p.ear)
    for piece in (b"on", b"e\ntw", b"o\r\n\n  \n\xc3", b"\xa9\n"):
        os.write(p.feed, piece)
        await asyncio.sleep(0)
    await p.ear.until(lambda: len(p.ear.heard) == 3)
    assert p.ear.heard == [b"one", b"two", b"\xc3\xa9"]
    p.channel.send([b"a", b"b"])
    assert os.read(p.drain, 100) == b"a\nb\n"
    await end(p)
    assert p.ear.events == ["ended", "closed"]


async def test_what_came_before_anybody_listened_is_not_lost() -> None:
    p = await pipes()
    os.write(p.feed, b"early\nlast without newline")
    os.close(p.feed)
    p.feed = -1
    for _ in range(10):
        await asyncio.sleep(0)
    p.channel.open(p.ear)
    await p.ear.until(lambda: "ended" in p.ear.events)
    assert p.ear.heard == [b"early", b"last without newline"]
    p.channel.send([b"still answered"])
    assert os.read(p.drain, 100) == b"still answered\n"
    await end(p)


async def test_a_line_over_the_limit_is_counted_and_dropped() -> None:
    p = await pipes(limit=10)
    p.channel.open(p.ear)
    os.write(p.feed, b"x" * 11 + b"\nshort\n")
    await p.ear.until(lambda: p.ear.heard)
    assert (p.ear.heard, p.ear.events) == ([b"short"], ["overflowed 1 10"])
    await end(p)


async def test_a_slow_reader_congests_and_loses_nothing() -> None:
    p = await pipes(high_water=1000)
    p.channel.open(p.ear)
    message = b"x" * 1_000_000
    p.channel.send([message])
    assert p.channel.queued > 0
    await p.ear.until(lambda: "congested" in p.ear.events)
    read = b""
    async with asyncio.timeout(10):
        while not read.endswith(b"\n"):
            read += await asyncio.to_thread(os.read, p.drain, 65536)
    assert read == message + b"\n"
    await p.ear.until(lambda: "eased" in p.ear.events)
    await end(p)


async def test_what_is_queued_is_sent_before_the_end() -> None:
    p = await pipes()
    p.channel.open(p.ear)
    message = b"x" * 300_000
    p.channel.send([message])
    p.channel.close()
    read = b""
    async with asyncio.timeout(10):
        while chunk := await asyncio.to_thread(os.read, p.drain, 65536):
            read += chunk
    assert read == message + b"\n"
    await p.ear.until(lambda: "closed" in p.ear.events)
    p.channel.close()
    p.channel.abort()
    p.close()


async def test_a_reader_that_is_gone_ends_the_channel() -> None:
    p = await pipes()
    p.channel.open(p.ear)
    os.close(p.drain)
    p.drain = -1
    await p.ear.until(lambda: "closed" in p.ear.events)
    assert p.ear.events == ["ended", "closed"]
    p.channel.send([b"nobody"])
    p.close()


async def test_reading_pauses() -> None:
    p = await pipes()
    p.channel.open(p.ear)
    p.channel.pause_reading()
    os.write(p.feed, b"x\n")
    for _ in range(20):
        await asyncio.sleep(0)
    assert p.ear.heard == []
    p.channel.resume_reading()
    await p.ear.until(lambda: p.ear.heard)
    await end(p)


async def test_plain_files_are_read_and_written_too(tmp_path: Path) -> None:
    source, target = tmp_path / "in", tmp_path / "out"
    source.write_bytes(b"a\n" * 200_000 + b"b")
    ear = Ear()
    channel = await connect_lines(source.open("rb"), target.open("wb"), peer="files", limit=10)
    channel.open(ear)
    channel.pause_reading()
    channel.resume_reading()
    await ear.until(lambda: "ended" in ear.events)
    assert (len(ear.heard), ear.heard[-1]) == (200_001, b"b")
    channel.send([b"x", b"y"])
    channel.close()
    await ear.until(lambda: "closed" in ear.events)
    assert target.read_bytes() == b"x\ny\n"
    assert ear.error is None


async def test_lines_that_came_before_the_listener_stay_in_front_of_the_end() -> None:
    incoming, feed = os.pipe()
    drain, outgoing = os.pipe()
    channel = await connect_lines(os.fdopen(incoming, "rb"), os.fdopen(outgoing, "wb"), peer="test")
    os.write(feed, b"one\n")
    while not channel._early:  # noqa: ASYNC110 - nobody is told before somebody listens
        await asyncio.sleep(0)
    os.write(feed, b"two")
    os.close(feed)
    ear = Ear()
    heard_at_the_end: list[list[bytes]] = []
    ear.ended = lambda: heard_at_the_end.append(list(ear.heard))  # type: ignore[method-assign]
    channel.open(ear)
    channel._read_end()  # in the same turn of the loop as the end of the input is seen
    await asyncio.sleep(0)
    assert heard_at_the_end[0][0] == b"one"
    channel.close()
    await ear.until(lambda: "closed" in ear.events)
    os.close(drain)
