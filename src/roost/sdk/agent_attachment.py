"""What a client may ask for when it creates, resumes or forks a session: roots, MCP servers; and what it may prompt."""

from __future__ import annotations

from typing import TypeAlias

from roost.acp import v2
from roost.sdk.agent_link import AgentLink, check_absolute
from roost.sdk.agent_session import AgentSession
from roost.sdk.handlers import invalid_params

Attachment: TypeAlias = v2.NewSessionRequest | v2.ResumeSessionRequest | v2.ForkSessionRequest


def check_attachment(link: AgentLink, request: Attachment) -> None:
    """RpcError -32602: a path is not absolute, or something was not advertised. Nothing is ignored in silence."""
    assert link.advertised is not None
    offered = link.advertised.capabilities.session
    assert offered is not None
    check_absolute(request.cwd, "cwd")
    if request.additional_directories and offered.additional_directories is None:
        raise invalid_params("additional directories are not supported here", "additionalDirectories")
    for index, path in enumerate(request.additional_directories):
        check_absolute(path, "additionalDirectories", index)
    ids: set[str] = set()
    for index, server in enumerate(request.mcp_servers):
        _check_server(offered.mcp, server, index, ids)


def _check_server(offered: v2.McpCapabilities | None, server: v2.McpServer, index: int, ids: set[str]) -> None:
    match server:
        case v2.McpServerStdio(name=name):
            kind, supported = "stdio", offered is not None and offered.stdio is not None
        case v2.McpServerHttp(name=name):
            kind, supported = "http", offered is not None and offered.http is not None
        case v2.McpServerAcp(name=name):
            kind, supported = "acp", offered is not None and offered.acp is not None
        case _:
            value = server.value().get("name")
            kind, supported, name = server.tag, False, value if isinstance(value, str) else "?"
    if not supported:  # SES-10; of the server only its name is repeated (SEC-2)
        raise invalid_params(f"MCP server {name!r}: type {kind!r} is not supported here", "mcpServers", index)
    if isinstance(server, v2.McpServerStdio):
        check_absolute(server.command, "mcpServers", index, "command")
    if isinstance(server, v2.McpServerAcp):
        if server.server_id in ids:
            raise invalid_params(f"MCP server {name!r}: its serverId is there twice", "mcpServers", index)
        ids.add(server.server_id)


def apply_attachment(session: AgentSession, request: Attachment) -> None:
    """Roots and servers come from the request alone, whatever the session had before (SES-21, SES-22, SES-29)."""
    session.additional_directories = list(request.additional_directories)
    session.mcp_servers = list(request.mcp_servers)
    session.meta = request.meta


def check_prompt(link: AgentLink, prompt: list[v2.ContentBlock]) -> None:
    """RpcError -32602: a prompt is empty, or holds what was not advertised (PRM-1, PRM-2)."""
    assert link.advertised is not None
    assert link.advertised.capabilities.session is not None
    offered = link.advertised.capabilities.session.prompt or v2.PromptCapabilities()
    if not prompt:
        raise invalid_params("an empty prompt", "prompt")
    for index, block in enumerate(prompt):
        match block:
            case v2.TextContent() | v2.ResourceLink():
                supported = True
            case v2.ImageContent():
                supported = offered.image is not None
            case v2.AudioContent():
                supported = offered.audio is not None
            case v2.EmbeddedResource():
                supported = offered.embedded_context is not None
            case _:
                supported = False
        if not supported:
            raise invalid_params("a kind of content that is not supported here", "prompt", index)
