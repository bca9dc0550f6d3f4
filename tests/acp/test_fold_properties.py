"""The fold against a plain one, over any interleaving of updates."""

from __future__ import annotations

import base64
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from roost.acp.fold import fold
from roost.acp.view import SessionView, ViewLimits
from roost.acp.view_weight import weigh
from tests.acp.plain_fold import plain_fold
from tests.acp.views import folded, plain_view, update_of

ids = st.sampled_from(["a", "b", "c"])
words = st.text(max_size=6)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | words,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(words, inner, max_size=2),
    max_leaves=4,
)
objects = st.dictionaries(words, json_values, max_size=2)
blocks = st.one_of(
    st.fixed_dictionaries({"type": st.just("text"), "text": words}),
    st.fixed_dictionaries({"type": st.just("image"), "data": st.just("QQ=="), "mimeType": words}),
    st.fixed_dictionaries({"type": st.just("_chart"), "points": json_values}),
)
tool_contents = st.one_of(
    st.fixed_dictionaries({"type": st.just("content"), "content": blocks}),
    st.fixed_dictionaries({"type": st.just("terminal"), "terminalId": ids}),
    st.fixed_dictionaries({"type": st.just("diff"), "changes": st.just([{"operation": "add", "path": "/n"}])}),
    st.fixed_dictionaries({"type": st.just("_graph")}),
)
output = st.one_of(
    st.binary(max_size=5).map(lambda data: base64.b64encode(data).decode()),
    st.sampled_from(["!", "QQ", "é", "QQ==QQ=="]),
)


def maybe(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | values


def updates_of(tag: str, required: dict[str, Any], optional: dict[str, Any] | None = None) -> st.SearchStrategy[Any]:
    return st.fixed_dictionaries({"sessionUpdate": st.just(tag), **required}, optional=optional or {})


patched = {"content": maybe(st.lists(blocks, max_size=3)), "_meta": maybe(objects)}
updates = st.one_of(
    *(updates_of(f"{kind}_chunk", {"messageId": ids, "content": blocks}) for kind in ("user_message", "agent_message")),
    updates_of("agent_thought_chunk", {"messageId": ids, "content": blocks}, {"_meta": objects}),
    *(updates_of(kind, {"messageId": ids}, patched) for kind in ("user_message", "agent_message", "agent_thought")),
    updates_of(
        "tool_call_update",
        {"toolCallId": ids},
        {
            "name": maybe(words),
            "title": maybe(words),
            "kind": maybe(words),
            "status": maybe(words),
            "content": maybe(st.lists(tool_contents, max_size=3)),
            "locations": maybe(st.lists(st.fixed_dictionaries({"path": words}), max_size=2)),
            "rawInput": json_values,
            "rawOutput": json_values,
            "_meta": maybe(objects),
        },
    ),
    updates_of("tool_call_content_chunk", {"toolCallId": ids, "content": tool_contents}),
    updates_of("terminal_output_chunk", {"terminalId": ids, "data": output}),
    updates_of(
        "terminal_update",
        {"terminalId": ids},
        {
            "command": maybe(words),
            "cwd": maybe(words),
            "output": maybe(st.fixed_dictionaries({"data": output})),
            "exitStatus": maybe(st.fixed_dictionaries({}, optional={"exitCode": st.integers(0, 2)})),
            "_meta": maybe(objects),
        },
    ),
    updates_of(
        "plan_update",
        {"plan": st.fixed_dictionaries({"type": st.just("items"), "planId": ids, "entries": st.just([])})},
    ),
    updates_of(
        "plan_update", {"plan": st.fixed_dictionaries({"type": st.just("markdown"), "planId": ids, "content": words})}
    ),
    updates_of(
        "plan_update", {"plan": st.fixed_dictionaries({"type": st.just("_tree"), "planId": ids, "n": json_values})}
    ),
    updates_of("plan_removed", {"planId": ids}),
    updates_of("state_update", {"state": st.sampled_from(["running", "requires_action", "hibernating"])}),
    updates_of("state_update", {"state": st.just("idle")}, {"stopReason": words}),
    updates_of(
        "available_commands_update", {"availableCommands": st.lists(st.just({"name": "n", "description": "d"}))}
    ),
    updates_of(
        "config_option_update",
        {"configOptions": st.lists(st.just({"type": "boolean", "configId": "c", "name": "n", "currentValue": True}))},
    ),
    updates_of("session_info_update", {}, {"title": maybe(words), "updatedAt": maybe(words), "_meta": maybe(objects)}),
    updates_of("usage_update", {"used": st.integers(0, 9), "size": st.integers(0, 9)}),
    updates_of("notice", {}, {"title": words}),
)


@given(st.lists(updates, max_size=30))
@settings(max_examples=300, deadline=None)
def test_any_interleaving_folds_to_what_the_plain_fold_gives(stream: list[dict[str, Any]]) -> None:
    assert plain_view(folded(*stream)) == plain_fold(stream)


@given(st.lists(updates, max_size=40), st.integers(1, 6_000), st.integers(1, 5), st.integers(1, 12))
@settings(max_examples=300, deadline=None)
def test_no_interleaving_takes_a_view_over_its_bounds(
    stream: list[dict[str, Any]], total_bytes: int, entries: int, terminal_bytes: int
) -> None:
    limits = ViewLimits(total_bytes=total_bytes, entries=entries, terminal_bytes=terminal_bytes)
    view = SessionView(limits)
    for update in stream:
        fold(view, update_of(update))
        assert view.weight <= total_bytes
        assert view.weight == sum(entry.weight for entry in view.timeline)
        assert len(view.timeline) <= entries
        assert all(terminal.retained <= terminal_bytes for terminal in view.terminals.values())
    if plain_view(view) != plain_fold(stream):
        assert view.dropped


@given(st.lists(updates, max_size=30), st.lists(updates, max_size=30))
@settings(max_examples=100, deadline=None)
def test_a_cleared_view_is_a_new_one(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> None:
    view = folded(*before)
    view.clear()
    for update in after:
        fold(view, update_of(update))
    assert plain_view(view) == plain_view(folded(*after))
    assert view.weight == folded(*after).weight


@given(json_values)
def test_every_value_weighs_something_and_a_list_of_it_weighs_more(value: Any) -> None:
    assert 0 < weigh(value) < weigh([value])
