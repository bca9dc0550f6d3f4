"""Views as plain data, and updates from plain data: what the tests of the fold share."""

from __future__ import annotations

import json
from typing import Any

from roost.acp import v2
from roost.acp.fold import fold
from roost.acp.view import SessionView, ViewLimits
from roost.acp.view_entries import Message, OtherUpdate, Plan, ToolCall
from roost.acp.view_terminal import Terminal
from roost.wire.decode import decode, encode


def update_of(update: dict[str, Any]) -> Any:
    return decode(v2.SessionUpdate, json.dumps(update).encode())


def folded(*updates: dict[str, Any], limits: ViewLimits | None = None) -> SessionView:
    view = SessionView(limits or ViewLimits())
    for update in updates:
        fold(view, update_of(update))
    return view


def plain(value: Any) -> Any:
    return json.loads(encode(value))


def plain_view(view: SessionView) -> dict[str, Any]:
    """The view in the form `plain_fold` gives."""
    timeline: list[dict[str, Any]] = []
    for entry in view.timeline:
        match entry:
            case Message():
                shown = {"id": entry.message_id, "content": plain(entry.content), "_meta": entry.meta}
            case ToolCall():
                shown = {
                    "id": entry.tool_call_id,
                    "name": entry.name,
                    "title": entry.title,
                    "kind": entry.kind,
                    "status": entry.status,
                    "content": plain(entry.content),
                    "locations": plain(entry.locations),
                    "rawInput": entry.raw_input,
                    "rawOutput": entry.raw_output,
                    "_meta": entry.meta,
                }
            case Terminal():
                shown = {
                    "id": entry.terminal_id,
                    "command": entry.command,
                    "cwd": entry.cwd,
                    "exitStatus": plain(entry.exit_status),
                    "_meta": entry.meta,
                    "bytes": entry.data,
                }
            case Plan():
                shown = {"id": entry.plan_id, "plan": plain(entry.value)}
            case OtherUpdate():
                shown = {"update": plain(entry.update)}
        kind = "tool_call" if isinstance(entry, ToolCall) else entry.kind
        timeline.append({"kind of entry": kind, **shown})
    return {
        "timeline": timeline,
        "state": view.state,
        "stop": view.stop_reason,
        "options": plain(view.config_options),
        "commands": plain(view.commands),
        "title": view.title,
        "updatedAt": view.updated_at,
        "meta": view.info_meta,
        "usage": plain(view.usage),
    }


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def tool(**fields: Any) -> dict[str, Any]:
    return {"sessionUpdate": "tool_call_update", "toolCallId": "t", **fields}


def plan(**fields: Any) -> dict[str, Any]:
    return {"sessionUpdate": "plan_update", "plan": fields}
