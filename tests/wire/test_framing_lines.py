"""LineFramer: any chunking gives the same lines, and a line over the limit harms no other."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.wire.framing import LineFramer


def feed_all(framer: LineFramer, *chunks: bytes) -> list[bytes]:
    return [line for chunk in chunks for line in framer.feed(chunk)]


def plain(stream: bytes, limit: int) -> tuple[list[bytes], int, bytes | None]:
    """What a framer must give, computed from the whole stream at once."""
    *lines, tail = stream.split(b"\n")
    kept = [line.strip() for line in lines if len(line) <= limit]
    overflows = sum(len(line) > limit for line in [*lines, tail])
    return [line for line in kept if line], overflows, (tail.strip() or None) if len(tail) <= limit else None


def cut(stream: bytes, cuts: list[int]) -> list[bytes]:
    points = [0, *sorted(at % (len(stream) + 1) for at in cuts), len(stream)]
    return [stream[start:stop] for start, stop in pairwise(points)]


streams = st.lists(st.sampled_from([b"\n", b"a", b"bc", b" ", b"\r", b"\t", b"\xc3", b"\xa9", b"0123456789"])).map(
    b"".join
)


@given(stream=streams, cuts=st.lists(st.integers(0, 200)), limit=st.integers(1, 16))
@settings(deadline=None)
def test_any_chunking_gives_the_lines_of_the_whole_stream(stream: bytes, cuts: list[int], limit: int) -> None:
    framer = LineFramer(limit)
    lines = feed_all(framer, *cut(stream, cuts))
    tail = framer.finish()
    assert (lines, framer.take_overflows(), tail) == plain(stream, limit)


@given(stream=streams, limit=st.integers(1, 16))
@settings(deadline=None)
def test_one_byte_at_a_time_gives_the_lines_of_the_whole_stream(stream: bytes, limit: int) -> None:
    framer = LineFramer(limit)
    lines = feed_all(framer, *(stream[at : at + 1] for at in range(len(stream))))
    assert (lines, framer.finish(), framer.take_overflows()) == (
        plain(stream, limit)[0],
        plain(stream, limit)[2],
        plain(stream, limit)[1],
    )


@pytest.mark.parametrize(
    ("stream", "lines", "tail", "overflows"),
    [
        (b"123456789\n", [], None, 1),
        (b"123456789", [], None, 1),
        (b"12345678\n", [b"12345678"], None, 0),
        (b"12345678", [], b"12345678", 0),
        (b"1234567\r\n", [b"1234567"], None, 0),
        (b"12345678\r\n", [], None, 1),  # untrimmed, it is nine
        (b"         \nab\n", [b"ab"], None, 1),
        (b"ab\n123456789\ncd\n", [b"ab", b"cd"], None, 1),
        (b"ab\n123456789", [b"ab"], None, 1),
        (b"123456789\n123456789\nx\n123456789", [b"x"], None, 3),
        (b"", [], None, 0),
        (b"\n\r\n \t \n", [], None, 0),
        (b"  \r", [], None, 0),
    ],
)
def test_a_limit_of_eight_bytes(stream: bytes, lines: list[bytes], tail: bytes | None, overflows: int) -> None:
    for size in (1, 2, 3, 8, 100):
        framer = LineFramer(8)
        chunks = [stream[at : at + size] for at in range(0, len(stream), size)]
        assert (feed_all(framer, *chunks), framer.finish(), framer.take_overflows()) == (lines, tail, overflows)


def test_an_overflow_is_counted_before_its_newline_and_only_once() -> None:
    framer = LineFramer(4)
    assert framer.feed(b"one\n12345") == [b"one"]
    assert framer.take_overflows() == 1
    assert framer.feed(b"6789") == []
    assert framer.feed(b"0\ntwo\n") == [b"two"]
    assert framer.take_overflows() == 0


def test_what_is_dropped_is_not_kept_in_memory() -> None:
    framer = LineFramer(1000)
    for _ in range(100):
        framer.feed(b"x" * 900)
    assert len(framer._tail) <= 1000


def test_a_character_may_be_cut_by_a_chunk() -> None:
    text = '{"text":"é😀"}'.encode()
    for at in range(len(text)):
        framer = LineFramer()
        assert feed_all(framer, text[:at], text[at:] + b"\n") == [text]


def test_whitespace_inside_a_line_and_other_separators_stay() -> None:
    line = '{"a": 1,\t"b": "\u2028\x85\x1c"}'.encode() + b"\x00"
    assert LineFramer().feed(b" " + line + b" \r\n") == [line]


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_every_kind_of_buffer_is_taken_and_bytes_are_given(kind: type[bytes]) -> None:
    framer = LineFramer()
    assert feed_all(framer, kind(b"ab\ncd"), kind(b"ef\n")) == [b"ab", b"cdef"]
    assert all(type(line) is bytes for line in framer.feed(kind(b"x\ny\n")))


def test_a_reused_buffer_does_not_change_lines_already_given() -> None:
    framer = LineFramer()
    buffer = bytearray(b"first\nsec")
    lines = framer.feed(memoryview(buffer))
    buffer[:] = b"xxxxxxxxx"
    assert lines == [b"first"]
    assert framer.feed(b"ond\n") == [b"second"]


def test_a_finished_framer_starts_afresh() -> None:
    framer = LineFramer(4)
    framer.feed(b"12345")
    assert framer.finish() is None
    assert framer.feed(b"ab\n") == [b"ab"]


def test_a_large_line_in_small_pieces_is_scanned_once() -> None:
    # 8 MB in 16-byte pieces: half a million feeds. Rescanning the held bytes each time would read terabytes.
    framer = LineFramer()
    piece = b"x" * 16
    for _ in range(500_000):
        assert not framer.feed(piece)
    assert framer.feed(b"\n") == [piece * 500_000]


def test_a_limit_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        LineFramer(0)
