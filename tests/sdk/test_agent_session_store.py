"""What an agent keeps in its store, when its client leaves and when the store fails."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from roost.errors import StoreError
from roost.sdk.agent import Agent
from roost.sdk.agent_session import AgentSession
from roost.sdk.store import MemorySessionStore, StoredSession
from roost.sdk.turn import Turn

from .agent_history import FROM_START, NewStore, resume_params
from .raw_client import connect, started
from .steps import Steps, agent_of, echo


async def test_a_connection_that_ends_cancels_work_and_keeps_the_sessions_std_5(new_store: NewStore) -> None:
    steps = Steps()
    closed: list[str] = []

    async def slow(turn: Turn) -> None:
        async with turn.tool("slow"):
            await steps.wait("x")

    agent = agent_of(slow, store=new_store())

    @agent.close_hook
    async def close(session: AgentSession) -> None:
        closed.append(session.id)

    client, link = connect(agent)
    await client.initialize()
    session = await client.new_session()
    client.prompt(session)
    await steps.reached("x")
    client.close()
    async with asyncio.timeout(5):
        await link.connection.wait_closed()
    assert closed == [session]
    again = await started(agent_of(slow, store=new_store()))
    await again.call("session/resume", resume_params(session, **FROM_START))
    assert [u["status"] for u in again.updates("tool_call_update")] == ["cancelled"]


class BrokenStore(MemorySessionStore):
    def __init__(self, broken: set[str]) -> None:
        super().__init__()
        self.broken = broken

    async def save(self, session: StoredSession) -> None:
        if "save" in self.broken:
            raise StoreError("disk full")
        await super().save(session)

    async def load(self, session_id: str) -> StoredSession | None:
        if "load" in self.broken:
            raise StoreError("secret path")
        return await super().load(session_id)

    async def records(self) -> list[Any]:
        if "records" in self.broken:
            raise StoreError("secret path")
        return await super().records()


async def test_a_store_that_fails_does_not_stop_the_work(caplog: pytest.LogCaptureFixture) -> None:
    client = await started(agent_of(echo, store=BrokenStore({"save"})))
    client.prompt(await client.new_session())
    await client.idle()
    assert client.states() == ["running", "idle:end_turn"]
    assert "disk full" in caplog.text


async def test_what_a_store_cannot_read_is_no_success_and_its_text_stays_here_err_3() -> None:
    store = BrokenStore(set())
    client = await started(agent_of(echo, store=store))
    session = await client.new_session()
    await client.call("session/close", {"sessionId": session})
    store.broken |= {"load", "records"}
    for method, params in (
        ("session/resume", resume_params(session)),
        ("session/list", {}),
        ("session/delete", {"sessionId": session}),
    ):
        error = await client.error(method, params)
        assert error["code"] == -32603
        assert "secret" not in str(error)


async def test_the_authors_data_is_kept_and_scratch_is_not(new_store: NewStore) -> None:
    async def count(turn: Turn) -> None:
        turn.session.data["n"] = turn.session.data.get("n", 0) + 1
        turn.session.scratch["n"] = turn.session.scratch.get("n", 0) + 1
        await turn.say(f"{turn.session.data['n']}/{turn.session.scratch['n']} ")

    client = await started(agent_of(count, store=new_store()))
    session = await client.new_session()
    client.prompt(session)
    client.prompt(session)
    await client.idle(2)
    client.close()
    again = await started(agent_of(count, store=new_store()))
    await again.call("session/resume", resume_params(session))
    again.prompt(session)
    await again.idle()
    assert (client.said(), again.said()) == ("1/1 2/2 ", "3/1 ")


async def test_an_agent_reads_what_was_said_before() -> None:
    async def recall(turn: Turn) -> None:
        texts = [m.text for m in turn.session.history.messages]
        await turn.say("|".join(texts))

    client = await started(agent_of(recall))
    session = await client.new_session()
    for text in ("a", "b"):
        client.prompt(session, text)
    await client.idle(2)
    assert client.said() == "a" + "a|a|b"


def test_the_shortest_agent_is_short() -> None:
    assert isinstance(Agent("x", "1"), Agent)
