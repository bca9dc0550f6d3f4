"""Which version an agent speaks, by the shape of its answer."""

from __future__ import annotations

from typing import Any

import pytest

from roost.acp.bridge.negotiation import (
    GiveUp,
    Speak,
    Trial,
    answered_version,
    first_trial,
    is_answered_in,
    is_known,
    wrong_shape,
)
from roost.errors import RpcError

V2 = {"protocolVersion": 2, "info": {"name": "a", "version": "1"}, "capabilities": {"session": {}}}
DISGUISED = {"protocolVersion": 2, "agentInfo": {"name": "a", "version": "1"}, "agentCapabilities": {}}
ERROR = RpcError(-32602, "Invalid params")


@pytest.mark.parametrize(
    ("answer", "version"),
    [
        (V2, 2),
        ({**V2, "authMethods": [{"methodId": "k", "name": "K", "type": "agent"}]}, 2),
        (DISGUISED, 1),
        ({"protocolVersion": 2, "authMethods": [{"id": "k", "name": "K"}]}, 1),
        ({"protocolVersion": 2}, 1),
        ({"protocolVersion": 1, "agentCapabilities": {}}, 1),
        ({**V2, "protocolVersion": 1}, 1),
        ({}, 1),
        (None, 1),
        ("2", 1),
    ],
)
def test_a_two_is_no_proof(answer: Any, version: int) -> None:
    assert answered_version(answer) == version


def test_an_agent_of_v1_in_disguise_is_started_again_with_v1() -> None:
    trial = first_trial(preferred=2)
    again = trial.after(DISGUISED)
    assert again == Trial(1, (2,))
    assert again.after({**DISGUISED, "protocolVersion": 1}) == Speak(1)


@pytest.mark.parametrize("code", [-32602, -32600, -32603, -32022])
def test_an_error_is_a_reason_to_try_the_other_version_once(code: int) -> None:
    """INI-7"""
    again = first_trial(preferred=2).after(RpcError(code, "no"))
    assert again == Trial(1, (2,))
    assert again.after(ERROR) == GiveUp(ERROR)


def test_an_agent_of_v2_alone_is_found_from_v1() -> None:
    """INI-5"""
    again = first_trial().after(V2)
    assert again == Trial(2, (1,))
    assert again.after(V2) == Speak(2)
    assert again.after(DISGUISED) == GiveUp(None)


def test_one_is_asked_first_unless_something_better_is_known() -> None:
    assert first_trial() == Trial(1)
    assert first_trial(preferred=2) == Trial(2)
    assert first_trial(remembered=2, preferred=1) == Trial(2)
    assert first_trial(preferred=2).after(V2) == Speak(2)


def test_an_agent_that_gives_no_answer_is_asked_for_the_other_version_once() -> None:
    again = first_trial(preferred=2).without_answer()
    assert again == Trial(1, unanswered=(2,))
    assert isinstance(again, Trial)
    assert again.without_answer() == GiveUp(None)
    assert again.after(ERROR) == GiveUp(ERROR)
    assert again.after({**DISGUISED, "protocolVersion": 1}) == Speak(1)


def test_an_agent_that_was_only_slow_to_answer_is_asked_again_when_it_says_so() -> None:
    again = first_trial(preferred=2).without_answer()
    third = again.after(V2)
    assert third == Trial(2, (1,), (2,))
    assert third.after(V2) == Speak(2)
    assert third.without_answer() == GiveUp(None)
    assert third.after(ERROR) == GiveUp(ERROR)
    assert third.after(DISGUISED) == GiveUp(None)


def test_an_agent_that_refused_one_version_and_is_silent_at_the_other_speaks_neither() -> None:
    assert first_trial(preferred=2).after(ERROR).without_answer() == GiveUp(None)


@pytest.mark.parametrize("version", [1, 2])
def test_what_a_bridge_says_of_the_wrong_shape_is_an_answer_in_that_version(version: Any) -> None:
    other = 3 - version
    error = wrong_shape(version)
    assert is_answered_in(version, error)
    assert not is_answered_in(other, error)
    assert not any(is_answered_in(version, outcome) for outcome in (ERROR, {"protocolVersion": version}, None))
    assert Trial(other).after(error) == Trial(version, (other,))
    assert Trial(other, unanswered=(version,)).after(error) == Trial(version, (other,), (version,))
    assert Trial(other, (version,)).after(error) == GiveUp(error)


@pytest.mark.parametrize("named", [0, 3, 9, -1, True, 1.0, "1", None, [1]])
def test_a_number_is_known_when_it_is_one_or_the_two_that_several_echo(named: Any) -> None:
    assert is_known(1)
    assert is_known(2)
    assert not is_known(named)
