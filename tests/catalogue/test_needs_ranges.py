"""Ranges of versions, as npm and Python write them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.catalogue.needs_ranges import fits, version_in


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("v22.14.0\n", (22, 14, 0)),
        ("3.12", (3, 12, 0)),
        ("20", (20, 0, 0)),
        ("v23.0.0-nightly2024", (23, 0, 0)),
        ("3.13.0rc1", (3, 13, 0)),
        ("node", None),
        ("", None),
    ],
)
def test_a_version_is_its_first_three_numbers(text: str, version: tuple[int, int, int] | None) -> None:
    assert version_in(text) == version


@pytest.mark.parametrize(
    ("wanted", "good", "bad"),
    [
        (">=22", ["22.0.0", "23.1.0"], ["20.19.0", "21.99.99"]),
        (">= 22.19", ["22.19.0", "24.0.0"], ["22.18.9"]),
        (">=20.0.0", ["20.0.0"], ["18.20.4"]),
        ("^18.18.0 || ^20.9.0 || >=21.1.0", ["18.19.0", "20.9.0", "22.0.0"], ["18.17.0", "19.0.0", "21.0.9"]),
        ("20.x", ["20.1.0"], ["21.0.0", "19.0.0"]),
        ("20", ["20.5.1"], ["22.0.0"]),
        ("=20.5.1", ["20.5.1"], ["20.5.2"]),
        ("18 - 20", ["18.0.0", "20.19.0"], ["17.9.9", "21.0.0"]),
        (">=18 <21", ["18.0.0", "20.19.0"], ["21.0.0"]),
        (">18", ["19.0.0"], ["18.5.0"]),
        (">18.1", ["18.2.0"], ["18.1.7"]),
        ("<=20", ["20.19.0"], ["21.0.0"]),
        ("<20.5", ["20.4.9"], ["20.5.0"]),
        ("~20.5", ["20.5.9"], ["20.6.0"]),
        ("~20", ["20.6.0"], ["21.0.0"]),
        ("^0.3.1", ["0.3.9"], ["0.4.0", "0.3.0"]),
        ("^0.0.3", ["0.0.3"], ["0.0.4"]),
        ("^0.0", ["0.0.9"], ["0.1.0"]),
        (">=3.12,<3.14", ["3.12.0", "3.13.9"], ["3.11.9", "3.14.0"]),
        (">=3.9, !=3.9.7", ["3.9.6"], ["3.9.7"]),
        ("==3.12.*", ["3.12.4"], ["3.13.0"]),
        ("~=3.12", ["3.12.0", "3.99.0"], ["3.11.0", "4.0.0"]),
        ("~=3.12.2", ["3.12.5"], ["3.12.1", "3.13.0"]),
        (">=22.0.0-rc.1", ["22.0.0"], ["21.0.0"]),
        ("*", ["1.0.0"], []),
        ("", ["1.0.0"], []),
        (">=20 || nonsense", ["20.0.0"], []),
        (">=20 nonsense", [], ["18.0.0"]),
    ],
)
def test_versions_that_fit_and_that_do_not(wanted: str, good: list[str], bad: list[str]) -> None:
    for text in good:
        version = version_in(text)
        assert version is not None
        assert fits(version, wanted) is True, text
    for text in bad:
        version = version_in(text)
        assert version is not None
        assert fits(version, wanted) is False, text


@pytest.mark.parametrize("wanted", ["latest", "nonsense", ">=x.2", "=> 20", ">*", ">=20 || nonsense"])
def test_what_cannot_be_understood_says_nothing(wanted: str) -> None:
    assert fits((18, 0, 0), wanted) is None


@settings(deadline=None)
@given(st.text(max_size=30), st.tuples(*[st.integers(0, 40)] * 3))
def test_any_text_is_a_range_or_says_nothing(wanted: str, version: tuple[int, int, int]) -> None:
    assert fits(version, wanted) in (True, False, None)
