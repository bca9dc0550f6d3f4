"""The tool calls of a v2 agent as a v1 client sees them: announced first, then updated, content always whole (4.5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from roost.acp.bridge.client_terminals import Terminals, fenced
from roost.acp.bridge.content import block_to_v1
from roost.acp.bridge.diffs import patch_of, rewound, texts_from_diff
from roost.acp.bridge.limits import BridgeLimits
from roost.acp.bridge.losses import Losses
from roost.acp.bridge.payload import Json, as_text, noted, objects, with_meta
from roost.wire.decode import encode

KINDS: Final = frozenset(
    {"read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"}
)
_STATUSES: Final = frozenset({"pending", "in_progress", "completed", "failed"})
_UNTITLED: Final = "Tool call"

ReadFile = Callable[[str], str | None]
"""The text of a file as it is now; None when it cannot be read."""


class _Tool:
    __slots__ = ("content", "size", "sizes", "title")

    def __init__(self) -> None:
        self.title = ""
        self.content: list[Json] = []  # v2 items
        self.sizes: list[int] = []
        self.size = 0


class Tools:
    """The tool calls of one session."""

    def __init__(self, limits: BridgeLimits, losses: Losses, terminals: Terminals, read_file: ReadFile | None) -> None:
        self._limits = limits
        self._losses = losses
        self._terminals = terminals
        self._read_file = read_file
        self._tools: dict[str, _Tool] = {}
        self._full: dict[str, None] = {}  # those that have content, the one that got it first in front
        self._size = 0

    def knows(self, tool_call_id: str) -> bool:
        return tool_call_id in self._tools

    def title(self, tool_call_id: str) -> str:
        tool = self._tools.get(tool_call_id)
        return "" if tool is None else tool.title

    def size(self, tool_call_id: str) -> int:
        """About how many bytes its whole content is."""
        tool = self._tools.get(tool_call_id)
        return 0 if tool is None else tool.size

    def patched(self, patch: Json) -> Json:
        """A v2 patch as `tool_call` when it is the first of its id, else as `tool_call_update` (B-25)."""
        identifier = as_text(patch.get("toolCallId"))
        is_new = identifier not in self._tools
        tool = self._tool(identifier)
        if "content" in patch:
            self._replace(tool, identifier, objects(patch["content"]))
        v1 = self.shape(patch, tool)
        if is_new:
            v1.setdefault("title", as_text(patch.get("name")) or as_text(patch.get("kind")) or _UNTITLED)
        tool.title = v1.get("title", tool.title)[: self._limits.title_characters]
        return {"sessionUpdate": "tool_call" if is_new else "tool_call_update", **v1}

    def appended(self, chunk: Json) -> Json | None:
        """One more item of content; what to tell at once when its tool call is new (TCL-4)."""
        identifier = as_text(chunk.get("toolCallId"))
        is_new = identifier not in self._tools
        tool = self._tool(identifier)
        content = chunk.get("content")
        if isinstance(content, dict):
            self._add(tool, identifier, content)
        if not is_new:
            return None
        tool.title = _UNTITLED
        return {"sessionUpdate": "tool_call", "title": _UNTITLED, **self.whole(identifier)}

    def whole(self, tool_call_id: str) -> Json:
        """The whole content as it is now, as members of an update (B-24)."""
        tool = self._tool(tool_call_id)
        return {"toolCallId": tool_call_id, "content": self._contents(tool.content)}

    def shape(self, patch: Json, tool: _Tool | None = None) -> Json:
        """The members a v1 patch has of a v2 one; null is what v1 has for cleared."""
        v1: Json = {"toolCallId": patch.get("toolCallId")}
        if isinstance(patch.get("title"), str) and patch["title"]:
            v1["title"] = patch["title"]
        elif "title" in patch:
            self._losses.count("tool_clear")
        if isinstance(patch.get("name"), str):
            v1["name"] = patch["name"]
        if "kind" in patch:
            v1["kind"] = patch["kind"] if patch["kind"] in KINDS else "other"
            if patch["kind"] not in KINDS and patch["kind"] is not None:
                self._losses.count("tool_kind")
        if "content" in patch:
            v1["content"] = self._contents(objects(patch["content"]) if tool is None else tool.content)
        if "locations" in patch:
            v1["locations"] = objects(patch["locations"])
        for name in ("rawInput", "rawOutput"):
            if patch.get(name) is not None:
                v1[name] = patch[name]
            elif name in patch:
                self._losses.count("tool_clear")
        with_meta(v1, patch)
        if "status" in patch:
            self._status(v1, patch["status"])
        return v1

    def _status(self, v1: Json, status: Any) -> None:
        if status is None:
            v1["status"] = "pending"
        elif status in _STATUSES:
            v1["status"] = status
        else:  # B-26
            v1["status"] = "failed" if status == "cancelled" else "in_progress"
            self._losses.count("tool_status")
            noted(v1, status=status)

    # ---- content

    def _contents(self, items: list[Json]) -> list[Json]:
        return [shaped for item in items for shaped in self._content(item)]

    def _content(self, item: Json) -> list[Json]:
        kind = item.get("type")
        if kind == "content":
            return [with_meta({"type": "content", "content": block_to_v1(item.get("content"), self._losses)}, item)]
        if kind == "diff":
            return self._diff(item)
        if kind == "terminal":
            self._losses.count("terminal")
            return [_text_item(self._terminals.text(item.get("terminalId")))]
        self._losses.count("content_form")
        return [_text_item(f"[content of type {as_text(kind, '?')}]")]

    def _diff(self, diff: Json) -> list[Json]:
        texts = texts_from_diff(diff)
        if texts is None and self._read_file is not None:
            changes = objects(diff.get("changes"))
            text = self._read_file(as_text(changes[0].get("path"))) if len(changes) == 1 else None
            texts = None if text is None else rewound(diff, text)
        if texts is not None:
            return texts
        self._losses.count("diff_form")
        patch = patch_of(diff)
        if patch:
            return [_text_item(fenced(patch, "diff"))]
        lines = [
            f"{as_text(change.get('operation'))} {as_text(change.get('path'))}"
            for change in objects(diff.get("changes"))
        ]
        return [_text_item("\n".join(lines))]

    def _replace(self, tool: _Tool, tool_call_id: str, items: list[Json]) -> None:
        self._drop(tool, len(tool.content))
        for item in items:
            self._add(tool, tool_call_id, item)

    def _add(self, tool: _Tool, tool_call_id: str, item: Json) -> None:
        if item.get("type") == "terminal":
            self._terminals.shown_by(item.get("terminalId"), tool_call_id)
            size = self._limits.terminal_bytes
        else:
            size = len(encode(item))
        tool.content.append(item)
        tool.sizes.append(size)
        tool.size += size
        self._size += size
        self._full[tool_call_id] = None
        gone, left = 0, tool.size
        while left > self._limits.tool_content_bytes and gone < len(tool.sizes) - 1:
            left -= tool.sizes[gone]
            gone += 1
        if gone:
            self._losses.count("tool_content")
            self._drop(tool, gone)
        while self._size > self._limits.session_content_bytes and len(self._full) > 1:
            oldest = next(iter(self._full))
            if oldest == tool_call_id:  # it is the one that grows
                del self._full[oldest]
                self._full[oldest] = None
                continue
            self._losses.count("tool_content")
            self._empty(oldest)

    def _drop(self, tool: _Tool, count: int) -> None:
        size = sum(tool.sizes[:count])
        tool.size -= size
        self._size -= size
        del tool.content[:count], tool.sizes[:count]

    def _empty(self, tool_call_id: str) -> None:
        self._full.pop(tool_call_id, None)
        tool = self._tools.get(tool_call_id)
        if tool is not None:
            self._drop(tool, len(tool.content))

    def _tool(self, tool_call_id: str) -> _Tool:
        tool = self._tools.get(tool_call_id)
        if tool is None:
            tool = self._tools[tool_call_id] = _Tool()
            if len(self._tools) > self._limits.tool_calls:
                oldest = next(iter(self._tools))
                self._empty(oldest)
                del self._tools[oldest]
        return tool


def _text_item(text: str) -> Json:
    return {"type": "content", "content": {"type": "text", "text": text}}
