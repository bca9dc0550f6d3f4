"""MCP servers inside a caller, used by agents that nobody here wrote and that know none of the kind.

`ROOST_INTEROP` names the agents to try, or `all`, as in `test_agents`; without it the default set is tried.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from roost.errors import RpcError
from roost.sdk.mcp import McpConnection
from tests.interop.harness.stage import OPEN_TIMEOUT, staged
from tests.interop.installed import installed
from tools.interop.agents import AGENTS, DEFAULT

pytestmark = pytest.mark.timeout(300)

# What the agents call the tool `tell_noon` of the server `clock`, as they offer it to the model. Others either start
# no servers given by a client, or keep their tools from the model until it searches for them; a plain stdio server
# fares no better with them.
TOOLS: Mapping[str, str] = {
    "gemini": "mcp_clock_tell_noon",
    "agentao": "mcp_clock_tell_noon",
    "claude-acp": "mcp__clock__tell_noon",
    "claude-zed": "mcp__clock__tell_noon",
    "codex-zed": "tell_noon",
    "opencode": "clock_tell_noon",
    "fast-agent": "clock__tell_noon",
}


def chosen() -> list[str]:
    names = os.environ.get("ROOST_INTEROP", "")
    wanted = list(AGENTS) if names == "all" else names.split(",") if names else list(DEFAULT)
    return [name for name in TOOLS if name in wanted]


def test_every_agent_that_is_named_here_is_one_of_those() -> None:
    """Else it would never be tried, and nobody would know."""
    assert TOOLS.keys() <= AGENTS.keys()


class Clock:
    """An MCP server with one tool, that insists on the order MCP prescribes."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.ready = False
        self.closed = asyncio.Event()

    def __call__(self, connection: McpConnection) -> Clock:
        return self

    async def request(self, method: str, params: Any) -> Any:
        self.heard.append(method)
        match method:
            case "initialize":
                info = {"name": "clock", "version": "1"}
                return {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": info}
            case "tools/list" if self.ready:
                schema = {"type": "object", "properties": {}}
                return {"tools": [{"name": "tell_noon", "description": "Tells the time", "inputSchema": schema}]}
            case "tools/call" if self.ready:
                return {"content": [{"type": "text", "text": "it is noon exactly"}]}
        raise RpcError(-32601, "Method not found")

    async def notify(self, method: str, params: Any) -> None:
        self.heard.append(method)
        self.ready = self.ready or method == "notifications/initialized"

    async def close(self) -> None:
        self.closed.set()


@pytest.mark.parametrize("name", chosen())
async def test_an_agent_uses_a_server_of_its_caller(name: str, tmp_path: Path) -> None:
    agent, clock = AGENTS[name], Clock()
    installed(agent.pin)
    async with staged(agent, tmp_path) as stage:
        host = await stage.host()
        async with asyncio.timeout(OPEN_TIMEOUT * agent.slow):
            session = await host.create_session(
                stage.command,
                cwd=str(stage.place.cwd),
                env=stage.environment(),
                mcp_servers=[host.mcp.offer("clock", clock)],
            )
        # Some start their servers behind the session's back: a turn or two, and they are there.
        for _ in range(3):
            await stage.tell(session, "hello")
            if any(ask.offers(TOOLS[name]) for ask in stage.model.asks):
                break
        story = await stage.tell(session, f"[[call {TOOLS[name]} {{}}]]")
        assert "it is noon exactly" in story.text
        assert clock.heard[-1] == "tools/call"
        await session.close()
        async with asyncio.timeout(10):
            await clock.closed.wait()
