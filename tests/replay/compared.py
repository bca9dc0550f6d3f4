"""A client's view of a session beside what the recording says of it; a difference is an assertion that shows both."""

from __future__ import annotations

import json
from typing import Any

from roost.acp import v2
from roost.acp.view import SessionView
from roost.acp.view_entries import Message, ToolCall
from roost.wire.decode import encode
from tests.replay.recording import Json
from tests.replay.said import KINDS, SaidSession


def assert_same(view: SessionView, said: SaidSession, options: dict[str, Any], *, in_order: bool = True) -> None:
    """`options`: what each stands at. Without `in_order` only the order inside each kind of entry counts."""
    for kind in KINDS.values():
        assert texts(view, kind) == said.texts(kind), kind
    if in_order:
        assert order(view) == said.order
    assert list(view.tool_calls) == list(said.tools)
    for identifier, call in view.tool_calls.items():
        assert_same_tool(call, said.tools[identifier])
    assert not view.others
    assert not view.dropped
    assert [command.name for command in view.commands] == said.commands
    assert (None if view.usage is None else usage(view.usage)) == said.usage
    assert view.title == said.title
    assert view.updated_at == said.updated_at
    assert {option.config_id: option.current_value for option in view.config_options} == options


def order(view: SessionView) -> list[str]:
    """Kinds of messages, once for those that follow each other, and ids of tool calls."""
    found: list[str] = []
    for entry in view.timeline:
        if isinstance(entry, ToolCall):
            found.append(entry.tool_call_id)
        elif isinstance(entry, Message) and found[-1:] != [entry.kind]:
            found.append(entry.kind)
    return found


def texts(view: SessionView, kind: str) -> str:
    blocks = [plain(block) for message in view.messages if message.kind == kind for block in message.content]
    return "".join(block.get("text", json.dumps(block, sort_keys=True)) for block in blocks)


def usage(update: v2.UsageUpdate) -> Json:
    found = plain(update)
    return {name: found[name] for name in ("used", "size", "cost") if name in found}


def assert_same_tool(call: Any, said: Json) -> None:
    assert call.title == said.get("title", "")
    assert call.status == said.get("status", "pending")
    assert call.kind == said.get("kind", "other")
    assert plain(call.raw_input) == said.get("rawInput")
    assert plain(call.raw_output) == said.get("rawOutput")
    assert [plain(location) for location in call.locations] == [mentioned(each) for each in said.get("locations", [])]
    contents = [plain(content) for content in call.content]
    assert [shown_as_v1(content) for content in contents] == [said_as_v1(each) for each in said.get("content", [])]


def shown_as_v1(content: Json) -> Json:
    """A diff as its path and the text before and after, which is what a v1 agent says of it."""
    if content["type"] != "diff":
        return content
    [change] = content["changes"]
    note = content["_meta"]["_bridge"]
    old = note.get("oldText")
    assert change["operation"] == ("add" if old is None else "modify")
    if old != note["newText"]:
        assert f"+++ {change['path']}" in content["patch"]["text"]
    return {"type": "diff", "path": change["path"], "oldText": old, "newText": note["newText"]}


def mentioned(value: Json) -> Json:
    """In v1 null means unmentioned."""
    return {name: item for name, item in value.items() if item is not None}


def said_as_v1(content: Json) -> Json:
    if content["type"] != "diff":
        return content
    path = content["path"]
    return {
        "type": "diff",
        "path": path if path.startswith("/") else f"/workspace/{path}",
        "oldText": content.get("oldText"),
        "newText": content["newText"],
    }


def plain(value: Any) -> Any:
    """A typed value as JSON data."""
    return json.loads(encode(value))
