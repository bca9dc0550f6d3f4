"""Updates of an ACP v1 agent, read as the v2 updates that say the same, so that one narrator tells both."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

from roost.acp import v2
from roost.errors import CodecError
from roost.wire.decode import convert

PLAN_ID = "plan"
_CHUNKS = frozenset(("user_message_chunk", "agent_message_chunk", "agent_thought_chunk"))

# Comparing takes time that grows with the square of the size; beyond this a diff is only named.
_COMPARED_CHARS = 200_000


class Version1:
    """Reads the updates of one session in order: what belongs to one message is told by what comes between."""

    def __init__(self) -> None:
        self._kind = ""
        self._number = 0

    def read(self, update: Mapping[str, Any]) -> v2.SessionUpdate | None:
        """None for what is malformed, or has no counterpart."""
        tag = update.get("sessionUpdate")
        shaped = dict(update)
        if tag in _CHUNKS:
            shaped.setdefault("messageId", self._message_id(tag))
        elif tag in ("tool_call", "tool_call_update"):
            self._kind = ""
            shaped["sessionUpdate"] = "tool_call_update"
            if isinstance(shaped.get("content"), list):
                shaped["content"] = [_content(item) for item in shaped["content"]]
        elif tag == "plan":
            entries = shaped.get("entries")
            plan = {"type": "items", "planId": PLAN_ID, "entries": entries}
            shaped = {"sessionUpdate": "plan_update", "plan": plan}
        elif tag == "current_mode_update":
            return None
        try:
            update_read: v2.SessionUpdate = convert(v2.SessionUpdate, shaped)
        except CodecError:
            return None
        return update_read

    def _message_id(self, kind: str) -> str:
        if kind != self._kind:
            self._kind = kind
            self._number += 1
        return f"v1-{self._number}"


def _content(item: Any) -> Any:
    if not isinstance(item, dict) or item.get("type") != "diff":
        return item
    path, old, new = item.get("path"), item.get("oldText"), item.get("newText")
    if not isinstance(path, str) or not isinstance(new, str):
        return item
    before = old if isinstance(old, str) else None
    shaped: dict[str, Any] = {
        "type": "diff",
        "changes": [{"operation": "add" if before is None else "modify", "path": path}],
    }
    if len(before or "") + len(new) <= _COMPARED_CHARS:
        shaped["patch"] = {"format": "git_patch", "text": unified(path, before, new)}
    return shaped


def unified(path: str, before: str | None, after: str) -> str:
    """A unified diff of one file; `before` None: there was none."""
    source = "/dev/null" if before is None else path
    lines = difflib.unified_diff((before or "").splitlines(), after.splitlines(), source, path, lineterm="")
    return "\n".join(lines) + "\n"
