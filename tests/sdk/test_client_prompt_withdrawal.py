"""Prompts that are taken back, stopped or no longer waited for (CAN-4, CAN-12, PRM-19)."""

from __future__ import annotations

import asyncio

from tests.sdk.raw_agent import (
    RUNNING,
    bounded,
    idle,
    in_session,
    said,
    settled,
    user_said,
)


async def test_p_11_a_prompt_that_is_not_accepted_yet_can_be_taken_back() -> None:
    """CAN-7, CAN-12."""
    async with in_session() as (session, agent):
        turn = session.prompt("hi").send()
        request = await agent.next("session/prompt")
        turn.stop()
        assert (await agent.next("$/cancel_request"))["params"] == {"requestId": request["id"]}
        agent.refuse(request, -32800)
        end = await bounded(turn)
        assert (end.stop_reason, end.messages) == ("cancelled", [])


async def test_can_4_a_prompt_accepted_in_spite_of_that_is_cancelled() -> None:
    async with in_session() as (session, agent):
        turn = session.prompt("hi").send()
        request = await agent.next("session/prompt")
        turn.stop()
        await agent.next("$/cancel_request")
        agent.reply(request)
        await agent.next("session/cancel")
        agent.update("s1", user_said("hi"), RUNNING, idle("cancelled"))
        assert (await bounded(turn)).was_cancelled


async def test_can_12_cancelling_the_waiting_task_stops_what_it_waits_for() -> None:
    async with in_session() as (session, agent):
        waiting = asyncio.ensure_future(_awaited(session.prompt("hi")))
        request = await agent.next("session/prompt")
        waiting.cancel()
        assert (await agent.next("$/cancel_request"))["params"] == {"requestId": request["id"]}
        agent.refuse(request, -32800)
        waiting = asyncio.ensure_future(_awaited(session.prompt("again")))
        agent.reply(await agent.next("session/prompt"))
        await settled(session.client, agent)
        waiting.cancel()
        await agent.until(lambda: any(m.get("method") == "session/cancel" for m in agent.untaken))


async def test_prm_19_a_cancel_right_behind_a_prompt_arrives_behind_it() -> None:
    async with in_session() as (session, agent):
        turn = session.prompt("hi").send()
        cancelling = asyncio.ensure_future(session.cancel())
        request = await agent.next("session/prompt")
        await agent.next("session/cancel")
        agent.reply(request)
        agent.update("s1", user_said("hi"), idle("cancelled"))
        assert (await bounded(turn)).was_cancelled
        await bounded(cancelling)


async def test_a_turn_stopped_right_after_it_was_sent_is_taken_back() -> None:
    async with in_session() as (session, agent):
        turn = session.prompt("hi").send()
        turn.stop()
        request = await agent.next("session/prompt")
        assert (await agent.next("$/cancel_request"))["params"] == {"requestId": request["id"]}
        agent.refuse(request, -32800)
        assert (await bounded(turn)).was_cancelled


async def _awaited(turn: object) -> object:
    return await turn  # type: ignore[misc]


async def test_waiting_for_the_end_alone_stops_nothing() -> None:
    async with in_session() as (session, agent):
        turn = session.prompt("hi")
        waiting = asyncio.ensure_future(turn.finished())
        agent.reply(await agent.next("session/prompt"))
        waiting.cancel()
        await asyncio.wait((waiting,))
        agent.update("s1", RUNNING, idle())
        assert (await bounded(turn)).stop_reason == "end_turn"
        assert not any(m.get("method") == "session/cancel" for m in agent.messages)


async def test_leaving_an_iteration_stops_nothing_and_holds_nothing_up() -> None:
    async with in_session() as (session, agent):
        turn = session.prompt("hi")
        request = asyncio.ensure_future(agent.next("session/prompt"))
        request.add_done_callback(lambda done: (agent.reply(done.result()), agent.update("s1", RUNNING)))
        async for _ in turn:
            break
        agent.update("s1", *(said("x") for _ in range(5_000)))
        agent.update("s1", idle())
        assert len((await bounded(turn)).text) == 5_000
