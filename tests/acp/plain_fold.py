"""A plain fold to compare with: JSON in, JSON out, no bounds, nothing shared between copies, nothing fast."""

from __future__ import annotations

import base64
import binascii
import copy
from typing import Any

MESSAGES = {"user_message", "agent_message", "agent_thought"}
TOOL_DEFAULTS = {"name": None, "title": "", "kind": "other", "status": "pending", "content": [], "locations": []}


def plain_fold(updates: list[dict[str, Any]]) -> dict[str, Any]:
    """What a client shows after `updates`, each the `update` member of a session/update."""
    timeline: list[dict[str, Any]] = []
    session: dict[str, Any] = {"timeline": timeline, "state": None, "stop": None, "options": [], "commands": []}
    session |= {"title": None, "updatedAt": None, "meta": None, "usage": None}

    def entry(kind: str, key: str, fresh: dict[str, Any]) -> dict[str, Any]:
        for known in timeline:
            if (known["kind of entry"], known.get("id")) == (kind, key):
                return known
        timeline.append({"kind of entry": kind, "id": key, **copy.deepcopy(fresh)})
        return timeline[-1]

    def patch(into: dict[str, Any], update: dict[str, Any], defaults: dict[str, Any]) -> None:
        for field, default in defaults.items():
            if field in update:
                into[field] = copy.deepcopy(default if update[field] is None else update[field])

    for update in copy.deepcopy(updates):
        tag = update["sessionUpdate"]
        if tag.removesuffix("_chunk") in MESSAGES:
            message = entry(tag.removesuffix("_chunk"), update["messageId"], {"content": [], "_meta": None})
            if tag.endswith("_chunk"):
                message["content"].append(update["content"])
            else:
                patch(message, update, {"content": [], "_meta": None})
        elif tag in ("tool_call_update", "tool_call_content_chunk"):
            fields = TOOL_DEFAULTS | {"rawInput": None, "rawOutput": None, "_meta": None}
            call = entry("tool_call", update["toolCallId"], fields)
            if tag == "tool_call_content_chunk":
                call["content"].append(update["content"])
            else:
                patch(call, update, fields)
        elif tag in ("terminal_update", "terminal_output_chunk"):
            fields = {"command": None, "cwd": None, "exitStatus": None, "_meta": None}
            terminal = entry("terminal", update["terminalId"], fields | {"bytes": b""})
            if tag == "terminal_output_chunk":
                terminal["bytes"] += plain_base64(update["data"]) or b""
            else:
                patch(terminal, update, fields)
                if "output" in update:
                    data = b"" if update["output"] is None else plain_base64(update["output"]["data"])
                    terminal["bytes"] = terminal["bytes"] if data is None else data
        elif tag == "plan_update":
            entry("plan", update["plan"]["planId"], {})["plan"] = update["plan"]
        elif tag == "plan_removed":
            timeline[:] = [e for e in timeline if (e["kind of entry"], e.get("id")) != ("plan", update["planId"])]
        elif tag == "state_update":
            session["state"] = update["state"]
            session["stop"] = update.get("stopReason") if update["state"] == "idle" else None
        elif tag == "available_commands_update":
            session["commands"] = update["availableCommands"]
        elif tag == "config_option_update":
            session["options"] = update["configOptions"]
        elif tag == "session_info_update":
            for field, name in (("title", "title"), ("updatedAt", "updatedAt"), ("_meta", "meta")):
                session[name] = update.get(field, session[name])
        elif tag == "usage_update":
            session["usage"] = update
        else:
            timeline.append({"kind of entry": "other", "update": update})
    return session


def plain_base64(text: str) -> bytes | None:
    try:
        return base64.b64decode(text.encode("ascii"), validate=True)
    except (binascii.Error, UnicodeEncodeError):
        return None
