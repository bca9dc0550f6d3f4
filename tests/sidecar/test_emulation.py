"""What a v1 agent lacks of v2's session methods, out of the journal: list, close, logout (B-04, B-35)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from roost.acp import v2
from roost.acp.dialect import V2
from roost.sidecar import emulation
from roost.sidecar.gen.messages import (
    AcpCloseSessionRequest,
    AcpErrorResponse,
    AcpResumeSessionRequest,
    AcpRuntimeKind,
    AcpSessionRequest,
    AcpSessionResumedResponse,
)
from roost.sidecar.journal import StoredLaunch, StoredSession
from roost.sidecar.naming import key_of
from roost.wire.decode import decode
from tests.sidecar.rig import Agent, Json, Rig, Shelf
from tests.sidecar.v1_agents import LOAD, V1, ended, say, stop_reason, updates

KEY = {"id": "key", "name": "Key"}


class Plain(V1):
    """A v1 agent that can log in, and whatever `capabilities` says."""

    def __init__(self, capabilities: Json | None = None, *, silent: bool = False) -> None:
        super().__init__(silent=silent, capabilities=capabilities)
        self.refuses: set[str] = set()

    def __call__(self, agent: Agent, message: Json) -> bool:
        method = message.get("method")
        if method in self.refuses:
            agent.error(message, -32603, f"no {method}")
        elif method == "initialize":
            answer = {"protocolVersion": 1, "agentCapabilities": self.capabilities, "authMethods": [KEY]}
            agent.result(message, answer)
        elif method == "session/cancel":
            [prompt] = agent.requests("session/prompt")
            agent.result(prompt, {"stopReason": "cancelled"})
        elif method == "session/list":
            agent.result(message, {"sessions": [{"sessionId": "the agent's own", "cwd": "/w"}]})
        else:
            return super().__call__(agent, message)
        return True


def begun(script: V1 | None = None, *, name: str | None = "me", **options: Any) -> tuple[Rig, int, str]:
    """A daemon with a journal, a caller and a session of protocol 2."""
    rig = Rig(script or Plain(), journal=options.pop("journal", None) or Shelf(), **options)
    rig.session_id = "s"
    caller = rig.connect(name)
    return rig, caller, rig.create(caller, protocol_version=2).session_id


def another(rig: Rig, caller: int, session_id: str, **fields: Any) -> str:
    rig.session_id = session_id
    return rig.create(caller, **{"protocol_version": 2, **fields}).session_id


def answer(rig: Rig, caller: int, session: str, method: str, params: Any = None, seconds: float = 1.0) -> Json:
    request = rig.request(caller, session, method, params)
    rig.advance(seconds)
    return rig.rpc(caller, request)


def listed(rig: Rig, caller: int, session: str, **params: Any) -> list[str]:
    result = answer(rig, caller, session, "session/list", params)["result"]
    return [row["sessionId"] for row in result["sessions"]]


def prompt(text: str = "hello") -> Json:
    return {"prompt": [{"type": "text", "text": text}]}


def alive(rig: Rig) -> list[str]:
    return [agent.process for agent in rig.agents.values() if not agent.exited]


# ---- list


def test_the_list_of_an_agent_that_has_none_is_that_of_the_callers_stored_sessions() -> None:
    rig, caller, first = begun()
    second = another(rig, caller, "second", cwd="/elsewhere")
    third = another(rig, caller, "third")
    another(rig, caller, "another agent", agent="other")
    another(rig, caller, "another version", protocol_version=1)
    stranger = rig.connect("you")
    foreign = another(rig, stranger, "foreign")
    rig.ask(caller, AcpCloseSessionRequest(third))
    assert listed(rig, caller, first) == [third, second, first]
    assert listed(rig, caller, first, cwd="/w") == [third, first]
    assert listed(rig, caller, first, cwd="/w/") == []
    assert listed(rig, stranger, foreign) == [foreign]
    rig.ask(caller, AcpSessionRequest(second, "_roost/delete", None))
    assert listed(rig, caller, first) == [third, first]
    assert not any(agent.requests("session/list") for agent in rig.agents.values())


def test_a_row_of_the_list_is_a_session_as_v2_shows_it() -> None:
    shelf = Shelf()
    rig, caller, session = begun(journal=shelf)
    rig.agent.update(sessionUpdate="session_info_update", title="A title")
    result = answer(rig, caller, session, "session/list")["result"]
    assert result == {
        "sessions": [
            {"sessionId": session, "cwd": "/w", "title": "A title", "updatedAt": "1970-01-01T00:00:01.000+00:00"}
        ],
        "_meta": {"_bridge": {"sessions": "journal"}},
    }
    losses: list[Any] = []
    decode(v2.ListSessionsResponse, json.dumps(result).encode(), on_loss=lambda path, what: losses.append(path))
    assert not losses


def fill(shelf: Shelf, count: int, agent_type: str, base: float) -> list[str]:
    """Stored sessions, the newest first."""
    names = []
    for index in range(count):
        launch = StoredLaunch(
            agent_type=agent_type,
            runtime=AcpRuntimeKind.PYTHON,
            cwd="/w",
            args=(),
            env_names=(),
            protocol_version=V2.version,
            client_capabilities="{}",
            mcp_servers="[]",
        )
        name = f"{agent_type}-{index:04}"
        when = base + index // 2  # two at the same moment
        shelf.sessions[key_of("me", name)] = StoredSession(
            session_id=key_of("me", name), live_id=name, owner="me", launch=launch, created_at=when, updated_at=when
        )
        shelf.entries[name] = []
        names.append(name)
    return names[::-1]


def test_a_long_list_comes_in_pages_without_a_hole_or_a_repetition() -> None:
    shelf = Shelf()
    names = fill(shelf, 120, "echo", -1000.0)
    rig, caller, session = begun(journal=shelf)
    found: list[str] = []
    sizes, params = [], {}
    while True:
        result = answer(rig, caller, session, "session/list", params)["result"]
        rows = [row["sessionId"] for row in result["sessions"]]
        found += rows
        sizes.append(len(rows))
        if "nextCursor" not in result:
            break
        params = {"cursor": result["nextCursor"]}
    assert found == [session, *names]
    assert sizes == [emulation.ROWS, emulation.ROWS, 21]


def test_whoever_has_very_many_sessions_of_other_agents_gets_a_short_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emulation, "SCAN", 10)
    monkeypatch.setattr(emulation, "SCANS", 3)
    shelf = Shelf()
    [oldest] = fill(shelf, 1, "echo", -9000.0)
    fill(shelf, 50, "other", -1000.0)
    rig, caller, session = begun(journal=shelf)
    first = answer(rig, caller, session, "session/list")["result"]
    assert [row["sessionId"] for row in first["sessions"]] == [session]
    second = answer(rig, caller, session, "session/list", {"cursor": first["nextCursor"]})["result"]
    assert [row["sessionId"] for row in second["sessions"]] == [oldest]
    assert "nextCursor" not in second


@pytest.mark.parametrize(
    "params", [{"cursor": "nonsense"}, {"cursor": "W10="}, {"cursor": "é"}, {"cursor": 7}, {"cwd": "here"}, {"cwd": 1}]
)
def test_a_cursor_of_nobody_and_a_relative_folder_are_invalid(params: Json) -> None:
    """SES-1, SES-13, SES-16"""
    rig, caller, session = begun()
    assert answer(rig, caller, session, "session/list", params)["error"]["code"] == -32602


def test_an_agent_that_has_a_list_answers_itself() -> None:
    rig, caller, session = begun(Plain({"sessionCapabilities": {"list": {}}}))
    assert listed(rig, caller, session) == ["the agent's own"]


def test_an_agent_of_v2_answers_itself() -> None:
    rig, caller, session = begun(script=lambda agent, message: False)  # type: ignore[arg-type]
    assert answer(rig, caller, session, "session/list")["result"] == {}
    assert rig.agent.requests("session/list")


def test_protocol_1_is_not_touched() -> None:
    rig = Rig(Plain(), journal=Shelf())
    caller = rig.connect("me")
    session = rig.create(caller, protocol_version=1).session_id
    assert listed(rig, caller, session) == ["the agent's own"]
    assert answer(rig, caller, session, "session/close")["result"] == {}
    assert len(alive(rig)) == 1


@pytest.mark.parametrize("journal", [True, False])
def test_a_session_that_is_not_kept_has_the_bridge_alone(journal: bool) -> None:
    rig = Rig(Plain(), journal=Shelf() if journal else None)
    rig.session_id = "s"
    caller = rig.connect(None if journal else "me")
    session = rig.create(caller, protocol_version=2).session_id
    assert listed(rig, caller, session) == ["s"]
    assert answer(rig, caller, session, "session/close")["result"] == {}
    assert len(alive(rig)) == 1
    ended(rig, caller, session)


@pytest.mark.parametrize("method", ["session/list", "session/close", "session/resume", "auth/logout"])
@pytest.mark.parametrize("name", ["you", None])
def test_a_foreign_session_and_a_missing_one_look_alike(method: str, name: str | None) -> None:
    rig, _, session = begun()
    stranger = rig.connect(name)
    replies = [rig.ask(stranger, AcpSessionRequest(one, method, None)) for one in (session, "missing")]
    assert replies == [AcpErrorResponse("invalid_state", f"unknown ACP session {one}") for one in (session, "missing")]


# ---- close


@pytest.mark.parametrize("capabilities", [{}, {"sessionCapabilities": {"close": {}}}])
def test_a_close_ends_the_agent_and_closes_the_record(capabilities: Json) -> None:
    shelf = Shelf()
    rig, caller, session = begun(Plain(capabilities), journal=shelf)
    assert answer(rig, caller, session, "session/close")["result"] == {}
    assert bool(rig.agent.requests("session/close")) is bool(capabilities)
    assert not alive(rig)
    assert shelf.sessions[session].closed
    after = rig.ask(caller, AcpSessionRequest(session, "session/prompt", None))
    assert after == AcpErrorResponse("invalid_state", f"unknown ACP session {session}")
    rig.leave(caller)
    rig.assert_nothing_left()


def test_a_close_ends_a_turn_first_and_the_end_is_told_and_kept() -> None:
    """SES-26"""
    shelf = Shelf()
    rig, caller, session = begun(Plain(silent=True), journal=shelf)
    rig.prompt(caller, session)
    say(rig.agent, "working")
    request = rig.request(caller, session, "session/close")
    rig.advance(1)
    assert rig.rpc(caller, request)["result"] == {}
    assert stop_reason(rig, caller) == "cancelled"
    order = [told for number, told in rig.told if number == caller]
    assert isinstance(order[-1], tuple)
    assert order[-1][0] == request
    assert shelf.kinds(session)[-1] == "turn"
    assert not shelf.sessions[session].turn_open


def test_a_sleeping_session_is_closed_without_an_agent() -> None:
    shelf = Shelf()
    rig, caller, session = begun(journal=shelf)
    rig.ask(caller, AcpSessionRequest(session, "_roost/sleep", None))
    rig.advance(10)
    started = len(rig.agents)
    assert answer(rig, caller, session, "session/close")["result"] == {}
    assert len(rig.agents) == started
    assert shelf.sessions[session].closed


def test_a_closed_session_is_open_again_when_it_is_resumed() -> None:
    """SES-27"""
    shelf = Shelf()
    rig, caller, session = begun(Plain(LOAD), journal=shelf)
    answer(rig, caller, session, "session/close")
    assert answer(rig, caller, session, "session/resume", {"cwd": "/w"})["result"] == {}
    assert not shelf.sessions[session].closed
    assert rig.agent.requests("session/load")
    answer(rig, caller, session, "session/prompt", prompt())
    assert stop_reason(rig, caller) == "end_turn"
    rig.ask(caller, AcpSessionRequest(session, "session/close", None))
    rig.advance(30)
    rig.leave(caller)
    rig.assert_nothing_left()


@pytest.mark.parametrize("capabilities", [{"delete": {}}, {}])
def test_what_the_agent_deletes_is_deleted_here_too(capabilities: Json) -> None:
    """SES-28"""
    shelf = Shelf()
    rig, caller, session = begun(Plain({**LOAD, "sessionCapabilities": capabilities}), journal=shelf)
    reply = answer(rig, caller, session, "session/delete")
    if not capabilities:
        assert reply["error"]["code"] == -32601
        assert len(alive(rig)) == 1
        return
    assert reply["result"] == {}
    assert not shelf.sessions
    assert not alive(rig)
    after = rig.ask(caller, AcpSessionRequest(session, "session/prompt", None))
    assert after == AcpErrorResponse("invalid_state", f"unknown ACP session {session}")
    rig.leave(caller)
    rig.assert_nothing_left()


@pytest.mark.parametrize("method", ["session/close", "session/delete"])
def test_a_session_the_agent_will_not_let_go_goes_on(method: str) -> None:
    script = Plain({"sessionCapabilities": {"close": {}, "delete": {}}})
    script.refuses.add(method)
    shelf = Shelf()
    rig, caller, session = begun(script, journal=shelf)
    assert answer(rig, caller, session, method)["error"]["message"] == f"no {method}"
    assert not shelf.sessions[session].closed
    answer(rig, caller, session, "session/prompt", prompt())
    assert stop_reason(rig, caller) == "end_turn"


# ---- logout


def logged_out(script: Plain | None = None, **options: Any) -> tuple[Rig, int, str]:
    rig, caller, session = begun(script, **options)
    assert answer(rig, caller, session, "auth/logout", {}, 10)["result"] == {}
    return rig, caller, session


def test_after_a_logout_nothing_is_let_through_and_no_agent_runs() -> None:
    """B-35"""
    rig, caller, session = logged_out()
    assert not alive(rig)
    assert not rig.agent.requests("logout")
    started = len(rig.agents)
    for method in ("session/prompt", "session/resume", "session/set_config_option", "session/list", "auth/logout"):
        assert answer(rig, caller, session, method, prompt())["error"]["code"] == -32000
    assert answer(rig, caller, session, "session/cancel")["result"]["cancelled"] is False
    resumed = rig.ask(caller, AcpResumeSessionRequest(session, "echo", None, "/w", {}))
    assert isinstance(resumed, AcpErrorResponse)
    assert resumed.code == "invalid_state"
    assert len(rig.agents) == started


@pytest.mark.parametrize(("capabilities", "method"), [(LOAD, "session/load"), ({}, "session/new")])
def test_a_login_starts_the_agent_anew_and_comes_before_the_session(capabilities: Json, method: str) -> None:
    rig, caller, session = logged_out(Plain(capabilities))
    assert answer(rig, caller, session, "auth/login", {"methodId": "key"})["result"] == {}
    heard = [message["method"] for message in rig.agent.heard if "method" in message]
    assert heard == ["initialize", "authenticate", method]
    assert rig.agent.requests("authenticate")[0]["params"] == {"methodId": "key"}
    answer(rig, caller, session, "session/prompt", prompt())
    assert stop_reason(rig, caller) == "end_turn"
    ended(rig, caller, session)


@pytest.mark.parametrize("method_id", ["key", "another"])
def test_a_login_that_is_refused_changes_nothing(method_id: str) -> None:
    script = Plain(LOAD)
    rig, caller, session = logged_out(script)
    script.refuses.add("authenticate")
    refused = answer(rig, caller, session, "auth/login", {"methodId": method_id}, 10)["error"]
    assert refused["code"] == (-32603 if method_id == "key" else -32602)
    assert not alive(rig)
    assert answer(rig, caller, session, "session/prompt", prompt())["error"]["code"] == -32000
    script.refuses.clear()
    assert answer(rig, caller, session, "auth/login", {"methodId": "key"})["result"] == {}
    ended(rig, caller, session)


def test_a_login_after_which_the_session_cannot_be_had_leaves_it_logged_out() -> None:
    script = Plain()
    rig, caller, session = logged_out(script)
    script.refuses.add("session/new")
    request = rig.request(caller, session, "auth/login", {"methodId": "key"})
    rig.advance(10)
    reply = rig.reply(caller, request)
    assert isinstance(reply, AcpErrorResponse)
    assert "no session/new" in reply.message
    assert answer(rig, caller, session, "session/prompt", prompt())["error"]["code"] == -32000
    rig.leave(caller)
    rig.assert_nothing_left()


def test_of_two_logins_at_once_one_starts_the_agent() -> None:
    rig, caller, session = logged_out(Plain(LOAD))
    started = len(rig.agents)
    requests = [rig.request(caller, session, "auth/login", {"methodId": "key"}) for _ in range(2)]
    rig.advance(5)
    assert [rig.rpc(caller, request)["result"] for request in requests] == [{}, {}]
    assert len(rig.agents) == started + 1
    ended(rig, caller, session)


def test_a_logout_ends_a_turn_first() -> None:
    shelf = Shelf()
    rig, caller, session = begun(Plain(silent=True), journal=shelf)
    rig.prompt(caller, session)
    say(rig.agent, "working")
    assert answer(rig, caller, session, "auth/logout", {}, 20)["result"] == {}
    assert stop_reason(rig, caller) == "cancelled"
    assert not shelf.sessions[session].turn_open
    assert not alive(rig)


def test_of_two_logouts_at_once_one_is_refused_and_a_prompt_meanwhile_is_not_lost_in_silence() -> None:
    shelf = Shelf()
    rig, caller, session = begun(Plain(silent=True), journal=shelf)
    rig.prompt(caller, session)
    say(rig.agent, "working")
    rig.agent.hear = lambda agent, message: message.get("method") == "session/cancel"  # does not obey yet
    first = rig.request(caller, session, "auth/logout", {})
    second = rig.request(caller, session, "auth/logout", {})
    waiting = rig.prompt(caller, session)
    assert rig.rpc(caller, second)["error"]["code"] == -32600
    rig.agent.result(rig.agent.requests("session/prompt")[0], {"stopReason": "cancelled"})
    rig.advance(10)
    assert rig.rpc(caller, first)["result"] == {}
    assert rig.rpc(caller, waiting)["error"]["code"] == -32800
    assert shelf.kinds(session).count("prompt") == 1
    assert not shelf.sessions[session].turn_open
    rig.leave(caller)
    rig.assert_nothing_left()


def test_a_logout_while_a_prompt_is_on_its_way_is_refused() -> None:
    shelf = Shelf()
    rig, caller, session = begun(journal=shelf)
    shelf.stuck = True
    rig.prompt(caller, session)
    assert answer(rig, caller, session, "auth/logout", {})["error"]["code"] == -32600
    shelf.stuck = False
    rig.store()
    rig.advance(1)
    assert stop_reason(rig, caller) == "end_turn"


def test_an_agent_that_logs_out_by_itself_goes_on() -> None:
    rig, caller, session = begun(Plain({"auth": {"logout": {}}}))
    assert answer(rig, caller, session, "auth/logout", {})["result"] == {}
    assert rig.agent.requests("logout")
    answer(rig, caller, session, "session/prompt", prompt())
    assert stop_reason(rig, caller) == "end_turn"


def test_a_session_that_is_logged_out_can_be_closed_and_deleted() -> None:
    for method in ("session/close", "_roost/delete"):
        rig, caller, session = logged_out()
        assert "result" in answer(rig, caller, session, method)
        assert not rig.engine._context.logged_out
        rig.leave(caller)
        rig.assert_nothing_left()


def test_a_logout_concerns_one_session_of_one_caller() -> None:
    rig, caller, session = begun()
    other = another(rig, caller, "other")
    answer(rig, caller, session, "auth/logout", {}, 10)
    stranger = rig.connect("you")
    reply = rig.ask(stranger, AcpSessionRequest(session, "session/prompt", None))
    assert reply == AcpErrorResponse("invalid_state", f"unknown ACP session {session}")
    answer(rig, caller, other, "session/prompt", prompt())
    assert stop_reason(rig, caller) == "end_turn"
    rig.session_id = "third"
    resumed = rig.ask(stranger, AcpResumeSessionRequest(session, "echo", None, "/w", {}))
    assert isinstance(resumed, AcpSessionResumedResponse)
    assert resumed.mode == "fallback"


def test_where_nothing_is_kept_a_logout_outlives_a_crash_of_the_agent() -> None:
    rig = Rig(Plain(LOAD))
    rig.session_id = "s"
    caller = rig.connect("me")
    session = rig.create(caller, protocol_version=2).session_id
    assert answer(rig, caller, session, "auth/logout", {})["result"] == {}
    for _ in range(2):
        assert answer(rig, caller, session, "session/prompt", prompt())["error"]["code"] == -32000
        rig.agent.exit(1)
        rig.advance(5)
    assert answer(rig, caller, session, "auth/login", {"methodId": "key"})["result"] == {}
    answer(rig, caller, session, "session/prompt", prompt())
    assert updates(rig, caller)[-1] == "idle"
    ended(rig, caller, session)
