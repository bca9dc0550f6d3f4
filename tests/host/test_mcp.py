"""MCP servers of a caller's own, used by a real v1 agent through real programs, a real socket and the whole sidecar."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

import roost
from roost.errors import LocalProtocolError, RpcError
from roost.host.events import Notification
from roost.host.host import Host
from roost.sdk.mcp import McpConnection

PATIENCE = 30
AGENT = f"{sys.executable} -I -S {Path(__file__).with_name('mcp_agent.py')}"


class Clock:
    """An MCP server that writes down what it hears, and insists on the order MCP prescribes."""

    def __init__(self) -> None:
        self.connections: list[McpConnection] = []
        self.heard: list[str] = []
        self.ready = False
        self.closed = asyncio.Event()

    def __call__(self, connection: McpConnection) -> Clock:
        self.connections.append(connection)
        self.ready = False
        self.closed.clear()
        return self

    async def request(self, method: str, params: Any) -> Any:
        self.heard.append(method)
        if method == "initialize":
            return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "clock"}}
        if not self.ready:
            raise RpcError(-32002, "not initialized")
        connection = self.connections[-1]
        match method, params:
            case "tools/list", _:
                return {"tools": [{"name": "now", "inputSchema": {"type": "object"}}]}
            case "tools/call", {"name": "now"}:
                return {"content": [{"type": "text", "text": "noon"}]}
            case "tools/call", {"name": "roots"}:
                return await connection.request("roots/list")
            case "tools/call", {"name": "tell"}:
                await connection.notify("notifications/message", {"level": "info"})
                return {}
        raise RpcError(-32602, "no such tool", {"tool": params.get("name")})

    async def notify(self, method: str, params: Any) -> None:
        self.heard.append(method)
        self.ready = self.ready or method == "notifications/initialized"

    async def close(self) -> None:
        self.closed.set()


@pytest.fixture
def runtime() -> Iterator[Path]:
    """Where sockets go: pytest's own folders may be too long for one."""
    with tempfile.TemporaryDirectory(prefix="roost-test-", dir="/tmp") as made:
        yield Path(made)


@asynccontextmanager
async def house(runtime: Path) -> AsyncIterator[Host]:
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(runtime)}
    async with asyncio.timeout(PATIENCE), roost.host.embedded(environment=environment) as host:
        yield host


async def told(session: roost.host.Session, *words: Any) -> Any:
    """What the agent says to a prompt."""
    said = ""
    async for event in session.prompt(json.dumps(words)):
        if isinstance(event, Notification) and event.raw_update.get("sessionUpdate") == "agent_message_chunk":
            said += event.raw_update["content"]["text"]
    return json.loads(said)


async def gone(pid: int) -> None:
    """Returns when the process runs no more; somebody else is to reap it."""
    await asyncio.to_thread(_gone, pid)


def _gone(pid: int) -> None:
    def state() -> str:
        shown = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
        return shown.stdout.strip()

    until = time.monotonic() + PATIENCE
    while state()[:1] not in ("", "Z"):
        assert time.monotonic() < until, f"process {pid} still runs"


async def test_an_agent_of_v1_uses_a_server_of_its_caller(runtime: Path, tmp_path: Path) -> None:
    clock = Clock()
    async with house(runtime) as host:
        session = await host.create_session(AGENT, cwd=str(tmp_path), mcp_servers=[host.mcp.offer("clock", clock)])
        # All of that happened before there was a session, and in this order.
        assert clock.heard == ["initialize", "notifications/initialized", "tools/list"]
        said = await told(session, "clock", "tools/call", {"name": "now"})
        assert said["answer"] == {"content": [{"type": "text", "text": "noon"}]}
        assert [tool["name"] for tool in said["tools"]["tools"]] == ["now"]
        said = await told(session, "clock", "tools/call", {"name": "nothing"})
        assert said["answer"] == {"code": -32602, "message": "no such tool", "data": {"tool": "nothing"}}
        (folder,) = runtime.iterdir()
        await session.close()
        await clock.closed.wait()
        await gone(said["pid"])
    assert not folder.exists()


async def test_the_server_asks_and_tells_the_agent(runtime: Path, tmp_path: Path) -> None:
    clock = Clock()
    async with house(runtime) as host:
        session = await host.create_session(AGENT, cwd=str(tmp_path), mcp_servers=[host.mcp.offer("clock", clock)])
        said = await told(session, "clock", "tools/call", {"name": "roots"})
        assert said["answer"] == {"roots": [{"uri": "file:///work"}]}
        said = await told(session, "clock", "tools/call", {"name": "tell"})
        assert said["heard"] == [{"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info"}}]


async def test_two_servers_and_two_sessions_do_not_meet(runtime: Path, tmp_path: Path) -> None:
    clocks = [Clock() for _ in range(3)]
    async with house(runtime) as host:
        servers = [host.mcp.offer(name, clock) for name, clock in zip("abc", clocks, strict=True)]
        # One agent at a time: the scripted one calls every session of its own s1.
        one = await host.create_session(AGENT, cwd=str(tmp_path), mcp_servers=servers[:2])
        first = await told(one, "a", "tools/call", {"name": "roots"})
        second = await told(one, "b", "tools/call", {"name": "now"})
        assert first["pid"] != second["pid"]
        assert [len(clock.connections) for clock in clocks] == [1, 1, 0]
        await one.close()
        two = await host.create_session(AGENT, cwd=str(tmp_path), mcp_servers=servers[2:])
        await told(two, "c", "tools/call", {"name": "roots"})
        assert clocks[2].heard.count("tools/call") == 1
        assert clocks[0].heard.count("tools/call") == 1


async def test_a_killed_program_disconnects_from_the_server(runtime: Path, tmp_path: Path) -> None:
    clock = Clock()
    async with house(runtime) as host:
        session = await host.create_session(AGENT, cwd=str(tmp_path), mcp_servers=[host.mcp.offer("clock", clock)])
        said = await told(session, "clock", "kill")
        assert said["answer"] == {"ended": -9}
        await clock.closed.wait()
        with pytest.raises(LocalProtocolError):
            await clock.connections[0].request("roots/list")


async def test_an_agent_that_dies_takes_its_programs_along_and_its_successor_has_its_own(
    runtime: Path, tmp_path: Path
) -> None:
    clock = Clock()
    async with house(runtime) as host:
        session = await host.create_session(AGENT, cwd=str(tmp_path), mcp_servers=[host.mcp.offer("clock", clock)])
        before = (await told(session, "clock", "tools/call", {"name": "now"}))["pid"]
        with pytest.raises(roost.host.AgentCrashed):
            await session.prompt(json.dumps(["die"]))
        await gone(before)
        after = await told(session, "clock", "tools/call", {"name": "roots"})
        assert after["answer"] == {"roots": [{"uri": "file:///work"}]}
        assert len(clock.connections) == 2


async def test_a_server_nobody_has_is_an_error_of_its_first_request(runtime: Path, tmp_path: Path) -> None:
    async with house(runtime) as host:
        host.mcp.offer("another", Clock())
        unknown = {"type": "acp", "name": "clock", "serverId": "nobody's"}
        session = await host.create_session(AGENT, cwd=str(tmp_path), mcp_servers=[unknown])
        assert (await told(session, "clock", "opened"))["answer"]["code"] == -32602


async def test_a_withdrawn_server_is_closed(runtime: Path, tmp_path: Path) -> None:
    clock = Clock()
    async with house(runtime) as host:
        server = host.mcp.offer("clock", clock)
        session = await host.create_session(AGENT, cwd=str(tmp_path), mcp_servers=[server])
        host.mcp.withdraw(server)
        await clock.closed.wait()
        said = await told(session, "clock", "tools/call", {"name": "now"})
        assert said["answer"]["code"] == -32602
