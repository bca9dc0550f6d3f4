"""What an agent needs: told when it is missing for certain, and never otherwise."""

from __future__ import annotations

from typing import Any

import pytest

from roost.catalogue.needs import Found, Need, credentials_hint, hard_needs, needs
from roost.catalogue.profiles import Profile


def profile(**fields: Any) -> Profile:
    return Profile(id="a", title="A", seen="1", quirks={}, **fields)


KEYS = profile(keys=(("ONE_KEY",), ("URL", "TOKEN")))
OLD = Found(node_range=">=22", node="20.19.0", node_path="/usr/bin/node")


def test_an_old_node_stops_the_agent_and_says_which_and_where() -> None:
    assert needs("a", None, OLD, {}) == [
        Need("node", True, "a needs node >=22, and /usr/bin/node is 20.19.0"),
    ]


@pytest.mark.parametrize(
    "found",
    [
        Found(),
        Found(node_range=">=22", node="22.0.0"),
        Found(node_range=">=22"),
        Found(node="20.19.0"),
        Found(node_range="as new as can be", node="20.19.0"),
        Found(node_range=">=22", node="unknown"),
    ],
)
def test_nothing_is_claimed_that_is_not_known(found: Found) -> None:
    assert needs("a", profile(), found, {}) == []


def test_what_is_known_of_the_agent_wins_over_what_its_package_says() -> None:
    assert hard_needs("a", profile(node=">=18"), OLD) == []
    assert hard_needs("a", profile(node=">=24"), Found(node="22.0.0"))[0].sentence == (
        "a needs node >=24, and this is 22.0.0"
    )


def test_a_node_that_is_not_there_is_missing() -> None:
    assert [need.kind for need in hard_needs("a", None, Found(lacks_node=True))] == ["node"]


def test_an_old_python_stops_the_agent() -> None:
    found = Found(python="3.11.2", python_path="/venv/bin/python")
    assert hard_needs("vibe", profile(python=">=3.12"), found) == [
        Need("python", True, "vibe needs Python >=3.12, and /venv/bin/python is 3.11.2")
    ]
    assert hard_needs("vibe", profile(python=">=3.12"), Found(python="3.13.0")) == []


def test_a_missing_key_is_a_hint_and_names_every_way() -> None:
    assert needs("a", KEYS, Found(), {}) == [
        Need("credentials", False, "a needs ONE_KEY, URL and TOKEN or a login: roost login a")
    ]


@pytest.mark.parametrize("environment", [{"ONE_KEY": "x"}, {"URL": "u", "TOKEN": "t"}])
def test_any_alternative_is_enough(environment: dict[str, str]) -> None:
    assert needs("a", KEYS, Found(), environment) == []


@pytest.mark.parametrize("environment", [{"ONE_KEY": ""}, {"URL": "u"}, {"TOKEN": "t"}])
def test_half_an_alternative_is_not(environment: dict[str, str]) -> None:
    assert credentials_hint("a", KEYS, environment) is not None


def test_a_key_that_the_user_has_is_not_asked_for_but_pointed_at() -> None:
    hint = credentials_hint("a", KEYS, {}, at_hand=["ONE_KEY", "HOME"])
    assert hint == "a does not get your ONE_KEY unless it is told to: --env ONE_KEY"
    hint = credentials_hint("a", KEYS, {"URL": "u"}, at_hand=["TOKEN"])
    assert hint == "a does not get your URL and TOKEN unless it is told to: --env TOKEN"


def test_an_agent_that_cannot_be_asked_is_logged_in_by_its_own_command() -> None:
    assert credentials_hint("a", profile(login="a login"), {}) == "a needs a login: a login"
    assert credentials_hint("a", profile(login="a login", keys=(("K",),)), {}) == "a needs K or a login: a login"


@pytest.mark.parametrize("known", [None, profile()])
def test_of_an_agent_that_is_not_known_to_want_anything_nothing_is_said(known: Profile | None) -> None:
    assert credentials_hint("a", known, {}) is None


def test_hard_needs_come_first() -> None:
    assert [need.hard for need in needs("a", KEYS, OLD, {})] == [True, False]
