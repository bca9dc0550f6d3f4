"""Sessions as a client resumes them (SES-17 to SES-25)."""

from __future__ import annotations

import asyncio

import pytest

from roost.acp import v2
from roost.errors import RpcError
from tests.sdk.raw_agent import (
    OPTION,
    RUNNING,
    bounded,
    connected,
    idle,
    in_session,
    response,
    said,
    settled,
    state,
    tool_call,
    update_message,
    user_said,
)


async def test_ses_17_a_resume_without_replay_asks_for_none() -> None:
    async with connected() as (client, agent):
        resuming = asyncio.ensure_future(client.resume_session("s1", "/work"))
        request = await agent.next("session/resume")
        assert request["params"] == {"sessionId": "s1", "cwd": "/work"}
        agent.update("s1", state("running"))
        agent.reply(request, {"configOptions": [OPTION]})
        session = await bounded(resuming)
        assert session.view.state == "running"
        assert len(session.view.config_options) == 1


async def test_ses_18_a_replay_is_in_the_view_when_the_session_is_there() -> None:
    async with connected() as (client, agent):
        resuming = asyncio.ensure_future(client.resume_session("s1", "/work", replay=True))
        request = await agent.next("session/resume")
        assert request["params"]["replayFrom"] == {"type": "start"}
        history = (user_said("hi"), said("hello"), tool_call(title="t", status="completed"), idle())
        agent.send(*(update_message("s1", update) for update in history), response(request))
        session = await bounded(resuming)
        assert [entry.kind for entry in session.view.timeline] == ["user_message", "agent_message", "other"]
        assert session.view.is_idle


async def test_an_unknown_place_to_replay_from_is_passed_on() -> None:
    async with connected() as (client, agent):
        place = {"type": "_message", "messageId": "m7"}
        resuming = asyncio.ensure_future(client.resume_session("s1", "/work", replay=v2.Unknown.of(place)))
        request = await agent.next("session/resume")
        assert request["params"]["replayFrom"] == place
        agent.reply(request)
        await bounded(resuming)


async def test_s_26_resuming_what_is_open_clears_the_view_first() -> None:
    async with in_session() as (session, agent):
        agent.update("s1", user_said("hi"), said("hello"), tool_call(title="old"))
        await settled(session.client, agent)
        resuming = asyncio.ensure_future(session.client.resume_session("s1", "/work", replay=True))
        request = await agent.next("session/resume")
        assert session.view.timeline == []
        agent.update("s1", user_said("hi"), said("hello"))
        agent.reply(request)
        assert await bounded(resuming) is session
        assert [message.text for message in session.view.messages] == ["hi", "hello"]
        assert session.view.tool_calls == {}


async def test_what_is_replayed_goes_to_the_view_and_not_to_those_who_read_on() -> None:
    async with in_session() as (session, agent):
        stream = session.updates()
        resuming = asyncio.ensure_future(session.client.resume_session("s1", "/work", replay=True))
        request = await agent.next("session/resume")
        agent.update("s1", user_said("hi"), said("hello"))
        agent.send(response(request), update_message("s1", said("live", "m2")))
        await bounded(resuming)
        update = await bounded(anext(stream))
        assert isinstance(update, v2.AgentMessageChunk)
        assert update.message_id == "m2"
        assert len(session.view.messages) == 3


async def test_ses_24_resuming_what_is_open_without_replay_keeps_the_view() -> None:
    async with in_session() as (session, agent):
        agent.update("s1", said("hello"))
        await settled(session.client, agent)
        resuming = asyncio.ensure_future(session.client.resume_session("s1", "/work"))
        agent.reply(await agent.next("session/resume"))
        assert await bounded(resuming) is session
        assert session.view.messages[0].text == "hello"


async def test_a_prompt_under_way_is_not_ended_by_what_is_replayed() -> None:
    async with in_session() as (session, agent):
        turn = session.prompt("new").send()
        agent.reply(await agent.next("session/prompt"))
        agent.update("s1", user_said("new", "u2"), RUNNING)
        await settled(session.client, agent)
        resuming = asyncio.ensure_future(session.client.resume_session("s1", "/work", replay=True))
        request = await agent.next("session/resume")
        old = (user_said("old", "u1"), RUNNING, said("answer", "m1"), idle(), user_said("new", "u2"), RUNNING)
        agent.update("s1", *old)
        agent.reply(request)
        await bounded(resuming)
        assert not turn.is_over
        agent.update("s1", said("answer 2", "m2"), idle("max_tokens"))
        end = await bounded(turn)
        assert (end.stop_reason, session.view.state) == ("max_tokens", "idle")
        assert end.text == "answer 2"


async def test_a_prompt_that_ended_unseen_ends_with_the_replay_that_says_so() -> None:
    async with in_session() as (session, agent):
        turn = session.prompt("new").send()
        agent.reply(await agent.next("session/prompt"))
        agent.update("s1", user_said("new"), RUNNING)
        await settled(session.client, agent)
        resuming = asyncio.ensure_future(session.client.resume_session("s1", "/work", replay=True))
        request = await agent.next("session/resume")
        agent.update("s1", user_said("new"), said("done"), idle("end_turn"))
        agent.reply(request)
        await bounded(resuming)
        assert (await bounded(turn)).stop_reason == "end_turn"


async def test_s_22_a_failed_resume_raises_and_leaves_nothing_behind() -> None:
    async with connected() as (client, agent):
        resuming = asyncio.ensure_future(client.resume_session("gone", "/work", replay=True))
        request = await agent.next("session/resume")
        agent.update("gone", user_said("half of it"))
        agent.refuse(request, -32002, "Resource not found", {"sessionId": "gone"})
        with pytest.raises(RpcError) as caught:
            await bounded(resuming)
        assert caught.value.code == -32002
        assert client.sessions == {}


async def test_a_failed_replay_of_what_is_open_leaves_no_half_of_it() -> None:
    async with in_session() as (session, agent):
        resuming = asyncio.ensure_future(session.client.resume_session("s1", "/work", replay=True))
        request = await agent.next("session/resume")
        agent.update("s1", user_said("half of it"))
        agent.refuse(request, -32603)
        with pytest.raises(RpcError):
            await bounded(resuming)
        assert session.is_open
        assert session.view.timeline == []


async def test_s_25_a_long_replay_is_taken_without_anybody_reading_it() -> None:
    async with connected() as (client, agent):
        resuming = asyncio.ensure_future(client.resume_session("s1", "/work", replay=True))
        request = await agent.next("session/resume")
        for start in range(0, 10_000, 100):
            agent.update("s1", *(said("x", f"m{n}") for n in range(start, start + 100)))
        agent.reply(request)
        session = await bounded(resuming)
        assert len(session.view.messages) == 10_000
