"""Whether an agent of v2 has to be helped to a client's own MCP servers (see `mcp_relays`)."""

from __future__ import annotations

from roost.acp.bridge.payload import Json, as_object


def needs_relays(answer: Json) -> bool:
    """By its answer to `initialize`: it takes stdio servers, and knows none of the kind `acp` (MCP-10)."""
    mcp = as_object(as_object(answer.get("capabilities")).get("session")).get("mcp")
    return isinstance(mcp, dict) and mcp.get("stdio") is not None and mcp.get("acp") is None
