"""SES-1 to SES-30: sessions of an agent, over both stores, seen from a raw client."""

from __future__ import annotations

import asyncio
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from roost.acp import v2
from roost.errors import RpcError, StoreError
from roost.sdk.agent import Agent
from roost.sdk.agent_session import AgentSession
from roost.sdk.limits import AgentLimits
from roost.sdk.store import MemorySessionStore, SessionStore, StoredSession
from roost.sdk.store_directory import DirectorySessionStore
from roost.sdk.turn import Turn

from .raw_client import Json, RawClient, connect, started, text_block
from .steps import Steps, agent_of, echo

NewStore = Callable[[], SessionStore]


@pytest.fixture(params=["memory", "directory"])
def new_store(request: pytest.FixtureRequest, tmp_path: Path) -> NewStore:
    """The same store each time it is called, as a new process would open it."""
    if request.param == "directory":
        return lambda: DirectorySessionStore(tmp_path / "sessions")
    memory = MemorySessionStore()
    return lambda: memory


async def work(turn: Turn) -> None:
    """Something of everything that a replay has to bring back."""
    await turn.session_info(title=f"About {turn.text}")
    await turn.think("hm ")
    await turn.think("well")
    await turn.say("Hello, ")
    await turn.say("you")
    plan = await turn.plan(["first", "second"], plan_id="plan")
    await plan.complete(0)
    async with turn.tool("Run make", kind="execute", locations=["/w/Makefile"], raw_input={"x": 1}) as call:
        terminal = await call.terminal("make")
        await terminal.write("out")
        await terminal.write("put")
        await terminal.exit(0)
        await call.text("fine")
    await turn.usage(7, 100)


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


def resume_params(session: str, **more: Any) -> Json:
    return {"sessionId": session, "cwd": "/w", **more}


FROM_START = {"replayFrom": {"type": "start"}}


# ---- new


@pytest.mark.parametrize("params", [{}, {"cwd": "w"}, {"cwd": ""}, {"cwd": 5}, {"cwd": None}, {"cwd": "./w"}])
async def test_s_01_a_session_needs_an_absolute_directory_ses_1(params: Json) -> None:
    client = await started(agent_of(echo))
    error = await client.error("session/new", params)
    assert (error["code"], error["data"]["path"]) == (-32602, "cwd")


@pytest.mark.parametrize("cwd", ["/w", "C:\\w", "C:/w", "\\\\server\\share"])
async def test_windows_paths_are_absolute_too_ses_1(cwd: str) -> None:
    client = await started(agent_of(echo))
    assert (await client.call("session/new", {"cwd": cwd}))["sessionId"]


async def test_s_02_relative_paths_start_at_the_sessions_directory_ses_6(tmp_path: Path) -> None:
    seen: list[Any] = []
    (tmp_path / "out").symlink_to("/")

    async def answer(turn: Turn) -> None:
        session = turn.session
        seen.append(session.resolve("a"))
        seen.append(session.resolve("/x/../y"))
        seen.append([session.contains(path) for path in ("a", ".", "..", "out/etc", "/other/x", str(tmp_path) + "x")])
        seen.append(session.roots)

    client = await started(agent_of(answer, roots=True))
    session = await client.new_session(cwd=str(tmp_path), additionalDirectories=["/other"])
    client.prompt(session)
    await client.idle()
    assert seen == [
        f"{tmp_path}/a",
        "/y",
        [True, True, False, False, True, False],
        [str(tmp_path), "/other"],
    ]


async def test_s_03_roots_that_are_not_supported_are_refused_ses_8() -> None:
    client = await started(agent_of(echo))
    error = await client.error("session/new", {"cwd": "/w", "additionalDirectories": ["/a"]})
    assert error["code"] == -32602
    assert await client.new_session(additionalDirectories=[])


async def test_s_04_relative_and_empty_roots_are_refused_and_garbage_is_dropped_ses_9(
    caplog: pytest.LogCaptureFixture,
) -> None:
    client = await started(agent_of(echo, roots=True))
    for roots in (["/a", 5, "b"], ["/a", ""]):
        assert (await client.error("session/new", {"cwd": "/w", "additionalDirectories": roots}))["code"] == -32602
    caplog.clear()
    assert await client.new_session(additionalDirectories=["/a", 5])
    assert "additionalDirectories" in caplog.text


async def test_s_05_ids_are_distinct_and_not_to_be_guessed_ses_2() -> None:
    client = await started(agent_of(echo))
    ids = {await client.new_session() for _ in range(5)}
    assert len(ids) == 5
    assert all(len(id) >= 32 for id in ids)


@pytest.mark.parametrize(
    "server",
    [
        {"type": "stdio", "name": "srv", "command": "/bin/x"},
        {"type": "http", "name": "srv", "url": "http://x"},
        {"type": "acp", "name": "srv", "serverId": "s"},
        {"type": "sse", "name": "srv", "url": "http://x"},
    ],
)
async def test_s_08_an_mcp_server_of_a_kind_not_supported_is_refused_by_name_ses_10(server: Json) -> None:
    client = await started(agent_of(echo))
    secret = {**server, "env": [{"name": "K", "value": "secret"}]}
    error = await client.error("session/new", {"cwd": "/w", "mcpServers": [secret]})
    assert error["code"] == -32602
    assert "'srv'" in error["message"]
    assert "secret" not in str(error)  # SEC-2


async def test_mcp_servers_that_are_supported_reach_the_author_ses_10() -> None:
    seen: list[Any] = []

    async def answer(turn: Turn) -> None:
        seen.extend(turn.session.mcp_servers)

    client = await started(agent_of(answer, mcp=["stdio", "http", "acp"]))
    servers = [
        {"type": "stdio", "name": "a", "command": "/bin/a"},
        {"type": "http", "name": "b", "url": "http://b"},
        {"type": "acp", "name": "c", "serverId": "c"},
    ]
    client.prompt(await client.new_session(mcpServers=servers))
    await client.idle()
    assert [server.name for server in seen] == ["a", "b", "c"]
    relative = {"type": "stdio", "name": "a", "command": "bin/a"}
    assert (await client.error("session/new", {"cwd": "/w", "mcpServers": [relative]}))["code"] == -32602
    twice = [{"type": "acp", "name": "c", "serverId": "c"}] * 2
    assert (await client.error("session/new", {"cwd": "/w", "mcpServers": twice}))["code"] == -32602  # MCP-1


@pytest.mark.parametrize("servers", [None, [], "absent"])
async def test_s_09_no_mcp_servers_is_fine_ses_10(servers: Any) -> None:
    client = await started(agent_of(echo))
    assert await client.new_session(**({} if servers == "absent" else {"mcpServers": servers}))


async def test_updates_of_a_new_session_follow_its_response_ses_4() -> None:
    agent = agent_of(echo)

    @agent.session_hook
    async def opened(session: AgentSession, origin: str) -> None:
        await session.set_title(origin)

    client = await started(agent)
    await client.new_session()
    await client.settle()
    assert "result" in client.messages[1]
    assert client.updates()[0]["title"] == "new"


async def test_an_author_may_refuse_a_session_and_nothing_is_left_of_it() -> None:
    agent = agent_of(echo)

    @agent.session_hook
    async def opened(session: AgentSession, origin: str) -> None:
        raise RpcError(-32002, "no such directory")

    client = await started(agent)
    assert (await client.error("session/new", {"cwd": "/w"}))["code"] == -32002
    assert (await client.call("session/list", {})) == {"sessions": []}


async def test_sessions_are_bounded() -> None:
    client = await started(agent_of(echo, limits=AgentLimits(sessions=2)))
    first = await client.new_session()
    await client.new_session()
    error = await client.error("session/new", {"cwd": "/w"})
    assert (error["code"], error["data"]["limit"]) == (-32005, "sessions")
    await client.call("session/close", {"sessionId": first})
    await client.new_session()


# ---- list


async def test_s_11_no_sessions_is_an_empty_list_ses_13(new_store: NewStore) -> None:
    client = await started(agent_of(echo, store=new_store()))
    assert await client.call("session/list", {}) == {"sessions": []}


async def test_s_12_s_13_every_session_is_on_one_page_and_the_filter_comes_first_ses_13_ses_15() -> None:
    agent = agent_of(echo, limits=AgentLimits(page_sessions=7))
    agent.now = lambda: "2026-01-01T00:00:00.000000Z"  # type: ignore[method-assign]  # a tie everywhere
    client = await started(agent)
    made = {cwd: [await client.new_session(cwd=cwd) for _ in range(20)] for cwd in ("/a", "/b")}
    for params, expected in (({}, made["/a"] + made["/b"]), ({"cwd": "/b"}, made["/b"]), ({"cwd": "/a/"}, [])):
        seen: list[str] = []
        sizes: list[int] = []
        cursor: Json = {}
        while True:
            page = await client.call("session/list", {**params, **cursor})
            seen += [s["sessionId"] for s in page["sessions"]]
            sizes.append(len(page["sessions"]))
            if "nextCursor" not in page:
                break
            cursor = {"cursor": page["nextCursor"]}
        assert sorted(seen) == sorted(expected)
        assert all(size == 7 for size in sizes[:-1])


async def test_the_newest_session_comes_first_with_what_is_known_of_it_ses_14_ses_15(new_store: NewStore) -> None:
    client = await started(agent_of(work, store=new_store(), roots=True))
    old = await client.new_session(additionalDirectories=["/r"])
    new = await client.new_session()
    client.prompt(old, "this")
    await client.idle()
    listed = (await client.call("session/list", {}))["sessions"]
    assert [s["sessionId"] for s in listed] == [old, new]
    assert listed[0]["title"] == "About this"
    assert listed[0]["additionalDirectories"] == ["/r"]
    assert listed[0]["updatedAt"] > listed[1]["updatedAt"]
    assert set(listed[1]) == {"sessionId", "cwd", "updatedAt"}


@pytest.mark.parametrize(
    "params",
    [
        pytest.param({"cursor": "garbage"}, id="S-14"),
        pytest.param({"cursor": b64encode(b"none").decode()}, id="S-14 base64"),
        pytest.param({"cursor": ""}, id="S-14 empty"),
        pytest.param({"cursor": 5}, id="S-15 cursor"),
        pytest.param({"cwd": 5}, id="S-15"),
        pytest.param({"cwd": "relative"}, id="SES-13"),
    ],
)
async def test_a_bad_cursor_or_filter_is_an_error_ses_13_ses_16(params: Json) -> None:
    client = await started(agent_of(echo))
    assert (await client.error("session/list", params))["code"] == -32602


# ---- resume


async def history(client: RawClient) -> str:
    session = await client.new_session()
    for n in range(3):
        client.prompt(session, f"prompt {n}")
    await client.idle(3)
    return session


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


# ---- close, delete, fork


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


async def test_s_37_the_title_is_a_patch_ses_30() -> None:
    async def rename(turn: Turn) -> None:
        await turn.session_info(title="a")
        await turn.session.update(v2.SessionInfoUpdate())
        assert turn.session.title == "a"
        await turn.session_info(title=None)
        assert turn.session.title is None

    client = await started(agent_of(rename))
    client.prompt(await client.new_session())
    await client.idle()
    assert [u.get("title", "absent") for u in client.updates("session_info_update")] == ["a", "absent", None]


async def test_s_38_one_users_sessions_do_not_exist_for_another_sec_6(new_store: NewStore) -> None:
    agent = agent_of(work, store=new_store(), fork=True)
    alice, _ = connect(agent, principal="alice")
    bob, _ = connect(agent, principal="bob")
    await alice.initialize()
    await bob.initialize()
    session = await history(alice)
    prompt = {"sessionId": session, "prompt": [text_block("x")]}
    for method, params in (
        ("session/prompt", prompt),
        ("session/resume", resume_params(session)),
        ("session/close", {"sessionId": session}),
        ("session/fork", {"sessionId": session, "cwd": "/w"}),
        ("session/set_config_option", {"type": "id", "sessionId": session, "configId": "a", "value": "b"}),
    ):
        assert (await bob.error(method, params))["code"] == -32002, method
    await bob.call("session/delete", {"sessionId": session})
    bob.cancel(session)
    assert await bob.call("session/list", {}) == {"sessions": []}
    assert len((await alice.call("session/list", {}))["sessions"]) == 1


# ---- the end, and stores that fail


async def test_a_connection_that_ends_cancels_work_and_keeps_the_sessions_std_5(new_store: NewStore) -> None:
    steps = Steps()
    closed: list[str] = []

    async def slow(turn: Turn) -> None:
        async with turn.tool("slow"):
            await steps.wait("x")

    agent = agent_of(slow, store=new_store())

    @agent.close_hook
    async def close(session: AgentSession) -> None:
        closed.append(session.id)

    client, link = connect(agent)
    await client.initialize()
    session = await client.new_session()
    client.prompt(session)
    await steps.reached("x")
    client.close()
    async with asyncio.timeout(5):
        await link.connection.wait_closed()
    assert closed == [session]
    again = await started(agent_of(slow, store=new_store()))
    await again.call("session/resume", resume_params(session, **FROM_START))
    assert [u["status"] for u in again.updates("tool_call_update")] == ["cancelled"]


class BrokenStore(MemorySessionStore):
    def __init__(self, broken: set[str]) -> None:
        super().__init__()
        self.broken = broken

    async def save(self, session: StoredSession) -> None:
        if "save" in self.broken:
            raise StoreError("disk full")
        await super().save(session)

    async def load(self, session_id: str) -> StoredSession | None:
        if "load" in self.broken:
            raise StoreError("secret path")
        return await super().load(session_id)

    async def records(self) -> list[Any]:
        if "records" in self.broken:
            raise StoreError("secret path")
        return await super().records()


async def test_a_store_that_fails_does_not_stop_the_work(caplog: pytest.LogCaptureFixture) -> None:
    client = await started(agent_of(echo, store=BrokenStore({"save"})))
    client.prompt(await client.new_session())
    await client.idle()
    assert client.states() == ["running", "idle:end_turn"]
    assert "disk full" in caplog.text


async def test_what_a_store_cannot_read_is_no_success_and_its_text_stays_here_err_3() -> None:
    store = BrokenStore(set())
    client = await started(agent_of(echo, store=store))
    session = await client.new_session()
    await client.call("session/close", {"sessionId": session})
    store.broken |= {"load", "records"}
    for method, params in (
        ("session/resume", resume_params(session)),
        ("session/list", {}),
        ("session/delete", {"sessionId": session}),
    ):
        error = await client.error(method, params)
        assert error["code"] == -32603
        assert "secret" not in str(error)


async def test_the_authors_data_is_kept_and_scratch_is_not(new_store: NewStore) -> None:
    async def count(turn: Turn) -> None:
        turn.session.data["n"] = turn.session.data.get("n", 0) + 1
        turn.session.scratch["n"] = turn.session.scratch.get("n", 0) + 1
        await turn.say(f"{turn.session.data['n']}/{turn.session.scratch['n']} ")

    client = await started(agent_of(count, store=new_store()))
    session = await client.new_session()
    client.prompt(session)
    client.prompt(session)
    await client.idle(2)
    client.close()
    again = await started(agent_of(count, store=new_store()))
    await again.call("session/resume", resume_params(session))
    again.prompt(session)
    await again.idle()
    assert (client.said(), again.said()) == ("1/1 2/2 ", "3/1 ")


async def test_an_agent_reads_what_was_said_before() -> None:
    async def recall(turn: Turn) -> None:
        texts = [m.text for m in turn.session.history.messages]
        await turn.say("|".join(texts))

    client = await started(agent_of(recall))
    session = await client.new_session()
    for text in ("a", "b"):
        client.prompt(session, text)
    await client.idle(2)
    assert client.said() == "a" + "a|a|b"


def test_the_shortest_agent_is_short() -> None:
    assert isinstance(Agent("x", "1"), Agent)
