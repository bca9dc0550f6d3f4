"""Stdout: gathered, in order, in the stream's encoding, and quiet when nobody reads."""

from __future__ import annotations

import asyncio
import io
import os
from typing import TextIO, cast

from roost.cli.output import Output, abandon


class Stream:
    """A text stream over bytes that counts its writes; `broken` makes them fail."""

    def __init__(self, encoding: str = "utf-8", broken: bool = False) -> None:
        self.buffer = self
        self.encoding = encoding
        self.written: list[bytes] = []
        self.broken = broken

    def write(self, data: bytes) -> None:
        if self.broken:
            raise BrokenPipeError
        self.written.append(data)

    def flush(self) -> None: ...


def output(stream: Stream, closed: list[str] | None = None) -> Output:
    told = [] if closed is None else closed
    return Output(cast(TextIO, stream), lambda error: told.append(type(error).__name__))


async def test_what_is_written_in_one_turn_of_the_loop_goes_out_at_once() -> None:
    stream = Stream()
    out = output(stream)
    for word in ("a", "b", "c"):
        out.write(word)
    assert stream.written == []
    await asyncio.sleep(0)
    assert stream.written == [b"abc"]


async def test_much_is_not_gathered() -> None:
    stream = Stream()
    out = output(stream)
    out.write("x" * 70_000)
    out.write("y")
    out.flush()
    assert [len(data) for data in stream.written] == [70_000, 1]


async def test_what_the_encoding_cannot_say_is_spelt_out() -> None:
    stream = Stream("ascii")
    out = output(stream)
    out.write("é\ud800")
    out.flush()
    assert stream.written == [b"\\xe9\\ud800"]


async def test_a_closed_pipe_is_told_once_and_the_rest_is_dropped() -> None:
    closed: list[str] = []
    out = output(Stream(broken=True), closed)
    for _ in range(3):
        out.write("x")
        out.flush()
    assert closed == ["BrokenPipeError"]
    assert isinstance(out.error, BrokenPipeError)


async def test_a_stream_that_was_never_there_takes_everything() -> None:
    out = Output(None, lambda _: None)
    out.write("x")
    out.flush()
    assert out.error is None


def test_an_abandoned_stream_can_still_be_flushed() -> None:
    reader, writer = os.pipe()
    stream = os.fdopen(writer, "w")
    stream.write("left over")
    os.close(reader)
    abandon(stream)
    stream.close()
    assert stream.closed
    memory = io.StringIO("kept")
    abandon(memory)
    assert memory.getvalue() == "kept"
