"""What an agent's code may do with its connection directly."""

from __future__ import annotations

import pytest

from roost import Agent, Turn, connect
from roost.errors import LocalProtocolError


async def test_an_agent_asks_and_tells_its_client_by_extensions() -> None:
    agent = Agent("asks", "1.0")
    told: list[object] = []

    @agent.prompt
    async def answer(turn: Turn) -> None:
        link = turn.session.link
        link.notify_extension("_acme/tell", {"n": 1})
        await turn.say(await link.call_extension("_acme/ask", {"n": 2}))

    requests = {"_acme/ask": lambda params: f"{params['n']}!"}
    async with connect(agent, requests=requests, notifications={"_acme/tell": told.append}) as client:
        session = await client.new_session("/work")
        assert (await session.prompt("go")).text == "2!"
    assert told == [{"n": 1}]


async def test_what_is_no_extension_is_not_sent_as_one() -> None:
    agent = Agent("asks", "1.0")
    faults: list[str] = []

    @agent.prompt
    async def answer(turn: Turn) -> None:
        link = turn.session.link
        with pytest.raises(LocalProtocolError) as fault:
            link.notify_extension("session/update", {})
        faults.append(str(fault.value))
        with pytest.raises(LocalProtocolError) as fault:
            await link.call_extension("elicitation/create", {})
        faults.append(str(fault.value))

    async with connect(agent) as client:
        await (await client.new_session("/work")).prompt("go")
    assert len(faults) == 2
