"""LengthFramer: any chunking gives the same frames, and a declared length over the limit is a fault before its body."""

from __future__ import annotations

import struct
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.errors import CodecError, LimitError
from roost.wire.framing import DEFAULT_MAX_FRAME_BYTES, LengthFramer, encode_length_frame


def feed_all(framer: LengthFramer, *chunks: bytes) -> list[bytes]:
    return [frame for chunk in chunks for frame in framer.feed(chunk)]


def cut(stream: bytes, cuts: list[int]) -> list[bytes]:
    points = [0, *sorted(at % (len(stream) + 1) for at in cuts), len(stream)]
    return [stream[start:stop] for start, stop in pairwise(points)]


@given(bodies=st.lists(st.binary(max_size=12)), cuts=st.lists(st.integers(0, 300)))
@settings(deadline=None)
def test_any_chunking_gives_the_frames_that_were_sent(bodies: list[bytes], cuts: list[int]) -> None:
    framer = LengthFramer(12)
    stream = b"".join(encode_length_frame(body) for body in bodies)
    assert feed_all(framer, *cut(stream, cuts)) == bodies
    framer.finish()
    assert framer.fault is None


@given(
    bodies=st.lists(st.binary(max_size=12), max_size=4),
    length=st.integers(13, 2**32 - 1),
    after=st.binary(max_size=40),
    cuts=st.lists(st.integers(0, 300)),
)
@settings(deadline=None)
def test_any_chunking_gives_the_frames_before_a_length_over_the_limit_and_none_after(
    bodies: list[bytes], length: int, after: bytes, cuts: list[int]
) -> None:
    framer = LengthFramer(12)
    stream = b"".join(encode_length_frame(body) for body in bodies) + struct.pack(">I", length) + after
    assert feed_all(framer, *cut(stream, cuts)) == bodies
    assert isinstance(framer.fault, LimitError)
    framer.finish()


@given(body=st.binary(max_size=12), kept=st.integers(1, 15), cuts=st.lists(st.integers(0, 300)))
@settings(deadline=None)
def test_a_frame_cut_short_by_the_end_is_a_codec_error(body: bytes, kept: int, cuts: list[int]) -> None:
    whole = encode_length_frame(body)
    part = whole[: min(kept, len(whole) - 1)]
    framer = LengthFramer(12)
    assert feed_all(framer, *cut(encode_length_frame(b"first") + part, cuts)) == [b"first"]
    with pytest.raises(CodecError, match=f"after {len(part)} of "):
        framer.finish()


def test_a_length_over_the_limit_is_a_fault_before_its_body_arrives() -> None:
    framer = LengthFramer(8)
    assert framer.feed(struct.pack(">I", 9)[:3]) == []
    assert framer.fault is None
    assert framer.feed(b"\x09") == []
    assert framer.fault is not None
    assert (framer.fault.limit, framer.fault.bound) == ("max_frame_bytes", 8)
    assert "9 bytes" in str(framer.fault)


def test_after_a_fault_everything_is_ignored() -> None:
    framer = LengthFramer(8)
    assert framer.feed(
        encode_length_frame(b"ok") + struct.pack(">I", 9) + b"123456789" + encode_length_frame(b"late")
    ) == [b"ok"]
    assert framer.feed(encode_length_frame(b"later")) == []
    framer.finish()
    assert len(framer._held) == 0


def test_a_body_of_exactly_the_limit_is_fine() -> None:
    framer = LengthFramer(8)
    assert framer.feed(encode_length_frame(b"12345678")) == [b"12345678"]
    assert framer.fault is None


def test_the_largest_length_is_refused_without_an_allocation() -> None:
    framer = LengthFramer()
    assert framer.feed(b"\xff\xff\xff\xff") == []
    assert framer.fault is not None
    assert framer.fault.bound == DEFAULT_MAX_FRAME_BYTES


def test_a_declared_length_alone_allocates_nothing() -> None:
    framer = LengthFramer()
    framer.feed(struct.pack(">I", DEFAULT_MAX_FRAME_BYTES) + b"x")
    assert framer._held.__sizeof__() < 1000


def test_a_frame_of_no_bytes_is_a_frame() -> None:
    framer = LengthFramer()
    assert feed_all(framer, b"\0\0", b"\0\0", b"\0\0\0\0") == [b"", b""]


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_every_kind_of_buffer_is_taken_and_bytes_are_given(kind: type[bytes]) -> None:
    stream = encode_length_frame(b"one") + encode_length_frame(b"two")
    framer = LengthFramer()
    frames = feed_all(framer, kind(stream[:5]), kind(stream[5:]))
    assert frames == [b"one", b"two"]
    assert all(type(frame) is bytes for frame in frames)


def test_a_large_frame_in_small_pieces_is_copied_once() -> None:
    # 8 MB in 16-byte pieces: half a million feeds. Copying the held bytes each time would move terabytes.
    framer = LengthFramer()
    piece = b"x" * 16
    framer.feed(struct.pack(">I", 16 * 500_000))
    for _ in range(499_999):
        assert not framer.feed(piece)
    assert framer.feed(piece) == [piece * 500_000]


def test_a_length_is_four_bytes_most_significant_first() -> None:
    assert encode_length_frame(b"x" * 258) == b"\x00\x00\x01\x02" + b"x" * 258


def test_encoding_a_body_over_the_limit_is_a_limit_error() -> None:
    assert encode_length_frame(b"1234", 4) == b"\0\0\0\x041234"
    with pytest.raises(LimitError) as caught:
        encode_length_frame(b"12345", 4)
    assert (caught.value.limit, caught.value.bound) == ("max_frame_bytes", 4)


def test_a_limit_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        LengthFramer(0)
