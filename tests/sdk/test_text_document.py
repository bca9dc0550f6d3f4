"""NES-3, NES-4; O-17, O-18: positions in three encodings, and edits."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.acp import v2
from roost.sdk.text_document import TextDocument, length, offset_at, position_at

TEXT = "a\u00e9\U0001f600z\r\nsecond\rthird\n"


def at(line: int, character: int) -> v2.Position:
    return v2.Position(line=line, character=character)


@pytest.mark.parametrize(
    ("encoding", "character", "offset"),
    [
        ("utf-32", 3, 3),
        ("utf-16", 4, 3),
        ("utf-8", 7, 3),
        ("utf-16", 3, 2),  # inside the emoji: its start
        ("utf-8", 2, 1),  # inside the é
        ("utf-8", 5, 2),
        ("utf-32", 99, 4),
        ("utf-16", 99, 4),
        ("utf-8", 99, 4),
    ],
)
def test_o_18_each_encoding_counts_its_own_way_nes_4(encoding: str, character: int, offset: int) -> None:
    assert offset_at(TEXT, at(0, character), encoding) == offset


@pytest.mark.parametrize(
    ("line", "character", "offset"), [(1, 0, 6), (1, 99, 12), (2, 0, 13), (3, 0, 19), (3, 5, 19), (9, 0, 19)]
)
def test_lines_end_as_they_do_elsewhere(line: int, character: int, offset: int) -> None:
    assert offset_at(TEXT, at(line, character), "utf-16") == offset


TEXTS = st.text(alphabet="a\u00e9\u4e2d\U0001f600\r\n", max_size=20)
ENCODINGS = st.sampled_from(["utf-8", "utf-16", "utf-32"])


@given(TEXTS, st.integers(0, 25), ENCODINGS)
def test_a_position_leads_back_to_its_offset_nes_4(text: str, offset: int, encoding: str) -> None:
    position = position_at(text, offset, encoding)
    again = offset_at(text, position, encoding)
    offset = min(offset, len(text))
    if text[offset - 1 : offset + 1] == "\r\n" and offset > 0:
        offset -= 1  # between the two characters of one line end there is no position
    assert again == offset
    assert position_at(text, again, encoding) == position


@given(TEXTS, ENCODINGS)
def test_length_is_what_the_encoding_says(text: str, encoding: str) -> None:
    sizes = {"utf-8": 1, "utf-16": 2, "utf-32": 4}
    codec = {"utf-8": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}[encoding]
    assert length(text, encoding) == len(text.encode(codec)) // sizes[encoding]


@given(TEXTS, st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20), TEXTS), max_size=4), ENCODINGS)
def test_o_17_a_document_equals_the_edits_applied_one_by_one_nes_3(
    text: str, edits: list[tuple[int, int, str]], encoding: str
) -> None:
    document = TextDocument("u", "x", 1, text, encoding)
    expected = text
    for version, (a, b, new) in enumerate(edits):
        start, end = sorted((min(a, len(expected)), min(b, len(expected))))
        place = v2.Range(start=position_at(expected, start, encoding), end=position_at(expected, end, encoding))
        start, end = (offset_at(expected, p, encoding) for p in (place.start, place.end))
        expected = expected[:start] + new + expected[end:]
        document.edit(version, [v2.TextDocumentContentChangeEvent(range=place, text=new)])
    assert document.text == expected


def test_a_text_that_is_not_known_has_no_offsets_nes_10() -> None:
    document = TextDocument("u", "x", 1, "abc")
    document.lose()
    for ask in (lambda: document.offset(at(0, 0)), lambda: document.position(0)):
        question: Any = ask
        with pytest.raises(ValueError, match="not known"):
            question()


def test_a_range_that_ends_before_it_starts_inserts_at_its_start() -> None:
    document = TextDocument("u", "x", 1, "abc")
    document.edit(2, [v2.TextDocumentContentChangeEvent(range=v2.Range(start=at(0, 2), end=at(0, 1)), text="X")])
    assert document.text == "abXc"
