"""How sessions fall asleep and come back: the engine with a journal as plain as can be."""

from __future__ import annotations

import json

import pytest

from roost.sidecar.gen.messages import (
    AcpCloseSessionRequest,
    AcpErrorResponse,
    AcpGetSessionStateRequest,
    AcpResumeSessionRequest,
    AcpSessionClosedResponse,
    AcpSessionRequest,
    AcpSessionResumedResponse,
)
from roost.sidecar.journal import Kind
from tests.sidecar.kept_sessions import PROMPT, accepting, ask_permission, kept, updates, v2_turn
from tests.sidecar.scripted_agent import Agent, Json


def test_an_idle_session_falls_asleep_and_the_next_request_wakes_it_natively() -> None:
    rig, shelf, me = kept(sleep_after=60.0)
    session = rig.create(me, protocol_version=2, env={"SECRET": "s"}).session_id
    rig.request(me, session, "session/prompt", PROMPT)
    first, before = rig.agent, shelf.sessions[session].last_number
    rig.advance(120)
    assert first.exited
    assert rig.engine.session_count == 0
    assert rig.ask(me, AcpGetSessionStateRequest(session)).process_id == ""  # asking for its state lets it sleep
    assert rig.engine.session_count == 0
    assert rig.rpc(me, rig.request(me, session, "session/prompt", PROMPT))["result"] == {}
    assert rig.agent is not first
    assert [message["method"] for message in rig.agent.heard] == ["initialize", "session/resume", "session/prompt"]
    assert rig.agent.launch.env["SECRET"] == "s"  # remembered by this daemon, not by the journal
    told = [note["params"] for note in rig.notifications(me) if note["method"] == "_roost/resumed"]
    assert told == [{"sessionId": session, "tier": "native"}]
    assert shelf.entries[session][before].kind is Kind.RESUMED


def test_a_request_keeps_a_session_awake_also_when_its_agent_says_nothing() -> None:
    rig, _, me = kept(sleep_after=60.0)
    session = rig.create(me, protocol_version=2).session_id
    rig.advance(40)
    rig.request(me, session, "nes/accept", {"suggestionId": "x"})  # a notification: nobody answers
    rig.advance(50)
    assert not rig.agent.exited
    rig.advance(20)
    assert rig.agent.exited


@pytest.mark.parametrize("how", ["turn", "permission"])
def test_a_session_in_which_something_is_under_way_stays_awake(how: str) -> None:
    rig, _, me = kept(accepting, sleep_after=60.0, callback_timeout=5000.0, inactivity_timeout=9000.0)
    session = rig.create(me, protocol_version=2).session_id
    if how == "turn":
        rig.request(me, session, "session/prompt", PROMPT)
        rig.agent.update(sessionUpdate="state_update", state="running")
    else:
        ask_permission(rig)
    rig.advance(600)
    assert rig.engine.session_count == 1


def forgetful(agent: Agent, message: Json) -> bool:
    """Knows no session of before, and gives each new one a name of its own."""
    if message.get("method") == "session/resume":
        agent.error(message, -32002, "no such session", {"sessionId": message["params"]["sessionId"]})
        return True
    return v2_turn(agent, message)


def test_a_session_its_agent_has_forgotten_wakes_under_its_own_name_with_its_history_at_hand() -> None:
    rig, shelf, me = kept(forgetful, sleep_after=60.0)
    session = rig.create(me, protocol_version=2).session_id
    rig.advance(120)
    rig.request(me, session, "session/prompt", PROMPT)
    agent = rig.agent
    assert agent.session_id != session
    sent = agent.requests("session/prompt")[0]["params"]
    assert sent["sessionId"] == agent.session_id
    assert f"/w/{session}.md" in sent["prompt"][0]["text"]
    heard = [note["params"]["sessionId"] for note in rig.notifications(me)]
    assert set(heard) == {session}
    assert [event.session_id for event in rig.events(me)] == [session] * len(heard)
    assert shelf.sessions[session].live_id == agent.session_id
    tiers = [note["params"]["tier"] for note in rig.notifications(me) if note["method"] == "_roost/resumed"]
    assert tiers == ["fallback"]


@pytest.mark.parametrize("between", ["sleep", "daemon"])
def test_a_session_begun_anew_that_sleeps_before_its_first_prompt_is_told_of_its_past_all_the_same(
    between: str,
) -> None:
    begun: set[str] = set()

    def script(agent: Agent, message: Json) -> bool:
        if message.get("method") == "session/new":
            begun.add(agent.session_id)
        return message.get("params", {}).get("sessionId") not in begun and forgetful(agent, message)

    rig, shelf, me = kept(script)
    session = rig.create(me, protocol_version=2).session_id
    begun.clear()
    for method in ("_look", "_look", "session/prompt"):
        rig.request(me, session, "_roost/sleep")
        if between == "daemon":
            rig, _, me = kept(script, shelf)
            rig.engine._context._last_process = len(begun) + 1  # an agent that numbers its sessions goes on
        rig.request(me, session, method, PROMPT)
    assert [message["method"] for message in rig.agent.heard][1:] == ["session/resume", "session/new", "session/prompt"]
    assert f"/w/{session}.md" in rig.agent.requests("session/prompt")[0]["params"]["prompt"][0]["text"]
    last = rig.agent.session_id
    assert shelf.sessions[session].live_id == last
    rig.request(me, session, "_roost/sleep")
    rig.request(me, session, "session/prompt", PROMPT)
    assert rig.agent.requests("session/resume")[0]["params"]["sessionId"] == last
    assert rig.agent.requests("session/prompt")[0]["params"]["prompt"] == PROMPT["prompt"]


@pytest.mark.parametrize("lost", [True, False])
def test_a_prompt_that_was_lost_has_told_the_agent_nothing(lost: bool) -> None:
    def script(agent: Agent, message: Json) -> bool:
        if message.get("method") == "session/prompt" and lost:
            agent.write(b"x" * 2001 + b"\n")
            return True
        return forgetful(agent, message)

    rig, shelf, me = kept(script, line_bytes=2000)
    session = rig.create(me, protocol_version=2).session_id
    rig.request(me, session, "_roost/sleep")
    rig.request(me, session, "session/prompt", PROMPT)
    assert (shelf.sessions[session].live_id == session) is lost


def test_after_a_restart_of_the_daemon_a_named_callers_session_is_asleep_and_wakes() -> None:
    rig, shelf, me = kept()
    session = rig.create(me, protocol_version=2, mcp_servers='[{"name":"m","command":"/m","env":{"K":"v"}}]').session_id
    rig.request(me, session, "session/prompt", PROMPT)
    count = len(shelf.entries[session])

    rig, _, me = kept(shelf=shelf)
    listed = rig.rpc(me, rig.request(me, "", "_roost/sessions"))["result"]["sessions"]
    assert [(row["sessionId"], row["state"]) for row in listed] == [(session, "asleep")]
    rig.request(me, session, "session/prompt", PROMPT)
    assert rig.agent.heard[1]["params"]["mcpServers"] == [{"name": "m", "command": "/m", "env": {"K": None}}]
    assert [entry.number for entry in shelf.entries[session]] == list(range(1, len(shelf.entries[session]) + 1))
    assert len(shelf.entries[session]) > count


def test_a_stranger_can_neither_wake_nor_read_nor_close_nor_delete_a_sleeping_session() -> None:
    rig, shelf, me = kept(sleep_after=60.0)
    session = rig.create(me, protocol_version=2).session_id
    rig.advance(120)
    spawned, before = len(rig.agents), dict(shelf.sessions)
    for other in (rig.connect("other"), rig.connect()):
        for method in ("session/prompt", "_roost/history", "_roost/sleep", "_roost/delete"):
            for session_id in (session, "never-was"):
                reply = rig.ask(other, AcpSessionRequest(session_id, method, None))
                assert reply == AcpErrorResponse("invalid_state", f"unknown ACP session {session_id}")
        for request in (AcpGetSessionStateRequest, AcpCloseSessionRequest):
            assert rig.ask(other, request(session)) == AcpErrorResponse(
                "invalid_state", f"unknown ACP session {session}"
            )
    assert len(rig.agents) == spawned
    assert shelf.sessions == before


def test_requests_that_come_together_wake_a_session_once() -> None:
    rig, _, me = kept(sleep_after=60.0)
    session = rig.create(me, protocol_version=2).session_id
    rig.advance(120)
    rig.script = lambda agent, message: message.get("method") == "initialize"  # takes its time
    asked = [rig.request(me, session, "session/list") for _ in range(3)]
    assert len(rig.agents) == 2
    rig.script = v2_turn
    rig.agent.hear = v2_turn
    rig.agent.answer(rig.agent.heard[0])
    assert all(rig.reply(me, number) is not None for number in asked)
    assert len(rig.agents) == 2


def test_a_closed_session_stays_in_the_journal_and_only_a_resume_opens_it_again() -> None:
    rig, shelf, me = kept()
    session = rig.create(me, protocol_version=2).session_id
    assert rig.ask(me, AcpCloseSessionRequest(session)) == AcpSessionClosedResponse(session)
    unknown = AcpErrorResponse("invalid_state", f"unknown ACP session {session}")
    assert rig.ask(me, AcpCloseSessionRequest(session)) == unknown
    assert rig.ask(me, AcpSessionRequest(session, "session/prompt", None)) == unknown
    listed = rig.rpc(me, rig.request(me, "", "_roost/sessions"))["result"]["sessions"]
    assert [row["state"] for row in listed] == ["closed"]
    resumed = rig.ask(me, AcpResumeSessionRequest(session, "echo", None, "", {}))
    assert resumed == AcpSessionResumedResponse(session, "native")
    assert not shelf.sessions[session].closed
    assert rig.agent.launch.cwd == "/w"


def test_a_replay_on_resume_is_told_and_not_kept_again() -> None:
    def replaying(agent: Agent, message: Json) -> bool:
        if message.get("method") == "session/resume":
            agent.update(sessionUpdate="agent_message", messageId="m", content=[])
            agent.result(message, {})
            return True
        return v2_turn(agent, message)

    rig, shelf, me = kept(replaying)
    session = rig.create(me, protocol_version=2).session_id
    rig.ask(me, AcpCloseSessionRequest(session))
    count = len(shelf.entries[session])
    rig.ask(me, AcpResumeSessionRequest(session, "echo", None, "", {}))
    assert updates(rig, me) == ["agent_message"]
    assert shelf.kinds(session)[count:] == ["resumed"]


def test_what_an_agent_replays_when_it_is_woken_was_heard_before() -> None:
    def replaying(agent: Agent, message: Json) -> bool:
        if message.get("method") == "session/load":
            agent.update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": "past"})
        return False

    rig, shelf, me = kept(replaying)
    rig.capabilities = {"loadSession": True}
    session = rig.create(me).session_id
    rig.request(me, session, "_roost/sleep")
    count = len(shelf.entries[session])
    rig.request(me, session, "_x")
    assert rig.agent.requests("session/load")
    assert updates(rig, me) == []
    assert shelf.kinds(session)[count:] == ["resumed"]


@pytest.mark.parametrize("error", [(-32603, "broken", None), (-32000, "log in", None), (-32602, "bad", {"x": 1})])
def test_an_agent_that_fails_to_wake_a_session_begins_it_anew_and_it_is_noted(error: tuple[int, str, Json]) -> None:
    def failing(agent: Agent, message: Json) -> bool:
        if message.get("method") != "session/load":
            return False
        agent.error(message, *error)
        return True

    rig, shelf, me = kept(failing)
    rig.capabilities = {"loadSession": True}
    session = rig.create(me).session_id
    rig.request(me, session, "_roost/sleep")
    asked = rig.request(me, session, "session/prompt", PROMPT)
    assert rig.rpc(me, asked)["result"] == {"stopReason": "end_turn"}
    assert json.loads(shelf.entries[session][0].body)["tier"] == "fallback"
    assert any(error[1] in note.text and "starting over" in note.text for note in rig.notes)
