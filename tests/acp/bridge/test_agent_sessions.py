"""Sessions of a v1 agent as a v2 client sees them (B-02 to B-04)."""

from __future__ import annotations

from typing import Any

import pytest

from roost.acp.bridge.events import SessionClosed, SessionOpened
from roost.acp.bridge.limits import BridgeLimits
from tests.acp.bridge.rig import AUTH, CWD, MODES, AgentRig, chunk, opened, text

REPLAY = [
    chunk("question", "user_message_chunk"),
    chunk("thinking", "agent_thought_chunk"),
    chunk("ans"),
    chunk("wer"),
    {"sessionUpdate": "tool_call", "toolCallId": "t1", "title": "Read"},
    chunk("done"),
]


def test_a_new_session_has_the_servers_v1_requires() -> None:
    rig = AgentRig()
    rig.initialize({"protocolVersion": 1, "agentCapabilities": {"mcpCapabilities": {"http": True}}})
    servers = [{"type": "stdio", "name": "a", "command": "/bin/a"}, {"type": "http", "name": "b", "url": "http://h"}]
    rig.ask("session/new", {"cwd": CWD, "mcpServers": servers})
    assert rig.asked()["params"] == {
        "cwd": CWD,
        "mcpServers": [
            {"name": "a", "command": "/bin/a", "args": [], "env": []},
            {"type": "http", "name": "b", "url": "http://h", "headers": []},
        ],
    }
    rig.ask("session/new", {"cwd": CWD})
    assert rig.asked()["params"]["mcpServers"] == []


@pytest.mark.parametrize("kind", ["sse", "http", "acp", "_other"])
def test_a_server_the_agent_cannot_use_is_refused_by_name(kind: str) -> None:
    """SES-10"""
    rig = AgentRig()
    rig.initialize()
    server = {"type": kind, "name": "srv", "url": "http://h", "serverId": "i"}
    rig.ask("session/new", {"cwd": CWD, "mcpServers": [server]})
    error = rig.north()[0]["error"]
    assert error["code"] == -32602
    assert "srv" in error["message"]


def test_quirk_1_updates_before_the_answer_come_behind_it() -> None:
    """SES-4"""
    rig = AgentRig()
    rig.initialize()
    rig.ask("session/new", {"cwd": CWD})
    call = rig.asked()["id"]
    rig.update("s9", {"sessionUpdate": "available_commands_update", "availableCommands": []})
    rig.request(3, "_vendor/ask", {"sessionId": "s9"})
    rig.update("nobody", chunk("x"))
    assert rig.north() == []
    rig.reply(call, {"sessionId": "s9"})
    answer, update, request = rig.north()
    assert answer["result"]["sessionId"] == "s9"
    assert update["params"]["sessionId"] == "s9"
    assert request["method"] == "_vendor/ask"
    assert rig.bridge.losses.counts["early_update"] == 1


def test_an_answer_that_names_no_session_is_an_error() -> None:
    rig = AgentRig()
    rig.initialize()
    rig.ask("session/new", {"cwd": CWD})
    rig.reply(rig.asked()["id"], {})
    assert rig.north()[0]["error"]["code"] == -32603
    assert rig.bridge.opening == 0


def test_the_driver_is_told_where_a_session_may_be_served() -> None:
    rig = opened({"sessionCapabilities": {"additionalDirectories": {}}})
    rig.ask("session/new", {"cwd": "/a", "additionalDirectories": ["/b"]})
    rig.reply(rig.asked()["id"], {"sessionId": "s2"})
    rig.ask("session/close", {"sessionId": "s2"})
    rig.north()
    assert rig.events[-3:-1] == [SessionOpened("s2", ("/a", "/b")), SessionClosed("s2")]


# ---- resuming


def load(rig: AgentRig, **params: Any) -> int:
    rig.ask("session/resume", {"sessionId": "old", "cwd": CWD, **params})
    request = rig.asked()
    assert request["method"] == "session/load"
    assert "replayFrom" not in request["params"]
    return request["id"]


def test_b_02_resuming_by_load_swallows_the_replay() -> None:
    """B-02"""
    rig = opened({"loadSession": True})
    call = load(rig)
    for update in REPLAY:
        rig.update("old", update)
    commands = {"sessionUpdate": "available_commands_update", "availableCommands": []}
    rig.update("old", commands)
    assert rig.north() == []
    rig.reply(call, None)
    answer, kept = rig.north()
    assert answer["result"] == {}
    assert kept["params"]["update"] == commands  # that is no history
    rig.update("old", chunk("new"))
    assert rig.updates()[0]["messageId"] == "m5"  # behind those it had


@pytest.mark.parametrize("replay", ["start", 5, {"type": 5}, []])
def test_a_malformed_wish_for_a_replay_is_none(replay: Any) -> None:
    """SES-20"""
    rig = opened({"loadSession": True})
    call = load(rig, replayFrom=replay)
    rig.update("old", chunk("past"))
    rig.reply(call, None)
    [answer] = rig.north()
    assert answer["result"] == {}


def test_b_03_a_replay_has_the_ids_of_before() -> None:
    """B-03, SES-17, SES-18"""
    live = opened({"loadSession": True})
    call = live.prompt("question")
    for update in REPLAY[1:]:
        live.update("s1", update)
    live.reply(call, {"stopReason": "end_turn"})
    first = [update.get("messageId") for update in live.updates() if "messageId" in update]
    replays = []
    for rig in (live, opened({"loadSession": True})):
        rig.later(1)
        rig.north()
        rig.ask("session/resume", {"sessionId": "s1", "cwd": CWD, "replayFrom": {"type": "start"}})
        call = rig.asked()["id"]
        for update in REPLAY:
            rig.update("s1", update)
        rig.reply(call, {})
        *updates, answer = rig.north()
        assert answer["result"] == {}
        replays.append([message["params"]["update"].get("messageId") for message in updates])
    assert replays[0] == replays[1]
    assert [id for id in replays[0] if id] == first


def test_an_agent_that_resumes_is_asked_to() -> None:
    rig = opened({"loadSession": True, "sessionCapabilities": {"resume": {}}}, nonce="n1")
    rig.ask("session/resume", {"sessionId": "old", "cwd": CWD})
    request = rig.asked()
    assert request["method"] == "session/resume"
    rig.reply(request["id"], {"modes": MODES})
    assert rig.north()[0]["result"]["configOptions"][0]["currentValue"] == "ask"
    rig.update("old", chunk("x"))
    assert rig.updates()[0]["messageId"] == "mn1.1"  # its earlier ids are not known here


CANNOT = {"loadSession": True, "sessionCapabilities": {"resume": {}}}


def test_an_agent_that_cannot_resume_whatever_it_says_loads_the_session() -> None:
    """B-02: Qwen Code 0.15 is one. It is asked once; the next session is loaded at once."""
    rig = opened(CANNOT)
    rig.ask("session/resume", {"sessionId": "old", "cwd": CWD})
    refused = rig.asked()
    rig.refuse(refused["id"], -32601, "Method not found")
    loaded = rig.asked()
    assert (loaded["method"], loaded["params"]) == ("session/load", refused["params"])
    rig.update("old", chunk("past"))
    rig.reply(loaded["id"], {})
    [answer] = rig.north()
    assert answer["result"] == {}
    assert rig.bridge.losses.counts["emulated_resume"] == 1
    assert rig.bridge.sessions["old"].roots == (CWD,)
    rig.ask("session/resume", {"sessionId": "older", "cwd": CWD})
    assert rig.asked()["method"] == "session/load"


def test_a_session_that_is_open_is_there_for_an_agent_that_cannot_resume() -> None:
    rig = opened(CANNOT)
    rig.ask("session/resume", {"sessionId": "s1", "cwd": CWD})
    rig.refuse(rig.asked()["id"], -32601)
    [answer] = rig.north()
    assert answer["result"] == {}
    assert rig.south() == []


def test_an_agent_that_can_do_neither_knows_no_such_session() -> None:
    rig = opened({"sessionCapabilities": {"resume": {}}})
    rig.ask("session/resume", {"sessionId": "old", "cwd": CWD})
    rig.refuse(rig.asked()["id"], -32601)
    [answer] = rig.north()
    assert answer["error"]["code"] == -32002
    assert "old" not in rig.bridge.sessions


@pytest.mark.parametrize("code", [-32603, -32002, -32000])
def test_another_refusal_of_a_resume_is_the_answer(code: int) -> None:
    rig = opened(CANNOT)
    rig.ask("session/resume", {"sessionId": "old", "cwd": CWD})
    rig.refuse(rig.asked()["id"], code)
    [answer] = rig.north()
    assert answer["error"]["code"] == code
    assert rig.south() == []


def test_a_resume_that_is_withdrawn_while_the_session_is_loaded_instead_is_withdrawn_there() -> None:
    """B-32"""
    rig = opened(CANNOT)
    request = rig.ask("session/resume", {"sessionId": "old", "cwd": CWD})
    rig.refuse(rig.asked()["id"], -32601)
    loaded = rig.asked()
    rig.north_sends({"method": "$/cancel_request", "params": {"requestId": request}})
    [cancel] = rig.south()
    assert cancel["params"] == {"requestId": loaded["id"]}


def test_an_agent_that_replays_at_a_resume_is_not_shown_doing_so() -> None:
    """SES-17: known of an agent in the field. What it says of the present is told behind the answer."""
    rig = opened({"sessionCapabilities": {"resume": {}}}, nonce="n1")
    rig.ask("session/resume", {"sessionId": "old", "cwd": CWD})
    call = rig.asked()["id"]
    for update in REPLAY:
        rig.update("old", update)
    commands = {"sessionUpdate": "available_commands_update", "availableCommands": []}
    rig.update("old", commands)
    assert rig.north() == []
    rig.reply(call, {})
    answer, kept = rig.north()
    assert answer["result"] == {}
    assert kept["params"]["update"] == commands
    assert rig.bridge.losses.counts["swallowed_replay"] == len(REPLAY)
    rig.update("old", chunk("x"))
    assert rig.updates()[0]["messageId"] == "mn1.5"  # behind those of the history


def test_a_session_that_is_open_is_heard_while_it_is_resumed_again() -> None:
    rig = opened({"sessionCapabilities": {"resume": {}}})
    rig.ask("session/resume", {"sessionId": "s1", "cwd": CWD})
    call = rig.asked()["id"]
    rig.update("s1", chunk("work that goes on"))
    assert rig.updates()[0]["content"] == text("work that goes on")
    rig.reply(call, {})
    assert rig.north()[0]["result"] == {}


def test_other_places_to_replay_from_are_refused() -> None:
    """SES-20"""
    rig = opened({"loadSession": True})
    rig.ask("session/resume", {"sessionId": "old", "cwd": CWD, "replayFrom": {"type": "_cursor"}})
    assert rig.north()[0]["error"]["code"] == -32602


def test_b_04_list_resume_and_close_are_emulated_where_the_agent_lacks_them() -> None:
    """B-04"""
    rig = opened()
    rig.update("s1", {"sessionUpdate": "session_info_update", "title": "Work"})
    rig.north()
    rig.ask("session/list", {"cwd": CWD})
    assert rig.north()[0]["result"]["sessions"] == [{"sessionId": "s1", "cwd": CWD, "title": "Work"}]
    rig.running()
    rig.ask("session/close", {"sessionId": "s1"})
    assert [message["method"] for message in rig.south()] == ["session/cancel"]
    *updates, answer = rig.north()
    assert updates[-1]["params"]["update"]["stopReason"] == "cancelled"
    assert answer["result"] == {}
    rig.ask("session/prompt", {"sessionId": "s1", "prompt": [text("x")]})
    assert rig.north()[0]["error"]["code"] == -32002
    rig.ask("session/resume", {"sessionId": "s1", "cwd": CWD})
    assert rig.north()[0]["result"] == {}
    assert rig.prompt("again")
    assert {"emulated_list", "emulated_close", "emulated_resume"} <= rig.bridge.losses.counts.keys()


def test_the_emulated_list_is_filtered_by_directory() -> None:
    rig = opened()
    rig.ask("session/list", {"cwd": "/elsewhere"})
    assert rig.north()[0]["result"] == {"sessions": []}
    rig.ask("session/list", {"cursor": "c"})
    assert rig.north()[0]["error"]["code"] == -32602


def test_what_the_agent_has_is_asked_of_it() -> None:
    rig = opened({"sessionCapabilities": {"list": {}, "close": {}, "delete": {}, "fork": {}}})
    rig.ask("session/list", {})
    request = rig.asked()
    assert request["method"] == "session/list"
    rig.reply(request["id"], {"sessions": [{"sessionId": "a", "cwd": "/", "title": None, "updatedAt": 5}, "junk"]})
    assert rig.north()[0]["result"]["sessions"] == [{"sessionId": "a", "cwd": "/"}]
    for method in ("session/close", "session/delete"):
        rig.ask(method, {"sessionId": "s1"})
        request = rig.asked()
        assert request["method"] == method
        rig.reply(request["id"], None)
        assert rig.north()[-1]["result"] == {}
    rig.ask("session/fork", {"sessionId": "s1", "cwd": CWD})
    request = rig.asked()
    rig.update("s2", chunk("of old", "user_message_chunk"))
    rig.reply(request["id"], {"sessionId": "s2"})
    answer, update = rig.north()
    assert answer["result"] == {"sessionId": "s2"}
    assert update["params"]["sessionId"] == "s2"


@pytest.mark.parametrize("method", ["session/close", "session/delete"])
def test_a_session_the_agent_will_not_let_go_goes_on(method: str) -> None:
    rig = opened({"sessionCapabilities": {"close": {}, "delete": {}}})
    rig.ask(method, {"sessionId": "s1"})
    rig.refuse(rig.asked()["id"], -32603, "no")
    assert rig.north()[-1]["error"]["message"] == "no"
    rig.prompt("still there")


def test_what_was_not_offered_is_not_there() -> None:
    """ERR-4"""
    rig = opened()
    for method in ("session/delete", "session/fork", "providers/list", "nes/start", "session/set_mode"):
        rig.ask(method, {"sessionId": "s1", "cwd": CWD})
        assert rig.north()[0]["error"]["code"] == -32601


def test_the_note_says_what_the_bridge_stands_in_for() -> None:
    """BR-4"""
    note = AgentRig().initialize({"protocolVersion": 1, "authMethods": AUTH})["_meta"]["_bridge"]
    assert note == {"protocolVersion": 1, "emulated": ["list", "resume", "close", "replay", "logout"]}
    whole = {"loadSession": True, "sessionCapabilities": {"list": {}, "resume": {}, "close": {}}}
    result = AgentRig().initialize({"protocolVersion": 1, "agentCapabilities": whole})
    assert result["_meta"]["_bridge"]["emulated"] == []


@pytest.mark.parametrize("limits", [BridgeLimits(held_messages=1), BridgeLimits(held_bytes=250)])
def test_what_is_held_back_is_bounded(limits: BridgeLimits) -> None:
    rig = AgentRig(limits=limits)
    rig.initialize()
    rig.ask("session/new", {"cwd": CWD})
    call = rig.asked()["id"]
    rig.update("s9", chunk("one", messageId="x"))
    rig.update("s9", chunk("two", messageId="x"))
    rig.request(4, "_x/ask", {"sessionId": "s9", "padding": "x" * 100})
    assert rig.south()[0]["error"]["code"] == -32005
    rig.reply(call, {"sessionId": "s9"})
    assert [update["content"]["text"] for update in rig.updates()] == ["one"]
    assert rig.bridge.losses.counts["early_update"] == 1


def test_sessions_beyond_the_bound_are_refused() -> None:
    rig = opened(limits=BridgeLimits(sessions=1))
    rig.ask("session/new", {"cwd": CWD})
    rig.reply(rig.asked()["id"], {"sessionId": "s2"})
    assert rig.north()[0]["error"]["data"] == {"limit": "sessions"}


def test_what_a_swallowed_replay_says_of_the_present_adds_up() -> None:
    rig = opened({"loadSession": True})
    call = load(rig)
    rig.update("old", {"sessionUpdate": "session_info_update", "title": "T"})
    rig.update("old", {"sessionUpdate": "session_info_update", "updatedAt": "2026-01-01T00:00:00Z"})
    rig.reply(call, {})
    _, kept = rig.north()
    assert kept["params"]["update"]["title"] == "T"
    assert kept["params"]["update"]["updatedAt"]
