"""Connections, logins and sessions of a v1 client before a v2 agent (B-30)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.acp.bridge.bridge_rig import Json
from tests.acp.bridge.client_rig import CAPABILITIES, ClientRig, ready
from tests.acp.bridge.rig import CWD, text


def test_what_the_agent_is_told_of_a_client() -> None:
    rig = ClientRig()
    client = {"fs": {"readTextFile": True}, "terminal": True, "auth": {"terminal": True}, "elicitation": {"form": {}}}
    rig.ask("initialize", {"protocolVersion": 1, "clientCapabilities": client})
    params = rig.asked()["params"]
    assert params["protocolVersion"] == 2
    assert params["info"] == {"name": "acp-bridge", "version": "0"}
    assert params["capabilities"] == {"auth": {"terminal": {}}, "elicitation": {"form": {}}}


def test_what_the_client_is_told_of_an_agent() -> None:
    methods = [
        {"type": "agent", "methodId": "k", "name": "K"},
        {"type": "terminal", "methodId": "t", "name": "T", "args": [], "env": [{"name": "A", "value": "1"}]},
        {"type": "terminal", "methodId": "d", "name": "D", "env": [{"name": "A", "value": v} for v in "12"]},
        {"type": "_custom", "methodId": "c", "name": "C"},
    ]
    rig = ClientRig()
    result = rig.initialize({"authMethods": methods})
    assert result["protocolVersion"] == 1
    assert result["authMethods"] == [
        {"id": "k", "name": "K"},
        {"id": "t", "type": "terminal", "name": "T", "args": [], "env": {"A": "1"}},
    ]
    assert result["agentCapabilities"] == {
        "loadSession": True,
        "promptCapabilities": {"image": True, "audio": False, "embeddedContext": False},
        "mcpCapabilities": {"http": True, "sse": False},
        "sessionCapabilities": {"list": {}, "resume": {}, "close": {}, "delete": {}},
        "auth": {"logout": {}},
    }
    assert rig.bridge.losses.counts["auth_form"] == 2


def test_a_v1_agent_is_refused_here() -> None:
    rig = ClientRig()
    rig.ask("initialize", {"protocolVersion": 1})
    rig.reply(rig.asked()["id"], {"protocolVersion": 2, "agentCapabilities": {}})
    assert rig.north()[0]["error"]["data"] == {"protocolVersion": 1}


@pytest.mark.parametrize(
    ("method", "params", "asked", "sent"),
    [
        ("authenticate", {"methodId": "k"}, "auth/login", {"methodId": "k"}),
        ("logout", {}, "auth/logout", {}),
        ("session/list", {"cwd": CWD}, "session/list", {"cwd": CWD}),
        ("session/close", {"sessionId": "s1"}, "session/close", {"sessionId": "s1"}),
        ("session/delete", {"sessionId": "s1"}, "session/delete", {"sessionId": "s1"}),
    ],
)
def test_requests_that_have_another_name_or_none(method: str, params: Json, asked: str, sent: Json) -> None:
    rig = ready()
    rig.ask(method, params)
    request = rig.asked()
    assert (request["method"], request["params"]) == (asked, sent)
    rig.reply(request["id"], {"sessions": []} if method == "session/list" else {})
    assert "result" in rig.north()[0]


def test_what_v1_has_not_is_refused() -> None:
    rig = ready()
    for method in ("auth/login", "fs/read_text_file", "nonsense"):
        rig.ask(method, {})
        assert rig.north()[0]["error"]["code"] == -32601


def test_a_load_is_a_resume_with_replay_and_shows_the_users_messages() -> None:
    rig = ready()
    rig.ask("session/load", {"sessionId": "old", "cwd": CWD, "mcpServers": []})
    request = rig.asked()
    assert request["method"] == "session/resume"
    assert request["params"]["replayFrom"] == {"type": "start"}
    rig.update({"sessionUpdate": "user_message", "messageId": "u", "content": [text("a"), text("b")]}, "old")
    rig.update({"sessionUpdate": "agent_message", "messageId": "v", "content": [text("c")]}, "old")
    rig.reply(request["id"], {"configOptions": []})
    *updates, answer = rig.north()
    assert [message["params"]["update"]["content"]["text"] for message in updates] == ["a", "b", "c"]
    assert answer["result"] == {}


def test_updates_before_the_answer_come_behind_it() -> None:
    """SES-4"""
    rig = ClientRig()
    rig.initialize()
    rig.ask("session/new", {"cwd": CWD, "mcpServers": []})
    call = rig.asked()["id"]
    rig.update({"sessionUpdate": "available_commands_update", "availableCommands": []}, "s7")
    assert rig.north() == []
    rig.reply(call, {"sessionId": "s7"})
    assert [message.get("method") for message in rig.north()] == [None, "session/update"]


def test_b_30_a_server_over_sse_is_refused_by_name() -> None:
    """B-30"""
    rig = ready()
    rig.ask("session/new", {"cwd": CWD, "mcpServers": [{"type": "sse", "name": "srv", "url": "http://h"}]})
    error = rig.north()[0]["error"]
    assert error["code"] == -32602
    assert "srv" in error["message"]
    assert rig.south() == []


@pytest.mark.parametrize(("found", "sent"), [("/usr/bin/npx", "/usr/bin/npx"), (None, None)])
def test_a_program_without_its_folder_is_found_or_refused(found: str | None, sent: str | None) -> None:
    rig = ready(which=lambda name: found)
    rig.ask("session/new", {"cwd": CWD, "mcpServers": [{"name": "srv", "command": "npx", "args": [], "env": []}]})
    if sent is None:
        assert rig.north()[0]["error"]["code"] == -32602
    else:
        server = rig.asked()["params"]["mcpServers"][0]
        assert (server["type"], server["command"]) == ("stdio", sent)


def test_extensions_pass_both_ways() -> None:
    """BR-6"""
    rig = ready()
    rig.ask("_x/ask", {"a": 10**30})
    request = rig.asked()
    assert request["params"] == {"a": 10**30}
    rig.refuse(request["id"], -32601)
    assert rig.north()[0]["error"]["code"] == -32601
    rig.request(9, "_y/ask", {})
    (asked,) = rig.north()
    rig.answer(asked["id"], [1])
    assert rig.south()[0]["result"] == [1]
    rig.south_sends({"method": "_z/told", "params": {}})
    assert rig.north()[0]["method"] == "_z/told"


def test_an_agent_without_sessions_has_none() -> None:
    result = ClientRig().initialize({"capabilities": {}})
    assert result["agentCapabilities"]["loadSession"] is False
    assert "sessionCapabilities" not in result["agentCapabilities"]
    assert CAPABILITIES["session"]


@pytest.mark.parametrize("params", [None, {}, {"sessionId": None}, {"sessionId": 5}, {"nope": 1}])
@pytest.mark.parametrize("method", ["session/prompt", "session/set_mode", "session/close"])
def test_a_request_about_no_session_is_about_nothing(method: str, params: Any) -> None:
    """What names no session is malformed, and no session that is not found (ERR-3)"""
    rig = ready()
    rig.ask(method, params)
    [answer] = rig.north()
    assert answer["error"]["code"] == -32602
    assert rig.south() == []
