"""Cases 54 to 58: modes and options, kept up to date and told once."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.sidecar.rig import Rig
from tests.sidecar.scripted_agent import Agent, Json


def opened(rig: Rig | None = None) -> tuple[Rig, int, str]:
    rig = rig or Rig()
    caller = rig.connect()
    return rig, caller, rig.create(caller).session_id


def updates(rig: Rig, caller: int) -> list[Json]:
    return [message["params"]["update"] for message in rig.notifications(caller)]


MODES = {"currentModeId": "ask", "availableModes": [{"id": "ask"}, {"id": "code"}]}
OPTIONS = [{"id": "speed", "currentValue": "slow"}, {"id": "depth", "currentValue": 1}]


def with_modes(**handlers: Any) -> Rig:
    """Agents with modes and options; a handler per method may do more, and is given the agent and the message."""

    def script(agent: Agent, message: Json) -> bool:
        method = message.get("method", "")
        if method == "session/new":
            agent.result(message, {"sessionId": "s", "modes": MODES, "configOptions": OPTIONS})
            return True
        handler = handlers.get(method.rpartition("/")[2])
        return bool(handler and handler(agent, message))

    return Rig(script)


def test_case_054_a_mode_that_was_set_is_kept_and_told() -> None:
    rig, caller, session = opened(with_modes())
    rig.told.clear()
    rig.request(caller, session, "session/set_mode", {"modeId": "code"})
    assert json.loads(rig.told[0][1].notification) == {
        "jsonrpc": "2.0",
        "method": "session/update",
        "params": {"update": {"sessionUpdate": "current_mode_update", "currentModeId": "code"}},
    }
    assert isinstance(rig.told[1][1], tuple)
    assert json.loads(rig.state(caller, session).modes) == {**MODES, "currentModeId": "code"}


def test_case_054_a_mode_the_agent_refuses_is_neither_kept_nor_told() -> None:
    def refuse(agent: Agent, message: Json) -> bool:
        agent.error(message, -32602, "no such mode")
        return True

    rig, caller, session = opened(with_modes(set_mode=refuse))
    rig.request(caller, session, "session/set_mode", {"modeId": "code"})
    assert rig.events(caller) == []
    assert json.loads(rig.state(caller, session).modes) == MODES


@pytest.mark.parametrize(("told", "count"), [("code", 1), ("ask", 2)])
def test_case_055_an_agents_own_matching_update_makes_ours_superfluous(told: str, count: int) -> None:
    def tell(agent: Agent, message: Json) -> bool:
        agent.update(sessionUpdate="current_mode_update", currentModeId=told)
        return False

    rig, caller, session = opened(with_modes(set_mode=tell))
    rig.request(caller, session, "session/set_mode", {"modeId": "code"})
    assert len(rig.events(caller)) == count
    assert json.loads(rig.state(caller, session).modes)["currentModeId"] == "code"


@pytest.mark.parametrize("params", [None, {}, {"modeId": 5}, {"modeId": None}])
def test_case_056_without_a_mode_id_nothing_is_tracked(params: Any) -> None:
    rig, caller, session = opened(with_modes())
    assert rig.rpc(caller, rig.request(caller, session, "session/set_mode", params))["result"] == {}
    assert rig.events(caller) == []


def test_case_056_an_agent_without_modes_still_has_its_mode_told() -> None:
    rig, caller, session = opened()
    rig.request(caller, session, "session/set_mode", {"modeId": "code"})
    assert updates(rig, caller) == [{"sessionUpdate": "current_mode_update", "currentModeId": "code"}]
    assert rig.state(caller, session).modes is None


@pytest.mark.parametrize("value", ["fast", 5, 1.0, None, True, {"a": [1]}, [], 10**30])
def test_case_057_an_option_that_was_set_is_kept_and_told_with_all_the_others(value: Any) -> None:
    rig, caller, session = opened(with_modes())
    rig.request(caller, session, "session/set_config_option", {"configId": "speed", "value": value})
    expected = [{**OPTIONS[0], "currentValue": value}, OPTIONS[1]]
    assert updates(rig, caller) == [{"sessionUpdate": "config_option_update", "configOptions": expected}]
    assert [json.loads(option) for option in rig.state(caller, session).config_options] == expected


def test_case_057_an_option_nobody_knows_is_between_the_caller_and_the_agent() -> None:
    """Ours: the reference failed the request although the agent had accepted it."""
    rig, caller, session = opened(with_modes())
    answer = rig.rpc(caller, rig.request(caller, session, "session/set_config_option", {"configId": "x", "value": 1}))
    assert answer["result"] == {}
    assert rig.events(caller) == []
    assert [json.loads(option) for option in rig.state(caller, session).config_options] == OPTIONS


def test_case_057_the_agents_complete_list_replaces_ours() -> None:
    """Ours: CFG-1."""

    def answer(agent: Agent, message: Json) -> bool:
        agent.result(message, {"configOptions": [OPTIONS[1]]})
        return True

    rig, caller, session = opened(with_modes(set_config_option=answer))
    rig.request(caller, session, "session/set_config_option", {"configId": "speed", "value": "fast"})
    assert [json.loads(option) for option in rig.state(caller, session).config_options] == [OPTIONS[1]]


def test_case_057_only_these_two_methods_are_tracked() -> None:
    rig, caller, session = opened(with_modes())
    rig.request(caller, session, "_x", {"configId": "speed", "value": "fast", "modeId": "code"})
    assert rig.events(caller) == []
    assert json.loads(rig.state(caller, session).modes) == MODES


@pytest.mark.parametrize("kind", ["config_option_update", "config_options_update"])
def test_case_058_an_agents_own_options_update_makes_ours_superfluous(kind: str) -> None:
    told = [{**OPTIONS[0], "currentValue": "fast"}, {**OPTIONS[1], "currentValue": 7}]

    def tell(agent: Agent, message: Json) -> bool:
        agent.update(sessionUpdate=kind, configOptions=told)
        return False

    rig, caller, session = opened(with_modes(set_config_option=tell))
    rig.request(caller, session, "session/set_config_option", {"configId": "speed", "value": "fast"})
    assert [update["sessionUpdate"] for update in updates(rig, caller)] == [kind]
    assert [json.loads(option) for option in rig.state(caller, session).config_options] == told
