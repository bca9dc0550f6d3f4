"""An agent of ACP v1 whose MCP client is the one of the official `mcp` package. It adds 2 and 3 by its first server."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


def send(**message: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


async def added(entry: dict[str, Any]) -> str:
    env = {variable["name"]: variable["value"] for variable in entry["env"]}
    parameters = StdioServerParameters(command=entry["command"], args=entry["args"], env=env)
    async with stdio_client(parameters) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        tools = await session.list_tools()
        result = await session.call_tool("add", {"a": 2, "b": 3})
        return f"{[tool.name for tool in tools.tools]} {result.content[0].text}"  # type: ignore[union-attr]


def main() -> None:
    text = ""
    for line in sys.stdin:
        message = json.loads(line)
        method, number = message.get("method"), message.get("id")
        if method == "initialize":
            send(id=number, result={"protocolVersion": 1, "agentCapabilities": {}})
        elif method == "session/new":
            text = asyncio.run(added(message["params"]["mcpServers"][0]))
            send(id=number, result={"sessionId": "s1"})
        elif method == "session/prompt":
            update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
            send(method="session/update", params={"sessionId": "s1", "update": update})
            send(id=number, result={"stopReason": "end_turn"})


if __name__ == "__main__":
    main()
