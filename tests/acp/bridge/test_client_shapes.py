"""What a v2 agent may say and a v1 client has another form for, or none: each form, and what is counted as lost."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest

from roost.acp.bridge.limits import BridgeLimits
from roost.rpc.messages import INVALID_PARAMS
from tests.acp.bridge.bridge_rig import Json
from tests.acp.bridge.client_rig import CAPABILITIES, ClientRig, ready
from tests.acp.bridge.rig import CWD, text


def shown(rig: ClientRig, update: Json) -> list[Json]:
    rig.update(update)
    return rig.updates()


def lost(rig: ClientRig, name: str) -> int:
    return rig.bridge.losses.counts.get(name, 0)


# ---- plans


@pytest.mark.parametrize(
    ("plan", "content", "losses"),
    [
        ({"type": "file", "uri": "file:///plan.md"}, "file:///plan.md", 1),
        ({"type": "markdown", "content": "# Plan"}, "# Plan", 1),
        ({"type": "_vendor"}, "[plan of type _vendor]", 1),
        ({"type": "items", "entries": [{"content": "a", "priority": "high", "status": "pending"}]}, "a", 0),
    ],
)
def test_a_plan_is_a_list_of_entries(plan: Json, content: str, losses: int) -> None:
    rig = ready()
    (update,) = shown(rig, {"sessionUpdate": "plan_update", "plan": {"planId": "p", **plan}})
    assert (update["sessionUpdate"], [entry["content"] for entry in update["entries"]]) == ("plan", [content])
    assert lost(rig, "plan_form") == losses


@pytest.mark.parametrize(
    ("status", "told", "losses"),
    [("pending", "pending", 0), ("completed", "completed", 0), ("cancelled", "completed", 1), ("_later", "pending", 1)],
)
def test_the_status_of_an_entry_is_one_v1_has(status: str, told: str, losses: int) -> None:
    """B-26"""
    rig = ready()
    entry = {"content": "a", "priority": "_none", "status": status}
    plan = {"type": "items", "planId": "p", "entries": [entry]}
    (update,) = shown(rig, {"sessionUpdate": "plan_update", "plan": plan})
    assert update["entries"] == [{"content": "a", "priority": "medium", "status": told}]
    assert lost(rig, "plan_status") == losses


def test_of_several_plans_the_latest_is_shown_and_only_that_one_can_be_removed() -> None:
    rig = ready()
    for plan_id in ("p", "q", "q"):
        plan = {"type": "items", "planId": plan_id, "entries": []}
        assert len(shown(rig, {"sessionUpdate": "plan_update", "plan": plan})) == 1
    assert lost(rig, "other_plan") == 1
    assert shown(rig, {"sessionUpdate": "plan_removed", "planId": "p"}) == []
    assert shown(rig, {"sessionUpdate": "plan_removed", "planId": "q"}) == [{"sessionUpdate": "plan", "entries": []}]
    assert shown(rig, {"sessionUpdate": "plan_removed", "planId": "q"}) == []


# ---- options


def mode(value: str, **more: Any) -> Json:
    options = [{"value": name, "name": name.upper()} for name in ("a", "b")]
    return {
        "configId": "m",
        "name": "M",
        "category": "mode",
        "type": "select",
        "currentValue": value,
        "options": options,
    } | more


def test_a_mode_is_told_as_such_only_when_it_is_another() -> None:
    rig = ClientRig()
    rig.initialize()
    rig.new(configOptions=[mode("a")])
    for value, kinds in (
        ("a", ["config_option_update"]),
        ("b", ["current_mode_update", "config_option_update"]),
        ("b", ["config_option_update"]),
    ):
        told = shown(rig, {"sessionUpdate": "config_option_update", "configOptions": [mode(value)]})
        assert [update["sessionUpdate"] for update in told] == kinds


def test_the_first_select_of_a_category_is_the_mode_and_others_are_options_only() -> None:
    rig = ClientRig()
    rig.initialize()
    switch = {"configId": "s", "name": "S", "category": "mode", "type": "boolean", "currentValue": True}
    result = rig.new(
        configOptions=[switch, mode("b"), mode("a", configId="n"), {**switch, "configId": "o", "category": "x"}]
    )
    assert result["modes"]["currentModeId"] == "b"
    assert lost(rig, "second_mode") == 1
    assert [option["id"] for option in result["configOptions"]] == ["s", "m", "n", "o"]
    assert lost(rig, "boolean_option") == 2
    rig.ask("session/set_mode", {"sessionId": "s1", "modeId": "a"})
    assert rig.asked()["params"]["configId"] == "m"


@pytest.mark.parametrize(
    ("value", "kind", "sent"),
    [("true", "boolean", True), ("false", "boolean", False), (True, "boolean", True), ("other", "id", "other")],
)
def test_a_switch_that_was_shown_as_a_choice_is_set_as_a_switch(value: Any, kind: str, sent: Any) -> None:
    rig = ClientRig()
    rig.initialize()
    switch = {"configId": "s", "name": "S", "type": "boolean", "currentValue": False}
    result = rig.new(configOptions=[switch])
    assert result["configOptions"][0]["currentValue"] == "false"
    rig.ask("session/set_config_option", {"sessionId": "s1", "configId": "s", "value": value})
    assert rig.asked()["params"] == {"sessionId": "s1", "configId": "s", "type": kind, "value": sent}


# ---- commands, messages


@pytest.mark.parametrize(
    ("given", "told", "losses"),
    [
        ({"type": "text", "hint": "what"}, {"hint": "what"}, 0),
        ({"type": "_form", "hint": "what"}, None, 1),
        (None, None, 0),
    ],
)
def test_the_input_of_a_command_is_text_or_none(given: Any, told: Any, losses: int) -> None:
    rig = ready()
    command = {"name": "c", "description": "d", **({} if given is None else {"input": given})}
    (update,) = shown(rig, {"sessionUpdate": "available_commands_update", "availableCommands": [command]})
    assert update["availableCommands"][0].get("input") == told
    assert lost(rig, "command_input") == losses


def test_a_message_told_whole_is_completed_and_never_rewritten() -> None:
    """B-23"""
    rig = ready()
    rig.update({"sessionUpdate": "agent_message_chunk", "messageId": "m", "content": text("abc")})
    rig.north()
    whole = {"sessionUpdate": "agent_message", "messageId": "m"}
    assert [u["content"] for u in shown(rig, {**whole, "content": [text("abcde"), text("f")]})] == [
        text("de"),
        text("f"),
    ]
    assert shown(rig, {**whole, "content": [text("abcdef")]}) == []
    assert lost(rig, "message_rewrite") == 0
    assert shown(rig, {**whole, "content": [text("xbcdefgh")]}) == []  # as long as what was sent, and other
    assert lost(rig, "message_rewrite") == 1
    assert shown(rig, {**whole, "content": []}) == []
    assert lost(rig, "message_rewrite") == 2
    assert shown(rig, {**whole, "_meta": {"a": 1}}) == []
    assert lost(rig, "message_meta") == 1


def test_only_so_many_messages_are_known_by_what_was_sent() -> None:
    rig = ready(limits=BridgeLimits(messages=1))
    for message_id in ("m", "n"):
        rig.update({"sessionUpdate": "agent_message_chunk", "messageId": message_id, "content": text("abc")})
    rig.north()
    assert len(shown(rig, {"sessionUpdate": "agent_message", "messageId": "m", "content": [text("abc")]})) == 1


@pytest.mark.parametrize(
    ("block", "told", "losses"),
    [
        ({"type": "_vendor", "x": 1}, text("[content of type _vendor]"), {"content_form": 1}),
        (
            {"type": "resource_link", "name": "n", "uri": "file:///a", "icons": [{"src": "i"}]},
            {"type": "resource_link", "name": "n", "uri": "file:///a"},
            {"link_icons": 1},
        ),
        ({"type": "resource_link", "name": "n", "uri": "file:///a"}, None, {}),
        ({"type": "image", "data": "", "mimeType": "image/png"}, None, {}),
    ],
)
def test_a_content_block_is_one_v1_has(block: Json, told: Json | None, losses: dict[str, int]) -> None:
    rig = ready()
    (update,) = shown(rig, {"sessionUpdate": "agent_message_chunk", "messageId": "m", "content": block})
    assert update["content"] == (block if told is None else told)
    assert {name: lost(rig, name) for name in ("content_form", "link_icons") if lost(rig, name)} == losses


# ---- tool calls, terminals


def tool(**fields: Any) -> Json:
    return {"sessionUpdate": "tool_call_update", "toolCallId": "t", **fields}


@pytest.mark.parametrize(
    ("fields", "title", "losses"),
    [
        ({"title": "T"}, "T", 0),
        ({"name": "n"}, "n", 0),
        ({"kind": "edit"}, "edit", 0),
        ({}, "Tool call", 0),
        ({"title": None}, "Tool call", 1),
    ],
)
def test_a_tool_call_always_has_a_title(fields: Json, title: str, losses: int) -> None:
    rig = ready()
    (update,) = shown(rig, tool(**fields))
    assert (update["sessionUpdate"], update["title"]) == ("tool_call", title)
    assert lost(rig, "tool_clear") == losses


@pytest.mark.parametrize(("kind", "told", "losses"), [("edit", "edit", 0), ("_mine", "other", 1), (None, "other", 0)])
def test_the_kind_of_a_tool_call_is_one_v1_has(kind: Any, told: str, losses: int) -> None:
    rig = ready()
    (update,) = shown(rig, tool(kind=kind))
    assert update["kind"] == told
    assert lost(rig, "tool_kind") == losses


def test_only_so_many_tool_calls_are_known() -> None:
    rig = ready(limits=BridgeLimits(tool_calls=1))
    kinds = [shown(rig, {**tool(title="T"), "toolCallId": id})[0]["sessionUpdate"] for id in ("t", "u", "u", "t")]
    assert kinds == ["tool_call", "tool_call", "tool_call_update", "tool_call"]


def terminal(**fields: Any) -> Json:
    return {"sessionUpdate": "terminal_update", "terminalId": "x", **fields}


def data(value: bytes) -> str:
    return b64encode(value).decode()


@pytest.mark.parametrize(
    ("updates", "block"),
    [
        ([], "```\n```"),
        ([terminal(command="ls")], "```\n$ ls\n```"),
        ([terminal(output={"data": data(b"out")})], "```\nout\n```"),
        ([terminal(output={"data": "no base64!"})], "```\n```"),
        ([terminal(exitStatus={"exitCode": 3})], "```\n[exit code 3]\n```"),
        ([terminal(exitStatus={"exitCode": 0})], "```\n```"),
        ([terminal(exitStatus={"signal": "SIGKILL"})], "```\n[ended by SIGKILL]\n```"),
        ([terminal(exitStatus={"exitCode": 3}), terminal(exitStatus=None)], "```\n```"),
        ([terminal(output={"data": data(b"a")}), terminal(output=None)], "```\n```"),
    ],
)
def test_a_terminal_is_a_block_of_code(updates: list[Json], block: str) -> None:
    rig = ready()
    for update in updates:
        rig.update(update)
    (told,) = shown(rig, tool(content=[{"type": "terminal", "terminalId": "x"}]))
    assert told["content"] == [{"type": "content", "content": text(block)}]


def test_output_that_is_no_base64_changes_nothing() -> None:
    """TRM-6"""
    rig = ready()
    rig.update(tool(content=[{"type": "terminal", "terminalId": "x"}]))
    rig.north()
    rig.update({"sessionUpdate": "terminal_output_chunk", "terminalId": "x", "data": "no base64!"})
    rig.later(5)
    assert rig.updates() == []


def test_a_diff_without_a_text_to_show_names_its_paths() -> None:
    rig = ready()
    changes = [{"operation": "delete", "path": "/a"}, {"operation": "move", "path": "/c", "oldPath": "/b"}]
    (told,) = shown(rig, tool(content=[{"type": "diff", "changes": changes}]))
    assert told["content"] == [{"type": "content", "content": text("delete /a\nmove /c")}]
    assert lost(rig, "diff_form") == 1


def test_a_file_is_read_for_a_diff_of_one_change_only() -> None:
    read: list[str] = []
    rig = ready(read_file=lambda path: read.append(path))
    one = [{"operation": "modify", "path": "/a"}]
    for changes in (one, [*one, {"operation": "modify", "path": "/b"}], []):
        rig.update(tool(content=[{"type": "diff", "changes": changes}]))
    assert read == ["/a"]


# ---- initialize, servers


def initialized(capabilities: Json, **client: Any) -> Json:
    rig = ClientRig()
    rig.ask("initialize", {"protocolVersion": 1, **client})
    request = rig.asked()
    result = {"protocolVersion": 2, "info": {"name": "a", "version": "1"}, "capabilities": capabilities}
    rig.reply(request["id"], result)
    (answer,) = rig.north()
    return {"asked": request["params"], **answer["result"]["agentCapabilities"]}


def test_what_a_v1_client_says_of_itself_reaches_the_agent() -> None:
    told = initialized({}, clientInfo={"name": "c", "version": "2", "title": "C"})
    assert told["asked"]["info"] == {"name": "c", "version": "2", "title": "C"}
    assert (told["loadSession"], "sessionCapabilities" in told) == (False, False)
    assert "title" not in initialized({}, clientInfo={"name": "c", "version": "2", "title": 5})["asked"]["info"]


@pytest.mark.parametrize("acp", [True, False])
def test_an_agents_own_mcp_over_acp_is_offered_to_a_v1_client(acp: bool) -> None:
    told = initialized({"session": {"mcp": {"stdio": {}, **({"acp": {}} if acp else {})}}})
    assert told["mcpCapabilities"] == {"http": False, "sse": False, **({"acp": True} if acp else {})}


@pytest.mark.parametrize(
    ("server", "command", "code"),
    [
        ({"name": "s", "command": "/bin/s", "args": [], "env": []}, "/bin/s", None),
        ({"name": "s", "command": "s", "args": [], "env": []}, "/found/s", None),
        ({"name": "s", "command": "gone", "args": [], "env": []}, None, INVALID_PARAMS),
        ({"type": "sse", "name": "s", "url": "http://s", "headers": []}, None, INVALID_PARAMS),
        ({"type": "acp", "name": "s", "serverId": "x"}, None, INVALID_PARAMS),
        ({"type": "http", "name": "s", "url": "http://s", "headers": []}, None, None),
    ],
)
def test_a_server_of_a_session_is_one_the_agent_takes(server: Json, command: str | None, code: int | None) -> None:
    """B-30"""
    assert set(CAPABILITIES["session"]["mcp"]) == {"stdio", "http"}
    rig = ready(which=lambda name: "/found/s" if name == "s" else None)
    rig.ask("session/new", {"cwd": CWD, "mcpServers": [server]})
    if code is not None:
        (answer,) = rig.north()
        assert answer["error"]["code"] == code
        return
    (sent,) = rig.asked()["params"]["mcpServers"]
    assert (sent["type"], sent.get("command")) == (server.get("type", "stdio"), command)


# ---- turns


def test_prompts_wait_for_each_other_and_can_be_taken_back() -> None:
    rig = ready()
    rig.running("one")
    for words in ("two", "three"):
        rig.ask("session/prompt", {"sessionId": "s1", "prompt": [text(words)]}, id=words)
    rig.tell("$/cancel_request", {"requestId": "three"})
    rig.tell("$/cancel_request", {"requestId": "never"})
    assert [(m["id"], m["result"]) for m in rig.north()] == [("three", {"stopReason": "cancelled"})]
    rig.tell("$/cancel_request", {"requestId": "p-one"})
    assert [message["method"] for message in rig.south()] == ["session/cancel"]
    assert [(m["id"], m["result"]) for m in rig.north()] == [("two", {"stopReason": "cancelled"})]
    rig.state("idle", stopReason="cancelled")
    assert [(m["id"], m["result"]) for m in rig.north()] == [("p-one", {"stopReason": "cancelled"})]


@pytest.mark.parametrize(
    ("note", "code"),
    [
        ({"code": -5, "message": "m"}, -5),
        ({"code": True}, None),
        ({"code": "5"}, None),
        ({"code": 2**40}, None),
        ({}, None),
    ],
)
def test_an_error_behind_another_bridge_is_that_error_when_it_is_one(note: Json, code: int | None) -> None:
    rig = ready()
    rig.running()
    rig.state("idle", stopReason="_error", _meta={"_bridge": note})
    (answer,) = rig.north()
    if code is None:
        assert answer["result"]["stopReason"] == "end_turn"
        assert lost(rig, "stop_reason") == 1
    else:
        assert answer["error"] == {"code": -5, "message": "m"}


def test_a_state_that_is_none_changes_nothing() -> None:
    rig = ready()
    rig.running()
    rig.state("_pondering")
    assert rig.north() == []
    rig.state("idle", stopReason="end_turn")
    assert rig.north()[0]["result"] == {"stopReason": "end_turn"}


def test_a_second_cancel_is_passed_and_waits_no_longer() -> None:
    rig = ready()
    rig.running()
    for _ in range(2):
        rig.tell("session/cancel", {"sessionId": "s1"})
        rig.later(rig.bridge.limits.cancel_timeout * 0.6)
    assert rig.north()[0]["result"] == {"stopReason": "cancelled"}
