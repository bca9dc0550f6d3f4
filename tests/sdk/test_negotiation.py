"""Which version a client speaks with its agent: each trial on a fresh one, the shape of the answer decides."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from roost.errors import AgentExited, ConnectionClosed, RemoteProtocolError, RpcError, UnsupportedVersion
from roost.sdk.client import Client
from roost.sdk.client_turn import TurnEnd
from roost.sdk.connect import connect
from roost.sdk.session import Session
from tests.sdk.fresh_agents import Fresh
from tests.sdk.raw_agent import RawAgent, bounded, eventually

V1 = {"agentCapabilities": {"loadSession": True}, "agentInfo": {"name": "old", "version": "1"}}
REFUSED = RpcError(-32602, "Invalid params")


@pytest.mark.parametrize("first", [{"protocolVersion": 1, **V1}, {"protocolVersion": 2, **V1}, REFUSED])
async def test_an_agent_of_version_1_is_started_again_and_bridged(first: Any) -> None:
    fresh = Fresh(first, {"protocolVersion": 1, **V1})
    async with connect(fresh) as client:
        assert fresh.asked == [2, 1]
        assert fresh.agents[0].is_over
        capabilities = fresh.agents[1].messages[0]["params"]["clientCapabilities"]
        assert not capabilities.get("terminal")
        assert not any((capabilities.get("fs") or {}).values())
        assert client.agent.info.name == "old"


async def test_what_an_agent_spoke_is_remembered_for_the_next_connection() -> None:
    fresh = Fresh({"protocolVersion": 1, **V1}, {"protocolVersion": 1, **V1}, {"protocolVersion": 1, **V1})
    async with connect(fresh) as client:
        await client.reopen()
    assert fresh.asked == [2, 1, 1]


async def test_the_version_an_agent_is_known_to_speak_is_tried_first() -> None:
    fresh = Fresh({"protocolVersion": 1, **V1})
    async with connect(fresh, speaks=1):
        assert fresh.asked == [1]


async def test_an_agent_that_is_known_wrongly_is_found_out() -> None:
    fresh = Fresh(REFUSED, {"protocolVersion": 2, "info": {"name": "new", "version": "1"}, "capabilities": {}})
    async with connect(fresh, speaks=1) as client:
        assert fresh.asked == [1, 2]
        assert client.agent.info.name == "new"


async def test_an_agent_that_refuses_both_is_told_by_its_last_answer() -> None:
    fresh = Fresh(REFUSED, RpcError(-32000, "log in first"))
    with pytest.raises(RpcError, match="log in first"):
        await connect(fresh)
    assert fresh.asked == [2, 1]
    assert all(agent.is_over for agent in fresh.agents)


async def test_a_version_that_is_neither_is_unsupported_and_not_tried_further() -> None:
    fresh = Fresh({"protocolVersion": 9, **V1})
    with pytest.raises(UnsupportedVersion) as caught:
        await connect(fresh)
    assert caught.value.answered == 9
    assert fresh.asked == [2]


async def test_a_channel_that_is_there_once_is_spoken_to_in_version_2_only() -> None:
    fresh = Fresh({"protocolVersion": 2, **V1})
    with pytest.raises(RemoteProtocolError):
        await connect(fresh())


async def bridged(*answers: Any) -> tuple[Client, RawAgent]:
    fresh = Fresh(*answers or ({"protocolVersion": 1, **V1},) * 2)
    client = await connect(fresh)
    await asyncio.gather(*fresh.tasks)
    return client, fresh.agents[1]


async def prompted(client: Client, agent: RawAgent) -> tuple[asyncio.Future[TurnEnd], dict[str, Any]]:
    opening = asyncio.ensure_future(client.new_session("/work"))
    agent.reply(await agent.next("session/new"), {"sessionId": "s"})
    session = await bounded(opening)
    turn = asyncio.ensure_future(_to_its_end(session))
    return turn, await agent.next("session/prompt")


async def _to_its_end(session: Session) -> TurnEnd:
    turn = session.prompt("hello")
    async for _ in turn:
        await asyncio.sleep(0)  # a slow reader
    assert turn.end is not None
    return turn.end


def chunk(text: str) -> dict[str, Any]:
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    return {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": update}}


async def test_a_turn_ends_although_the_agent_says_nothing_more_after_its_answer() -> None:
    """The bridge's own clock tells it."""
    client, agent = await bridged()
    turn, request = await prompted(client, agent)
    agent.send(chunk("a"), chunk("b"))
    agent.reply(request, {"stopReason": "end_turn"})
    end = await bounded(turn)
    assert (end.stop_reason, end.text) == ("end_turn", "ab")
    await client.close()


async def test_an_agent_that_answers_and_leaves_at_once_has_ended_its_turn() -> None:
    client, agent = await bridged()
    turn, request = await prompted(client, agent)
    agent.send(chunk("a"))
    agent.reply(request, {"stopReason": "end_turn"})
    agent.close()
    end = await bounded(turn)
    assert (end.stop_reason, end.text) == ("end_turn", "a")
    await eventually(lambda: not client.is_open)
    await client.close()


async def test_an_agent_that_leaves_in_the_middle_of_a_turn_is_told_as_any_other() -> None:
    client, agent = await bridged()
    turn, _ = await prompted(client, agent)
    agent.send(chunk("a"))
    agent.close()
    with pytest.raises(ConnectionClosed) as caught:
        await bounded(turn)
    assert not isinstance(caught.value, AgentExited)  # no process, no exit code
    await client.close()


async def test_everything_of_a_slow_readers_agent_arrives_in_order() -> None:
    client, agent = await bridged()
    turn, request = await prompted(client, agent)
    agent.send(*[chunk(f"{number},") for number in range(3000)])  # more than waits unread
    agent.reply(request, {"stopReason": "end_turn"})
    assert (await bounded(turn)).text == "".join(f"{number}," for number in range(3000))
    await client.close()
