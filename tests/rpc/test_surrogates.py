from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.rpc.surrogates import mend


@pytest.mark.parametrize(
    ("written", "mended"),
    [
        (rb'"\ud83d"', rb'"\ufffd"'),
        (rb'"\uDE00"', rb'"\ufffd"'),
        (rb'"\ud83dx\ude00"', rb'"\ufffdx\ufffd"'),
        (rb'"\ude00\ud83d"', rb'"\ufffd\ufffd"'),
        (rb'"\ud83d\ud83d\ude00"', rb'"\ufffd\ud83d\ude00"'),
        (rb'"\ud83d\u0041"', rb'"\ufffd\u0041"'),
        (rb'"\\\ud83d"', rb'"\\\ufffd"'),
    ],
)
def test_a_lone_surrogate_becomes_the_replacement_character(written: bytes, mended: bytes) -> None:
    assert mend(written) == mended


@pytest.mark.parametrize(
    "text", [rb'"\ud83d\ude00"', rb'"\\ud83d"', rb'"\\\\ude00"', b'"plain"', rb'"\u00e9"', rb'"\ud7ff"']
)
def test_text_without_a_lone_surrogate_is_the_same_object(text: bytes) -> None:
    assert mend(text) is text


@given(
    st.lists(st.sampled_from(["\\", "\ud83d", "\ude00", "u", "d", "8", "3", '"', "\n", "é", "😀"]), max_size=12).map(
        "".join
    )
)
def test_mending_says_what_python_says_with_its_surrogates_replaced(text: str) -> None:
    # The standard library joins pairs and keeps halves, so it is the judge of which are which.
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    expected = "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in text)
    assert msgspec.json.decode(mend(json.dumps(text).encode())) == expected
