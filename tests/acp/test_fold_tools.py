"""The patch rules of tool calls and their content, one by one."""

from __future__ import annotations

from typing import Any

import pytest

from roost.acp.fold import fold
from roost.acp.view import SessionView
from tests.acp.views import folded, plain, text, tool, update_of


def tool_chunk(words: str) -> dict[str, Any]:
    return {"sessionUpdate": "tool_call_content_chunk", "toolCallId": "t", "content": shown(words)}


def shown(words: str) -> dict[str, Any]:
    return {"type": "content", "content": text(words)}


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
