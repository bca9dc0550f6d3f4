"""Prompts, logins, sessions, options and questions of a v1 client before a v2 agent (B-21, B-22, B-28 to B-33)."""

from __future__ import annotations

from typing import Any

import pytest

from roost.acp.bridge.limits import BridgeLimits
from tests.acp.bridge.client_rig import CAPABILITIES, ClientRig, ready
from tests.acp.bridge.rig import CWD, Json, tags, text


def said(value: str, kind: str = "agent_message_chunk", id: str = "a1") -> Json:
    return {"sessionUpdate": kind, "messageId": id, "content": text(value)}


# ---- turns


def test_b_21_a_prompt_is_answered_when_the_agent_is_idle_again() -> None:
    """B-21"""
    rig = ready()
    rig.running()
    rig.update(said("a"))
    usage = {"totalTokens": 3, "inputTokens": 1, "outputTokens": 2}
    rig.state("idle", stopReason="max_tokens", usage=usage)
    update, answer = rig.north()
    assert update["params"]["update"] == said("a")
    assert (answer["id"], answer["result"]) == ("p-hello", {"stopReason": "max_tokens", "usage": usage})


def test_b_22_an_idle_that_came_too_early_ends_nothing() -> None:
    """B-22, PRM-10"""
    rig = ready()
    rig.state("idle")
    rig.prompt()
    rig.state("idle")
    rig.state("idle", stopReason="end_turn")
    assert rig.north() == []
    rig.state("running")
    rig.state("idle")
    assert rig.north()[0]["result"] == {"stopReason": "end_turn"}


def test_an_idle_with_a_reason_behind_the_users_message_ends_a_turn_that_never_ran() -> None:
    rig = ready()
    rig.prompt()
    rig.update({"sessionUpdate": "user_message", "messageId": "u", "content": [text("hello")]})
    rig.state("idle", stopReason="refusal")
    assert rig.north()[0]["result"] == {"stopReason": "refusal"}


def test_an_end_before_the_acceptance_waits_for_it() -> None:
    rig = ready()
    rig.ask("session/prompt", {"sessionId": "s1", "prompt": [text("x")]})
    call = rig.asked()["id"]
    rig.state("running")
    rig.state("idle", stopReason="end_turn")
    assert rig.north() == []
    rig.reply(call, {})
    assert rig.north()[0]["result"] == {"stopReason": "end_turn"}


def test_a_reason_v1_has_not_is_end_turn_and_told_in_meta() -> None:
    rig = ready()
    rig.running()
    rig.state("idle", stopReason="_paused", _meta={"x": 1})
    result = rig.north()[0]["result"]
    assert result == {"stopReason": "end_turn", "_meta": {"x": 1, "_bridge": {"stopReason": "_paused"}}}


def test_a_refused_prompt_is_an_error() -> None:
    """BR-7"""
    rig = ready()
    rig.ask("session/prompt", {"sessionId": "s1", "prompt": [text("x")]})
    rig.refuse(rig.asked()["id"], -32000)
    assert rig.north()[0]["error"]["code"] == -32000
    rig.running("next")


def test_prompts_wait_for_each_other_and_a_cancel_drops_those_that_wait() -> None:
    rig = ready()
    rig.running("one")
    rig.ask("session/prompt", {"sessionId": "s1", "prompt": [text("two")]}, id="two")
    rig.ask("session/prompt", {"sessionId": "s1", "prompt": [text("three")]}, id="three")
    assert rig.south() == []
    rig.state("idle", stopReason="end_turn")
    assert rig.north()[0]["id"] == "p-one"
    call = rig.asked()["id"]
    rig.tell("session/cancel", {"sessionId": "s1"})
    (answer,) = rig.north()
    assert (answer["id"], answer["result"]) == ("three", {"stopReason": "cancelled"})
    assert [message["method"] for message in rig.south()] == ["session/cancel"]
    rig.reply(call, {})
    rig.state("idle", stopReason="cancelled")
    assert rig.north()[0]["result"] == {"stopReason": "cancelled"}


def test_an_agent_that_does_not_end_a_cancelled_turn_is_not_waited_for() -> None:
    rig = ready()
    rig.running()
    rig.tell("session/cancel", {"sessionId": "s1"})
    rig.later(10)
    assert rig.north()[0]["result"] == {"stopReason": "cancelled"}


def test_prompts_beyond_the_queue_are_refused() -> None:
    rig = ready(limits=BridgeLimits(queued_prompts=0))
    rig.running()
    rig.ask("session/prompt", {"sessionId": "s1", "prompt": [text("x")]})
    assert rig.north()[0]["error"]["data"] == {"limit": "queued_prompts"}


def test_an_agent_that_dies_fails_every_prompt() -> None:
    rig = ready()
    rig.running("one")
    rig.ask("session/prompt", {"sessionId": "s1", "prompt": [text("two")]})
    rig.ask("session/list", {})
    rig.bridge.end_south("exit code 1", rig.now)
    assert [message["error"]["code"] for message in rig.north()] == [-32603] * 3
    assert not rig.open


def test_a_client_that_leaves_cancels_its_work() -> None:
    rig = ready()
    rig.running()
    rig.bridge.end_north("gone", rig.now)
    assert [message["method"] for message in rig.south()] == ["session/cancel"]


# ---- initialize, logins, sessions


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


# ---- options

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


# ---- questions

OPTIONS = [
    {"optionId": "y", "name": "Yes", "kind": "allow_once"},
    {"optionId": "z", "name": "Hm", "kind": "_maybe"},
]


def permission(rig: ClientRig, **params: Any) -> list[Json]:
    rig.request("q", "session/request_permission", {"sessionId": "s1", "title": "May I?", "options": OPTIONS, **params})
    return rig.north()


def test_b_28_a_permission_about_a_command_is_about_a_tool_call() -> None:
    """B-28"""
    rig = ready()
    update, request = permission(rig, subject={"type": "command", "command": "ls", "cwd": "/w"}, description="Why.")
    call = update["params"]["update"]
    assert (call["sessionUpdate"], call["kind"], call["title"]) == ("tool_call", "execute", "May I?")
    asked = request["params"]["toolCall"]
    assert asked["toolCallId"] == call["toolCallId"]
    assert asked["rawInput"] == {"command": "ls", "cwd": "/w"}
    assert asked["content"][-1]["content"] == text("Why.")
    rig.answer(request["id"], {"outcome": {"outcome": "selected", "optionId": "y"}})
    assert rig.south()[0]["result"] == {"outcome": {"outcome": "selected", "optionId": "y"}}


def test_b_29_an_option_of_an_unknown_kind_is_never_shown_as_allowing() -> None:
    """B-29"""
    rig = ready()
    request = permission(rig)[-1]
    assert [option["kind"] for option in request["params"]["options"]] == ["allow_once", "reject_once"]


def test_a_permission_about_a_known_tool_call_has_its_title() -> None:
    rig = ready()
    rig.update({"sessionUpdate": "tool_call_update", "toolCallId": "t", "title": "Write"})
    rig.north()
    (request,) = permission(rig, title="Write", subject={"type": "tool_call", "toolCall": {"toolCallId": "t"}})
    assert request["params"]["toolCall"] == {"toolCallId": "t", "title": "Write"}


@pytest.mark.parametrize(
    "result", [{"outcome": {"outcome": "selected", "optionId": "never"}}, {"outcome": {"outcome": "x"}}, None, {}]
)
def test_no_choice_of_an_offered_option_is_no_permission(result: Any) -> None:
    rig = ready()
    rig.answer(permission(rig)[-1]["id"], result)
    assert rig.south()[0]["result"] == {"outcome": {"outcome": "cancelled"}}


def test_a_cancel_answers_the_agent_once() -> None:
    rig = ready()
    rig.running()
    request = permission(rig)[-1]
    rig.tell("session/cancel", {"sessionId": "s1"})
    assert [message.get("result") for message in rig.south()] == [None, {"outcome": {"outcome": "cancelled"}}]
    rig.answer(request["id"], {"outcome": {"outcome": "cancelled"}})
    assert rig.south() == []


def test_b_33_a_form_about_a_prompt_has_the_clients_id() -> None:
    """B-33"""
    rig = ready()
    call = rig.running("one")
    form = {"mode": "form", "message": "?", "requestedSchema": {"type": "object", "properties": {}}}
    rig.request(1, "elicitation/create", {**form, "requestId": call})
    (request,) = rig.north()
    assert request["params"]["requestId"] == "p-one"
    rig.answer(request["id"], {"action": "decline"})
    assert rig.south()[0]["result"] == {"action": "decline"}
    rig.request(2, "elicitation/create", {**form, "requestId": 999})
    assert rig.south()[0]["error"]["code"] == -32602


def test_b_32_a_withdrawal_has_the_bridges_id() -> None:
    """B-32"""
    rig = ready()
    rig.ask("session/list", {}, id="mine")
    call = rig.asked()["id"]
    rig.tell("$/cancel_request", {"requestId": "mine"})
    assert rig.south()[0]["params"] == {"requestId": call}


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
