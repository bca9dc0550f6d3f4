"""MCP servers of this program, reached by the agent over the connection (MCP-1 to MCP-9)."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from roost.acp import v2
from roost.errors import ConnectionClosed, LocalProtocolError, RpcError
from roost.sdk.client import Client
from roost.sdk.client_limits import ClientLimits
from roost.sdk.mcp import McpConnection
from tests.sdk.raw_agent import RawAgent, bounded, connected, eventually, opened, settled


class Recorder:
    """An endpoint that writes down what it gets, and answers by `answers`."""

    def __init__(self, connection: McpConnection) -> None:
        self.connection = connection
        self.heard: list[tuple[str, Any]] = []
        self.answers: dict[str, Any] = {}
        self.is_closed = False
        self.given_up = 0
        self.block = asyncio.Event()

    async def request(self, method: str, params: Any) -> Any:
        self.heard.append((method, params))
        if method == "block":
            try:
                await self.block.wait()
            except asyncio.CancelledError:
                self.given_up += 1
                raise
        answer = self.answers.get(method)
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def notify(self, method: str, params: Any) -> None:
        self.heard.append((method, params))
        if method == "fail":
            raise RuntimeError("no")

    async def close(self) -> None:
        self.is_closed = True


class Server:
    """Makes recorders, and keeps them."""

    def __init__(self) -> None:
        self.endpoints: list[Recorder] = []

    def __call__(self, connection: McpConnection) -> Recorder:
        self.endpoints.append(Recorder(connection))
        return self.endpoints[-1]


async def connect_mcp(agent: RawAgent, server: v2.McpServerAcp) -> str:
    answer = await agent.answer_to(agent.request("mcp/connect", {"serverId": server.server_id}))
    connection_id: str = answer["result"]["connectionId"]
    return connection_id


def message(connection_id: str, method: str, params: Any = None) -> dict[str, Any]:
    return {"connectionId": connection_id, "method": method} | ({} if params is None else {"params": params})


async def session_with(client: Client, agent: RawAgent, session_id: str, *servers: v2.McpServer) -> Any:
    opening = asyncio.ensure_future(client.new_session("/work", mcp_servers=servers))
    request = await agent.next("session/new")
    agent.reply(request, {"sessionId": session_id})
    return await bounded(opening), request["params"].get("mcpServers")


async def test_mcp_1_an_offered_server_is_declared_under_an_id_of_its_own() -> None:
    async with connected() as (client, agent):
        one, two = client.mcp.offer("clock", Server()), client.mcp.offer("clock", Server(), meta={"k": 1})
        assert one.server_id != two.server_id
        _, declared = await session_with(client, agent, "s1", one, two)
        assert declared == [
            {"type": "acp", "name": "clock", "serverId": one.server_id},
            {"type": "acp", "name": "clock", "serverId": two.server_id, "_meta": {"k": 1}},
        ]


async def test_o_24_connecting_twice_gives_two_connections() -> None:
    async with connected() as (client, agent):
        server = Server()
        declared = client.mcp.offer("clock", server)
        first, second = await connect_mcp(agent, declared), await connect_mcp(agent, declared)
        assert first != second
        agent.notify("mcp/message", message(second, "hello"))
        await settled(client, agent)
        assert [endpoint.heard for endpoint in server.endpoints] == [[], [("hello", None)]]
        assert len(client.mcp.connections) == 2


@pytest.mark.parametrize("result", [{"tools": []}, None, 5, [], "x"])
async def test_o_25_the_result_is_the_inner_one_whatever_it_is(result: Any) -> None:
    async with connected() as (client, agent):
        server = Server()
        connection_id = await connect_mcp(agent, client.mcp.offer("clock", server))
        server.endpoints[0].answers["tools/list"] = result
        request_id = agent.request("mcp/message", message(connection_id, "tools/list", {"cursor": "1"}))
        assert await agent.answer_to(request_id) == {"jsonrpc": "2.0", "id": request_id, "result": result}
        assert server.endpoints[0].heard == [("tools/list", {"cursor": "1"})]


async def test_o_26_an_inner_error_is_the_outer_one() -> None:
    async with connected() as (client, agent):
        server = Server()
        connection_id = await connect_mcp(agent, client.mcp.offer("clock", server))
        server.endpoints[0].answers["no"] = RpcError(-32601, "Method not found", {"inner": True})
        answer = await agent.answer_to(agent.request("mcp/message", message(connection_id, "no")))
        assert answer["error"] == {"code": -32601, "message": "Method not found", "data": {"inner": True}}


async def test_mcp_5_messages_reach_the_server_in_their_order() -> None:
    async with connected() as (client, agent):
        server = Server()
        connection_id = await connect_mcp(agent, client.mcp.offer("clock", server))
        first = agent.request("mcp/message", message(connection_id, "initialize"))
        agent.notify("mcp/message", message(connection_id, "notifications/initialized"))
        last = agent.request("mcp/message", message(connection_id, "tools/list"))
        for request_id in (first, last):
            await agent.answer_to(request_id)
        methods = [method for method, _ in server.endpoints[0].heard]
        assert methods == ["initialize", "notifications/initialized", "tools/list"]


async def test_o_27_a_connection_nobody_has_is_refused_and_ignored() -> None:
    async with connected() as (client, agent):
        for method in ("mcp/message", "mcp/disconnect"):
            answer = await agent.answer_to(agent.request(method, message("nope", "x")))
            assert answer["error"]["code"] == -32602
        agent.notify("mcp/message", message("nope", "x"))
        assert (await agent.answer_to(agent.request("mcp/connect", {"serverId": "nope"})))["error"]["code"] == -32602
        await settled(client, agent)


async def test_o_28_after_a_disconnect_the_id_is_dead_and_what_was_asked_fails() -> None:
    async with connected() as (client, agent):
        server = Server()
        declared = client.mcp.offer("clock", server)
        connection_id = await connect_mcp(agent, declared)
        pending = agent.request("mcp/message", message(connection_id, "block"))
        answer = await agent.answer_to(agent.request("mcp/disconnect", {"connectionId": connection_id}))
        assert answer["result"] == {}
        assert "error" in await agent.answer_to(pending)
        endpoint = server.endpoints[0]
        assert (endpoint.is_closed, endpoint.given_up) == (True, 1)
        again = agent.request("mcp/message", message(connection_id, "x"))
        assert (await agent.answer_to(again))["error"]["code"] == -32602
        with pytest.raises(LocalProtocolError):
            await endpoint.connection.notify("x")
        assert await connect_mcp(agent, declared) != connection_id


async def test_a_server_is_closed_though_the_agent_is_gone_before_its_disconnect_is_done() -> None:
    async with connected() as (client, agent):
        server = Server()
        connection_id = await connect_mcp(agent, client.mcp.offer("clock", server))
        closing = asyncio.ensure_future(client.mcp.disconnect(v2.DisconnectMcpRequest(connection_id=connection_id)))
        await asyncio.sleep(0)
        closing.cancel()  # as the end of the connection does
        await eventually(lambda: server.endpoints[0].is_closed)


async def test_a_server_that_is_made_when_the_agent_is_gone_is_closed() -> None:
    made: asyncio.Future[Recorder] = asyncio.get_running_loop().create_future()
    async with connected() as (client, agent):
        waiting: list[McpConnection] = []

        async def slow(connection: McpConnection) -> Recorder:
            waiting.append(connection)
            return await asyncio.shield(made)

        declared = client.mcp.offer("clock", slow)
        agent.request("mcp/connect", {"serverId": declared.server_id})
        await eventually(lambda: waiting)
        client.mcp.withdraw([declared])
        made.set_result(Recorder(waiting[0]))
        await eventually(lambda: made.result().is_closed)
        assert client.mcp.connections == []


async def test_mcp_9_a_withdrawn_message_is_given_up_by_the_server() -> None:
    async with connected() as (client, agent):
        server = Server()
        connection_id = await connect_mcp(agent, client.mcp.offer("clock", server))
        request_id = agent.request("mcp/message", message(connection_id, "block"))
        agent.notify("$/cancel_request", {"requestId": request_id})
        assert (await agent.answer_to(request_id))["error"]["code"] == -32800
        assert len(agent.answers_to(request_id)) == 1


async def test_o_29_the_server_may_ask_the_agent() -> None:
    async with connected() as (client, agent):
        server = Server()
        connection_id = await connect_mcp(agent, client.mcp.offer("clock", server))
        connection = server.endpoints[0].connection
        asking = asyncio.ensure_future(connection.request("sampling/createMessage", {"n": 1}))
        request = await agent.next("mcp/message")
        assert request["params"] == message(connection_id, "sampling/createMessage", {"n": 1})
        agent.reply(request, {"role": "assistant"})
        assert await bounded(asking) == {"role": "assistant"}
        refused = asyncio.ensure_future(connection.request("roots/list"))
        agent.refuse(await agent.next("mcp/message"), -32601)
        with pytest.raises(RpcError):
            await bounded(refused)
        await connection.notify("notifications/tools/list_changed")
        told = await agent.next("mcp/message")
        assert "id" not in told
        assert told["params"] == message(connection_id, "notifications/tools/list_changed")


async def test_o_30_closing_a_session_closes_what_it_alone_uses() -> None:
    async with connected() as (client, agent):
        mine, shared = Server(), Server()
        servers = [client.mcp.offer("mine", mine), client.mcp.offer("shared", shared)]
        session, _ = await session_with(client, agent, "s1", *servers)
        await session_with(client, agent, "s2", servers[1])
        for server in servers:
            await connect_mcp(agent, server)
        closing = asyncio.ensure_future(session.close())
        agent.reply(await agent.next("session/close"))
        await bounded(closing)
        await client.mcp.settled()
        assert (mine.endpoints[0].is_closed, shared.endpoints[0].is_closed) == (True, False)
        assert [connection.server.name for connection in client.mcp.connections] == ["shared"]


async def test_mcp_7_the_end_of_the_connection_closes_them_all() -> None:
    server = Server()
    async with connected() as (client, agent):
        await connect_mcp(agent, client.mcp.offer("clock", server))
        connection = server.endpoints[0].connection
        asking = asyncio.ensure_future(connection.request("sampling/createMessage"))
        await agent.next("mcp/message")
        agent.close()
        with pytest.raises(ConnectionClosed):
            await bounded(asking)
    assert server.endpoints[0].is_closed


async def test_a_withdrawn_server_is_not_there_any_more() -> None:
    async with connected() as (client, agent):
        server = Server()
        declared = client.mcp.offer("clock", server)
        await connect_mcp(agent, declared)
        client.mcp.withdraw([declared])
        await client.mcp.settled()
        assert server.endpoints[0].is_closed
        answer = await agent.answer_to(agent.request("mcp/connect", {"serverId": declared.server_id}))
        assert answer["error"]["code"] == -32602


async def test_a_server_that_cannot_be_made_leaves_no_connection(caplog: pytest.LogCaptureFixture) -> None:
    async def broken(connection: McpConnection) -> Recorder:
        raise RuntimeError("no")

    async with connected() as (client, agent):
        declared = client.mcp.offer("clock", broken)
        with caplog.at_level(logging.CRITICAL):
            answer = await agent.answer_to(agent.request("mcp/connect", {"serverId": declared.server_id}))
        assert answer["error"]["code"] == -32603
        assert client.mcp.connections == []


async def test_the_connections_are_bounded() -> None:
    async with connected(limits=ClientLimits(mcp_connections=1)) as (client, agent):
        declared = client.mcp.offer("clock", Server())
        await connect_mcp(agent, declared)
        answer = await agent.answer_to(agent.request("mcp/connect", {"serverId": declared.server_id}))
        assert answer["error"]["data"] == {"limit": "mcp_connections", "bound": 1}


async def test_mcp_8_a_failing_notification_is_logged_and_malformed_ones_are_dropped(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with connected() as (client, agent):
        server = Server()
        connection_id = await connect_mcp(agent, client.mcp.offer("clock", server))
        agent.notify("mcp/message", message(connection_id, "fail"))
        agent.notify("mcp/message", message(connection_id, "odd", []))
        agent.notify("mcp/message", {"connectionId": connection_id})
        bad = agent.request("mcp/message", message(connection_id, "odd", []))
        assert (await agent.answer_to(bad))["error"]["code"] == -32602
        await settled(client, agent)
        assert [method for method, _ in server.endpoints[0].heard] == ["fail", "odd"]
        assert "failed on a notification" in caplog.text


async def test_a_server_that_takes_no_notifications_is_closed_in_the_end(caplog: pytest.LogCaptureFixture) -> None:
    class Stuck(Recorder):
        async def notify(self, method: str, params: Any) -> None:
            await asyncio.Event().wait()

    made: list[Stuck] = []

    def server(connection: McpConnection) -> Stuck:
        made.append(Stuck(connection))
        return made[-1]

    async with connected() as (client, agent):
        await opened(client, agent)
        connection_id = await connect_mcp(agent, client.mcp.offer("stuck", server))
        with caplog.at_level(logging.CRITICAL):
            for _ in range(300):
                agent.notify("mcp/message", message(connection_id, "x"))
            await settled(client, agent)
        await client.mcp.settled()
        assert made[0].is_closed
        assert client.mcp.connections == []
