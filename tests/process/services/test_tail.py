"""The end of a command's output."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.process.services.tail import OutputTail


def tail_of(bound: int, *chunks: bytes, finished: bool = True) -> OutputTail:
    tail = OutputTail(bound)
    for chunk in chunks:
        tail.feed(chunk)
    if finished:
        tail.finish()
    return tail


@pytest.mark.parametrize(
    ("bound", "text", "kept", "truncated"),
    [
        (10, "0123456789", "0123456789", False),
        (10, "x0123456789", "0123456789", True),
        (3, "aé", "aé", False),
        (3, "aaé", "aé", True),
        (2, "éa", "a", True),  # the é would need one byte more, so it goes whole (B-16)
        (4, "a😀", "😀", True),
        (3, "a😀", "", True),
        (5, "€€", "€", True),
        (0, "a", "", True),
        (0, "", "", False),
    ],
)
def test_b16_the_beginning_is_cut_between_characters(bound, text, kept, truncated):
    tail = tail_of(bound, text.encode())
    assert (tail.text, tail.truncated) == (kept, truncated)


def test_a_character_cut_by_the_pipe_waits_for_its_rest():
    tail = OutputTail(100)
    tail.feed("zwö".encode()[:-1])
    assert tail.text == "zw"
    tail.feed("ö".encode()[1:] + b"lf")
    assert tail.text == "zwölf"


def test_half_a_character_at_the_end_is_shown_as_one_that_was_never_whole():
    assert tail_of(100, b"a\xc3").text == "a\ufffd"


def test_what_is_no_utf8_does_not_make_the_text_longer_than_the_bound():
    tail = tail_of(10, b"\xff" * 1000)
    assert tail.text == "\ufffd" * 3
    assert tail.truncated


@given(
    bound=st.integers(0, 40),
    chunks=st.lists(st.binary(max_size=30) | st.text(max_size=10).map(str.encode), max_size=12),
)
def test_the_text_is_the_longest_end_of_the_whole_that_fits(bound, chunks):
    tail = tail_of(bound, *chunks)
    whole = b"".join(chunks).decode("utf-8", "replace")
    assert whole.endswith(tail.text)
    assert len(tail.text.encode()) <= bound
    assert tail.truncated == (tail.text != whole)
    if tail.truncated:
        one_more = whole[len(whole) - len(tail.text) - 1 :]
        assert len(one_more.encode()) > bound


@given(bound=st.integers(0, 20), chunks=st.lists(st.text(max_size=8).map(str.encode), max_size=12))
def test_looking_in_between_changes_nothing(bound, chunks):
    looked = OutputTail(bound)
    for chunk in chunks:
        looked.feed(chunk)
        assert len(looked.text.encode()) <= bound
    looked.finish()
    unseen = tail_of(bound, *chunks)
    assert (looked.text, looked.truncated) == (unseen.text, unseen.truncated)


def test_a_flood_leaves_only_the_bound_in_memory():
    tail = OutputTail(1000)
    for _ in range(2000):
        tail.feed(b"y\n" * 5000)
    assert len(tail._kept) <= 1000 + 1000 // 8
    assert tail.text == "y\n" * 500
