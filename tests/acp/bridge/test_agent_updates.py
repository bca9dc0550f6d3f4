"""Updates of a v1 agent as a v2 client sees them (B-13, B-14), and the quirks about them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from roost.acp.bridge.limits import BridgeLimits
from tests.acp.bridge.bridge_rig import Json
from tests.acp.bridge.rig import CWD, chunk, opened, tags, text


def told(*updates: Json, limits: BridgeLimits | None = None) -> list[Json]:
    """What becomes of them, outside a turn."""
    rig = opened(limits=limits)
    for update in updates:
        rig.update("s1", update)
    return rig.updates()


def call(**members: Any) -> Json:
    return {"sessionUpdate": "tool_call", "toolCallId": "t1", **members}


def patch(**members: Any) -> Json:
    return {"sessionUpdate": "tool_call_update", "toolCallId": "t1", **members}


def test_b_13_tool_calls_and_their_updates_are_upserts() -> None:
    """B-13, quirks 3 and 4"""
    updates = told(
        call(title="Read", kind="read", status="pending", content=[], locations=[], rawInput={}),
        call(title="Read file", content=[], rawInput={"path": "/x"}),
        patch(status="completed", title=None, content=None, rawOutput=None),
        patch(toolCallId="unknown", status="in_progress"),
        call(toolCallId=7),
    )
    created = {"toolCallId": "t1", "title": "Read", "kind": "read", "status": "pending", "rawInput": {}}
    assert updates == [
        {"sessionUpdate": "tool_call_update", **created},
        patch(title="Read file", content=[], rawInput={"path": "/x"}),
        patch(status="completed"),
        patch(toolCallId="unknown", status="in_progress"),
    ]


def test_metadata_and_names_of_tools_pass_and_unknown_members_do_not() -> None:
    """BR-4, EXT-2"""
    (update,) = told(call(title="T", name="bash", _meta={"x": {"y": 1}}, schema_version=1))
    assert update == patch(title="T", name="bash", _meta={"x": {"y": 1}})


@pytest.mark.parametrize(
    ("old", "operation"),
    [({"oldText": None}, "add"), ({}, "add"), ({"oldText": ""}, "modify"), ({"oldText": "a\n"}, "modify")],
)
def test_b_14_diffs_get_changes_and_a_patch(old: Json, operation: str) -> None:
    """B-14"""
    item = {"type": "diff", "path": "/w/f", "newText": "b\n", **old}
    ((diff,),) = [update["content"] for update in told(patch(content=[item]))]
    assert diff["changes"] == [{"operation": operation, "path": "/w/f", "fileType": "text"}]
    lines = diff["patch"]["text"].splitlines()
    assert lines[0] == "diff --git /w/f /w/f"
    assert ("new file mode 100644" in lines) is (operation == "add")
    assert lines[-1] == "+b"
    assert ("-a" in lines) is (old.get("oldText") == "a\n")
    assert diff["_meta"]["_bridge"]["newText"] == "b\n"


def test_a_diff_of_great_texts_has_its_path_only() -> None:
    item = {"type": "diff", "path": "/w/f", "oldText": "a" * 60, "newText": "b" * 60}
    ((diff,),) = [update["content"] for update in told(patch(content=[item]), limits=BridgeLimits(diff_bytes=100))]
    assert diff == {"type": "diff", "changes": [{"operation": "modify", "path": "/w/f"}]}


def test_relative_paths_are_of_the_sessions_directory() -> None:
    """SES-1"""
    item = {"type": "diff", "path": "f", "newText": ""}
    (update,) = told(patch(content=[item], locations=[{"path": "a/b", "line": 3}, {"path": "/c"}]))
    assert update["locations"] == [{"path": f"{CWD}/a/b", "line": 3}, {"path": "/c"}]
    assert update["content"][0]["changes"][0]["path"] == f"{CWD}/f"


def test_terminals_and_content_of_tools_pass() -> None:
    contents = [{"type": "terminal", "terminalId": "x"}, {"type": "content", "content": text("y")}]
    assert told(patch(content=contents))[0]["content"] == contents


def test_messages_without_ids_get_one_until_something_comes_between() -> None:
    updates = told(
        chunk("a"),
        chunk("b"),
        chunk("c", "agent_thought_chunk"),
        chunk("d"),
        call(title="T"),
        patch(status="completed"),
        chunk("e"),
    )
    ids = [update["messageId"] for update in updates if "messageId" in update]
    assert ids == ["m1", "m1", "m2", "m3", "m4"]


def test_ids_of_the_agent_stay() -> None:
    updates = told(
        chunk("a", messageId="x"), chunk("b", messageId="x"), chunk("c", messageId=None), chunk("d", messageId="y")
    )
    assert [update["messageId"] for update in updates] == ["x", "x", "m1", "y"]


@pytest.mark.parametrize(
    "content",
    [
        {"type": "text", "text": 'é\n\u2028"', "annotations": {"audience": ["user"]}},
        {"type": "image", "data": "AA==", "mimeType": "image/png", "uri": None},
        {"type": "resource_link", "name": "n", "uri": "file:///x", "size": None},
        {"type": "resource", "resource": {"uri": "file:///x", "text": "t"}},
        {"type": "_custom", "x": 1},
    ],
)
def test_every_kind_of_content_passes(content: Json) -> None:
    (update,) = told({"sessionUpdate": "agent_message_chunk", "content": content, "_meta": {"k": 1}})
    assert update["content"] == content
    assert update["_meta"] == {"k": 1}


@pytest.mark.parametrize(
    "update",
    [
        {"sessionUpdate": "agent_message_chunk"},
        {"sessionUpdate": "agent_message_chunk", "content": {"type": "text"}},
        {"sessionUpdate": "agent_message_chunk", "content": "text"},
        {"sessionUpdate": "usage_update", "used": None, "size": 0},
        {"sessionUpdate": 5},
        {},
        {"sessionUpdate": "tool_call"},
    ],
)
def test_an_update_without_what_it_needs_is_dropped_and_counted(update: Json) -> None:
    rig = opened()
    rig.update("s1", update)
    assert rig.updates() == []
    assert rig.bridge.losses.counts["malformed_update"] == 1


def test_malformed_optional_members_are_left_out_and_counted() -> None:
    rig = opened()
    rig.update("s1", patch(title=5, status="completed", locations=[{"path": "/a", "line": -1}, {"x": 1}]))
    (update,) = rig.updates()
    assert update["status"] == "completed"
    assert update["locations"] == [{"path": "/a"}]
    assert rig.bridge.losses.counts["malformed_field"] == 1


def test_the_plan_is_one_plan() -> None:
    entries = [{"content": "a", "priority": "high", "status": "completed"}, {"content": "b"}]
    (update,) = told({"sessionUpdate": "plan", "entries": entries})
    assert update["plan"]["planId"] == "plan"
    assert update["plan"]["entries"] == [entries[0], {"content": "b", "priority": "medium", "status": "pending"}]


def test_commands_say_that_their_input_is_text() -> None:
    commands = [
        {"name": "a", "description": "A", "input": {"hint": "h"}},
        {"name": "b", "description": "B", "input": None},
    ]
    (update,) = told({"sessionUpdate": "available_commands_update", "availableCommands": commands})
    assert update["availableCommands"] == [
        {"name": "a", "description": "A", "input": {"type": "text", "hint": "h"}},
        {"name": "b", "description": "B"},
    ]


def test_session_information_keeps_its_three_states_and_usage_passes() -> None:
    """MSC-5"""
    info = {"sessionUpdate": "session_info_update", "title": None, "_meta": {"a": 1}}
    usage = {"sessionUpdate": "usage_update", "used": 1, "size": 2, "cost": {"amount": 0, "currency": "USD"}}
    assert told(info, usage) == [info, usage]


def test_br_5_unknown_kinds_pass_and_states_of_the_agent_do_not() -> None:
    """BR-5"""
    notice = {"sessionUpdate": "notice", "severity": "warning"}
    assert told(notice, {"sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn"}) == [notice]


def test_quirk_16_text_outside_a_turn_is_text_while_idle() -> None:
    assert tags(told(chunk("[MODE_UPDATE] x"))) == ["agent_message_chunk"]


def test_quirk_6_vendor_traffic_is_refused_or_dropped_and_extensions_pass() -> None:
    """BR-6, B-20"""
    rig = opened()
    rig.request("q", "craft/drainMidTurnQueue", {"sessionId": "s1"})
    assert rig.south()[0]["error"]["code"] == -32601
    rig.south_sends({"method": "qwen/notify/session/x", "params": {}})
    assert rig.north() == []
    rig.south_sends({"method": "_auth/status_update", "params": {"authStatus": {"big": 10**30}}})
    assert rig.north()[0]["params"] == {"authStatus": {"big": 10**30}}
    rig.request(0, "_x/ask", {"a": 1})
    (request,) = rig.north()
    rig.north_sends({"id": request["id"], "error": {"code": -32601, "message": "Method not found"}})
    assert rig.south()[0]["error"]["code"] == -32601


def test_quirk_9_lines_that_are_no_messages_are_skipped() -> None:
    rig = opened()
    for noise in (b"Logged in.", b"\xff\xfe", b'{"id":null,"error":{"code":-32700,"message":"x"}}', b"[]", b"{}", b""):
        rig.bridge.from_south(noise, rig.now)
    assert rig.north() == []
    assert rig.south() == []


def test_quirk_10_a_batch_of_the_client_reaches_the_agent_one_by_one() -> None:
    rig = opened()
    batch = [{"jsonrpc": "2.0", "id": id, "method": "_x/ask", "params": {"n": id}} for id in (1, 2)]
    rig.bridge.from_north(json.dumps(batch).encode(), rig.now)
    one, two = rig.south()
    assert (one["params"], two["params"]) == ({"n": 1}, {"n": 2})


def test_metadata_of_the_notification_passes() -> None:
    rig = opened()
    rig.update("s1", chunk("a"), _meta={"t": 1})
    assert rig.north()[0]["params"]["_meta"] == {"t": 1}


def test_each_loss_is_told_once_and_counted_each_time() -> None:
    rig = opened()
    for _ in range(3):
        rig.update("nobody", chunk("x"))
    rig.north()
    assert rig.bridge.losses.counts["early_update"] == 3
    assert sum("early_update" in str(event) for event in rig.events) == 1


def test_tool_calls_beyond_the_bound_are_forgotten_the_oldest_first() -> None:
    limits = BridgeLimits(tool_calls=2)
    updates = told(*(call(toolCallId=id, title=id, content=[]) for id in ("a", "b", "c", "b", "a")), limits=limits)
    assert ["content" in update for update in updates] == [False, False, False, True, False]
