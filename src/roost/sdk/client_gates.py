"""What may be sent to this agent: checked here, before anything is sent (INI-11 to INI-15, section 1.6).

What an agent does not advertise is a CapabilityError; what no agent may be sent, a LocalProtocolError.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from roost.acp import v2
from roost.acp.calls import Method
from roost.acp.paths import is_absolute
from roost.acp.v2.gen.methods import NOTIFICATIONS, REQUESTS
from roost.errors import CapabilityError, LocalProtocolError

_BLOCKS: Final[dict[type, str]] = {
    v2.ImageContent: "image",
    v2.AudioContent: "audio",
    v2.EmbeddedResource: "embedded_context",
}
_SERVERS: Final[dict[type, str]] = {v2.McpServerStdio: "stdio", v2.McpServerHttp: "http", v2.McpServerAcp: "acp"}
_BASELINE_BLOCKS: Final = (v2.TextContent, v2.ResourceLink)


def method_row(method: str) -> Method | None:
    """The method's row in the table, request or notification; None for an extension."""
    return REQUESTS.get(method) or NOTIFICATIONS.get(method)


def check_method(agent: v2.InitializeResponse, method: str) -> None:
    """Whether the agent takes that method at all."""
    row = method_row(method)
    if row is None:
        if not method.startswith("_"):
            raise LocalProtocolError(f"{method} is not in the protocol, and no extension: those start with _ (EXT-3)")
    elif row.side == "client":
        raise LocalProtocolError(f"{method} is for agents to send (ENV-9)")
    elif row.gate is not None and row.gate.side == "agent" and not row.gate.is_open(agent):
        raise CapabilityError(f"the agent does not offer {method}: it advertises no {row.gate.path}", row.gate.path)


def check_prompt(agent: v2.InitializeResponse, prompt: Sequence[v2.ContentBlock]) -> None:
    """Whether the agent takes these blocks (PRM-1, P-04)."""
    if not prompt:
        raise LocalProtocolError("a prompt has at least one content block")
    session = agent.capabilities.session
    offered = None if session is None else session.prompt
    for block in prompt:
        if isinstance(block, v2.Unknown):
            if not block.is_custom:
                raise LocalProtocolError(f"{block.tag} is no content block of this version (EXT-5)")
        elif not isinstance(block, _BASELINE_BLOCKS):
            kind = _BLOCKS.get(type(block))
            if kind is None:
                raise LocalProtocolError(f"{type(block).__name__} is no content block")
            if offered is None or getattr(offered, kind) is None:
                path = f"capabilities.session.prompt.{_wire(kind)}"
                raise CapabilityError(f"the agent takes no {kind.replace('_', ' ')} in a prompt", path)


def check_workspace(
    agent: v2.InitializeResponse, cwd: str, directories: Sequence[str], servers: Sequence[v2.McpServer]
) -> None:
    """Whether a session may be attached like this (SES-1, SES-8, SES-10)."""
    session = agent.capabilities.session
    if session is None:
        raise CapabilityError("the agent has no sessions", "capabilities.session")  # INI-15
    for path in (cwd, *directories):
        if not is_absolute(path):
            raise LocalProtocolError(f"{path!r} is not an absolute path (SES-1)")
    if directories and session.additional_directories is None:
        path = "capabilities.session.additionalDirectories"
        raise CapabilityError("the agent takes no additional directories", path)
    for server in servers:
        if isinstance(server, v2.Unknown):
            if not server.is_custom:
                raise LocalProtocolError(f"{server.tag} is no MCP transport of this version (EXT-5)")
            continue
        kind = _SERVERS[type(server)]
        if session.mcp is None or getattr(session.mcp, kind) is None:
            path = f"capabilities.session.mcp.{kind}"
            raise CapabilityError(f"the agent reaches no MCP server over {kind}", path)
        if isinstance(server, v2.McpServerStdio) and not is_absolute(server.command):
            raise LocalProtocolError(f"{server.command!r} is not an absolute path (SES-1)")


def _wire(attribute: str) -> str:
    head, *rest = attribute.split("_")
    return head + "".join(word.title() for word in rest)
