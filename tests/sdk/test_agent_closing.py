"""SES-26 to SES-28: sessions of an agent are closed and deleted."""

from __future__ import annotations

from roost.sdk.agent_session import AgentSession
from roost.sdk.turn import Turn

from .agent_history import NewStore, history, resume_params, work
from .raw_client import started, text_block
from .steps import Steps, agent_of


async def test_s_28_close_cancels_reports_and_then_answers_ses_26() -> None:
    steps = Steps()

    async def slow(turn: Turn) -> None:
        await steps.wait("x")

    client = await started(agent_of(slow))
    session = await client.new_session()
    client.prompt(session)
    queued = client.prompt(session)
    await steps.reached("x")
    assert await client.call("session/close", {"sessionId": session}) == {}
    assert client.states() == ["running", "idle:cancelled"]
    assert (await client.response(queued))["error"]["code"] == -32800
    assert "result" in client.messages[-1]
    assert client.messages[-2]["params"]["update"]["state"] == "idle"


async def test_s_29_a_closed_session_takes_no_prompt_until_resumed_ses_26_ses_27(new_store: NewStore) -> None:
    client = await started(agent_of(work, store=new_store()))
    session = await history(client)
    await client.call("session/close", {"sessionId": session})
    error = await client.error("session/prompt", {"sessionId": session, "prompt": [text_block("x")]})
    assert error["code"] == -32002
    await client.call("session/resume", resume_params(session))
    client.prompt(session)
    await client.idle(4)


async def test_s_30_closing_what_is_unknown_is_an_error_and_what_is_closed_is_not_ses_26(new_store: NewStore) -> None:
    client = await started(agent_of(work, store=new_store()))
    assert (await client.error("session/close", {"sessionId": "nobody"}))["code"] == -32002
    session = await client.new_session()
    assert await client.call("session/close", {"sessionId": session}) == {}
    assert await client.call("session/close", {"sessionId": session}) == {}


async def test_a_close_that_is_withdrawn_goes_on_and_a_resume_waits_for_its_end_can_4() -> None:
    steps = Steps()
    closed: list[str] = []

    async def slow(turn: Turn) -> None:
        try:
            await steps.wait("x")
        finally:
            await steps.wait("tidying")

    agent = agent_of(slow)

    @agent.close_hook
    async def close(session: AgentSession) -> None:
        closed.append(session.id)

    client = await started(agent)
    session = await client.new_session()
    client.prompt(session)
    await steps.reached("x")
    first = client.request("session/close", {"sessionId": session})
    await steps.reached("tidying")
    client.withdraw(first)
    assert (await client.response(first))["error"]["code"] == -32800
    second = client.request("session/close", {"sessionId": session})
    resumed = client.request("session/resume", resume_params(session))
    await client.settle()
    assert not client.responses(second) + client.responses(resumed)
    steps.go("tidying")
    assert (await client.response(second))["result"] == {}
    assert (await client.response(resumed))["result"] == {}
    assert closed == [session]
    assert client.states() == ["running", "idle:cancelled"]


async def test_s_31_close_withdraws_a_pending_permission_per_10() -> None:
    async def ask(turn: Turn) -> None:
        await turn.permission("May I?")

    client = await started(agent_of(ask))
    session = await client.new_session()
    client.prompt(session)
    request = await client.asked_for("session/request_permission")
    await client.call("session/close", {"sessionId": session})
    assert [m["params"]["requestId"] for m in client.messages if m.get("method") == "$/cancel_request"] == [
        request["id"]
    ]


async def test_s_33_s_34_s_35_delete_is_for_good_and_twice_is_fine_ses_28(new_store: NewStore) -> None:
    steps = Steps()

    async def slow(turn: Turn) -> None:
        await steps.wait("x")

    client = await started(agent_of(slow, store=new_store()))
    kept, gone = await client.new_session(), await client.new_session()
    client.prompt(gone)
    await steps.reached("x")
    assert await client.call("session/delete", {"sessionId": gone}) == {}
    assert client.states(gone) == ["running", "idle:cancelled"]
    assert await client.call("session/delete", {"sessionId": gone}) == {}
    assert await client.call("session/delete", {"sessionId": "nobody"}) == {}
    assert [s["sessionId"] for s in (await client.call("session/list", {}))["sessions"]] == [kept]
    assert (await client.error("session/resume", resume_params(gone)))["code"] == -32002
