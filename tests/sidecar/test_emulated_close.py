"""Closing and deleting sessions of a v1 agent that cannot, out of the journal (B-04)."""

from __future__ import annotations

import pytest

from roost.sidecar.gen.messages import (
    AcpErrorResponse,
    AcpSessionRequest,
)
from tests.sidecar.plain_agents import Plain, alive, answer, begun, prompt
from tests.sidecar.scripted_agent import Json
from tests.sidecar.shelf import Shelf
from tests.sidecar.v1_agents import LOAD, say, stop_reason


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
