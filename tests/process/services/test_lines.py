"""Line ranges, compared with splitting the whole text."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.errors import LimitError
from roost.process.services.lines import line_range

PLENTY = 1_000_000


@pytest.mark.parametrize(
    ("text", "first", "count", "expected"),
    [
        (b"one\ntwo\nthree\n", 1, None, b"one\ntwo\nthree\n"),
        (b"one\ntwo\nthree\n", 2, 1, b"two"),
        (b"one\ntwo\nthree\n", 2, 2, b"two\nthree"),
        (b"one\ntwo\nthree\n", 2, None, b"two\nthree\n"),
        (b"one\ntwo\nthree\n", 4, None, b""),
        (b"one\ntwo\nthree\n", 4, 1, b""),
        (b"one\ntwo\nthree\n", 5, None, b""),
        (b"one\ntwo\nthree\n", 3, 9, b"three\n"),
        (b"one\ntwo\nthree\n", 1, 0, b""),
        (b"one\ntwo", 2, None, b"two"),
        (b"one\r\ntwo\r\n", 1, 1, b"one\r"),
        (b"", 1, None, b""),
        (b"", 1, 5, b""),
        (b"\n\n\n", 2, 2, b"\n"),
    ],
)
def test_lines_are_counted_from_one_and_split_at_newlines_only(text, first, count, expected):
    assert line_range([text], first, count, PLENTY) == expected


@given(
    chunks=st.lists(st.text(alphabet="a\né", max_size=6).map(str.encode), max_size=8),
    first=st.integers(1, 12),
    count=st.none() | st.integers(0, 12),
)
def test_a_range_is_what_splitting_the_whole_text_gives_however_it_is_cut(chunks, first, count):
    lines = b"".join(chunks).split(b"\n")
    expected = lines[first - 1 :] if count is None else lines[first - 1 : first - 1 + count]
    assert line_range(chunks, first, count, PLENTY) == b"\n".join(expected)


def test_no_more_is_read_than_the_last_line_needs():
    def chunks() -> Iterator[bytes]:
        yield b"one\ntwo\n"
        raise AssertionError("nobody asked for more")

    assert line_range(chunks(), 1, 2, PLENTY) == b"one\ntwo"


def test_what_is_kept_is_bounded_and_what_is_skipped_is_not():
    chunks = [b"x" * 600 + b"\n", b"short\n", b"y" * 600]
    assert line_range(chunks, 2, 1, 10) == b"short"
    with pytest.raises(LimitError) as caught:
        line_range(chunks, 2, 2, 500)
    assert (caught.value.limit, caught.value.bound) == ("read_bytes", 500)


def test_millions_of_empty_lines_are_skipped_quickly():
    chunk = b"\n" * 65536
    assert line_range([chunk] * 300 + [b"found\n"], 300 * 65536 + 1, 1, PLENTY) == b"found"
