"""Both ends written with the official `mcp` package: a server in the caller, a client in a v1 agent."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import pytest

import roost
from roost.host.events import Notification

pytest.importorskip("mcp")

AGENT = f"{sys.executable} {Path(__file__).with_name('mcp_package_agent.py')}"


def made_server() -> Any:
    try:
        from mcp.server.mcpserver import MCPServer as Server
    except ImportError:
        from mcp.server.fastmcp import FastMCP as Server  # type: ignore[no-redef]
    server = Server("sums")

    @server.tool()
    async def add(a: int, b: int) -> int:
        return a + b

    return server


async def test_a_server_of_the_package_is_used_by_a_client_of_the_package(tmp_path: Path) -> None:
    from roost.sdk.mcp_package import packaged

    said = ""
    environment = {**os.environ, "XDG_RUNTIME_DIR": ""}
    async with asyncio.timeout(50), roost.host.embedded(environment=environment) as host:
        sums = host.mcp.offer("sums", packaged(made_server()))
        session = await host.create_session(AGENT, cwd=str(tmp_path), mcp_servers=[sums])
        async for event in session.prompt("and?"):
            if isinstance(event, Notification) and event.raw_update.get("sessionUpdate") == "agent_message_chunk":
                said += event.raw_update["content"]["text"]
    assert said == "['add'] 5"
