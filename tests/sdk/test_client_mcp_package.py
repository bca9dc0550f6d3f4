"""A server of the official `mcp` package, used over ACP."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from roost.errors import ConfigError
from roost.sdk.client import Client
from roost.sdk.mcp_package import packaged
from tests.sdk.raw_agent import RawAgent, bounded, connected, settled

pytest.importorskip("mcp")

PARAMS = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"sampling": {}},
    "clientInfo": {"name": "t", "version": "1"},
}


def made_server() -> Any:
    try:
        from mcp.server.mcpserver import MCPServer as Server
    except ImportError:
        from mcp.server.fastmcp import FastMCP as Server  # type: ignore[no-redef]
    server = Server("clock")

    @server.tool()
    async def add(a: int, b: int) -> int:
        return a + b

    started = asyncio.Event()
    given_up = asyncio.Event()

    @server.tool()
    async def wait() -> str:
        started.set()
        try:
            await asyncio.Event().wait()
        except BaseException:
            given_up.set()
            raise
        return "never"

    server.started, server.given_up = started, given_up
    return server


async def connect_mcp(client: Client, agent: RawAgent, server: Any) -> str:
    declared = client.mcp.offer("clock", packaged(server))
    answer = await agent.answer_to(agent.request("mcp/connect", {"serverId": declared.server_id}))
    connection_id: str = answer["result"]["connectionId"]
    return connection_id


def message(connection_id: str, method: str, params: Any = None) -> dict[str, Any]:
    return {"connectionId": connection_id, "method": method} | ({} if params is None else {"params": params})


async def handshake(agent: RawAgent, connection_id: str) -> Any:
    answer = await agent.answer_to(agent.request("mcp/message", message(connection_id, "initialize", PARAMS)))
    agent.notify("mcp/message", message(connection_id, "notifications/initialized"))
    return answer["result"]


async def test_tools_are_listed_and_called() -> None:
    async with connected() as (client, agent):
        connection_id = await connect_mcp(client, agent, made_server())
        assert (await handshake(agent, connection_id))["serverInfo"]["name"] == "clock"
        listed = await agent.answer_to(agent.request("mcp/message", message(connection_id, "tools/list")))
        assert [tool["name"] for tool in listed["result"]["tools"]] == ["add", "wait"]
        params = {"name": "add", "arguments": {"a": 2, "b": 3}}
        called = await agent.answer_to(agent.request("mcp/message", message(connection_id, "tools/call", params)))
        assert called["result"]["content"][0]["text"] == "5"


async def test_o_26_its_errors_keep_their_code() -> None:
    async with connected() as (client, agent):
        connection_id = await connect_mcp(client, agent, made_server())
        await handshake(agent, connection_id)
        answer = await agent.answer_to(agent.request("mcp/message", message(connection_id, "no/such", {})))
        assert answer["error"]["code"] in (-32601, -32602)


async def test_two_connections_are_two_runs_of_it() -> None:
    async with connected() as (client, agent):
        server = made_server()
        for _ in range(2):
            await handshake(agent, await connect_mcp(client, agent, server))
        assert len(client.mcp.connections) == 2


async def test_mcp_9_a_withdrawn_call_is_cancelled_in_the_server() -> None:
    async with connected() as (client, agent):
        server = made_server()
        connection_id = await connect_mcp(client, agent, server)
        await handshake(agent, connection_id)
        request_id = agent.request(
            "mcp/message", message(connection_id, "tools/call", {"name": "wait", "arguments": {}})
        )
        await bounded(server.started.wait())
        agent.notify("$/cancel_request", {"requestId": request_id})
        assert (await agent.answer_to(request_id))["error"]["code"] == -32800
        await bounded(server.given_up.wait())


async def test_a_disconnect_ends_the_run_and_what_waits_in_it() -> None:
    async with connected() as (client, agent):
        server = made_server()
        connection_id = await connect_mcp(client, agent, server)
        await handshake(agent, connection_id)
        pending = agent.request("mcp/message", message(connection_id, "tools/call", {"name": "wait", "arguments": {}}))
        await bounded(server.started.wait())
        await agent.answer_to(agent.request("mcp/disconnect", {"connectionId": connection_id}))
        assert "error" in await agent.answer_to(pending)
        await settled(client, agent)


async def test_o_29_it_may_ask_the_agent() -> None:
    from mcp.server.lowlevel import Server

    asked: list[Any] = []

    class Asking:
        """Stands for a low-level server: it only has to run on two streams."""

        def create_initialization_options(self) -> None: ...

        async def run(self, incoming: Any, outgoing: Any, options: Any) -> None:
            from roost.sdk.mcp_package import _Messages

            messages = _Messages()
            for number, method in enumerate(("sampling/createMessage", "roots/list")):
                await outgoing.send(messages.wrap({"id": f"x{number}", "method": method, "params": {"n": number}}))
            await outgoing.send(messages.wrap({"method": "notifications/message", "params": {"level": "info"}}))
            async for wrapped in incoming:
                asked.append(messages.unwrap(wrapped))
                if len(asked) == 2:
                    await outgoing.send(messages.wrap({"id": "x9", "method": "elicitation/create", "params": {}}))
                    await outgoing.send(
                        messages.wrap({"method": "notifications/cancelled", "params": {"requestId": "x9"}})
                    )

    assert hasattr(Server, "run")
    async with connected() as (client, agent):
        await connect_mcp(client, agent, Asking())
        first, second = await agent.next("mcp/message"), await agent.next("mcp/message")
        assert first["params"]["method"] == "sampling/createMessage"
        agent.reply(first, {"role": "assistant"})
        agent.refuse(second, -32601, "no roots", {"k": 1})
        told = await agent.next("mcp/message")
        assert ("id" in told, told["params"]["method"]) == (False, "notifications/message")
        third = await agent.next("mcp/message")
        assert (await agent.next("$/cancel_request"))["params"] == {"requestId": third["id"]}
        results = {answer["id"]: answer.get("result", answer.get("error")) for answer in asked}
        assert results["x0"] == {"role": "assistant"}
        assert results["x1"] == {"code": -32601, "message": "no roots", "data": {"k": 1}}


async def test_a_server_that_ends_fails_what_is_asked_of_it(caplog: pytest.LogCaptureFixture) -> None:
    class Ending:
        def create_initialization_options(self) -> None: ...

        async def run(self, incoming: Any, outgoing: Any, options: Any) -> None:
            await incoming.receive()
            raise RuntimeError("no")

    async with connected() as (client, agent):
        connection_id = await connect_mcp(client, agent, Ending())
        for _ in range(2):
            answer = await agent.answer_to(agent.request("mcp/message", message(connection_id, "x", {})))
            assert answer["error"]["code"] == -32603
        assert "an MCP server failed" in caplog.text


def test_what_is_no_server_is_refused() -> None:
    with pytest.raises(ConfigError):
        packaged(object())
