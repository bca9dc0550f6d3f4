"""What is wrong on the wire, lost or cut off: what a client makes of it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from roost.acp import v2
from roost.errors import ConnectionClosed, LimitError, RpcError
from roost.sdk.connect import connect
from roost.transport.messages import message_pair
from tests.sdk.raw_agent import (
    RUNNING,
    RawAgent,
    bounded,
    connected,
    idle,
    in_session,
    opened,
    permission,
    said,
    settled,
)

ODD = [
    b"[1,2,3]",
    b'["x"]',
    b"[]",
    b'"scalar"',
    b"5",
    b"null",
    b"true",
    b'{"jsonrpc":"2.0","id":[1],"result":{}}',
    b"{}",
]


@pytest.mark.parametrize("line", [*ODD, b"{", b'{"jsonrpc":"2.0","id":1', b"\xff\xfe", b"log: started"])
@pytest.mark.parametrize("strict", [None, False])
async def test_users_b_c_d_no_line_ends_the_connection(line: bytes, strict: bool | None) -> None:
    async with in_session(strict=strict) as (session, agent):
        asking = asyncio.ensure_future(session.client.call_extension("_x/ask"))
        request = await agent.next("_x/ask")
        agent.send(line)
        agent.update("s1", said("still here"))
        agent.reply(request, 7)
        assert await bounded(asking) == 7
        assert session.view.messages[0].text == "still here"


async def test_users_f_invalid_json_is_answered_once_with_a_parse_error() -> None:
    async with connected() as (client, agent):
        agent.send(b'{"jsonrpc":')
        await settled(client, agent)
        errors = [m["error"]["code"] for m in agent.messages if m.get("id", 0) is None]
        assert errors == [-32700]


async def test_std_4_a_noisy_agents_lines_are_counted_and_not_answered() -> None:
    """H-03."""
    async with connected(strict=False) as (client, agent):
        before = len(agent.messages)
        agent.send(b"log: started", b'{"level":"info","id":1}', b'"x"', b"12")
        await settled(client, agent)
        assert client.noise == 4
        assert len(agent.messages) == before + 1


async def test_e_12_a_malformed_answer_fails_its_call_and_nothing_is_sent_back() -> None:
    async with connected() as (client, agent):
        asking = asyncio.ensure_future(client.call_extension("_x/ask"))
        request = await agent.next("_x/ask")
        before = len(agent.messages)
        agent.send({"jsonrpc": "2.0", "id": request["id"], "result": 1, "error": {"code": 1, "message": "m"}})
        with pytest.raises(Exception, match="malformed response"):
            await bounded(asking)
        await settled(client, agent)
        assert len(agent.messages) == before + 1


async def test_users_g_metadata_is_never_mixed_into_what_a_handler_gets() -> None:  # E-44
    seen: list[v2.RequestPermissionRequest] = []
    meta = {"sessionId": "other", "title": "Nothing to see", "traceparent": "00-1-2-03"}
    async with in_session(on_permission=lambda request: seen.append(request)) as (_, agent):
        await agent.answer_to(agent.request("session/request_permission", permission(_meta=meta)))
    assert (seen[0].session_id, seen[0].title, seen[0].meta) == ("s1", "May I?", meta)


class Overflowing:
    """A channel that loses the answers its agent gives."""

    def __init__(self, channel: Any) -> None:
        self._channel = channel

    def __getattr__(self, name: str) -> Any:
        return getattr(self._channel, name)

    def open(self, listener: Any) -> None:
        self.listener = listener
        self._channel.open(listener)


async def test_users_e_a_lost_message_fails_the_calls_whose_answer_it_may_have_been() -> None:
    ours, theirs = message_pair()
    agent, channel = RawAgent(theirs), Overflowing(ours)
    client = connect(channel)  # type: ignore[arg-type]
    opening = asyncio.ensure_future(client.open())
    await agent.initialize()
    await bounded(opening)
    session = await opened(client, agent)
    turn = session.prompt("hi").send()
    prompt = await agent.next("session/prompt")
    listing = asyncio.ensure_future(client.list_page())
    await agent.next("session/list")
    channel.listener.overflowed(1, 1_000)
    with pytest.raises(LimitError) as caught:
        await bounded(listing)
    assert (caught.value.limit, caught.value.bound) == ("max_line_bytes", 1_000)
    agent.reply(prompt)
    agent.update("s1", RUNNING, idle())
    assert (await bounded(turn)).stop_reason == "end_turn"
    await client.close()


async def test_e_17_everything_that_waits_fails_when_the_agent_hangs_up() -> None:
    async with in_session() as (session, agent):
        client = session.client
        waiting = [
            asyncio.ensure_future(client.call_extension("_x/ask")),
            asyncio.ensure_future(client.list_page()),
            asyncio.ensure_future(client.new_session("/work")),
            asyncio.ensure_future(session.prompt("hi").finished()),
        ]
        await agent.until(lambda: len(agent.untaken) == 4)
        agent.close()
        for call in waiting:
            with pytest.raises(ConnectionClosed):
                await bounded(call)
        with pytest.raises(ConnectionClosed):
            await client.list_page()


async def test_e_37_cancelling_a_call_takes_it_back_once() -> None:
    async with connected() as (client, agent):
        asking = asyncio.ensure_future(client.list_page())
        request = await agent.next("session/list")
        asking.cancel()
        assert (await agent.next("$/cancel_request"))["params"] == {"requestId": request["id"]}
        agent.reply(request, {"sessions": []})
        await settled(client, agent)
        assert not agent.untaken


async def test_what_is_sent_is_strict() -> None:
    async with in_session() as (session, agent):
        client = session.client
        for wrong in (
            lambda: client.call(v2.ListSessionsRequest(cwd=5)),  # type: ignore[arg-type]
            lambda: client.call(v2.NewSessionRequest(cwd="/w", mcp_servers=[{"type": "stdio"}])),  # type: ignore[list-item]
            lambda: client.call_extension("_x", {"f": float("nan")}),
            lambda: client.call_extension("_x", {"f": "\ud800"}),
        ):
            with pytest.raises(Exception, match=r"strict|finite|surrogate|expected|Expected"):
                await wrong()
        await settled(client, agent)
        assert not agent.untaken


async def test_the_error_of_the_agent_comes_whole() -> None:
    async with connected() as (client, agent):
        asking = asyncio.ensure_future(client.call_extension("_x/ask"))
        agent.refuse(await agent.next("_x/ask"), -31999, "why not", {"message": "quota", "n": [1]})
        with pytest.raises(RpcError) as caught:
            await bounded(asking)
        assert (caught.value.code, caught.value.message, caught.value.data) == (
            -31999,
            "why not",
            {"message": "quota", "n": [1]},
        )
