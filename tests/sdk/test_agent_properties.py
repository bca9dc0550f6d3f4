"""Whatever a client does in whatever order: one response to every request, every session comes to idle.

ENV-17, PRM-8, PRM-11, PRM-14, PRM-16.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from roost.errors import RpcError
from roost.sdk.agent import Agent
from roost.sdk.limits import AgentLimits
from roost.sdk.turn import Turn

from .raw_client import RawClient, connect, text_block

# What the agent does with a prompt is in its text; what the client does is drawn.
TEXTS = ["quick", "think", "wait", "ask", "tool", "fail", "refuse", "stubborn", "burst"]

step = st.one_of(
    st.tuples(st.just("prompt"), st.integers(0, 1), st.sampled_from(TEXTS)),
    st.tuples(st.just("cancel"), st.integers(0, 1)),
    st.tuples(st.just("withdraw"), st.integers(0, 30)),
    st.tuples(st.just("close"), st.integers(0, 1)),
    st.tuples(st.just("resume"), st.integers(0, 1), st.booleans()),
    st.tuples(st.just("delete"), st.integers(0, 1)),
    st.tuples(st.just("fork"), st.integers(0, 1)),
    st.tuples(st.just("answer"), st.sampled_from(["allow_once", "reject_once", "cancelled", "error"])),
    st.tuples(st.just("turns"), st.integers(1, 12)),
)


def an_agent(release: asyncio.Event) -> Agent:
    agent = Agent("any", "1", fork=True, limits=AgentLimits(queued_prompts=3, cancel_grace=0.05))

    @agent.prompt
    async def answer(turn: Turn) -> Any:
        match turn.text:
            case "think":
                await turn.think("hm")
                await asyncio.sleep(0)
            case "wait":
                await release.wait()
            case "ask":
                await turn.permission("?")
            case "tool":
                async with turn.tool("t", pending=True) as call:
                    await call.permission()
            case "fail":
                raise RuntimeError("x")
            case "refuse":
                raise RpcError(-32603, "no")
            case "stubborn":
                try:
                    await release.wait()
                except asyncio.CancelledError:
                    await asyncio.sleep(0)
                    return "end_turn"
            case "burst":
                for n in range(50):
                    await turn.say(str(n))
        return None

    return agent


async def run(steps: list[tuple[Any, ...]], leave: bool) -> None:
    release = asyncio.Event()
    client, link = connect(an_agent(release))
    await client.initialize()
    sessions = [await client.new_session(), await client.new_session()]
    sent: list[int] = []

    def ask(method: str, **params: Any) -> None:
        sent.append(client.request(method, params))

    for kind, *rest in steps:
        match kind, *rest:
            case "prompt", which, text:
                ask("session/prompt", sessionId=sessions[which], prompt=[text_block(text)])
            case "cancel", which:
                client.cancel(sessions[which])
            case "withdraw", back:
                if sent:
                    client.withdraw(sent[-1 - back % len(sent)])
            case "close", which:
                ask("session/close", sessionId=sessions[which])
            case "resume", which, replay:
                more = {"replayFrom": {"type": "start"}} if replay else {}
                ask("session/resume", sessionId=sessions[which], cwd="/w", **more)
            case "delete", which:
                ask("session/delete", sessionId=sessions[which])
            case "fork", which:
                ask("session/fork", sessionId=sessions[which], cwd="/w")
            case "answer", how:
                _answer(client, how)
            case "turns", count:
                for _ in range(count):
                    await asyncio.sleep(0)
    if leave:
        client.close()
        async with asyncio.timeout(10):
            await link.connection.wait_closed()
        assert link.agent.sessions.of(link) == []
        return
    release.set()
    await client.until(lambda: _answered(client) >= set(sent) or (_answer(client, "allow_once"), False)[1])
    for session in link.agent.sessions.of(link):
        while session.turns.busy:
            _answer(client, "reject_once")
            await asyncio.sleep(0)
    await link.connection.drain()
    for _ in range(5):
        await asyncio.sleep(0)
    counts = Counter(m["id"] for m in client.messages if "method" not in m)
    assert all(counts[id] == 1 for id in sent)
    for session_id in {m["params"]["sessionId"] for m in client.messages if m.get("method") == "session/update"}:
        _check_states(client, session_id)
    link.connection.abort(ConnectionError("over"))
    await link.connection.wait_closed()


def _answer(client: RawClient, how: str) -> None:
    if client.asked:
        request = client.asked.pop(0)
        if how == "error":
            client.refuse(request, -32603)
        elif how == "cancelled":
            client.reply(request, {"outcome": {"outcome": "cancelled"}})
        else:
            client.reply(request, {"outcome": {"outcome": "selected", "optionId": how}})


def _answered(client: RawClient) -> set[int]:
    return {m["id"] for m in client.messages if "method" not in m}


def _check_states(client: RawClient, session: str) -> None:
    """Each user message is followed by running and, before the next, one idle with a reason; the last state is idle."""
    open_turn = False
    last = "idle"
    for update in client.updates(session=session):
        if update["sessionUpdate"] == "user_message" and "content" in update:
            last_message = update
            assert last_message["messageId"]
        if update["sessionUpdate"] == "state_update":
            last = update["state"]
            if last == "idle":
                assert open_turn, "an idle that ends nothing"
                assert update["stopReason"]
                open_turn = False
            else:
                open_turn = True
    assert last == "idle"
    assert not open_turn


@settings(max_examples=150, deadline=None)
@given(st.lists(step, max_size=25), st.booleans())
def test_every_request_is_answered_once_and_every_session_comes_to_idle(
    steps: list[tuple[Any, ...]], leave: bool
) -> None:
    asyncio.run(run(steps, leave))
