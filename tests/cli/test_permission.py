"""Which answer a policy or a person gives, and that the daemon understands it as what was meant."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.cli.permission import allow, decline, deny, options_of, select
from roost.host.events import PermissionRequest
from roost.sidecar.permissions import outcome

KINDS = ("allow_once", "allow_always", "reject_once", "reject_always", "_maybe", "")
WORDS = ("once", "always", "reject", "allow_once", "reject_once", "allow_always", "reject_always", "x", "y")


def request(*options: tuple[str, str]) -> PermissionRequest:
    """A request with options of these ids and kinds."""
    params = {"title": "Do it", "options": [{"optionId": i, "name": f"label {i}", "kind": k} for i, k in options]}
    return PermissionRequest("s", "permission", msgspec.json.encode(params).decode())


def told(asked: PermissionRequest, reply: str) -> str | None:
    """The option the agent hears of; None: cancelled."""
    result: dict[str, Any] = msgspec.json.decode(outcome(reply, msgspec.json.encode(asked.params)))
    chosen: str | None = result["outcome"].get("optionId")
    return chosen


@pytest.mark.parametrize(
    ("options", "allowed", "denied"),
    [
        ([("a", "allow_once"), ("b", "allow_always"), ("c", "reject_once")], "a", "c"),
        ([("b", "allow_always"), ("a", "allow_once")], "a", None),
        ([("b", "allow_always"), ("c", "reject_always")], None, None),  # PER-13: nothing for ever unasked
        ([("c", "reject_once")], None, "c"),
        ([("z", "_whatever")], None, None),  # PER-7
        ([], None, None),
    ],
)
def test_a_policy_selects_by_kind(options: list[tuple[str, str]], allowed: str | None, denied: str | None) -> None:
    asked = request(*options)
    assert told(asked, allow(asked, "policy").reply) == allowed
    assert told(asked, deny(asked, "policy").reply) == denied


def test_an_option_named_like_a_word_of_the_daemon_is_not_mistaken_for_another() -> None:
    asked = request(("x", "allow_once"), ("once", "reject_once"))
    decision = select(asked, options_of(asked)[1], "user")
    assert told(asked, decision.reply) in ("once", None)
    assert not decision.allows


def test_an_allowing_option_called_reject_is_not_what_a_denial_selects() -> None:
    asked = request(("reject", "allow_always"))
    assert told(asked, deny(asked, "policy").reply) is None


@given(st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from(KINDS)), max_size=5))
def test_what_the_agent_hears_is_what_was_chosen_or_nothing(options: list[tuple[str, str]]) -> None:
    asked = request(*options)
    for option in options_of(asked):
        decision = select(asked, option, "user")
        assert told(asked, decision.reply) == (None if decision.option is None else option.id)
    kinds: dict[str, set[str]] = {}
    for ident, kind in options:
        kinds.setdefault(ident, set()).add(kind)
    heard = told(asked, allow(asked, "policy").reply)
    assert heard is None or "allow_once" in kinds[heard]
    heard = told(asked, deny(asked, "policy").reply)
    assert heard is None or "reject_once" in kinds[heard]
    assert told(asked, decline(asked, "nobody").reply) is None


def test_options_without_an_id_cannot_be_chosen() -> None:
    params = {"title": "t", "options": [{"name": "n", "kind": "allow_once"}, 7, {"optionId": 1}, {"optionId": "a"}]}
    asked = PermissionRequest("s", "permission", msgspec.json.encode(params).decode())
    assert [option.id for option in options_of(asked)] == ["a"]
