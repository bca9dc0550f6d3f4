"""What `connect` takes for an agent."""

from __future__ import annotations

import pytest

from roost import Agent, Turn, connect
from roost.errors import LocalProtocolError


def echo() -> Agent:
    agent = Agent("echo", "1.0")

    @agent.prompt
    async def answer(turn: Turn) -> None:
        await turn.say(turn.text)

    return agent


async def test_an_agent_of_this_program_is_served_in_this_event_loop() -> None:
    async with connect(echo()) as client:
        assert client.agent.info.name == "echo"
        session = await client.new_session("/work")
        end = await session.prompt("hello")
    assert end.text == "hello"


async def test_an_agent_of_this_program_can_be_reached_again() -> None:
    async with connect(echo()) as client:
        session = await client.new_session("/work")
        await session.prompt("hello")
        await client.reopen()
        again = await client.resume_session(session.id, "/work", replay=True)
        assert [message.text for message in again.view.messages] == ["hello", "hello"]


async def test_two_clients_may_use_one_agent() -> None:
    agent = echo()
    async with connect(agent) as one, connect(agent) as two:
        first, second = await one.new_session("/one"), await two.new_session("/two")
        assert (await first.prompt("1")).text == "1"
        assert (await second.prompt("2")).text == "2"


def test_a_directory_is_for_a_command_line() -> None:
    with pytest.raises(LocalProtocolError):
        connect(echo(), cwd="/work")
