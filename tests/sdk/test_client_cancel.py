"""Cancelling: what is sent, what is answered, when it is over (CAN-13, PRM-15, PRM-16)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from roost.acp import v2
from roost.errors import ConnectionClosed, LocalProtocolError
from tests.sdk.raw_agent import (
    RUNNING,
    bounded,
    connected,
    idle,
    in_session,
    opened,
    permission,
    settled,
    state,
    tool_call,
    user_said,
)

CANCELLED = {"outcome": {"outcome": "cancelled"}}


class Asked:
    """A handler that never answers by itself, and says when it was given up."""

    def __init__(self) -> None:
        self.requests: list[v2.RequestPermissionRequest] = []
        self.news = asyncio.Event()
        self.given_up = 0
        self.answers: dict[str, asyncio.Future[Any]] = {}

    async def __call__(self, request: v2.RequestPermissionRequest) -> Any:
        self.requests.append(request)
        answer = self.answers[request.title] = asyncio.get_running_loop().create_future()
        self.news.set()
        try:
            return await answer
        except asyncio.CancelledError:
            self.given_up += 1
            self.news.set()
            raise

    async def until(self, count: int) -> None:
        async with asyncio.timeout(10):
            while len(self.requests) < count:
                self.news.clear()
                await self.news.wait()


async def test_cancel_returns_when_the_work_has_ended() -> None:
    async with in_session() as (session, agent):
        turn = session.prompt("hi").send()
        agent.reply(await agent.next("session/prompt"))
        agent.update("s1", user_said("hi"), RUNNING)
        await settled(session.client, agent)
        cancelling = asyncio.ensure_future(session.cancel())
        sent = await agent.next("session/cancel")
        assert "id" not in sent
        assert sent["params"] == {"sessionId": "s1"}
        assert not cancelling.done()
        agent.update("s1", idle("cancelled"))
        await bounded(cancelling)
        assert (await bounded(turn)).was_cancelled


async def test_p_14_cancel_does_nothing_when_nothing_happens() -> None:
    async with in_session() as (session, agent):
        await bounded(session.cancel())
        agent.update("s1", RUNNING, idle())
        await settled(session.client, agent)
        await bounded(session.cancel())
        await settled(session.client, agent)
        assert not agent.untaken


async def test_p_15_cancel_between_acceptance_and_running_ends_with_the_idle_that_follows() -> None:
    async with in_session() as (session, agent):
        turn = session.prompt("hi").send()
        agent.reply(await agent.next("session/prompt"))
        await turn.accepted()
        cancelling = asyncio.ensure_future(session.cancel())
        await agent.next("session/cancel")
        agent.update("s1", idle("cancelled"))
        await bounded(cancelling)
        assert (await bounded(turn)).was_cancelled


async def test_p_19_cancelling_twice_waits_for_one_end() -> None:
    async with in_session() as (session, agent):
        turn = session.prompt("hi").send()
        agent.reply(await agent.next("session/prompt"))
        agent.update("s1", RUNNING)
        await settled(session.client, agent)
        both = [asyncio.ensure_future(session.cancel()) for _ in range(2)]
        agent.update("s1", idle("cancelled"))
        for cancelling in both:
            await bounded(cancelling)
        assert (await bounded(turn)).was_cancelled


async def test_cancel_stops_work_nobody_here_has_asked_for() -> None:
    async with in_session() as (session, agent):
        agent.update("s1", state("hibernating"))
        await settled(session.client, agent)
        cancelling = asyncio.ensure_future(session.cancel())
        await agent.next("session/cancel")
        agent.update("s1", idle("cancelled"))
        await bounded(cancelling)


async def test_p_17_pending_permissions_are_answered_cancelled_and_the_handler_given_up() -> None:
    """CAN-13, PER-10, PRM-15."""
    asked = Asked()
    async with in_session(on_permission=asked) as (session, agent):
        turn = session.prompt("hi").send()
        agent.reply(await agent.next("session/prompt"))
        agent.update("s1", RUNNING, state("requires_action"))
        ids = [agent.request("session/request_permission", permission(title=str(n))) for n in range(2)]
        await asked.until(2)
        cancelling = asyncio.ensure_future(session.cancel())
        for request_id in ids:
            assert (await agent.answer_to(request_id))["result"] == CANCELLED
        assert asked.given_up == 2
        agent.update("s1", idle("cancelled"))
        await bounded(cancelling)
        assert (await bounded(turn)).was_cancelled
        assert [len(agent.answers_to(request_id)) for request_id in ids] == [1, 1]


async def test_a_permission_asked_for_before_the_agent_heard_of_the_cancel_is_answered_cancelled() -> None:
    asked = Asked()
    async with in_session(on_permission=asked) as (session, agent):
        agent.update("s1", RUNNING)
        await settled(session.client, agent)
        cancelling = asyncio.ensure_future(session.cancel())
        await agent.next("session/cancel")
        late = agent.request("session/request_permission", permission())
        assert (await agent.answer_to(late))["result"] == CANCELLED
        agent.update("s1", idle("cancelled"), RUNNING)
        await bounded(cancelling)
        after = agent.request("session/request_permission", permission(title="after"))
        await asked.until(1)
        asked.answers["after"].set_result("yes")
        answer = (await agent.answer_to(after))["result"]
        assert answer == {"outcome": {"outcome": "selected", "optionId": "yes"}}


async def test_p_18_a_withdrawn_permission_is_answered_once() -> None:
    asked = Asked()
    async with in_session(on_permission=asked) as (session, agent):
        answered = agent.request("session/request_permission", permission(title="a"))
        withdrawn = agent.request("session/request_permission", permission(title="b"))
        await asked.until(2)
        asked.answers["a"].set_result("yes")
        await agent.answer_to(answered)
        for request_id in (answered, withdrawn):
            agent.notify("$/cancel_request", {"requestId": request_id})
        assert (await agent.answer_to(withdrawn))["error"]["code"] == -32800
        await settled(session.client, agent)
        assert [len(agent.answers_to(request_id)) for request_id in (answered, withdrawn)] == [1, 1]
        assert asked.given_up == 1


async def test_r_10_permissions_are_answered_one_by_one() -> None:
    asked = Asked()
    async with in_session(on_permission=asked) as (_, agent):
        ids = {str(n): agent.request("session/request_permission", permission(title=str(n))) for n in (1, 2, 3)}
        await asked.until(3)
        for title, choice in (("2", "no"), ("3", "yes"), ("1", None)):
            asked.answers[title].set_result(choice)
            answer = (await agent.answer_to(ids[title]))["result"]["outcome"]
            assert answer == {"outcome": "selected", "optionId": choice or "no"}


async def test_r_11_disconnecting_answers_what_is_pending() -> None:
    """PER-10."""
    asked = Asked()
    async with connected(on_permission=asked) as (client, agent):
        await opened(client, agent)
        request_id = agent.request("session/request_permission", permission())
        await asked.until(1)
        await client.close()
        assert agent.answers_to(request_id) == [{"jsonrpc": "2.0", "id": request_id, "result": CANCELLED}]
        assert asked.given_up == 1


async def test_s_31_closing_a_session_answers_what_it_has_pending_and_nothing_else() -> None:
    asked = Asked()
    async with connected(on_permission=asked) as (client, agent):
        session = await opened(client, agent, "s1")
        await opened(client, agent, "s2")
        mine = agent.request("session/request_permission", permission("s1"))
        others = agent.request("session/request_permission", permission("s2", title="other"))
        await asked.until(2)
        closing = asyncio.ensure_future(session.close())
        assert (await agent.answer_to(mine))["result"] == CANCELLED
        agent.reply(await agent.next("session/close"))
        await bounded(closing)
        assert not agent.answers_to(others)
        asked.answers["other"].set_result("yes")
        assert (await agent.answer_to(others))["result"]["outcome"]["optionId"] == "yes"


async def test_deleting_a_session_answers_what_it_has_pending() -> None:
    asked = Asked()
    async with in_session(on_permission=asked) as (session, agent):
        request_id = agent.request("session/request_permission", permission())
        await asked.until(1)
        deleting = asyncio.ensure_future(session.delete())
        assert (await agent.answer_to(request_id))["result"] == CANCELLED
        agent.reply(await agent.next("session/delete"))
        await bounded(deleting)
        assert not session.is_open


async def test_p_26_p_27_tools_show_cancelled_at_once_and_the_agent_has_the_last_word() -> None:
    async with in_session() as (session, agent):
        agent.update("s1", RUNNING, tool_call(status="in_progress"))
        await settled(session.client, agent)
        cancelling = asyncio.ensure_future(session.cancel())
        await agent.next("session/cancel")
        assert session.view.tool_calls["t1"].status == "cancelled"
        agent.update("s1", tool_call(status="completed", title="after all"), idle("cancelled"))
        await bounded(cancelling)
        assert session.view.tool_calls["t1"].status == "completed"
        assert session.view.tool_calls["t1"].title == "after all"


async def test_a_cancel_whose_agent_goes_away_returns() -> None:
    async with in_session() as (session, agent):
        turn = session.prompt("hi").send()
        agent.reply(await agent.next("session/prompt"))
        agent.update("s1", RUNNING)
        await settled(session.client, agent)
        cancelling = asyncio.ensure_future(session.cancel())
        await agent.next("session/cancel")
        agent.close()
        await bounded(cancelling)
        with pytest.raises(ConnectionClosed):
            await turn
        with pytest.raises(ConnectionClosed):
            await session.cancel()


async def test_ses_26_what_runs_in_a_session_that_is_closed_was_cancelled() -> None:
    async with in_session() as (session, agent):
        turn = session.prompt("hi").send()
        agent.reply(await agent.next("session/prompt"))
        agent.update("s1", RUNNING)
        await settled(session.client, agent)
        closing = asyncio.ensure_future(session.close())
        agent.reply(await agent.next("session/close"))
        await bounded(closing)
        assert (await bounded(turn)).was_cancelled
        with pytest.raises(LocalProtocolError):
            session.prompt("more")
        await session.close()
