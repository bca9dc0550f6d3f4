"""What a view keeps, lets go, and tells about it."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from roost.acp.fold import fold
from roost.acp.view import SessionView, ViewLimits
from roost.acp.view_entries import Message
from tests.acp.views import folded, update_of


def chunk(message_id: str, words: str = "x") -> Any:
    return update_of(
        {"sessionUpdate": "agent_message_chunk", "messageId": message_id, "content": {"type": "text", "text": words}}
    )


def output(terminal_id: str, data: bytes) -> Any:
    encoded = base64.b64encode(data).decode()
    return update_of({"sessionUpdate": "terminal_output_chunk", "terminalId": terminal_id, "data": encoded})


def test_too_many_entries_let_the_one_touched_longest_ago_go() -> None:
    view = SessionView(ViewLimits(entries=2))
    for message_id in ("a", "b", "a", "c"):
        fold(view, chunk(message_id))
    assert [entry.message_id for entry in view.messages] == ["a", "c"]
    assert (view.dropped.entries, view.dropped.updates) == (1, 0)


def test_an_update_for_an_entry_that_was_let_go_does_not_bring_half_of_it_back() -> None:
    view = SessionView(ViewLimits(entries=1))
    for message_id in ("a", "b", "a"):
        fold(view, chunk(message_id))
    assert [entry.message_id for entry in view.messages] == ["b"]
    assert view.dropped.updates == 1


def test_a_plan_that_was_let_go_comes_back_whole() -> None:
    plan = {"sessionUpdate": "plan_update", "plan": {"type": "items", "planId": "p", "entries": []}}
    view = SessionView(ViewLimits(entries=1))
    for update in (update_of(plan), chunk("a"), update_of(plan)):
        fold(view, update)
    assert list(view.plans) == ["p"]
    assert not view.dropped.updates


def test_too_many_bytes_let_old_entries_go_before_they_cut_the_new_one() -> None:
    view = SessionView(ViewLimits(total_bytes=10_000))
    for message_id in ("a", "b", "c"):
        fold(view, chunk(message_id, "x" * 4_000))
    assert [entry.message_id for entry in view.messages] == ["c"]
    assert view.dropped.entries == 2
    assert view.dropped.bytes > 8_000
    assert view.weight <= 10_000


def test_one_endless_message_loses_its_front_and_says_so() -> None:
    view = SessionView(ViewLimits(total_bytes=10_000))
    for number in range(1_000):
        fold(view, chunk("a", f"{number:04}"))
    (message,) = view.messages
    assert message.dropped_blocks + len(message.content) == 1_000
    assert message.text.endswith("09980999")
    assert view.weight <= 10_000
    assert view.dropped.bytes > 0
    assert view.dropped.entries == 0


def test_a_single_block_over_the_bound_is_not_kept_and_told() -> None:
    view = SessionView(ViewLimits(total_bytes=10_000))
    fold(view, chunk("a", "x" * 20_000))
    (message,) = view.messages
    assert (message.content, message.dropped_blocks) == ([], 1)
    assert view.dropped.bytes > 20_000


def test_what_has_no_front_to_lose_goes_as_a_whole() -> None:
    view = folded(
        {"sessionUpdate": "tool_call_update", "toolCallId": "t", "rawInput": {"x": "y" * 20_000}},
        limits=ViewLimits(total_bytes=10_000),
    )
    assert view.timeline == []
    assert (view.weight, view.dropped.entries) == (0, 1)


def test_t_20_a_terminal_keeps_its_newest_bytes_and_counts_the_rest() -> None:
    view = SessionView(ViewLimits(terminal_bytes=1_000))
    for number in range(1_000):
        fold(view, output("x", b"%08d" % number))
    terminal = view.terminals["x"]
    assert terminal.retained <= 1_000
    assert terminal.received == 8_000
    assert terminal.dropped == 8_000 - terminal.retained
    assert terminal.data.endswith(b"0000099800000999")
    assert view.dropped.bytes == terminal.dropped
    assert view.weight < 2_000


def test_t_22_output_that_is_no_base64_is_counted_and_the_next_is_taken() -> None:
    view = folded(
        {"sessionUpdate": "terminal_output_chunk", "terminalId": "x", "data": "QQ=="},
        {"sessionUpdate": "terminal_output_chunk", "terminalId": "x", "data": "Q!"},
        {"sessionUpdate": "terminal_update", "terminalId": "x", "command": "ls", "output": {"data": "Q"}},
        {"sessionUpdate": "terminal_output_chunk", "terminalId": "x", "data": "Qg=="},
    )
    terminal = view.terminals["x"]
    assert terminal.data == b"AB"
    assert terminal.command == "ls"
    assert (terminal.rejected, view.dropped.malformed) == (2, 2)


def test_a_view_that_lost_nothing_says_so() -> None:
    view = folded({"sessionUpdate": "state_update", "state": "idle"})
    assert not view.dropped


def test_s_26_clearing_leaves_no_duplicates_and_no_leftovers() -> None:
    view = SessionView(ViewLimits(entries=1))
    for message_id in ("a", "b"):
        fold(view, chunk(message_id))
    view.clear()
    assert (view.timeline, view.weight, bool(view.dropped), view.state) == ([], 0, False, None)
    fold(view, chunk("a"))
    assert [entry.message_id for entry in view.messages] == ["a"]


def test_entries_handed_out_change_as_updates_come() -> None:
    view = SessionView()
    message = fold(view, chunk("a", "one "))
    assert isinstance(message, Message)
    fold(view, chunk("a", "two"))
    assert message.text == "one two"


@pytest.mark.parametrize("field", ["total_bytes", "entries", "terminal_bytes"])
def test_a_view_that_keeps_nothing_is_refused(field: str) -> None:
    with pytest.raises(ValueError, match="at least one"):
        ViewLimits(**{field: 0})


def test_appending_costs_the_same_however_long_the_message_is() -> None:
    # Counted, not timed: neither the list nor a string is copied for a chunk.
    view = SessionView()
    fold(view, chunk("a"))
    content = view.messages[0].content
    for _ in range(5_000):
        fold(view, chunk("a"))
    assert view.messages[0].content is content
    assert len(content) == 5_001
