"""Connections and logins of a v1 agent as a v2 client sees them (B-34 to B-36)."""

from __future__ import annotations

from typing import Any

import pytest

from roost.acp.bridge.events import LoggedOut
from tests.acp.bridge.rig import AUTH, CWD, SERVICES, AgentRig, opened


def test_b_36_an_agent_that_says_little_is_tolerated() -> None:
    """B-36"""
    rig = AgentRig(name="some-agent")
    result = rig.initialize({"protocolVersion": "1", "agentCapabilities": None})
    assert result["protocolVersion"] == 2
    assert result["info"] == {"name": "some-agent", "version": "0"}
    assert result["capabilities"]["session"]["mcp"] == {"stdio": {}}
    assert "authMethods" not in result


@pytest.mark.parametrize("answer", [{"protocolVersion": 99, "agentCapabilities": {}}, {"protocolVersion": 0}, {}])
def test_the_number_of_an_answer_in_v1_shape_does_not_matter(answer: dict[str, Any]) -> None:
    assert AgentRig().initialize(answer)["protocolVersion"] == 2


def test_an_agent_that_answers_in_v2_is_refused_here() -> None:
    rig = AgentRig()
    rig.ask("initialize", {"protocolVersion": 2, "info": {"name": "c", "version": "1"}})
    rig.reply(rig.asked()["id"], {"protocolVersion": 2, "info": {"name": "a", "version": "1"}, "capabilities": {}})
    assert rig.north()[0]["error"]["data"] == {"protocolVersion": 2}


def test_br_2_capabilities_are_those_of_both_sides() -> None:
    """BR-2, BR-4"""
    rig = AgentRig(services=SERVICES)
    result = rig.initialize(
        {
            "protocolVersion": 1,
            "agentCapabilities": {
                "loadSession": True,
                "promptCapabilities": {"image": True, "audio": False, "_meta": {"x": 1}},
                "mcpCapabilities": {"http": True, "sse": True, "acp": False},
                "sessionCapabilities": {"fork": {}, "list": {}, "delete": None},
                "providers": {},
                "_meta": {"vendor": True},
            },
        },
        {"elicitation": {"form": {}}, "auth": {"terminal": {}}},
    )
    assert result["capabilities"] == {
        "session": {
            "prompt": {"image": {}, "_meta": {"x": 1}},
            "mcp": {"stdio": {}, "http": {}},
            "fork": {},
        },
        "providers": {},
        "_meta": {"vendor": True},
    }
    assert rig.bridge.losses.counts["mcp_sse"] == 1


@pytest.mark.parametrize("services", [None, SERVICES])
def test_the_agent_is_told_of_services_when_there_are_some(services: dict[str, Any] | None) -> None:
    rig = AgentRig(services=services)
    rig.ask("initialize", {"protocolVersion": 2, "info": {"name": "c", "version": "1"}, "capabilities": {}})
    params = rig.asked()["params"]
    has = services is not None
    assert params["protocolVersion"] == 1
    assert params["clientInfo"] == {"name": "c", "version": "1"}
    assert params["clientCapabilities"]["fs"] == {"readTextFile": has, "writeTextFile": has}
    assert params["clientCapabilities"]["terminal"] is has
    assert params["clientCapabilities"]["session"] == {"configOptions": {"boolean": {}}}
    assert params["clientCapabilities"]["auth"] == {"terminal": False}


def test_b_34_login_methods_get_their_v2_form() -> None:
    """B-34, AUTH-5"""
    answer = {"protocolVersion": 1, "authMethods": AUTH}
    methods = AgentRig().initialize(answer, {"auth": {"terminal": {}}})["authMethods"]
    assert methods[0] == {"methodId": "key", "name": "Key", "type": "agent"}
    assert methods[2]["env"] == [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]
    assert len(AgentRig().initialize(answer)["authMethods"]) == 2  # nobody to show a terminal


def test_a_login_is_authenticate_and_null_is_an_object() -> None:
    rig = AgentRig()
    rig.initialize({"protocolVersion": 1, "authMethods": AUTH})
    rig.ask("auth/login", {"methodId": "key"})
    request = rig.asked()
    assert (request["method"], request["params"]) == ("authenticate", {"methodId": "key"})
    rig.reply(request["id"], None)
    assert rig.north()[0]["result"] == {}
    rig.ask("auth/login", {"methodId": "other"})  # AUTH-4
    assert rig.north()[0]["error"]["code"] == -32602


def test_b_35_a_logout_the_agent_lacks_is_emulated() -> None:
    """B-35"""
    rig = AgentRig()
    rig.initialize({"protocolVersion": 1, "authMethods": AUTH})
    rig.ask("auth/logout", {})
    assert rig.north()[0]["result"] == {}
    assert rig.south() == []
    assert LoggedOut() in rig.events
    rig.ask("session/new", {"cwd": CWD})
    assert rig.north()[0]["error"]["code"] == -32000
    rig.ask("auth/login", {"methodId": "key"})
    rig.reply(rig.asked()["id"], {})
    rig.north()
    rig.new()


def test_a_logout_the_agent_has_is_its_own() -> None:
    rig = AgentRig()
    rig.initialize({"protocolVersion": 1, "authMethods": AUTH, "agentCapabilities": {"auth": {"logout": {}}}})
    rig.ask("auth/logout", {})
    assert rig.asked()["method"] == "logout"


def test_without_login_methods_there_is_no_login() -> None:
    rig = opened()
    rig.ask("auth/login", {"methodId": "key"})
    assert rig.north()[0]["error"]["code"] == -32601
