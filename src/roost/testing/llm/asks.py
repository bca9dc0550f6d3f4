"""What an agent asks its model for, whichever API it came by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Json = Mapping[str, Any]


@dataclass(frozen=True)
class Line:
    """One entry of the conversation. `role`: system, user, assistant or tool (the result of a call)."""

    role: str
    text: str


@dataclass(frozen=True)
class Tool:
    """A tool on offer. `kind` is `function`, or the responses API's `custom` and `local_shell`."""

    name: str
    schema: Json
    kind: str = "function"
    namespace: str | None = None

    @property
    def properties(self) -> dict[str, Json]:
        """The schemas of its arguments, by name."""
        found = self.schema.get("properties")
        return (
            {name: each for name, each in found.items() if isinstance(each, Mapping)} if isinstance(found, dict) else {}
        )

    @property
    def required(self) -> list[str]:
        """The arguments it has to have."""
        found = self.schema.get("required")
        return [name for name in found if isinstance(name, str)] if isinstance(found, list) else []


@dataclass(frozen=True)
class Ask:
    """One request to the model. `shape`: the JSON schema its answer has to fit, where the agent gave one."""

    api: str
    model: str
    lines: tuple[Line, ...]
    tools: tuple[Tool, ...] = ()
    stream: bool = False
    thinking: bool = False
    shape: Json | None = None

    def offers(self, name: str) -> bool:
        """Whether the model was given a tool of that name."""
        return any(tool.name == name for tool in self.tools)

    @property
    def said(self) -> str:
        """The last text of the user."""
        return next((line.text for line in reversed(self.lines) if line.role == "user"), "")


def flat(content: object) -> str:
    """The text in content of any of the APIs' shapes: a string, a block, or a list of either."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(text for text in map(flat, content) if text)
    if isinstance(content, Mapping):
        for key in ("text", "content", "output", "parts", "response", "error", "result"):
            if key in content:
                return flat(content[key])
        return ""
    return "" if content is None else str(content)


def objects(value: object) -> list[dict[str, Any]]:
    """The objects of a list; nothing for what is no list."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def member(value: object, *path: str) -> Any:
    """What is at the end of a path of members; None when it leads nowhere."""
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def shape_of(value: object) -> Json | None:
    return value if isinstance(value, Mapping) else None
