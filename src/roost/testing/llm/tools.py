"""Finding, in the tools an agent offers, the one that does a thing, and filling in what its schema requires.

A tool is told by the words of its name (one of the verbs, and nothing but file-like words beside it) and by having a
parameter for each thing it has to be told. So `write_file`, `mcp__acp__Write` and `create` are found, and
`write_stdin`, `read_background_output` and `view_image` are not.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from roost.testing.llm.asks import Json, Tool
from roost.testing.llm.steps import Read, Run, ToolCall, Write

# What long-running commands are given where a tool must be told; milliseconds almost everywhere.
TIMEOUT_ARGUMENT = 60_000

_PATH = ("path", "filepath", "absolutepath", "filename", "file", "targetfile")
_TEXT = ("content", "contents", "filetext", "text", "filecontent", "data")
_COMMAND = ("command", "cmd", "script", "commandline")

_PLAIN = frozenset(
    ("file", "text", "to", "fs", "builtin", "new", "local", "in", "tool", "unified", "agent", "terminal")
)


@dataclass(frozen=True)
class Trade:
    """A kind of tool: its verbs, best first, and what it must have a parameter for."""

    verbs: tuple[str, ...]
    slots: tuple[tuple[str, ...], ...]


WRITING = Trade(("write", "create", "save"), (_PATH, _TEXT))
READING = Trade(("read", "view", "cat", "open"), (_PATH,))
RUNNING = Trade(("bash", "shell", "run", "execute", "exec", "command", "terminal", "sh"), (_COMMAND,))


def call_for(step: Write | Read | Run, tools: Iterable[Tool]) -> ToolCall | None:
    """The call that does the step with one of these tools; None when none does."""
    offered = list(tools)
    match step:
        case Write(path, text):
            made = _call(offered, WRITING, (path, text))
            return made or call_for(Run(f"printf %s {shlex.quote(text)} > {shlex.quote(path)}"), offered)
        case Read(path):
            return _call(offered, READING, (path,)) or call_for(Run(f"cat {shlex.quote(path)}"), offered)
        case Run(command):
            local = next((tool for tool in offered if tool.kind == "local_shell"), None)
            if local is not None:
                return ToolCall(local.name, {"command": command}, local.kind)
            return _call(offered, RUNNING, (command,))


def _call(tools: list[Tool], trade: Trade, values: tuple[str, ...]) -> ToolCall | None:
    ranked = sorted((rank, place) for place, tool in enumerate(tools) if (rank := _rank(tool, trade)) is not None)
    if not ranked:
        return None
    tool = tools[ranked[0][1]]
    arguments: dict[str, Any] = {}
    for slot, value in zip(trade.slots, values, strict=True):
        name = _parameter(tool, slot)
        assert name is not None
        listed = _type(tool.properties[name]) == "array"
        arguments[name] = ["bash", "-lc", value] if listed else value
    return ToolCall(tool.name, filled(tool.schema, arguments), tool.kind, tool.namespace)


def _rank(tool: Tool, trade: Trade) -> tuple[int, int] | None:
    words = _words(tool.name)
    verbs = [trade.verbs.index(word) for word in words if word in trade.verbs]
    if not verbs or any(word not in trade.verbs and word not in _PLAIN for word in words):
        return None
    if any(_parameter(tool, slot) is None for slot in trade.slots):
        return None
    return min(verbs), len(words)


def _words(name: str) -> list[str]:
    """`mcp__server__ReadFile` is read and file: what stands before is where it is from."""
    own = re.split(r"__|[.:/]", name)[-1]
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", own)
    return [word for word in re.split(r"[\s_-]+", spaced.lower()) if word]


def _parameter(tool: Tool, names: tuple[str, ...]) -> str | None:
    plain = {re.sub(r"[_-]", "", name.lower()): name for name in tool.properties}
    return next((plain[name] for name in names if name in plain), None)


def filled(schema: Json, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """An object that fits: what is given, and a harmless value for whatever else is required."""
    value = dict(given or {})
    tool = Tool("", schema)
    for name in tool.required:
        if name not in value:
            spec = tool.properties.get(name, {})
            value[name] = TIMEOUT_ARGUMENT if "timeout" in name.lower() else harmless(spec)
    return value


def harmless(spec: Json) -> Any:
    """Some value of this schema."""
    if spec.get("default") is not None:
        return spec["default"]
    if "const" in spec:
        return spec["const"]
    if isinstance(spec.get("enum"), list) and spec["enum"]:
        return spec["enum"][0]
    for several in ("anyOf", "oneOf"):
        if isinstance(spec.get(several), list) and spec[several] and isinstance(spec[several][0], Mapping):
            return harmless(spec[several][0])
    match _type(spec):
        case "integer" | "number":
            return spec.get("minimum", 1)
        case "boolean":
            return False
        case "array":
            return []
        case "object":
            return filled(spec)
        case "null":
            return None
    return "scripted"


def _type(spec: Json) -> str:
    kind = spec.get("type", "string")
    if isinstance(kind, list):
        kind = kind[0] if kind else "string"
    return str(kind).lower()  # Gemini's own schemas write STRING


def as_json(arguments: Mapping[str, Any]) -> str:
    return json.dumps(arguments, ensure_ascii=False)
