"""SES-29: a session of an agent is forked."""

from __future__ import annotations

from roost.sdk.agent_session import AgentSession
from roost.sdk.turn import Turn

from .agent_history import FROM_START, NewStore, history, work
from .raw_client import started
from .steps import Steps, agent_of


async def test_s_36_a_fork_is_a_session_of_its_own_with_the_same_past_ses_29(new_store: NewStore) -> None:
    origins: list[str] = []
    agent = agent_of(work, store=new_store(), fork=True, roots=True)

    @agent.session_hook
    async def opened(session: AgentSession, origin: str) -> None:
        origins.append(origin)
        session.data.setdefault("list", []).append(origin)

    client = await started(agent)
    session = await history(client)
    fork = (await client.call("session/fork", {"sessionId": session, "cwd": "/f", "additionalDirectories": ["/r"]}))[
        "sessionId"
    ]
    assert fork != session
    client.prompt(fork, "forked")
    await client.idle(1, fork)
    for id, cwd, prompts in ((session, "/w", 3), (fork, "/f", 4)):
        again = await started(agent_of(work, store=new_store(), fork=True))
        if id == session:
            await client.call("session/close", {"sessionId": id})
        await again.call("session/resume", {"sessionId": id, "cwd": cwd, **FROM_START})
        assert len(again.updates("user_message")) == prompts
    assert origins == ["new", "fork"]
    listed = {s["sessionId"]: s for s in (await client.call("session/list", {}))["sessions"]}
    assert listed[fork]["cwd"] == "/f"
    assert (await client.error("session/fork", {"sessionId": "nobody", "cwd": "/w"}))["code"] == -32002


async def test_a_working_session_is_not_forked_ses_29() -> None:
    steps = Steps()

    async def slow(turn: Turn) -> None:
        await steps.wait("x")

    client = await started(agent_of(slow, fork=True))
    session = await client.new_session()
    client.prompt(session)
    await steps.reached("x")
    assert (await client.error("session/fork", {"sessionId": session, "cwd": "/w"}))["code"] == -32600
    steps.go("x")
    await client.idle()
    await client.call("session/fork", {"sessionId": session, "cwd": "/w"})
