"""Logging in and out of a v1 agent that cannot log out (B-35)."""

from __future__ import annotations

from typing import Any

import pytest

from roost.sidecar.gen.messages import (
    AcpErrorResponse,
    AcpResumeSessionRequest,
    AcpSessionRequest,
    AcpSessionResumedResponse,
)
from tests.sidecar.plain_agents import Plain, alive, another, answer, begun, prompt
from tests.sidecar.rig import Rig
from tests.sidecar.scripted_agent import Json
from tests.sidecar.shelf import Shelf
from tests.sidecar.v1_agents import LOAD, ended, say, stop_reason, updates


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
