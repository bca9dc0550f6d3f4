"""Rules of the client side that no other test is about, seen by a raw agent."""

from __future__ import annotations

from typing import Any

import pytest

from roost.sdk.client_permissions import allow_once
from tests.sdk.raw_agent import (
    bounded,
    connected,
    idle,
    in_session,
    opened,
    permission,
    said,
    settled,
    state,
    tool_call,
    user_said,
)


async def test_updates_of_a_session_nobody_knows_are_ignored_and_kept_by_nobody_ses_5() -> None:
    async with connected() as (client, agent):
        session = await opened(client, agent)
        agent.update("nobody", said("lost"), idle())
        agent.update("s1", said("found"))
        await settled(client, agent)
        assert session.view.messages[-1].text == "found"
        later = await opened(client, agent, "nobody")
        assert later.view.messages == []  # nothing was in flight when they came


async def test_the_first_update_of_a_tool_call_makes_one_with_defaults_tcl_1() -> None:
    async with in_session() as (session, agent):
        agent.update("s1", {"sessionUpdate": "tool_call_update", "toolCallId": "t"})
        await settled(session.client, agent)
        (call,) = session.view.tool_calls.values()
        assert (call.title, call.kind, call.status) == ("", "other", "pending")
        assert (list(call.content), list(call.locations)) == ([], [])
        assert (call.raw_input, call.raw_output, call.name) == (None, None, None)
        agent.update("s1", tool_call(toolCallId="t", title="T"))
        await settled(session.client, agent)
        assert [call.title for call in session.view.tool_calls.values()] == ["T"]


@pytest.mark.parametrize("missing", ["sessionId", "title", "options"])
async def test_a_permission_without_what_it_needs_is_invalid_per_1(missing: str) -> None:
    async with in_session(on_permission=allow_once) as (_, agent):
        params = permission()
        del params[missing]
        answer = await agent.answer_to(agent.request("session/request_permission", params))
        assert answer["error"]["code"] == -32602
        assert answer["error"]["data"]["path"] == missing
        for optional in ({"description": None}, {"subject": None}, {"description": 5}):
            answer = await agent.answer_to(agent.request("session/request_permission", {**permission(), **optional}))
            assert "result" in answer


async def test_the_ids_of_a_clients_requests_are_its_own_and_never_null_id_5() -> None:
    async with in_session() as (session, agent):
        for _ in range(3):
            agent.notify("session/update", {"sessionId": "s1", "update": idle(None)})
        await settled(session.client, agent)
        ids: list[Any] = [m["id"] for m in agent.messages if "method" in m and "id" in m]
        assert ids
        assert len(set(ids)) == len(ids)
        assert None not in ids


async def test_what_a_user_said_is_shown_as_the_agent_reports_it_and_once_prm_5() -> None:
    async with in_session() as (session, agent):
        turn = session.prompt("/plan it").send()
        agent.reply(await agent.next("session/prompt"))
        await settled(session.client, agent)
        assert session.view.messages == []  # accepted, and not reported yet
        agent.update("s1", user_said("Plan it, step by step.", "u7"), state("running"), said("ok"), idle())
        await bounded(turn)
        users = [message for message in session.view.messages if message.kind == "user_message"]
        assert [(message.message_id, message.text) for message in users] == [("u7", "Plan it, step by step.")]
