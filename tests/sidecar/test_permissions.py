"""From a reply to an outcome: every reply over every set of options."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.sidecar.permissions import CANCELLED, outcome, permission_id, refusal

KINDS = ("allow_once", "allow_always", "reject_once", "reject_always")
REPLIES = ("once", "allow_once", "always", "allow_always", "reject", "reject_once", "reject_always")
# What a reply may select, best first.
MAY_SELECT = {
    "once": ["allow_once"],
    "allow_once": ["allow_once"],
    "always": ["allow_always", "allow_once"],
    "allow_always": ["allow_always", "allow_once"],
    "reject": ["reject_once"],
    "reject_once": ["reject_once"],
    "reject_always": ["reject_always", "reject_once"],
}
WORD = {reply: kinds[0] for reply, kinds in MAY_SELECT.items()}


def params(*options: Any) -> bytes:
    return json.dumps({"options": list(options)}).encode()


def option(kind: str, number: int = 1) -> dict[str, str]:
    return {"optionId": f"{kind}-{number}", "name": kind, "kind": kind}


def selected(result: bytes) -> str | None:
    """The chosen id; None: cancelled."""
    answer = json.loads(result)["outcome"]
    if answer == {"outcome": "cancelled"}:
        return None
    assert set(answer) == {"outcome", "optionId"}
    assert answer["outcome"] == "selected"
    chosen = answer["optionId"]
    assert isinstance(chosen, str)
    return chosen


@pytest.mark.parametrize("reply", REPLIES)
@pytest.mark.parametrize("kinds", [s for n in range(1, 5) for s in itertools.combinations(KINDS, n)])
def test_a_reply_selects_the_best_option_of_its_kind_or_none(reply: str, kinds: tuple[str, ...]) -> None:
    """PER-4, PER-13: never an allow for a deny, never `always` for `once`, and `cancelled` when nothing fits."""
    expected = next((f"{kind}-1" for kind in MAY_SELECT[reply] if kind in kinds), None)
    assert selected(outcome(reply, params(*map(option, kinds)))) == expected


@pytest.mark.parametrize("reply", REPLIES)
def test_of_several_the_first_in_the_agents_order_is_chosen(reply: str) -> None:
    kind = MAY_SELECT[reply][0]
    options = [option(other) for other in KINDS if other != kind] + [option(kind, 1), option(kind, 2)]
    assert selected(outcome(reply, params(*options))) == f"{kind}-1"


@pytest.mark.parametrize(
    ("reply", "id"),
    [
        ("once", "once"),
        ("once", "allow_once"),
        ("always", "always"),
        ("always", "allow_always"),
        ("reject", "reject"),
        ("reject", "reject_once"),
        ("reject_always", "reject_always"),
    ],
)
@pytest.mark.parametrize("kind", [None, "_custom", 5])
def test_an_option_without_a_kind_is_known_by_its_id(reply: str, id: str, kind: Any) -> None:
    found = {"optionId": id} if kind is None else {"optionId": id, "kind": kind}
    assert selected(outcome(reply, params({"optionId": "x", "kind": "_other"}, found))) == id


@pytest.mark.parametrize(
    ("reply", "id", "kind"),
    [
        ("reject", "reject", "allow_always"),
        ("reject_once", "reject_once", "allow_once"),
        ("once", "once", "reject_once"),
    ],
)
def test_an_id_that_says_the_opposite_of_its_kind_is_not_chosen(reply: str, id: str, kind: str) -> None:
    assert selected(outcome(reply, params({"optionId": id, "kind": kind}))) is None


@pytest.mark.parametrize("reply", ["yes-7", "x"])
def test_any_other_word_selects_the_option_of_exactly_that_id(reply: str) -> None:
    """PER-7: an option of an unknown kind can be chosen, by somebody who names it."""
    assert selected(outcome(reply, params(option("allow_once"), {"optionId": reply, "kind": "_new"}))) == reply
    assert selected(outcome(reply, params(option("allow_once")))) is None


@pytest.mark.parametrize("reply", ["", "cancel", "cancelled", "yes", "ONCE", "allow", "deny", " once"])
def test_a_word_nobody_offered_is_cancelled(reply: str) -> None:
    assert outcome(reply, params(*map(option, KINDS))) == CANCELLED
    assert outcome(reply, None) == CANCELLED


@pytest.mark.parametrize(
    "bad", [None, b"null", b"{}", b"[]", b"5", b'{"options":5}', b'{"options":{}}', b'{"options":[]}']
)
@pytest.mark.parametrize("reply", REPLIES)
def test_without_any_option_the_plain_word_is_meant(reply: str, bad: bytes | None) -> None:
    assert selected(outcome(reply, bad)) == WORD[reply]


@pytest.mark.parametrize("id", [5, None, ["x"]])
def test_an_option_whose_id_is_no_string_is_answered_by_its_kind(id: Any) -> None:
    assert selected(outcome("once", params({"optionId": id, "kind": "allow_once"}))) == "allow_once"


def test_an_empty_id_is_an_id() -> None:
    assert selected(outcome("once", params({"optionId": "", "kind": "allow_once"}))) == ""


@pytest.mark.parametrize("junk", [5, None, "x", []])
def test_what_is_no_option_is_passed_over(junk: Any) -> None:
    assert selected(outcome("once", params(junk, option("allow_once")))) == "allow_once-1"
    assert selected(outcome("once", params(junk, option("reject_once")))) is None


@pytest.mark.parametrize(
    ("options", "chosen"),
    [
        ([option(kind) for kind in KINDS], "reject_once-1"),
        ([option("reject_once", 2), option("reject_once", 1)], "reject_once-2"),
        ([option("reject_always"), option("allow_once")], None),
        ([{"optionId": "reject"}], None),
        ([{"kind": "reject_once"}], None),
        ([], None),
    ],
)
def test_where_nobody_answers_an_offered_reject_once_is_chosen_else_cancelled(options: Any, chosen: str | None) -> None:
    """PER-5, PER-11."""
    assert selected(refusal(params(*options))) == chosen


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12) | st.sampled_from(KINDS),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["options", "optionId", "kind", "x"]), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(st.sampled_from([*REPLIES, "x", ""]), values)
def test_whatever_an_agent_sends_it_gets_one_of_the_two_outcomes(reply: str, value: Any) -> None:
    try:
        data = json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except (ValueError, UnicodeEncodeError):
        return
    selected(outcome(reply, data))
    selected(refusal(data))
    assert isinstance(permission_id(data), str)


@given(st.sampled_from(["reject", "reject_once", "reject_always"]), st.lists(st.sampled_from(KINDS), max_size=6))
def test_a_deny_never_becomes_an_approval(reply: str, kinds: list[str]) -> None:
    chosen = selected(outcome(reply, params(*(option(kind, n) for n, kind in enumerate(kinds)))))
    assert chosen is None or chosen.startswith("reject")


@pytest.mark.parametrize("word", ["once", "always", "reject", "reject_always", "allow_once"])
@pytest.mark.parametrize("kind", ["allow_once", "allow_always", "reject_once", "reject_always"])
def test_an_id_never_outweighs_the_kind_it_comes_with(word: str, kind: str) -> None:
    """PER-5: an option called like the reply, but of another kind, is not what the reply means."""
    chosen = outcome(word, json.dumps({"options": [{"optionId": word, "kind": kind}]}).encode())
    meant = {
        "once": {"allow_once"},
        "allow_once": {"allow_once"},
        "always": {"allow_always", "allow_once"},
        "reject": {"reject_once"},
        "reject_always": {"reject_always", "reject_once"},
    }[word]
    assert (b"selected" in chosen) is (kind in meant)
