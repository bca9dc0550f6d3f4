"""Extension methods between a client and its agent, both ways."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from roost.sdk.connect import connect
from roost.transport.messages import message_pair
from tests.sdk.raw_agent import (
    bounded,
    connected,
    settled,
)


async def test_e_42_extensions_go_both_ways_with_any_json() -> None:
    heard: list[Any] = []

    async def echo(params: Any) -> Any:
        return params["value"]

    options: dict[str, Any] = {"requests": {"_acme/echo": echo}, "notifications": {"_acme/hear": heard.append}}
    async with connected(**options) as (client, agent):
        for value in (None, 5, [], "x", {"_meta": {"a": 1}}):
            answer = await agent.answer_to(agent.request("_acme/echo", {"value": value}))
            assert answer["result"] == value
            asking = asyncio.ensure_future(client.call_extension("_acme/ask", {"v": value}))
            request = await agent.next("_acme/ask")
            assert request["params"] == {"v": value}
            agent.send({"jsonrpc": "2.0", "id": request["id"], "result": value})
            assert await bounded(asking) == value
        agent.notify("_acme/hear", {"n": 1, "_meta": {"k": 2}})
        client.notify_extension("_acme/tell", {"x": 1})
        assert (await agent.next("_acme/tell"))["params"] == {"x": 1}
        await settled(client, agent)
        assert heard == [{"n": 1, "_meta": {"k": 2}}]


async def test_users_h_no_params_are_no_member() -> None:
    async with connected(initialize={"authMethods": [{"type": "agent", "methodId": "a", "name": "A"}]}) as (
        client,
        agent,
    ):
        client.notify_extension("_tell")
        assert "params" not in await agent.next("_tell")
        asking = asyncio.ensure_future(client.call_extension("_ask"))
        request = await agent.next("_ask")
        assert "params" not in request
        agent.reply(request)
        await bounded(asking)
        leaving = asyncio.ensure_future(client.logout())
        request = await agent.next("auth/logout")
        assert request["params"] == {}
        agent.reply(request)
        await bounded(leaving)


async def test_env_9_what_only_agents_answer_is_not_found_here() -> None:
    """TRM-1, EXT-8."""
    async with connected() as (_, agent):
        for method in (
            "initialize",
            "session/new",
            "session/prompt",
            "fs/read_text_file",
            "terminal/create",
            "proxy/initialize",
            "_nobody/knows",
            "$/odd",
        ):
            assert (await agent.answer_to(agent.request(method, {})))["error"]["code"] == -32601


async def test_only_extensions_are_extensions() -> None:
    async with connected() as (client, _):
        with pytest.raises(Exception, match="EXT-3"):
            await client.call_extension("session/list")
        with pytest.raises(Exception, match="EXT-3"):
            client.notify_extension("session/cancel")
    with pytest.raises(Exception, match="EXT-3"):
        connect(message_pair()[0], requests={"session/update": lambda params: None})
