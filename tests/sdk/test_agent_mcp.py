"""MCP-1 to MCP-9 and EXT-1 to EXT-4 as an agent keeps them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from roost.acp import v2
from roost.errors import LimitError, LocalProtocolError, RemoteProtocolError, RpcError
from roost.sdk.agent import Agent
from roost.sdk.limits import AgentLimits
from roost.sdk.turn import Turn

from .raw_client import Json, RawClient, connect, eventually, started
from .steps import Handler, Steps, agent_of, echo

SERVER = {"type": "acp", "name": "tools", "serverId": "srv"}


async def with_server(handler: Handler, **more: Any) -> tuple[RawClient, str, list[Json]]:
    """A client that hosts one MCP server and records what it is asked."""
    client = await started(agent_of(handler, mcp=["acp"], **more))
    asked: list[Json] = []
    ids = iter(range(1, 100))

    def connected(params: Json) -> Json:
        asked.append(params)
        return {"connectionId": f"c{next(ids)}"}

    def disconnected(params: Json) -> Json:
        asked.append(params)
        return {}

    client.answers["mcp/connect"] = connected
    client.answers["mcp/disconnect"] = disconnected
    return client, await client.new_session(mcpServers=[SERVER]), asked


def the_server(turn: Turn) -> v2.McpServerAcp:
    server = turn.session.mcp_servers[0]
    assert isinstance(server, v2.McpServerAcp)
    return server


async def test_o_24_o_25_channels_are_independent_and_answers_are_bare_mcp_2_mcp_3() -> None:
    async def work(turn: Turn) -> None:
        one, two = [await turn.session.open_mcp(the_server(turn)) for _ in range(2)]
        assert one.connection_id != two.connection_id
        await one.notify("notifications/initialized")
        await turn.say(str([await one.request("tools/list", {"cursor": "x"}), await two.request("ping")]))

    client, session, asked = await with_server(work)
    messages: list[Json] = []

    def answer(params: Json) -> Any:
        messages.append(params)
        return [1, None] if params["method"] == "tools/list" else None

    client.answers["mcp/message"] = answer
    client.prompt(session)
    await client.idle()
    assert client.said() == "[[1, None], None]"
    assert messages == [
        {"connectionId": "c1", "method": "tools/list", "params": {"cursor": "x"}},
        {"connectionId": "c2", "method": "ping"},
    ]
    told = [m["params"] for m in client.messages if m.get("method") == "mcp/message" and "id" not in m]
    assert told == [{"connectionId": "c1", "method": "notifications/initialized"}]
    assert asked == [{"serverId": "srv"}] * 2


async def test_o_26_an_inner_error_keeps_its_code_mcp_3() -> None:
    async def work(turn: Turn) -> None:
        async with await turn.session.open_mcp(the_server(turn)) as mcp:
            with pytest.raises(RpcError) as caught:
                await mcp.request("nothing")
            await turn.say(f"{caught.value.code} {caught.value.data}")

    client, session, _ = await with_server(work)
    client.prompt(session)
    request = await client.asked_for("mcp/message")
    client.send(
        {"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32601, "message": "no", "data": {"inner": 1}}}
    )
    await client.idle()
    assert client.said() == "-32601 {'inner': 1}"


async def test_o_28_after_disconnect_the_channel_is_dead_mcp_7() -> None:
    async def work(turn: Turn) -> None:
        mcp = await turn.session.open_mcp(the_server(turn))
        await mcp.close()
        await mcp.close()
        for use in (mcp.request("x"), mcp.notify("x")):
            with pytest.raises(LocalProtocolError):
                await use

    client, session, asked = await with_server(work)
    client.prompt(session)
    await client.idle()
    assert asked == [{"serverId": "srv"}, {"connectionId": "c1"}]
    assert (await client.error("mcp/message", {"connectionId": "c1", "method": "x"}))["code"] == -32602


async def test_o_27_messages_of_an_unknown_channel_are_refused_or_ignored_mcp_6() -> None:
    client, _, _ = await with_server(echo)
    assert (await client.error("mcp/message", {"connectionId": "zz", "method": "x"}))["code"] == -32602
    client.notify("mcp/message", {"connectionId": "zz", "method": "x"})
    await client.settle()
    assert (await client.error("mcp/message", {"connectionId": "zz"}))["code"] == -32602


async def test_o_29_the_servers_own_requests_find_their_channel_mcp_4() -> None:
    steps = Steps()
    heard: list[Any] = []

    async def work(turn: Turn) -> None:
        mcp = await turn.session.open_mcp(the_server(turn))
        await steps.wait("silent")

        async def sample(method: str, params: Any) -> Any:
            await asyncio.sleep(0)
            return {"method": method, "params": params}

        mcp.on_request = sample
        mcp.on_notification = lambda method, params: heard.append((method, params))
        await steps.wait("x")

    client, session, _ = await with_server(work)
    client.prompt(session)
    await steps.reached("silent")
    message = {"connectionId": "c1", "method": "sampling/createMessage", "params": {"a": 1}}
    assert (await client.error("mcp/message", message))["code"] == -32601
    steps.go("silent")
    await steps.reached("x")
    answer = await client.call("mcp/message", message)
    assert answer == {"method": "sampling/createMessage", "params": {"a": 1}}
    client.notify("mcp/message", {"connectionId": "c1", "method": "notifications/progress", "params": 5})
    await eventually(lambda: heard)
    assert heard == [("notifications/progress", None)]  # MCP-8: malformed params of a notification are none
    steps.go("x")
    await client.idle()


async def test_o_30_closing_the_session_closes_its_channels_mcp_7() -> None:
    async def work(turn: Turn) -> None:
        await turn.session.open_mcp(the_server(turn))

    client, session, asked = await with_server(work)
    client.prompt(session)
    await client.idle()
    await client.call("session/close", {"sessionId": session})
    assert asked == [{"serverId": "srv"}, {"connectionId": "c1"}]


async def test_only_servers_of_the_session_are_connected_to_and_not_too_often_mcp_1() -> None:
    async def work(turn: Turn) -> None:
        with pytest.raises(LocalProtocolError):
            await turn.session.open_mcp(v2.McpServerAcp(name="x", server_id="other"))
        await turn.session.open_mcp(the_server(turn))
        with pytest.raises(LimitError):
            await turn.session.open_mcp(the_server(turn))

    client, session, _ = await with_server(work, limits=AgentLimits(mcp_connections=1))
    client.prompt(session)
    await client.idle()
    assert client.states()[-1] == "idle:end_turn"


async def test_two_channels_with_one_id_are_the_clients_mistake_mcp_2() -> None:
    async def work(turn: Turn) -> None:
        await turn.session.open_mcp(the_server(turn))
        with pytest.raises(RemoteProtocolError):
            await turn.session.open_mcp(the_server(turn))

    client, session, _ = await with_server(work)
    client.answers["mcp/connect"] = lambda params: {"connectionId": "same"}
    client.prompt(session)
    await client.idle()
    assert client.states()[-1] == "idle:end_turn"


# ---- extensions


async def test_e_41_e_42_extensions_answer_anything_and_unknown_ones_are_not_found_ext_3_ext_4_env_16() -> None:
    agent = agent_of(echo)
    answers: list[Any] = [None, 5, [], {"a": None}, "x", False]

    @agent.extension("_acme/next")
    async def following(params: Any, link: Any) -> Any:
        return answers[params["n"]]

    client = await started(agent)
    for n, answer in enumerate(answers):
        assert await client.call("_acme/next", {"n": n}) == answer
    assert (await client.error("_acme/other", {}))["code"] == -32601
    client.notify("_acme/other", {})
    await client.settle()


async def test_extension_notifications_are_told_and_an_agent_may_call_its_client_ext_3() -> None:
    agent = agent_of(echo)
    heard: list[Any] = []

    @agent.extension_notification("_acme/plain")
    def plain(params: Any, link: Any) -> None:
        heard.append(("plain", params))

    @agent.extension_notification("_acme/slow")
    async def slow(params: Any, link: Any) -> None:
        heard.append(("slow", params, await link.connection.call_raw("_client/ask", {"q": 1})))

    client = await started(agent)
    client.answers["_client/ask"] = lambda params: {"a": 2}
    client.notify("_acme/slow", {"_meta": {"x": 1}})
    client.notify("_acme/plain")
    await eventually(lambda: len(heard) == 2)
    assert heard[0] == ("plain", {})
    assert heard[1][:2] == ("slow", {"_meta": {"x": 1}})
    assert bytes(heard[1][2]).replace(b" ", b"") == b'{"a":2}'


@pytest.mark.parametrize("name", ["x", "acme/x", "session/new"])
def test_an_extension_is_named_as_one_ext_5(name: str) -> None:
    with pytest.raises(LocalProtocolError):
        Agent("x", "1").extension(name)
    with pytest.raises(LocalProtocolError):
        Agent("x", "1").extension_notification(name)


async def test_an_author_may_take_a_method_over() -> None:
    agent = agent_of(echo)

    @agent.override("session/list")
    def listed(params: v2.ListSessionsRequest, incoming: Any, link: Any) -> Any:
        return v2.ListSessionsResponse(sessions=[v2.SessionInfo(session_id="mine", cwd="/w")])

    client, _ = connect(agent)
    await client.initialize()
    assert await client.call("session/list", {}) == {"sessions": [{"sessionId": "mine", "cwd": "/w"}]}
