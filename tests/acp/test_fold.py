"""The patch rules of messages and of the session itself, one by one."""

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
from tests.acp.views import folded, plain, plan, text, tool, update_of


def message(kind: str, message_id: str, **fields: Any) -> dict[str, Any]:
    return {"sessionUpdate": kind, "messageId": message_id, **fields}


def chunk(message_id: str, words: str, kind: str = "agent_message_chunk") -> dict[str, Any]:
    return message(kind, message_id, content=text(words))


def state(name: str, **fields: Any) -> dict[str, Any]:
    return {"sessionUpdate": "state_update", "state": name, **fields}


def words_of(view: SessionView, message_id: str = "m") -> list[str]:
    found = view.message("agent_message", message_id)
    assert found is not None
    return [block.text for block in found.content if isinstance(block, v2.TextContent)]


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
