"""SES-17 to SES-25: a session of an agent is resumed, over both stores, seen from a raw client."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from typing import Any

import pytest

from roost.acp import v2
from roost.sdk.store import StoredSession
from roost.sdk.turn import Turn

from .agent_history import FROM_START, NewStore, history, resume_params, work
from .raw_client import Json, RawClient, connect, started, text_block
from .steps import Steps, agent_of

REPLAYED = [
    "user_message",
    "agent_thought",
    "agent_message",
    "plan_update",
    "tool_call_update",
    "terminal_update",
    "session_info_update",
    "usage_update",
]


@pytest.mark.parametrize(
    "more", [pytest.param({}, id="S-16"), pytest.param({"replayFrom": None}, id="S-20"), {"replayFrom": "start"}]
)
async def test_without_replay_nothing_is_told_before_the_response_ses_17(new_store: NewStore, more: Json) -> None:
    client = await started(agent_of(work, store=new_store()))
    session = await history(client)
    client.close()
    again = await started(agent_of(work, store=new_store()))
    assert await again.call("session/resume", resume_params(session, **more)) == {}
    await again.settle()
    assert again.updates() == []


async def test_s_17_s_19_a_replay_is_the_whole_conversation_before_the_response_ses_17_ses_19(
    new_store: NewStore,
) -> None:
    client = await started(agent_of(work, store=new_store()))
    session = await history(client)
    client.close()
    again = await started(agent_of(work, store=new_store()))
    assert await again.call("session/resume", resume_params(session, **FROM_START)) == {}
    assert "result" in again.messages[-1]
    assert [u["sessionUpdate"] for u in again.updates()] == REPLAYED[:3] + REPLAYED[3:4] + REPLAYED[4:6] + [
        *(["user_message", "agent_thought", "agent_message", "tool_call_update", "terminal_update"] * 2),
        "session_info_update",
        "usage_update",
    ]
    assert [u["content"] for u in again.updates("user_message")] == [[text_block(f"prompt {n}")] for n in range(3)]
    assert [u["content"] for u in again.updates("agent_message")] == [[text_block("Hello, you")]] * 3
    assert [u["content"] for u in again.updates("agent_thought")] == [[text_block("hm well")]] * 3
    call = again.updates("tool_call_update")[0]
    assert {k: call[k] for k in ("title", "kind", "status", "locations", "rawInput")} == {
        "title": "Run make",
        "kind": "execute",
        "status": "completed",
        "locations": [{"path": "/w/Makefile"}],
        "rawInput": {"x": 1},
    }
    assert [c["type"] for c in call["content"]] == ["terminal", "content"]
    terminal = again.updates("terminal_update")[0]
    assert terminal["output"] == {"data": b64encode(b"output").decode()}  # TRM-11
    assert terminal["exitStatus"] == {"exitCode": 0}
    assert again.updates("session_info_update")[0]["title"] == "About prompt 2"
    assert [e["status"] for e in again.updates("plan_update")[0]["plan"]["entries"]] == ["completed", "pending"]


async def test_s_18_a_replay_has_the_ids_of_the_live_session_ses_18(new_store: NewStore) -> None:
    def ids(client: RawClient) -> set[str]:
        return {str(u[key]) for u in client.updates() for key in ("messageId", "toolCallId", "terminalId") if key in u}

    client = await started(agent_of(work, store=new_store()))
    session = await history(client)
    again = await started(agent_of(work, store=new_store()))
    client.close()
    await again.call("session/resume", resume_params(session, **FROM_START))
    assert ids(again) == ids(client)
    before = ids(client)
    again.prompt(session)
    await again.idle()
    assert len(ids(again)) == len(before) + 5


async def test_a_replayed_session_folds_to_what_the_live_one_was_ses_24(new_store: NewStore) -> None:
    from roost.acp.fold import fold
    from roost.acp.view import SessionView
    from roost.wire.decode import convert

    def folded(client: RawClient) -> Any:
        view = SessionView()
        for update in client.updates():
            fold(view, convert(v2.SessionUpdate, update))
        return (
            [(m.kind, m.message_id, m.text) for m in view.messages],
            [(c.tool_call_id, c.title, c.kind, c.status, c.locations, c.raw_input) for c in view.tool_calls.values()],
            [(t.terminal_id, t.data, t.exit_status, t.command) for t in view.terminals.values()],
            [p.value for p in view.plans.values()],
            (view.title, view.usage),
        )

    client = await started(agent_of(work, store=new_store()))
    session = await history(client)
    client.close()
    again = await started(agent_of(work, store=new_store()))
    await again.call("session/resume", resume_params(session, **FROM_START))
    assert folded(again) == folded(client)


async def test_s_21_an_unknown_place_to_replay_from_is_refused_ses_20() -> None:
    client = await started(agent_of(work))
    session = await history(client)
    error = await client.error("session/resume", resume_params(session, replayFrom={"type": "_x"}))
    assert error["code"] == -32602


async def test_s_22_an_unknown_session_is_no_success_err_3(new_store: NewStore) -> None:
    client = await started(agent_of(work, store=new_store()))
    for id in ("nobody", "../../etc/passwd", "", "\u0000", "x" * 1000):
        error = await client.error("session/resume", resume_params(id))
        assert (error["code"], error["data"]) == (-32002, {"sessionId": id})


async def test_s_23_another_directory_is_refused_ses_21(new_store: NewStore) -> None:
    client = await started(agent_of(work, store=new_store()))
    session = await history(client)
    other = {"sessionId": session, "cwd": "/other"}
    assert (await client.error("session/resume", other))["code"] == -32602
    await client.call("session/close", {"sessionId": session})
    assert (await client.error("session/resume", other))["code"] == -32602


async def test_s_24_roots_come_from_the_request_alone_ses_21() -> None:
    seen: list[Any] = []

    async def answer(turn: Turn) -> None:
        seen.append(turn.session.roots)

    client = await started(agent_of(answer, roots=True))
    session = await client.new_session(additionalDirectories=["/r"])
    await client.call("session/close", {"sessionId": session})
    await client.call("session/resume", resume_params(session))
    client.prompt(session)
    await client.idle()
    assert seen == [["/w"]]


async def test_mcp_servers_come_from_the_request_alone_ses_22() -> None:
    seen: list[Any] = []

    async def answer(turn: Turn) -> None:
        seen.append([server.name for server in turn.session.mcp_servers])

    client = await started(agent_of(answer, mcp=["http"]))
    one, two = ({"type": "http", "name": name, "url": "http://x"} for name in ("one", "two"))
    session = await client.new_session(mcpServers=[one])
    client.prompt(session)
    await client.idle()
    for servers in ([two], []):
        await client.call("session/resume", resume_params(session, mcpServers=servers))
        client.prompt(session)
        await client.idle(len(seen) + 1)
    assert seen == [["one"], ["two"], []]


async def test_s_25_a_long_replay_to_a_slow_client_is_bounded_and_whole_ses_17_env_20() -> None:
    async def long(turn: Turn) -> None:
        for n in range(2000):
            await turn.say(f"{n} " + "x" * 200)
            turn.new_message()

    agent = agent_of(long)
    client = await started(agent)
    session = await client.new_session()
    client.prompt(session)
    await client.idle()
    client.close()
    slow, link = connect(agent, high_water=16 * 1024)
    await slow.initialize()
    slow.pause()
    id = slow.request("session/resume", resume_params(session, **FROM_START))
    other = slow.request("session/list", {})
    for _ in range(100):
        await asyncio.sleep(0)
    assert link.connection.open_requests <= 2
    assert link.connection._channel.queued < 100 * 1024
    slow.resume()
    await slow.response(id)
    await slow.response(other)
    assert len(slow.updates("agent_message")) == 2000
    assert slow.messages.index(await slow.response(id)) > slow.messages.index(
        next(m for m in slow.messages if m.get("method") == "session/update")
    )


async def test_s_27_a_second_client_takes_a_running_session_over_with_its_state_and_question_ses_25() -> None:
    steps = Steps()

    async def ask(turn: Turn) -> None:
        await steps.wait("x")
        await turn.say(f"{bool(await turn.permission('May I?'))}")

    agent = agent_of(ask)
    one = await started(agent)
    session = await one.new_session()
    one.prompt(session)
    await steps.reached("x")
    two = await started(agent)
    assert await two.call("session/resume", resume_params(session)) == {}
    assert two.states() == ["running"]
    steps.go("x")
    first = await two.asked_for("session/request_permission")
    three = await started(agent)
    await three.call("session/resume", resume_params(session, **FROM_START))
    assert three.states() == ["requires_action"]
    assert [u["sessionUpdate"] for u in three.updates()] == ["user_message", "state_update"]
    second = await three.asked_for("session/request_permission")
    await two.until(lambda: [m for m in two.messages if m.get("method") == "$/cancel_request"])
    two.reply(first, {"outcome": {"outcome": "selected", "optionId": "allow_once"}})
    three.reply(second, {"outcome": {"outcome": "selected", "optionId": "reject_once"}})
    await three.idle()
    assert three.said() == "False"
    assert one.updates("agent_message_chunk") == two.updates("agent_message_chunk") == []
    error = await two.error("session/prompt", {"sessionId": session, "prompt": [text_block("x")]})
    assert error["code"] == -32002


async def test_a_resume_while_running_starts_no_second_work_ses_23() -> None:
    steps = Steps()

    async def slow(turn: Turn) -> None:
        await turn.say("before ")
        await steps.wait("x")
        await turn.say("after")

    client = await started(agent_of(slow))
    session = await client.new_session()
    client.prompt(session)
    await steps.reached("x")
    count = len(client.messages)
    await client.call("session/resume", resume_params(session, **FROM_START))
    kinds = [m["params"]["update"]["sessionUpdate"] for m in client.messages[count:] if "method" in m]
    assert kinds == ["user_message", "agent_message", "state_update"]
    steps.go("x")
    await client.idle()
    assert client.states() == ["running", "running", "idle:end_turn"]


async def test_updates_during_a_replay_follow_it() -> None:
    """What the session does while it is being replayed is told behind the replay, or it would be overwritten by it."""
    steps = Steps()

    async def chatty(turn: Turn) -> None:
        for _ in range(200):
            await turn.say("x" * 300)
            turn.new_message()
        await steps.wait("x")
        await turn.say("live")

    agent = agent_of(chatty)
    client, _ = connect(agent, high_water=4096)
    await client.initialize()
    session = await client.new_session()
    client.prompt(session)
    await steps.reached("x")
    await client.until(lambda: len(client.updates("agent_message_chunk")) == 200)
    client.pause()
    id = client.request("session/resume", resume_params(session, **FROM_START))
    for _ in range(20):
        await asyncio.sleep(0)
    steps.go("x")
    for _ in range(20):
        await asyncio.sleep(0)
    client.resume()
    await client.idle()
    replayed = [i for i, m in enumerate(client.messages) if m.get("params", {}).get("update", {}).get("content", {})]
    live = next(i for i, m in enumerate(client.messages) if "live" in str(m))
    response = client.messages.index(await client.response(id))
    assert max(i for i in replayed if i != live) < response < live


async def test_an_interrupted_turn_says_so_when_it_is_replayed(new_store: NewStore) -> None:
    """A tool call that was under way when the agent died does not spin for ever."""
    store = new_store()
    client = await started(agent_of(work, store=store))
    session = await history(client)
    stored = await store.load(session)
    assert stored is not None
    half = b'{"sessionUpdate":"tool_call_update","toolCallId":"t9","title":"x","status":"in_progress"}'
    await store.save(StoredSession(record=stored.record, history=[*stored.history, half]))
    again = await started(agent_of(work, store=new_store()))
    await again.call("session/resume", resume_params(session, **FROM_START))
    assert [u["status"] for u in again.updates("tool_call_update") if u["toolCallId"] == "t9"] == ["cancelled"]
