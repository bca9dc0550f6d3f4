"""Options and modes of a v1 client before a v2 agent (B-31)."""

from __future__ import annotations

import pytest

from tests.acp.bridge.bridge_rig import Json
from tests.acp.bridge.client_rig import ready
from tests.acp.bridge.rig import tags

MODE = {
    "type": "select",
    "configId": "approval",
    "name": "Mode",
    "category": "mode",
    "currentValue": "ask",
    "options": [
        {"groupId": "g", "name": "G", "options": [{"value": "ask", "name": "Ask"}, {"value": "go", "name": "Go"}]}
    ],
}
SWITCH = {"type": "boolean", "configId": "web", "name": "Web", "currentValue": True}
OTHER = {"type": "_slider", "configId": "x", "name": "X"}


def test_options_are_shown_as_modes_too() -> None:
    rig = ready()
    result = rig.new("s2", configOptions=[MODE, SWITCH, OTHER])
    assert result["modes"] == {
        "currentModeId": "ask",
        "availableModes": [{"id": "ask", "name": "Ask"}, {"id": "go", "name": "Go"}],
    }
    mode, switch = result["configOptions"]
    assert mode["options"][0]["group"] == "g"
    assert (switch["type"], switch["currentValue"], len(switch["options"])) == ("select", "true", 2)
    rig.update({"sessionUpdate": "config_option_update", "configOptions": [{**MODE, "currentValue": "go"}]}, "s2")
    assert tags(rig.updates()) == ["current_mode_update", "config_option_update"]


@pytest.mark.parametrize(
    ("method", "params", "sent"),
    [
        ("session/set_mode", {"modeId": "go"}, {"configId": "approval", "type": "id", "value": "go"}),
        (
            "session/set_config_option",
            {"configId": "approval", "value": "go"},
            {"configId": "approval", "type": "id", "value": "go"},
        ),
        (
            "session/set_config_option",
            {"configId": "web", "value": "false"},
            {"configId": "web", "type": "boolean", "value": False},
        ),
        (
            "session/set_config_option",
            {"configId": "web", "value": False, "type": "boolean"},
            {"configId": "web", "type": "boolean", "value": False},
        ),
    ],
)
def test_b_31_options_are_set_with_their_type(method: str, params: Json, sent: Json) -> None:
    """B-31"""
    rig = ready()
    rig.new("s2", configOptions=[MODE, SWITCH])
    rig.ask(method, {"sessionId": "s2", **params})
    request = rig.asked()
    assert request["method"] == "session/set_config_option"
    assert request["params"] == {"sessionId": "s2", **sent}
    rig.reply(request["id"], {"configOptions": [MODE, SWITCH]})
    result = rig.north()[0]["result"]
    assert result == {} if method == "session/set_mode" else len(result["configOptions"]) == 2


def test_a_client_with_switches_gets_switches() -> None:
    rig = ready({"session": {"configOptions": {"boolean": {}}}})
    assert rig.new("s2", configOptions=[SWITCH])["configOptions"][0]["currentValue"] is True
