"""The patch rules, one by one."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from roost.acp import v2
from roost.acp.fold import fold
from roost.acp.view import SessionView
from roost.errors import CodecError
from roost.wire.decode import decode
from tests.acp.views import folded, plain, update_of


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def message(kind: str, message_id: str, **fields: Any) -> dict[str, Any]:
    return {"sessionUpdate": kind, "messageId": message_id, **fields}


def chunk(message_id: str, words: str, kind: str = "agent_message_chunk") -> dict[str, Any]:
    return message(kind, message_id, content=text(words))


def tool(**fields: Any) -> dict[str, Any]:
    return {"sessionUpdate": "tool_call_update", "toolCallId": "t", **fields}


def tool_chunk(words: str) -> dict[str, Any]:
    return {"sessionUpdate": "tool_call_content_chunk", "toolCallId": "t", "content": shown(words)}


def shown(words: str) -> dict[str, Any]:
    return {"type": "content", "content": text(words)}


def state(name: str, **fields: Any) -> dict[str, Any]:
    return {"sessionUpdate": "state_update", "state": name, **fields}


def plan(**fields: Any) -> dict[str, Any]:
    return {"sessionUpdate": "plan_update", "plan": fields}


def words_of(view: SessionView, message_id: str = "m") -> list[str]:
    found = view.message("agent_message", message_id)
    assert found is not None
    return [block.text for block in found.content if isinstance(block, v2.TextContent)]


# --- messages ---


def test_p_28_content_replaces_what_was_chunked_and_chunks_append_to_it() -> None:
    """MSG-2, MSG-5."""
    view = folded(
        message("agent_message", "m", content=[text("A")]),
        chunk("m", "B"),
        message("agent_message", "m", content=[text("C")]),
        chunk("m", "D"),
    )
    assert words_of(view) == ["C", "D"]
    assert view.messages[0].text == "CD"


def test_p_29_a_message_without_content_keeps_it_and_takes_the_metadata() -> None:
    view = folded(chunk("m", "A"), message("agent_message", "m", _meta={"k": 1}))
    assert words_of(view) == ["A"]
    assert view.messages[0].meta == {"k": 1}
    fold(view, update_of(message("agent_message", "m", _meta=None)))
    assert view.messages[0].meta is None


@pytest.mark.parametrize("content", [None, []])
def test_p_30_cleared_content_leaves_an_empty_message(content: Any) -> None:
    view = folded(chunk("m", "A"), message("agent_message", "m", content=content))
    assert [(entry.message_id, entry.content) for entry in view.messages] == [("m", [])]


def test_p_31_chunks_of_two_messages_may_interleave() -> None:
    """MSG-4."""
    view = folded(chunk("m1", "a"), chunk("m2", "x"), chunk("m1", "b"))
    assert words_of(view, "m1") == ["a", "b"]
    assert words_of(view, "m2") == ["x"]
    assert [entry.message_id for entry in view.messages] == ["m1", "m2"]


def test_msg_3_the_metadata_of_a_chunk_is_not_the_messages() -> None:
    view = folded(message("agent_message_chunk", "m", content=text("a"), _meta={"k": 1}))
    assert view.messages[0].meta is None


def test_msg_6_one_id_under_two_kinds_is_two_entries() -> None:
    view = folded(chunk("m", "a"), chunk("m", "b", "agent_thought_chunk"), chunk("m", "c", "user_message_chunk"))
    assert [(entry.kind, entry.text) for entry in view.messages] == [
        ("agent_message", "a"),
        ("agent_thought", "b"),
        ("user_message", "c"),
    ]


def test_a_chunk_appended_to_a_message_does_not_change_the_update_that_set_it() -> None:
    whole = update_of(message("agent_message", "m", content=[text("A")]))
    view = SessionView()
    fold(view, whole)
    fold(view, update_of(chunk("m", "B")))
    assert [block.text for block in whole.content] == ["A"]


def test_p_32_a_chunk_without_its_message_is_not_an_update() -> None:
    with pytest.raises(CodecError):
        decode(v2.SessionUpdate, json.dumps({"sessionUpdate": "agent_message_chunk", "content": text("a")}).encode())


# --- tool calls ---


def test_t_01_the_first_sight_of_a_tool_call_fills_in_the_defaults() -> None:
    view = folded(tool())
    call = view.tool_call("t")
    assert call is not None
    assert (call.name, call.title, call.kind, call.status) == (None, "", "other", "pending")
    assert (call.content, call.locations, call.raw_input, call.raw_output) == ([], [], None, None)


def test_t_02_a_title_is_kept_when_omitted_and_cleared_by_null() -> None:
    """TCL-3."""
    titles = []
    view = SessionView()
    for update in (tool(title="a"), tool(status="in_progress"), tool(title=None)):
        fold(view, update_of(update))
        titles.append(view.tool_calls["t"].title)
    assert titles == ["a", "a", ""]


def test_t_03_content_replaces_and_chunks_append() -> None:
    """TCL-3, TCL-4."""
    view = folded(tool(content=[shown("1")]), tool_chunk("2"), tool(content=[shown("3")]), tool_chunk("4"))
    assert plain(view.tool_calls["t"].content) == [shown("3"), shown("4")]


def test_t_04_a_content_chunk_creates_its_tool_call() -> None:
    """TCL-4."""
    view = folded(tool_chunk("1"))
    assert view.tool_calls["t"].status == "pending"
    assert plain(view.tool_calls["t"].content) == [shown("1")]


@pytest.mark.parametrize("content", [None, []])
def test_t_05_content_is_cleared_by_null_and_by_an_empty_list(content: Any) -> None:
    assert folded(tool(content=[shown("1")]), tool(content=content)).tool_calls["t"].content == []


def test_t_06_a_raw_input_is_absent_after_null() -> None:
    view = folded(tool(rawInput={"path": "/a"}))
    assert view.tool_calls["t"].raw_input == {"path": "/a"}
    fold(view, update_of(tool(rawInput=None)))
    assert view.tool_calls["t"].raw_input is None


def test_t_07_locations_are_replaced_as_a_whole() -> None:
    view = folded(tool(locations=[{"path": "/a"}, {"path": "/b"}]), tool(locations=[{"path": "/c"}]))
    assert plain(view.tool_calls["t"].locations) == [{"path": "/c"}]


def test_t_08_an_unknown_status_is_kept_and_is_no_end() -> None:
    """TCL-5."""
    call = folded(tool(status="_paused")).tool_calls["t"]
    assert call.status == "_paused"
    assert not call.is_finished


def test_t_09_a_finished_tool_call_still_takes_patches() -> None:
    """TCL-5."""
    view = folded(tool(status="completed"), tool(title="late"), tool(status="in_progress"))
    assert (view.tool_calls["t"].title, view.tool_calls["t"].status) == ("late", "in_progress")


def test_a_malformed_patch_field_changes_nothing() -> None:
    view = folded(tool(title="a", content=[shown("1")]), tool(title=5, content="oops"))
    assert view.tool_calls["t"].title == "a"
    assert plain(view.tool_calls["t"].content) == [shown("1")]


def test_a_content_list_of_nothing_but_malformed_items_clears() -> None:  # X4
    assert folded(tool(content=[shown("1")]), tool(content=[{"type": "diff"}])).tool_calls["t"].content == []


def test_t_28_a_diff_without_changes_is_left_out_and_its_neighbour_stays() -> None:
    """DIF-4."""
    view = folded(tool(content=[{"type": "diff", "changes": None}, shown("1")]))
    assert plain(view.tool_calls["t"].content) == [shown("1")]


def test_t_24_t_25_t_26_diffs_keep_their_changes_and_patches_of_any_format() -> None:
    diff = {
        "type": "diff",
        "changes": [
            {"operation": "modify", "path": "/a"},
            {"operation": "move", "oldPath": "/b", "path": "/c"},
            {"operation": "_chmod", "path": "/d"},
        ],
        "patch": {"format": "_x", "text": "?"},
    }
    assert plain(folded(tool(content=[diff])).tool_calls["t"].content) == [diff]
    bare = {"type": "diff", "changes": [{"operation": "add", "path": "/n"}]}
    assert plain(folded(tool(content=[bare])).tool_calls["t"].content) == [bare]


def test_p_27_cancelling_shows_unfinished_tool_calls_as_cancelled_until_the_agent_says_otherwise() -> None:
    """PRM-15."""
    view = folded(tool(status="in_progress"))
    for tool_call_id, status in (("done", "completed"), ("odd", "_paused"), ("new", None)):
        fields = {} if status is None else {"status": status}
        fold(view, update_of({"sessionUpdate": "tool_call_update", "toolCallId": tool_call_id, **fields}))
    view.mark_cancelled()
    assert {name: call.status for name, call in view.tool_calls.items()} == {
        "t": "cancelled",
        "done": "completed",
        "odd": "_paused",
        "new": "cancelled",
    }
    fold(view, update_of(tool(title="late")))
    assert view.tool_calls["t"].status == "cancelled"
    fold(view, update_of(tool(status="completed")))
    assert view.tool_calls["t"].status == "completed"


def test_tcl_10_content_nobody_knows_is_kept() -> None:
    odd = {"type": "_graph", "nodes": [1, {"a": None}]}
    view = folded(tool(content=[odd]), {"sessionUpdate": "tool_call_content_chunk", "toolCallId": "t", "content": odd})
    assert plain(view.tool_calls["t"].content) == [odd, odd]


def test_msg_8_annotations_hide_nothing() -> None:
    block = {**text("for the model"), "annotations": {"audience": ["assistant"], "priority": 0}}
    view = folded(message("agent_message_chunk", "m", content=block))
    assert view.messages[0].text == "for the model"


def test_cfg_7_cfg_11_settings_are_kept_as_they_are_told() -> None:
    option = {
        "type": "select",
        "configId": "c",
        "name": "n",
        "category": "_mine",
        "currentValue": "nobody offers this",
        "options": [],
    }
    odd = {"type": "_slider", "configId": "d", "name": "n", "max": 3}
    view = folded({"sessionUpdate": "config_option_update", "configOptions": [option, odd]})
    assert plain(view.config_options) == [option, odd]


# --- plans ---


def test_t_29_plans_stand_beside_each_other_and_are_replaced_one_by_one() -> None:
    entry = {"content": "c", "priority": "high", "status": "pending"}
    view = folded(
        plan(type="items", planId="a", entries=[entry]),
        plan(type="markdown", planId="b", content="# b"),
        plan(type="items", planId="a", entries=[]),
    )
    assert plain(view.plans["a"].value) == {"type": "items", "planId": "a", "entries": []}
    assert plain(view.plans["b"].value) == {"type": "markdown", "planId": "b", "content": "# b"}


def test_t_30_a_plan_may_change_its_form() -> None:
    """PLN-3."""
    view = folded(plan(type="items", planId="a", entries=[]), plan(type="file", planId="a", uri="file:///p.md"))
    assert isinstance(view.plans["a"].value, v2.PlanFile)
    assert len(view.timeline) == 1


def test_t_31_removing_a_plan_that_is_not_there_does_nothing() -> None:
    """PLN-5."""
    view = folded(plan(type="items", planId="a", entries=[]), {"sessionUpdate": "plan_removed", "planId": "x"})
    assert list(view.plans) == ["a"]
    fold(view, update_of({"sessionUpdate": "plan_removed", "planId": "a"}))
    assert view.timeline == []
    assert view.weight == 0


def test_t_32_a_plan_entry_that_is_malformed_leaves_the_others() -> None:
    good = {"content": "c", "priority": "high", "status": "pending"}
    view = folded(plan(type="items", planId="a", entries=[good, {**good, "status": 5}]))
    assert plain(view.plans["a"].value)["entries"] == [good]


def test_pln_4_a_plan_of_an_unknown_form_is_kept_under_its_id() -> None:
    view = folded(plan(type="_tree", planId="a", root=1), plan(type="_tree", planId="a", root=2))
    assert plain(view.plans["a"].value) == {"type": "_tree", "planId": "a", "root": 2}


def test_a_hand_made_plan_without_an_id_is_kept_as_unknown() -> None:
    view = SessionView()
    fold(view, v2.PlanUpdate(plan=v2.Unknown.of({"type": "_tree"})))
    assert [other.tag for other in view.others] == ["_tree"]


# --- terminals: what is told about the session; the bytes have their own file ---


def test_t_12_a_terminal_may_be_referred_to_before_it_is_there() -> None:
    view = folded(tool(content=[{"type": "terminal", "terminalId": "x"}]))
    assert view.terminal("x") is None
    fold(view, update_of({"sessionUpdate": "terminal_update", "terminalId": "x", "command": "ls"}))
    found = view.terminal("x")
    assert found is not None
    assert found.command == "ls"


def test_t_17_a_terminal_that_has_exited_says_nothing_about_its_tool() -> None:
    view = folded(tool(status="in_progress"), {"sessionUpdate": "terminal_update", "terminalId": "x", "exitStatus": {}})
    assert view.terminals["x"].has_exited
    assert view.tool_calls["t"].status == "in_progress"
    fold(view, update_of({"sessionUpdate": "terminal_update", "terminalId": "x", "exitStatus": None}))
    assert not view.terminals["x"].has_exited


def test_x28_a_negative_exit_code_is_an_exit_without_a_code() -> None:
    view = folded({"sessionUpdate": "terminal_update", "terminalId": "x", "exitStatus": {"exitCode": -1}})
    status = view.terminals["x"].exit_status
    assert status is not None
    assert status.exit_code is None


def test_t_21_one_string_may_name_a_terminal_and_a_tool_call() -> None:
    view = folded(tool(title="a"), {"sessionUpdate": "terminal_update", "terminalId": "t", "command": "ls"})
    assert view.tool_calls["t"].title == "a"
    assert view.terminals["t"].command == "ls"


# --- the session itself ---


def test_s_37_a_title_is_set_kept_and_cleared() -> None:
    titles = []
    view = SessionView()
    for fields in ({"title": "a"}, {}, {"title": None}):
        fold(view, update_of({"sessionUpdate": "session_info_update", **fields}))
        titles.append(view.title)
    assert titles == ["a", "a", None]


def test_cfg_1_config_options_are_replaced_never_merged() -> None:  # O-06
    def options(*ids: str) -> dict[str, Any]:
        rows = [{"type": "boolean", "configId": i, "name": i, "currentValue": True} for i in ids]
        return {"sessionUpdate": "config_option_update", "configOptions": rows}

    view = folded(options("a", "b"), options("b"))
    assert [option["configId"] for option in plain(view.config_options)] == ["b"]


def test_msc_1_commands_are_replaced() -> None:
    def commands(*names: str) -> dict[str, Any]:
        rows = [{"name": name, "description": ""} for name in names]
        return {"sessionUpdate": "available_commands_update", "availableCommands": rows}

    assert [command.name for command in folded(commands("a", "b"), commands("c")).commands] == ["c"]


def test_the_latest_usage_counts() -> None:
    def usage(used: int) -> dict[str, Any]:
        return {"sessionUpdate": "usage_update", "used": used, "size": 10}

    view = folded(usage(1), usage(2))
    assert view.usage is not None
    assert view.usage.used == 2


def test_a_view_is_not_idle_before_it_was_told_so() -> None:
    view = SessionView()
    assert (view.state, view.is_idle, view.stop_reason) == (None, False, None)


def test_idle_says_why_and_with_which_usage() -> None:
    """PRM-20."""
    usage = {"totalTokens": 3, "inputTokens": 2, "outputTokens": 1}
    view = folded(state("running"), state("idle", stopReason="end_turn", usage=usage))
    assert (view.state, view.is_idle, view.stop_reason) == ("idle", True, "end_turn")
    assert view.turn_usage is not None
    assert view.turn_usage.total_tokens == 3
    fold(view, update_of(state("running")))
    assert (view.state, view.is_idle, view.stop_reason, view.turn_usage) == ("running", False, None, None)


def test_p_25_an_unknown_state_is_kept_and_is_not_idle() -> None:
    """FWD-7."""
    view = folded(state("idle"), state("hibernating", until="dawn"))
    assert (view.state, view.is_idle) == ("hibernating", False)


def test_p_24_updates_while_idle_are_applied_and_leave_it_idle() -> None:
    """PRM-12, TCL-6."""
    view = folded(state("idle", stopReason="end_turn"), chunk("m", "a"), tool(status="in_progress"))
    assert view.is_idle
    assert words_of(view) == ["a"]
    assert "t" in view.tool_calls


def test_p_37_an_unknown_update_is_kept_and_the_stream_goes_on() -> None:
    """FWD-7, FWD-8."""
    notice = {"sessionUpdate": "notice", "severity": "info", "title": "hello"}
    view = folded(notice, chunk("m", "a"), notice)
    assert [plain(other) for other in view.others] == [notice, notice]
    assert [entry.kind for entry in view.timeline] == ["other", "agent_message", "other"]


@pytest.mark.parametrize("tag", ["plan", "tool_call", "current_mode_update"])
def test_pln_6_a_v1_update_is_an_unknown_one(tag: str) -> None:
    assert [other.tag for other in folded({"sessionUpdate": tag, "toolCallId": "t"}).others] == [tag]


def test_p_35_a_usage_of_null_is_not_an_update() -> None:
    with pytest.raises(CodecError):
        update_of({"sessionUpdate": "usage_update", "used": None, "size": 1})


def test_the_timeline_keeps_the_order_of_first_sight() -> None:
    view = folded(
        chunk("m", "a"),
        tool(),
        {"sessionUpdate": "terminal_output_chunk", "terminalId": "x", "data": base64.b64encode(b"o").decode()},
        plan(type="items", planId="p", entries=[]),
        chunk("m", "b"),
        chunk("n", "c"),
    )
    assert [entry.kind for entry in view.timeline] == ["agent_message", "other", "terminal", "plan", "agent_message"]


def test_fold_returns_the_entry_it_changed_and_moves_the_version() -> None:
    view = SessionView()
    assert fold(view, update_of(chunk("m", "a"))) is view.messages[0]
    assert fold(view, update_of(state("idle"))) is None
    assert view.version == 3  # one for the view itself


def test_every_known_update_has_its_rule() -> None:
    from typing import get_args

    from roost.acp import fold as module
    from roost.wire.model import OpenUnion

    union = next(note for note in get_args(v2.SessionUpdate) if isinstance(note, OpenUnion))
    kinds = [kind for kind in union.arms.values() if kind is not v2.StateUpdate]
    assert {*kinds, v2.RunningStateUpdate, v2.IdleStateUpdate, v2.RequiresActionStateUpdate, v2.Unknown} == set(
        module._FOLDS
    )
