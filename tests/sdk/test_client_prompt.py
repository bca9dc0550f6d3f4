"""When a prompt ends, and how (PRM-10)."""

from __future__ import annotations

import asyncio
import gc
import warnings

import pytest

from roost.acp import v2
from roost.errors import ConnectionClosed, RpcError
from tests.sdk.raw_agent import (
    RUNNING,
    bounded,
    connected,
    idle,
    in_session,
    opened,
    response,
    said,
    settled,
    state,
    tool_call,
    update_message,
    user_said,
)


async def test_p_01_a_prompt_is_accepted_reported_run_and_ended() -> None:
    async with in_session() as (session, agent):
        turn = asyncio.ensure_future(session.prompt("hi").finished())
        request = await agent.next("session/prompt")
        assert request["params"] == {"sessionId": "s1", "prompt": [{"type": "text", "text": "hi"}]}
        agent.reply(request)
        agent.update("s1", user_said("hi"), RUNNING, said("he"), said("llo"), idle())
        end = await bounded(turn)
        assert (end.stop_reason, end.text, end.was_cancelled) == ("end_turn", "hello", False)
        assert session.view.is_idle


async def test_everything_in_one_write_is_taken_in_order() -> None:
    async with in_session() as (session, agent):
        turn = session.prompt("hi").send()
        request = await agent.next("session/prompt")
        updates = (user_said("hi"), RUNNING, said("hello"), idle())
        agent.send(response(request), *(update_message("s1", update) for update in updates))
        assert (await bounded(turn)).text == "hello"


async def test_iterating_gives_the_updates_up_to_the_end_of_the_turn() -> None:
    async with in_session() as (session, agent):
        turn = session.prompt("hi")
        updates = aiter(turn)
        agent.reply(await agent.next("session/prompt"))
        agent.update("s1", user_said("hi"), RUNNING, said("a"), tool_call(title="t"), idle())
        agent.update("s1", said("background", "m2"))
        kinds = [type(update).__name__ async for update in updates]
        assert kinds == [
            "UserMessage",
            "RunningStateUpdate",
            "AgentMessageChunk",
            "SessionToolCallUpdate",
            "IdleStateUpdate",
        ]
        assert turn.end is not None
        assert (await turn).stop_reason == "end_turn"


async def test_p_21_an_idle_that_was_there_before_ends_nothing() -> None:
    """SES-12, PRM-10."""
    async with in_session() as (session, agent):
        turn = session.prompt("hi").send()
        request = await agent.next("session/prompt")
        agent.update("s1", idle(None))
        agent.reply(request)
        agent.update("s1", idle(None))
        agent.update("s1", user_said("hi"), idle(None))
        await settled(session.client, agent)
        assert not turn.is_over
        agent.update("s1", RUNNING, idle("end_turn"))
        assert (await bounded(turn)).stop_reason == "end_turn"


async def test_p_22_an_idle_without_a_reason_after_running_ends_it() -> None:
    async with in_session() as (session, agent):
        turn = session.prompt("hi").send()
        agent.reply(await agent.next("session/prompt"))
        agent.update("s1", user_said("hi"), RUNNING, idle(None))
        assert (await bounded(turn)).stop_reason is None


@pytest.mark.parametrize("reason", ["_acme", "future", "refusal", "max_tokens"])
async def test_p_23_any_reason_ends_it(reason: str) -> None:
    """PRM-9, FWD-7."""
    async with in_session() as (session, agent):
        turn = session.prompt("hi").send()
        agent.reply(await agent.next("session/prompt"))
        agent.update("s1", RUNNING, idle(reason))
        assert (await bounded(turn)).stop_reason == reason


async def test_a_turn_that_never_ran_ends_with_a_reason_after_its_message() -> None:
    async with in_session() as (session, agent):
        turn = session.prompt("/help").send()
        agent.reply(await agent.next("session/prompt"))
        agent.update("s1", user_said("/help"), said("no"), idle("end_turn"))
        assert (await bounded(turn)).text == "no"


async def test_p_20_a_prompt_right_after_a_cancel_does_not_end_with_what_was_cancelled() -> None:
    async with in_session() as (session, agent):
        first = session.prompt("one").send()
        agent.reply(await agent.next("session/prompt"))
        agent.update("s1", user_said("one"), RUNNING)
        await settled(session.client, agent)
        cancelling = asyncio.ensure_future(session.cancel())
        await agent.next("session/cancel")
        second = session.prompt("two").send()
        request = await agent.next("session/prompt")
        agent.reply(request)
        agent.update("s1", RUNNING, said("flushed"), idle("cancelled"))
        assert (await bounded(first)).was_cancelled
        await bounded(cancelling)
        await settled(session.client, agent)
        assert not second.is_over
        agent.update("s1", user_said("two", "u2"), RUNNING, said("done", "m2"), idle("end_turn"))
        end = await bounded(second)
        assert (end.stop_reason, end.text) == ("end_turn", "done")


async def test_a_second_idle_for_one_cancel_does_not_end_the_next_prompt() -> None:
    async with in_session() as (session, agent):
        first = session.prompt("one").send()
        agent.reply(await agent.next("session/prompt"))
        agent.update("s1", user_said("one"), RUNNING, idle("end_turn"))
        await bounded(first)
        second = session.prompt("two").send()
        agent.reply(await agent.next("session/prompt"))
        agent.update("s1", idle("cancelled"))
        await settled(session.client, agent)
        assert not second.is_over
        agent.update("s1", user_said("two", "u2"), RUNNING, idle("end_turn"))
        assert (await bounded(second)).stop_reason == "end_turn"


async def test_p_10_a_prompt_held_back_by_the_agent_ends_with_its_own_idle() -> None:
    async with in_session() as (session, agent):
        first, second = session.prompt("one").send(), session.prompt("two").send()
        agent.reply(await agent.next("session/prompt"))
        held = await agent.next("session/prompt")
        agent.update("s1", user_said("one"), RUNNING, idle("end_turn"))
        assert (await bounded(first)).stop_reason == "end_turn"
        assert not second.is_over
        agent.reply(held)
        agent.update("s1", user_said("two", "u2"), RUNNING, idle("max_tokens"))
        assert (await bounded(second)).stop_reason == "max_tokens"


async def test_a_prompt_acknowledged_when_queued_ends_with_its_own_idle() -> None:
    async with in_session() as (session, agent):
        first, second = session.prompt("one").send(), session.prompt("two").send()
        agent.reply(await agent.next("session/prompt"))
        agent.reply(await agent.next("session/prompt"))
        agent.update("s1", user_said("one"), RUNNING, state("requires_action"), RUNNING, idle("end_turn"))
        assert (await bounded(first)).stop_reason == "end_turn"
        await settled(session.client, agent)
        assert not second.is_over
        agent.update("s1", user_said("two", "u2"), RUNNING, idle("max_tokens"))
        assert (await bounded(second)).stop_reason == "max_tokens"


async def test_prm_13_a_prompt_put_into_running_work_ends_with_it() -> None:
    async with in_session() as (session, agent):
        first = session.prompt("one").send()
        agent.reply(await agent.next("session/prompt"))
        agent.update("s1", user_said("one"), RUNNING)
        second = session.prompt("also").send()
        agent.reply(await agent.next("session/prompt"))
        agent.update("s1", user_said("also", "u2"), said("both"), idle("end_turn"))
        assert [(await bounded(turn)).stop_reason for turn in (first, second)] == ["end_turn", "end_turn"]


async def test_work_that_was_going_on_before_has_an_idle_of_its_own() -> None:
    async with in_session() as (session, agent):
        agent.update("s1", RUNNING)
        await settled(session.client, agent)
        turn = session.prompt("mine").send()
        agent.reply(await agent.next("session/prompt"))
        agent.update("s1", state("requires_action"), RUNNING, idle("end_turn"))
        await settled(session.client, agent)
        assert not turn.is_over
        agent.update("s1", user_said("mine"), RUNNING, idle("max_tokens"))
        assert (await bounded(turn)).stop_reason == "max_tokens"


async def test_somebody_elses_prompt_does_not_end_one_that_waits_to_be_accepted() -> None:
    async with in_session() as (session, agent):
        turn = session.prompt("mine").send()
        request = await agent.next("session/prompt")
        agent.update("s1", user_said("theirs"), RUNNING, idle("end_turn"))
        agent.reply(request)
        await settled(session.client, agent)
        assert not turn.is_over
        agent.update("s1", user_said("mine", "u2"), RUNNING, idle("max_tokens"))
        assert (await bounded(turn)).stop_reason == "max_tokens"


@pytest.mark.parametrize("reports", [True, False])
async def test_an_agent_that_answers_only_at_the_end_is_understood(reports: bool) -> None:
    async with in_session() as (session, agent):
        turn = session.prompt("hi").send()
        request = await agent.next("session/prompt")
        agent.update("s1", *((user_said("hi"),) if reports else ()), RUNNING, said("hello"), idle("end_turn"))
        await settled(session.client, agent)
        assert not turn.is_over
        agent.reply(request)
        assert (await bounded(turn)).text == "hello"


async def test_a_refused_prompt_raises_what_the_agent_said_and_leaves_the_session() -> None:
    async with in_session() as (session, agent):
        turn = asyncio.ensure_future(session.prompt("hi").finished())
        agent.refuse(await agent.next("session/prompt"), -32000, "log in", {"why": "expired"})
        with pytest.raises(RpcError) as caught:
            await bounded(turn)
        assert (caught.value.code, caught.value.data) == (-32000, {"why": "expired"})
        again = session.prompt("hi").send()
        agent.reply(await agent.next("session/prompt"))
        agent.update("s1", RUNNING, idle())
        assert (await bounded(again)).stop_reason == "end_turn"


async def test_a_refused_prompt_raises_where_it_is_iterated_too() -> None:
    async with in_session() as (session, agent):
        updates = aiter(session.prompt("hi"))
        agent.refuse(await agent.next("session/prompt"), -32603)
        with pytest.raises(RpcError):
            await bounded(anext(updates))


async def test_p_38_a_lost_connection_fails_the_prompt_wherever_it_is_waited_for() -> None:
    async with in_session() as (session, agent):
        turn = session.prompt("hi")
        updates = aiter(turn)
        agent.reply(await agent.next("session/prompt"))
        agent.update("s1", RUNNING)
        assert isinstance(await bounded(anext(updates)), v2.RunningStateUpdate)
        agent.close()
        with pytest.raises(ConnectionClosed):
            await bounded(turn)
        with pytest.raises(ConnectionClosed):
            await bounded(anext(updates))
        assert not session.is_open
        with pytest.raises(ConnectionClosed):
            session.prompt("more")


async def test_the_answer_of_a_turn_is_what_was_said_in_it() -> None:
    async with in_session() as (session, agent):
        agent.update("s1", said("before", "m0"))
        turn = session.prompt("hi").send()
        agent.reply(await agent.next("session/prompt"))
        thought = said("hmm", "th", "agent_thought_chunk")
        agent.update("s1", user_said("hi"), RUNNING, thought, said("one", "m1"), said("two", "m2"), idle())
        end = await bounded(turn)
        assert end.text == "one\n\ntwo"
        assert [message.message_id for message in end.messages] == ["m1", "m2"]


async def test_the_usage_and_metadata_of_the_idle_come_with_the_end() -> None:
    async with in_session() as (session, agent):
        turn = session.prompt("hi").send()
        agent.reply(await agent.next("session/prompt"))
        usage = {"totalTokens": 3, "inputTokens": 2, "outputTokens": 1}
        agent.update("s1", RUNNING, idle(usage=usage, _meta={"k": 1}))
        end = await bounded(turn)
        assert end.usage is not None
        assert (end.usage.total_tokens, end.meta) == (3, {"k": 1})


async def test_an_answer_of_null_is_an_acceptance() -> None:  # ENV-16
    async with in_session() as (session, agent):
        turn = session.prompt("hi").send()
        request = await agent.next("session/prompt")
        agent.send({"jsonrpc": "2.0", "id": request["id"], "result": None})
        agent.update("s1", RUNNING, idle())
        assert (await bounded(turn)).stop_reason == "end_turn"


async def test_a_prompt_nobody_waits_for_is_not_sent_and_warned_of() -> None:
    async with in_session() as (session, agent):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            session.prompt("hi")
            gc.collect()
        assert "neither awaited nor iterated" in str(caught[0].message)
        await settled(session.client, agent)
        assert not agent.untaken


async def test_two_sessions_do_not_hear_of_each_other() -> None:
    async with connected() as (client, agent):
        one, two = await opened(client, agent, "s1"), await opened(client, agent, "s2")
        first, second = one.prompt("a").send(), two.prompt("b").send()
        for _ in range(2):
            agent.reply(await agent.next("session/prompt"))
        agent.update("s2", RUNNING, said("two"), idle())
        assert (await bounded(second)).text == "two"
        assert not first.is_over
        assert one.view.messages == []
        agent.update("s1", RUNNING, said("one"), idle())
        assert (await bounded(first)).text == "one"
