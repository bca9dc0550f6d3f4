"""What an agent tells it can do, out of what its author registered; the gates are in the method table."""

from __future__ import annotations

from collections.abc import Container

from roost.acp import v2


def session_capabilities(
    *, accepts: Container[str], mcp: Container[str], roots: bool, fork: bool, delete: bool
) -> v2.SessionCapabilities:
    """`accepts`: kinds of prompt content beyond the baseline; `mcp`: kinds of MCP servers."""
    prompt = v2.PromptCapabilities(
        image=v2.PromptImageCapabilities() if "image" in accepts else None,
        audio=v2.PromptAudioCapabilities() if "audio" in accepts else None,
        embedded_context=v2.PromptEmbeddedContextCapabilities() if "embedded_context" in accepts else None,
    )
    servers = v2.McpCapabilities(
        stdio=v2.McpStdioCapabilities() if "stdio" in mcp else None,
        http=v2.McpHttpCapabilities() if "http" in mcp else None,
        acp=v2.McpAcpCapabilities() if "acp" in mcp else None,
    )
    return v2.SessionCapabilities(
        prompt=prompt if accepts else None,
        mcp=servers if mcp else None,
        delete=v2.SessionDeleteCapabilities() if delete else None,
        additional_directories=v2.SessionAdditionalDirectoriesCapabilities() if roots else None,
        fork=v2.SessionForkCapabilities() if fork else None,
    )
