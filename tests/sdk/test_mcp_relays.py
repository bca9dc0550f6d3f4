"""MCP servers of this program for an agent that is a process of ours and knows none of the kind, of either version: it
reaches them through programs it starts.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from roost.acp import v2
from roost.errors import RpcError
from roost.sdk.client import Client
from roost.sdk.connect import connect
from roost.sdk.mcp import McpConnection
from roost.sdk.session import Session

PATIENCE = 30
AGENT = f"{sys.executable} -I -S {Path(__file__).parents[1] / 'host' / 'mcp_agent.py'}"


class Clock:
    """An MCP server that insists on the order MCP prescribes."""

    def __init__(self, connection: McpConnection) -> None:
        self.connection = connection
        self.ready = False
        self.closed = asyncio.Event()

    async def request(self, method: str, params: Any) -> Any:
        if method == "initialize":
            return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "clock"}}
        if not self.ready:
            raise RpcError(-32002, "not initialized")
        match method, params:
            case "tools/list", _:
                return {"tools": [{"name": "now", "inputSchema": {"type": "object"}}]}
            case "tools/call", {"name": "now"}:
                return {"content": [{"type": "text", "text": "noon"}]}
            case "tools/call", {"name": "roots"}:
                return await self.connection.request("roots/list")
            case "tools/call", {"name": "tell"}:
                await self.connection.notify("notifications/message", {"level": "info"})
                return {}
        raise RpcError(-32602, "no such tool")

    async def notify(self, method: str, params: Any) -> None:
        self.ready = self.ready or method == "notifications/initialized"

    async def close(self) -> None:
        self.closed.set()


@pytest.fixture(autouse=True)
def runtime(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where sockets go: pytest's own folders may be too long for one."""
    with tempfile.TemporaryDirectory(prefix="roost-test-", dir="/tmp") as made:
        monkeypatch.setenv("XDG_RUNTIME_DIR", made)
        yield Path(made)


@pytest.fixture(params=["", " --v2"], ids=["v1", "v2"])
def agent(request: pytest.FixtureRequest) -> str:
    return AGENT + str(request.param)


@asynccontextmanager
async def clocked(agent: str, cwd: Path) -> AsyncIterator[tuple[Client, Session, list[Clock]]]:
    """A session of an agent that has been given a clock."""
    clocks: list[Clock] = []

    def made(connection: McpConnection) -> Clock:
        clocks.append(Clock(connection))
        return clocks[-1]

    async with asyncio.timeout(PATIENCE), connect(agent) as client:
        session = await client.new_session(str(cwd), mcp_servers=[client.mcp.offer("clock", made)])
        yield client, session, clocks


async def told(session: Session, *words: Any) -> Any:
    said = ""
    async for update in session.prompt(json.dumps(words)):
        if isinstance(update, v2.AgentMessageChunk) and isinstance(update.content, v2.TextContent):
            said += update.content.text
    return json.loads(said)


async def test_the_agent_uses_a_server_of_this_program(agent: str, tmp_path: Path, runtime: Path) -> None:
    async with clocked(agent, tmp_path) as (_, session, clocks):
        said = await told(session, "clock", "tools/call", {"name": "now"})
        assert said["answer"] == {"content": [{"type": "text", "text": "noon"}]}
        assert [tool["name"] for tool in said["tools"]["tools"]] == ["now"]
        assert len(clocks) == 1
        assert len(list(runtime.iterdir())) == 1
    await clocks[0].closed.wait()
    assert list(runtime.iterdir()) == []


async def test_the_server_asks_and_tells_the_agent(agent: str, tmp_path: Path) -> None:
    async with clocked(agent, tmp_path) as (_, session, _):
        said = await told(session, "clock", "tools/call", {"name": "roots"})
        assert said["answer"] == {"roots": [{"uri": "file:///work"}]}
        said = await told(session, "clock", "tools/call", {"name": "tell"})
        assert said["heard"] == [{"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info"}}]


async def test_closing_the_session_closes_the_connection(agent: str, tmp_path: Path) -> None:
    async with clocked(agent, tmp_path) as (client, session, clocks):
        await session.close()
        await clocks[0].closed.wait()
        assert client.mcp.connections == []


async def test_a_killed_program_disconnects(agent: str, tmp_path: Path) -> None:
    async with clocked(agent, tmp_path) as (client, session, clocks):
        assert (await told(session, "clock", "kill"))["answer"] == {"ended": -9}
        await clocks[0].closed.wait()
        assert client.mcp.connections == []


async def test_an_agent_that_dies_leaves_nothing(agent: str, tmp_path: Path, runtime: Path) -> None:
    async with clocked(agent, tmp_path) as (_, session, clocks):
        with pytest.raises(Exception, match="exit"):
            await session.prompt(json.dumps(["die"]))
        for clock in clocks:  # it may have died before its program was there
            await clock.closed.wait()
    assert list(runtime.iterdir()) == []


async def test_without_a_place_for_a_socket_the_session_fails_and_says_so(
    agent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("roost.transport.mcp_relay.sys.executable", "")
    with pytest.raises(RpcError, match="clock cannot be relayed to the agent: the Python that runs"):
        async with clocked(agent, tmp_path):
            pass
