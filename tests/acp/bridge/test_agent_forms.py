"""What v1 agents say in other forms than most, and what a v2 client gets of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from roost.acp.bridge.events import FileWrite
from roost.acp.bridge.payload import without_note
from roost.acp.bridge.v1_agent import V1AgentBridge
from roost.rpc.messages import INVALID_PARAMS, PARSE_ERROR
from tests.acp.bridge.bridge_rig import Json
from tests.acp.bridge.client_rig import ready
from tests.acp.bridge.relay_rig import CLOCK, RelayRig, connected
from tests.acp.bridge.rig import CWD, INFO, MODES, SERVICES, AgentRig, chunk, opened, tags, text
from tests.acp.bridge.test_service_wishes import NOTE, choose, permitted, question, rig, verdict, wished


def initialized(**capabilities: Any) -> Json:
    return AgentRig().initialize({"protocolVersion": 1, "agentCapabilities": capabilities})


def test_what_an_agent_says_of_itself_is_passed_where_v2_has_it() -> None:
    found = initialized(positionEncoding="utf-8", auth={"_meta": {"a": 1}}, nes={}, providers={})
    assert found["capabilities"]["positionEncoding"] == "utf-8"
    assert found["capabilities"]["auth"] == {"_meta": {"a": 1}}
    assert {"nes", "providers"} <= found["capabilities"].keys()
    plain = initialized(positionEncoding=8)
    assert not {"positionEncoding", "auth"} & plain["capabilities"].keys()


def test_a_client_without_a_name_sends_none() -> None:
    bridge = V1AgentBridge()
    bridge.from_north(b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":2}}', 0.0)
    assert bridge.south() == []  # no client of v2: it is refused
    r = AgentRig()
    r.ask("initialize", {"protocolVersion": 2, "info": INFO, "capabilities": {}})
    assert r.asked()["params"]["clientInfo"] == INFO


@pytest.mark.parametrize(
    ("env", "told"),
    [
        ({"B": "2", "A": "1"}, [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]),
        ([{"name": "A", "value": "1"}], None),
    ],
)
def test_the_variables_of_a_login_may_be_an_object_or_a_list(env: Any, told: Any) -> None:
    method = {"id": "t", "name": "T", "type": "terminal", "args": [], "env": env}
    r = AgentRig()
    result = r.initialize({"protocolVersion": 1, "authMethods": [method]}, {"auth": {"terminal": {}}})
    assert result["authMethods"][0]["env"] == (env if told is None else told)


@pytest.mark.parametrize(
    ("meta", "left"),
    [
        ({"_bridge": {}}, {}),
        ({"_bridge": {}, "a": 1}, {"_meta": {"a": 1}}),
        ({"a": 1}, {"_meta": {"a": 1}}),
        ({}, {"_meta": {}}),
    ],
)
def test_what_a_bridge_notes_is_taken_away_and_nothing_else(meta: Json, left: Json) -> None:
    assert without_note({"x": 1, "_meta": meta}) == {"x": 1, **left}


# ---- options


@pytest.mark.parametrize(
    "modes",
    [
        {"currentModeId": 5, "availableModes": MODES["availableModes"]},
        {"currentModeId": "ask", "availableModes": []},
        {"currentModeId": "ask"},
    ],
)
def test_modes_without_a_choice_are_no_option(modes: Json) -> None:
    r = AgentRig()
    r.initialize()
    assert r.new(modes=modes).get("configOptions", []) == []


def test_what_is_said_beside_modes_is_counted_as_lost() -> None:
    r = AgentRig()
    r.initialize()
    r.new(modes={**MODES, "_meta": {"a": 1}})
    assert r.bridge.losses.counts["mode_meta"] >= 1


def test_an_option_of_a_kind_nobody_knows_is_kept_whole() -> None:
    r = AgentRig()
    r.initialize()
    option = {"id": "o", "name": "O", "type": "_slider", "currentValue": 5, "most": 9}
    (told,) = r.new(configOptions=[option])["configOptions"]
    assert told == {"configId": "o", "name": "O", "type": "_slider", "currentValue": 5, "most": 9}


@pytest.mark.parametrize(
    ("config_id", "method", "params"),
    [("mode", "session/set_mode", {"modeId": "code"}), ("model", "session/set_model", {"modelId": "code"})],
)
def test_of_modes_and_models_the_one_that_is_meant_is_set(config_id: str, method: str, params: Json) -> None:
    r = AgentRig()
    r.initialize()
    models = {"currentModelId": "ask", "availableModels": [{"modelId": m["id"], **m} for m in MODES["availableModes"]]}
    r.new(modes=MODES, models=models)
    r.ask("session/set_config_option", {"sessionId": "s1", "configId": config_id, "type": "id", "value": "code"})
    request = r.asked()
    assert (request["method"], request["params"]) == (method, {"sessionId": "s1", **params})
    r.reply(request["id"], {})
    options = r.north()[0]["result"]["configOptions"]
    assert {option["configId"]: option["currentValue"] for option in options} == {
        name: "code" if name == config_id else "ask" for name in ("mode", "model")
    }


@pytest.mark.parametrize("mode", [5, None, "elsewhere"])
def test_a_mode_that_is_none_of_the_options_changes_no_option(mode: Any) -> None:
    r = AgentRig()
    r.initialize()
    choices = [{"value": "ask", "name": "Ask"}]
    option = {"id": "m", "name": "M", "category": "mode", "type": "select", "currentValue": "ask", "options": choices}
    r.new(configOptions=[option])
    r.update("s1", {"sessionUpdate": "current_mode_update", "currentModeId": mode})
    assert r.updates() == []
    assert r.bridge.sessions["s1"].config.full()[0]["currentValue"] == "ask"


# ---- deleting


@pytest.mark.parametrize("session_id", ["s1", "never seen"])
def test_a_session_is_deleted_by_the_agent_known_here_or_not(session_id: str) -> None:
    r = opened({"sessionCapabilities": {"delete": {}}})
    r.ask("session/delete", {"sessionId": session_id})
    request = r.asked()
    assert request["params"] == {"sessionId": session_id}
    r.reply(request["id"], {})
    assert r.north()[0]["result"] == {}
    assert ("s1" in r.bridge.sessions) is (session_id != "s1")


# ---- updates


def test_a_diff_without_a_path_and_a_location_without_one_pass_as_they_are() -> None:
    r = opened()
    content = [{"type": "diff", "path": "rel", "oldText": None, "newText": "x"}]
    where = [{"path": "rel", "line": 3}]
    r.update(
        "s1", {"sessionUpdate": "tool_call", "toolCallId": "t", "title": "T", "content": content, "locations": where}
    )
    (told,) = r.updates()
    assert told["locations"] == [{"path": f"{CWD}/rel", "line": 3}]
    assert told["content"][0]["changes"][0]["path"] == f"{CWD}/rel"
    r.update("s1", {"sessionUpdate": "tool_call_update", "toolCallId": "t", "content": [{"type": "diff"}]})
    assert r.updates()[0]["content"] == []
    assert r.bridge.losses.counts["malformed_field"] >= 1


@pytest.mark.parametrize(("given", "told"), [({"hint": "h"}, {"type": "text", "hint": "h"}), (None, None)])
def test_the_input_of_a_command_has_a_type(given: Any, told: Any) -> None:
    r = opened()
    command = {"name": "c", "description": "d", "input": given}
    r.update("s1", {"sessionUpdate": "available_commands_update", "availableCommands": [command]})
    assert r.updates()[0]["availableCommands"][0].get("input") == told


@pytest.mark.parametrize("kind", ["chunk", "tool"])
def test_nothing_is_told_of_a_closed_session(kind: str) -> None:
    r = opened()
    r.ask("session/close", {"sessionId": "s1"})
    r.north()
    r.update(
        "s1", chunk("late") if kind == "chunk" else {"sessionUpdate": "tool_call", "toolCallId": "t", "title": "T"}
    )
    r.bridge.terminal_created("s1", "x", "ls", CWD)
    r.bridge.terminal_wrote("none", "x", b"1")
    assert r.north() == []
    assert r.bridge.losses.counts["early_update"] == 1


def test_a_prompt_that_is_nested_too_deeply_is_refused_once_or_passed() -> None:
    """Just below what can be read there is no room for what the bridge adds."""
    found = set()
    for depth in range(900, 1100, 2):
        r = opened()
        meta = b'{"x":' * depth + b"1" + b"}" * depth
        params = b'{"sessionId":"s1","prompt":[],"_meta":%b}' % meta
        r.bridge.from_north(b'{"jsonrpc":"2.0","id":"d","method":"session/prompt","params":%b}' % params, r.now)
        answers = [json.loads(message) for message in r.bridge.north()]
        assert len(answers) + len(r.bridge.south()) == 1
        found |= {answer["error"]["code"] for answer in answers}
    assert found <= {INVALID_PARAMS, PARSE_ERROR}


@pytest.mark.parametrize(
    ("code", "signal", "status"), [(0, None, {"exitCode": 0}), (None, "SIGKILL", {"signal": "SIGKILL"}), (-1, None, {})]
)
def test_how_a_terminal_ended_is_told_as_far_as_it_is_known(code: int | None, signal: str | None, status: Json) -> None:
    r = opened()
    r.bridge.terminal_exited("s1", "x", code, signal)
    assert r.updates() == [{"sessionUpdate": "terminal_update", "terminalId": "x", "exitStatus": status}]


def test_a_permission_outside_of_a_turn_allows_nothing_later() -> None:
    r = opened(services=SERVICES)
    permitted(r, {"toolCallId": "t", "title": "T", "kind": "edit", "locations": [{"path": NOTE}]})
    r.running()
    r.events.clear()
    wished(r)
    question(r)
    assert verdict(r) is None


def test_a_file_may_be_called_by_its_links_where_there_are_none() -> None:
    for plain, allowed in ((True, True), (False, None)):
        r = rig()
        permitted(r, {"toolCallId": "t", "title": "T", "kind": "edit", "locations": [{"path": NOTE}]})
        wished(r, FileWrite("/real/note.md", NOTE, plain, False, "old\n"))
        assert verdict(r) is allowed


def test_always_for_one_session_is_forgotten_with_it_and_not_with_another() -> None:
    r = opened(services=SERVICES)
    r.new("s2")
    r.running()
    r.events.clear()
    wished(r)
    choose(r, question(r), "allow_always")
    assert verdict(r) is True
    r.ask("session/close", {"sessionId": "s2"})
    r.events.clear()
    r.north()
    r.events.clear()
    wished(r, id="again")
    assert verdict(r) is True


# ---- beside relays of MCP servers


def test_an_agent_with_relays_is_asked_and_asks_as_ever() -> None:
    r = connected()
    r.ask("session/new", {"cwd": CWD, "mcpServers": []})
    assert r.asked()["params"]["mcpServers"] == []
    options = [{"optionId": "y", "name": "Yes", "kind": "allow_once"}]
    r.request(1, "session/request_permission", {"sessionId": "s1", "toolCall": {}, "options": options})
    asked = r.north()[-1]
    r.answer(asked["id"], {"outcome": {"outcome": "selected", "optionId": "y"}})
    (answer,) = r.south()
    assert answer["result"]["outcome"]["optionId"] == "y"
    r.ask("session/prompt", {"sessionId": "s1", "prompt": [text("x")]}, id="one")
    r.ask("session/prompt", {"sessionId": "s1", "prompt": [text("y")]}, id="two")
    r.tell("$/cancel_request", {"requestId": "two"})
    assert r.north()[-1]["id"] == "two"


def test_a_program_that_nobody_waits_for_any_more_is_no_matter() -> None:
    r = RelayRig()
    r.ask("session/new", {"cwd": CWD, "mcpServers": [CLOCK, {**CLOCK, "name": "other"}]})
    r.offer()
    r.mcp.refused(1, "too late")
    r.mcp.offered(99, "/bin/x", [], {})
    r.mcp.closed(99)
    r.mcp.said(99, b"{}")
    assert r.north() == []
    (request,) = [message for message in r.south() if message["method"] == "session/new"]
    assert len(request["params"]["mcpServers"]) == 2


def test_sessions_of_one_agent_have_servers_of_their_own() -> None:
    r = RelayRig()
    assert r.open_with(CLOCK, session_id="s1") == [1]
    assert r.open_with({**CLOCK, "serverId": "srv-2"}, session_id="s2") == [2]
    for channel, relay, server in ((1, 1, "srv-1"), (2, 2, "srv-2")):
        r.mcp.connected(channel, relay)
        (connect,) = r.north()
        assert connect["params"] == {"serverId": server}
        r.answer(connect["id"], {"connectionId": f"c{channel}"})
    r.ask("session/close", {"sessionId": "s1"})
    r.gather()
    assert list(r.mcp.open) == ["c2"]


def test_a_session_answered_without_an_id_keeps_no_program() -> None:
    r = RelayRig()
    r.ask("session/new", {"cwd": CWD, "mcpServers": [CLOCK]})
    r.offer()
    r.reply(r.asked()["id"], {"sessionId": 5})
    assert [type(event).__name__ for event in r.gather()] == ["McpRelayEnded"]


# ---- v1 clients that know plans


def test_a_client_that_knows_plans_gets_them_as_they_are() -> None:
    r = ready({"plan": {}})
    for kind, passed in (("items", True), ("file", True), ("_vendor", False)):
        plan = {"type": kind, "planId": "p", "entries": [], "uri": "file:///p"}
        update = {"sessionUpdate": "plan_update", "plan": plan}
        assert r.bridge.sessions["s1"].shaped(update)[0]["sessionUpdate"] == ("plan_update" if passed else "plan")
    gone = {"sessionUpdate": "plan_removed", "planId": "p"}
    assert r.bridge.sessions["s1"].shaped(gone) == [gone]


def test_of_a_message_told_whole_only_what_is_new_is_sent_whatever_it_is_made_of() -> None:
    """B-23"""
    r = ready()
    images = [{"type": "image", "data": data, "mimeType": "image/png"} for data in ("", "aa")]
    r.update({"sessionUpdate": "agent_message_chunk", "messageId": "m", "content": images[0]})
    r.north()
    for content, told in (
        ([images[0], text("x")], [text("x")]),
        ([images[0], text("x"), images[1]], [images[1]]),
        ([images[1], text("x"), images[0]], []),
    ):
        r.update({"sessionUpdate": "agent_message", "messageId": "m", "content": content})
        assert [update["content"] for update in r.updates()] == told


def test_the_prompts_of_a_replay_are_shown() -> None:
    r = ready()
    r.ask("session/load", {"sessionId": "old", "cwd": CWD, "mcpServers": []})
    request = r.asked()
    r.update({"sessionUpdate": "user_message", "messageId": "u", "content": [text("hello")]}, "old")
    assert [update["content"] for update in r.updates()] == [text("hello")]
    r.reply(request["id"], {})
    assert tags(r.updates()) == []


# ---- one session and another


@pytest.mark.parametrize("end", ["cancel", "close"])
def test_the_end_of_ones_work_leaves_the_questions_of_another_session(end: str) -> None:
    r = opened()
    r.new("s2")
    options = [{"optionId": "y", "name": "Yes", "kind": "allow_once"}]
    for id, session_id in ((1, "s1"), (2, "s2")):
        r.running(session_id=session_id)
        r.request(id, "session/request_permission", {"sessionId": session_id, "toolCall": {}, "options": options})
        asked = r.north()[-1]
    r.south()
    if end == "cancel":
        r.tell("session/cancel", {"sessionId": "s1"})
    else:
        r.ask("session/close", {"sessionId": "s1"})
    assert [message["id"] for message in r.south() if "result" in message] == [1]
    r.north()
    r.answer(asked["id"], {"outcome": {"outcome": "selected", "optionId": "y"}})
    (answer,) = [message for message in r.south() if "result" in message]
    assert (answer["id"], answer["result"]["outcome"]["optionId"]) == (2, "y")


def test_what_is_told_of_a_session_nobody_opened_is_dropped_and_counted() -> None:
    r = ready()
    r.update({"sessionUpdate": "agent_message_chunk", "messageId": "m", "content": text("x"), "x": 1}, "other")
    assert r.north() == []
    assert r.bridge.losses.counts["early_update"] == 1
