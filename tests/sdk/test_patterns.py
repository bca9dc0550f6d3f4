"""ELI-8, R-19: a form's pattern is checked in bounded time, by rules everybody expects."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.errors import CodecError
from roost.sdk.patterns import MAX_STATES, matches


@pytest.mark.parametrize("pattern", [r"(a+)+$", r"(a|a)*$", r"(a|aa)+$", r"(.*a){12}$", r"([a-z]+)*\d"])
def test_a_pattern_that_runs_away_elsewhere_is_decided_at_once_r_19(pattern: str) -> None:
    started = time.process_time()
    matches(pattern, "a" * 40 + "!")
    assert time.process_time() - started < 1.0


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("", "", True),
        ("b", "abc", True),
        ("^b", "abc", False),
        ("^a.c$", "abc", True),
        ("a.c", "a\nc", False),
        (r"^\d{3}-\d{4}$", "555-1234", True),
        (r"^\d{3}-\d{4}$", "555-123", False),
        (r"^\d{2,}$", "1", False),
        (r"^(ab|cd)+$", "abcdab", True),
        (r"^(?:ab|cd){2,3}$", "abcdabcd", False),
        (r"^[^a-c]$", "d", True),
        (r"^[a-c\d_-]+$", "a1_-", True),
        (r"\bfoo\b", "a foo b", True),
        (r"\bfoo\b", "afoo", False),
        (r"^\u00e9\x41$", "\u00e9A", True),
        (r"^[\]]$", "]", True),
        (r"^a{,2}$", "a{,2}", True),
        (r"^a??b$", "b", True),
        (r"^\.$", "x", False),
        ("^()*$", "", True),
        ("(|a)*$", "aab", True),
    ],
)
def test_the_dialect_means_what_everybody_expects(pattern: str, text: str, expected: bool) -> None:
    assert matches(pattern, text) is expected


@pytest.mark.parametrize(
    "pattern", ["(", ")", "a**b(", "*", "[a", r"\1", "(?=a)", "(?<n>a)", r"\u12", "[b-a]", "a{3,1}"]
)
def test_a_malformed_or_unsupported_pattern_is_a_codec_error(pattern: str) -> None:
    with pytest.raises(CodecError):
        matches(pattern, "a")


def test_a_pattern_that_grows_too_big_is_a_codec_error() -> None:
    with pytest.raises(CodecError):
        matches(f"((a{{1,{MAX_STATES}}}){{1,{MAX_STATES}}})", "a")
    with pytest.raises(CodecError):
        matches("(" * 5000 + ")" * 5000, "a")


def test_a_text_too_long_to_be_checked_is_not_decided() -> None:
    assert matches("a{1,500}b", "a" * 100_000) is None


_ATOMS = st.sampled_from(["a", "b", ".", "[ab]", "[^a]", r"\d", r"\w", "^", "$", r"\b"])
_PATTERNS = st.recursive(
    _ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"(?:{pair[0]}|{pair[1]})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "*?"])).map(lambda p: f"(?:{p[0]}){p[1]}"),
    ),
    max_leaves=6,
)


@settings(max_examples=300, deadline=None)
@given(pattern=_PATTERNS, text=st.text(alphabet="ab1 ", max_size=6))
def test_it_agrees_with_re_on_what_both_understand(pattern: str, text: str) -> None:
    oracle = re.search(pattern.replace("$", r"\Z"), text, re.ASCII)
    assert matches(pattern, text) is (oracle is not None)
