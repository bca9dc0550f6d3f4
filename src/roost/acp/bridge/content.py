"""Content blocks, prompts and MCP servers between the versions (4.2, 4.5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from roost.acp.bridge.losses import Losses
from roost.acp.bridge.payload import Json, as_text, invalid_params, objects
from roost.acp.paths import is_absolute

BLOCKS: Final = frozenset({"text", "image", "audio", "resource_link", "resource"})
"""The content blocks v1 has."""
GATES: Final = {"image": "image", "audio": "audio", "resource": "embeddedContext"}
"""What a prompt capability allows (PRM-1)."""

Which: TypeAlias = Callable[[str], str | None]
"""Where a program is that was named without its folder; None when it is nowhere."""


def block_to_v1(block: Any, losses: Losses) -> Json:
    """A content block; a line of text for one that v1 has not."""
    kind = block.get("type") if isinstance(block, dict) else None
    if kind not in BLOCKS:
        losses.count("content_form")
        return {"type": "text", "text": f"[content of type {as_text(kind, '?')}]"}
    if kind == "resource_link" and "icons" in block:
        losses.count("link_icons")
        return {name: value for name, value in block.items() if name != "icons"}
    return dict(block)


def check_prompt(prompt: Any, offered: Any) -> None:
    """RpcError -32602 for a block that is unknown, or was not offered (PRM-1, PRM-2)."""
    for index, block in enumerate(objects(prompt)):
        kind = block.get("type")
        if kind not in BLOCKS or (kind in GATES and GATES[kind] not in offered):
            raise invalid_params(f"content of type {as_text(kind, '?')} was not offered", ("prompt", index))


def prompt_text(prompt: Any) -> str:
    """All text of a prompt, to know it again."""
    return "".join(as_text(block.get("text")) for block in objects(prompt) if block.get("type") == "text")


def servers_to_v1(servers: Any, offered: Any) -> list[Json]:
    """RpcError -32602 names a server of a type that was not offered: none is left out silently (SES-10)."""
    out: list[Json] = []
    for index, server in enumerate(objects(servers)):
        kind = server.get("type")
        if kind == "stdio":
            v1: Json = {name: value for name, value in server.items() if name != "type"}
            v1.setdefault("args", [])
            v1.setdefault("env", [])
        elif kind in ("http", "acp") and kind in offered:
            v1 = dict(server)
            if kind == "http":
                v1.setdefault("headers", [])
        else:
            raise _refused(server, as_text(kind, "?"), index)
        out.append(v1)
    return out


def servers_to_v2(servers: Any, offered: Any, which: Which | None) -> list[Json]:
    """RpcError -32602 names a server of a type the agent cannot use, such as SSE, or a program that is not found."""
    out: list[Json] = []
    for index, server in enumerate(objects(servers)):
        kind = as_text(server.get("type"), "stdio")
        if kind not in ("stdio", "http", "acp") or kind not in offered:
            raise _refused(server, kind, index)
        v2 = {**server, "type": kind}
        command = server.get("command")
        if kind == "stdio" and isinstance(command, str) and not is_absolute(command):
            found = None if which is None else which(command)
            if found is None:
                text = f"the program {command} of MCP server {as_text(server.get('name'))} is not found"
                raise invalid_params(text, ("mcpServers", index))
            v2["command"] = found
        out.append(v2)
    return out


def _refused(server: Json, kind: str, index: int) -> Exception:
    name = as_text(server.get("name"), "?")
    return invalid_params(f"MCP server {name} is of type {kind}, which was not offered", ("mcpServers", index))
