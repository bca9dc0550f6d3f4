"""Modes, models and options of a v1 agent as a v2 client sees them (B-09 to B-12)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.acp.bridge.rig import MODES, opened

MODEL = {
    "id": "model",
    "name": "Model",
    "category": "model",
    "type": "select",
    "currentValue": "a",
    "options": [{"value": "a", "name": "A"}, {"value": "b", "name": "B"}],
}


def test_b_09_modes_are_an_option_in_front() -> None:
    """B-09"""
    rig = opened()
    options = rig.new("s2", modes=MODES, configOptions=[MODEL])["configOptions"]
    assert [option["configId"] for option in options] == ["mode", "model"]
    assert options[0] == {
        "type": "select",
        "configId": "mode",
        "name": "Mode",
        "category": "mode",
        "currentValue": "ask",
        "options": [{"value": "ask", "name": "Ask"}, {"value": "code", "name": "Code"}],
    }


def test_b_10_modes_of_an_agent_that_has_the_option_too_are_left_out() -> None:
    """B-10"""
    own = {**MODEL, "id": "approval", "category": "mode"}
    options = opened().new("s2", modes=MODES, configOptions=[own])["configOptions"]
    assert [option["configId"] for option in options] == ["approval"]


def test_an_option_that_took_the_name_keeps_it() -> None:
    own = {**MODEL, "id": "mode", "category": "_x"}
    options = opened().new("s2", modes=MODES, configOptions=[own])["configOptions"]
    assert [option["configId"] for option in options] == ["_bridge_mode", "mode"]


def test_b_11_a_changed_mode_is_told_as_all_options_once() -> None:
    """B-11"""
    rig = opened()
    rig.new("s2", modes=MODES, configOptions=[MODEL])
    rig.update("s2", {"sessionUpdate": "current_mode_update", "currentModeId": "code"})
    rig.update("s2", {"sessionUpdate": "current_mode_update", "currentModeId": "code"})
    (update,) = rig.updates()
    assert update["sessionUpdate"] == "config_option_update"
    assert [option["currentValue"] for option in update["configOptions"]] == ["code", "a"]


def test_a_mode_update_changes_the_option_of_an_agent_that_has_both() -> None:
    own = {**MODEL, "id": "approval", "category": "mode", "options": [{"value": v, "name": v} for v in "ab"]}
    rig = opened()
    rig.new("s2", modes=MODES, configOptions=[own])
    rig.update("s2", {"sessionUpdate": "current_mode_update", "currentModeId": "b"})
    rig.update("s2", {"sessionUpdate": "config_option_update", "configOptions": [{**own, "currentValue": "b"}]})
    (update,) = rig.updates()
    assert update["configOptions"][0]["currentValue"] == "b"


@pytest.mark.parametrize(
    ("member", "category", "method", "parameter"),
    [("modes", "mode", "session/set_mode", "modeId"), ("models", "model", "session/set_model", "modelId")],
)
def test_b_12_setting_a_mode_or_model_is_the_v1_method(member: str, category: str, method: str, parameter: str) -> None:
    """B-12"""
    models = {"currentModelId": "ask", "availableModels": [{"modelId": v, "name": v} for v in ("ask", "code")]}
    rig = opened()
    rig.new("s2", **{member: MODES if member == "modes" else models})
    rig.ask("session/set_config_option", {"sessionId": "s2", "configId": category, "type": "id", "value": "code"})
    request = rig.asked()
    assert (request["method"], request["params"]) == (method, {"sessionId": "s2", parameter: "code"})
    rig.reply(request["id"], {})
    assert rig.north()[0]["result"]["configOptions"][0]["currentValue"] == "code"
    if member == "modes":  # the agent may say so too: that is no news
        rig.update("s2", {"sessionUpdate": "current_mode_update", "currentModeId": "code"})
        assert rig.updates() == []


def test_options_of_the_agent_are_set_by_its_own_method() -> None:
    switch = {"id": "web", "name": "Web", "type": "boolean", "currentValue": False}
    rig = opened()
    rig.new("s2", configOptions=[MODEL, switch])
    rig.ask("session/set_config_option", {"sessionId": "s2", "configId": "model", "type": "id", "value": "b"})
    request = rig.asked()
    assert request["params"] == {"sessionId": "s2", "configId": "model", "value": "b"}
    rig.reply(request["id"], {"configOptions": [{**MODEL, "currentValue": "b"}, switch]})
    assert rig.north()[0]["result"]["configOptions"][0]["currentValue"] == "b"
    rig.ask("session/set_config_option", {"sessionId": "s2", "configId": "web", "type": "boolean", "value": True})
    request = rig.asked()
    assert request["params"]["type"] == "boolean"
    rig.reply(request["id"], {})  # does not say how they are now
    assert rig.north()[0]["result"]["configOptions"][1]["currentValue"] is True


@pytest.mark.parametrize(
    "wrong",
    [
        {"configId": "mode", "type": "id", "value": "nope"},  # quirk 16: some agents take anything
        {"configId": "mode", "type": "boolean", "value": True},
        {"configId": "nope", "type": "id", "value": "ask"},
    ],
)
def test_values_no_option_has_are_refused(wrong: dict[str, Any]) -> None:
    """CFG-5"""
    rig = opened()
    rig.new("s2", modes=MODES)
    rig.ask("session/set_config_option", {"sessionId": "s2", **wrong})
    assert rig.north()[0]["error"]["code"] == -32602
    assert rig.south() == []


def test_grouped_choices_keep_their_groups() -> None:
    grouped = {**MODEL, "options": [{"group": "g", "name": "G", "options": MODEL["options"]}]}
    option = opened().new("s2", configOptions=[grouped])["configOptions"][0]
    assert option["options"] == [{"groupId": "g", "name": "G", "options": MODEL["options"]}]


def test_null_options_are_none() -> None:
    assert opened().new("s2", configOptions=None, modes=None) == {"sessionId": "s2"}
