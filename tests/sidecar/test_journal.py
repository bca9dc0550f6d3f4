"""What is kept, when it is promised, and how sessions come back: the engine with a journal as plain as can be."""

from __future__ import annotations

import json
from typing import Any

import pytest

from roost.sidecar.gen.messages import (
    AcpCloseSessionRequest,
    AcpErrorResponse,
    AcpGetSessionStateRequest,
    AcpPermissionCallbackResponse,
    AcpResumeSessionRequest,
    AcpSessionClosedResponse,
    AcpSessionRequest,
    AcpSessionResumedResponse,
)
from roost.sidecar.journal import Kind
from tests.sidecar.rig import Agent, Json, Rig, Shelf, create_request

PROMPT = {"prompt": [{"type": "text", "text": "hi"}]}


def v2_turn(agent: Agent, message: Json) -> bool:
    """Accepts a prompt, says one thing, and ends the turn."""
    if message.get("method") != "session/prompt":
        return False
    agent.result(message, {})
    agent.update(sessionUpdate="state_update", state="running")
    agent.update(sessionUpdate="agent_message_chunk", messageId="m", content={"type": "text", "text": "hello"})
    agent.update(sessionUpdate="state_update", state="idle", stopReason="end_turn")
    return True


def accepting(agent: Agent, message: Json) -> bool:
    """Accepts a prompt; the rest is up to the test."""
    if message.get("method") == "session/prompt":
        agent.result(message, {})
        return True
    return False


def kept(script: Any = v2_turn, shelf: Shelf | None = None, **limits: Any) -> tuple[Rig, Shelf, int]:
    """A rig with a journal, and a named caller's connection."""
    shelf = shelf or Shelf()
    rig = Rig(script, journal=shelf, **limits)
    return rig, shelf, rig.connect("me")


def updates(rig: Rig, connection: int) -> list[str]:
    found = [note.get("params", {}).get("update", {}) for note in rig.notifications(connection)]
    return [update.get("state") or update.get("sessionUpdate", "?") for update in found if update]


# ---- promises


def test_a_prompt_is_in_the_journal_before_the_agent_hears_of_it() -> None:
    rig, shelf, me = kept()
    session = rig.create(me, protocol_version=2).session_id
    shelf.stuck = True
    asked = rig.request(me, session, "session/prompt", PROMPT)
    assert rig.agent.requests("session/prompt") == []
    assert shelf.kinds(session) == ["prompt"]
    rig.store()
    assert len(rig.agent.requests("session/prompt")) == 1
    shelf.stuck = False
    rig.store()
    assert rig.rpc(me, asked)["result"] == {}


def test_a_prompt_that_cannot_be_kept_is_refused_and_never_sent() -> None:
    rig, shelf, me = kept()
    session = rig.create(me, protocol_version=2).session_id
    shelf.failure = "the disk is full"
    asked = rig.request(me, session, "session/prompt", PROMPT)
    assert rig.reply(me, asked) == AcpErrorResponse("io", "the journal could not keep it: the disk is full")
    assert rig.agent.requests("session/prompt") == []
    shelf.failure = None
    assert rig.rpc(me, rig.request(me, session, "session/prompt", PROMPT))["result"] == {}


def test_a_journal_that_says_nothing_is_a_refusal_in_bounded_time() -> None:
    rig, shelf, me = kept()
    session = rig.create(me, protocol_version=2).session_id
    shelf.stuck = True
    asked = rig.request(me, session, "session/prompt", PROMPT)
    rig.advance(11)
    reply = rig.reply(me, asked)
    assert isinstance(reply, AcpErrorResponse)
    assert reply.code == "io"
    assert "store_timeout" in reply.message


def test_a_turns_end_is_told_when_all_of_it_is_durable() -> None:
    rig, shelf, me = kept(accepting)
    session = rig.create(me, protocol_version=2).session_id
    rig.request(me, session, "session/prompt", PROMPT)
    agent = rig.agent
    agent.update(sessionUpdate="state_update", state="running")
    shelf.stuck = True
    agent.update(sessionUpdate="agent_message_chunk", messageId="m", content={"type": "text", "text": "a"})
    agent.update(sessionUpdate="state_update", state="idle", stopReason="end_turn")
    agent.update(sessionUpdate="usage_update", used=1, size=2)
    assert updates(rig, me) == ["running", "agent_message_chunk"]
    assert shelf.kinds(session)[-3:] == ["update", "turn", "update"]
    later = rig.request(me, session, "session/list")  # its answer must not overtake what is held
    assert rig.reply(me, later) is None
    rig.store()
    assert updates(rig, me) == ["running", "agent_message_chunk", "idle", "usage_update"]
    assert rig.reply(me, later) is not None


def test_a_turns_end_that_cannot_be_kept_is_told_all_the_same_and_noted() -> None:
    rig, shelf, me = kept(accepting)
    session = rig.create(me, protocol_version=2).session_id
    rig.request(me, session, "session/prompt", PROMPT)
    shelf.failure = "the disk is full"
    rig.agent.update(sessionUpdate="state_update", state="running")
    rig.agent.update(sessionUpdate="state_update", state="idle", stopReason="end_turn")
    assert updates(rig, me) == ["running", "idle"]
    assert any("without being kept" in note.text for note in rig.notes)


def test_the_end_of_a_v1_turn_is_durable_before_it_is_told() -> None:
    rig, shelf, me = kept(lambda agent, message: message.get("method") == "session/prompt")
    session = rig.create(me).session_id
    asked = rig.request(me, session, "session/prompt", PROMPT)
    shelf.stuck = True
    rig.agent.result(rig.agent.requests("session/prompt")[0], {"stopReason": "end_turn"})
    assert rig.reply(me, asked) is None
    assert shelf.kinds(session) == ["prompt", "turn"]
    rig.store()
    assert rig.rpc(me, asked)["result"] == {"stopReason": "end_turn"}
    assert not shelf.sessions[session].turn_open


def ask_permission(rig: Rig) -> None:
    options = [{"optionId": "y", "kind": "allow_once"}, {"optionId": "n", "kind": "reject_once"}]
    rig.agent.ask("session/request_permission", {"title": "May I?", "options": options}, id=7)


def test_a_decision_is_in_the_journal_before_the_agent_hears_of_it() -> None:
    rig, shelf, me = kept()
    session = rig.create(me, protocol_version=2).session_id
    ask_permission(rig)
    shelf.stuck = True
    connection, callback, _ = rig.asked[-1]
    rig.answer(connection, callback, AcpPermissionCallbackResponse("permission", "once"))
    assert shelf.kinds(session) == ["permission", "decision"]
    assert rig.agent.answers() == []
    rig.store()
    assert rig.agent.answers()[0]["result"] == {"outcome": {"outcome": "selected", "optionId": "y"}}
    assert json.loads(shelf.entries[session][-1].body)["by"] == "caller"


@pytest.mark.parametrize("how", ["timeout", "leaving", "cancel"])
def test_a_decision_nobody_took_is_in_the_journal_before_the_agent_hears_of_it(how: str) -> None:
    rig, shelf, me = kept(accepting, callback_timeout=5.0)
    session = rig.create(me, protocol_version=2).session_id
    rig.request(me, session, "session/prompt", PROMPT)
    ask_permission(rig)
    shelf.stuck = True
    if how == "timeout":
        rig.advance(6)
    elif how == "leaving":
        rig.leave(me)
    else:
        rig.request(me, session, "session/cancel")
    assert shelf.kinds(session)[-1] == "decision"
    assert rig.agent.answers() == []
    rig.store()
    outcome = rig.agent.answers()[0]["result"]["outcome"]
    assert outcome == ({"outcome": "cancelled"} if how == "cancel" else {"outcome": "selected", "optionId": "n"})


def test_a_decision_that_cannot_be_kept_is_no_consent() -> None:
    rig, shelf, me = kept()
    rig.create(me, protocol_version=2)
    ask_permission(rig)
    shelf.failure = "the disk is full"
    connection, callback, _ = rig.asked[-1]
    rig.answer(connection, callback, AcpPermissionCallbackResponse("permission", "once"))
    assert rig.agent.answers()[0]["result"] == {"outcome": {"outcome": "selected", "optionId": "n"}}


def test_a_session_is_in_the_journal_before_its_creation_is_told_and_what_it_told_comes_after() -> None:
    def early(agent: Agent, message: Json) -> bool:
        if message.get("method") == "session/new":
            agent.update(sessionUpdate="available_commands_update", availableCommands=[])
            agent.result(message, {"sessionId": "s"})
            return True
        return False

    rig, shelf, me = kept(early)
    shelf.stuck = True
    asked = rig.send(me, create_request(protocol_version=2))
    rig.agent.update(sessionUpdate="usage_update", used=1, size=2)
    assert rig.reply(me, asked) is None
    assert rig.told == []
    rig.store()
    assert rig.reply(me, asked).session_id == "s"
    assert updates(rig, me) == ["available_commands_update", "usage_update"]
    assert shelf.kinds("s") == ["update", "update"]


def test_a_session_that_cannot_be_kept_is_not_created() -> None:
    rig, shelf, me = kept()
    shelf.failure = "read-only"
    reply = rig.ask(me, create_request(protocol_version=2))
    assert reply == AcpErrorResponse("io", "the journal could not keep it: read-only")
    assert rig.agent.exited
    rig.assert_nothing_left()


# ---- what is kept


def test_a_conversation_is_kept_in_order_with_its_state() -> None:
    rig, shelf, me = kept()
    session = rig.create(me, protocol_version=2).session_id
    rig.request(me, session, "session/prompt", PROMPT)
    assert shelf.kinds(session) == ["prompt", "update", "update", "update", "turn"]
    rig.agent.update(sessionUpdate="session_info_update", title="Nest boxes")
    rig.agent.update(sessionUpdate="usage_update", used=10, size=100)
    record = shelf.sessions[session]
    assert (record.title, record.turn_open, record.owner) == ("Nest boxes", False, "me")
    assert json.loads(record.usage or "")["used"] == 10


def test_sessions_of_an_unnamed_caller_are_not_kept() -> None:
    rig, shelf, _ = kept()
    stranger = rig.connect()
    session = rig.create(stranger, protocol_version=2).session_id
    rig.request(stranger, session, "session/prompt", PROMPT)
    assert shelf.sessions == {}


def test_a_crash_and_the_restart_after_it_are_kept() -> None:
    rig, shelf, me = kept()
    session = rig.create(me, protocol_version=2).session_id
    rig.agent.exit(7)
    assert shelf.kinds(session) == ["exit"]
    assert json.loads(shelf.entries[session][0].body) == {"exitCode": 7, "restart": "restarted", "count": 1}
    ask_permission(rig)
    assert shelf.kinds(session)[-1] == "permission"


def test_a_prompt_with_a_key_that_was_used_is_not_sent_again() -> None:
    rig, shelf, me = kept()
    session = rig.create(me, protocol_version=2).session_id
    params = {**PROMPT, "_meta": {"roost/idempotencyKey": "k1"}}
    assert rig.rpc(me, rig.request(me, session, "session/prompt", params))["result"] == {}
    again = rig.rpc(me, rig.request(me, session, "session/prompt", params))["result"]
    assert again == {"_meta": {"roost/duplicateOf": 1}}
    assert len(rig.agent.requests("session/prompt")) == 1
    assert shelf.kinds(session).count("prompt") == 1


# ---- sleep and wake


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


# ---- the inventory


def test_a_history_is_read_in_pages() -> None:
    rig, shelf, me = kept()
    session = rig.create(me, protocol_version=2).session_id
    rig.request(me, session, "session/prompt", PROMPT)
    numbers, after = [], 0
    while True:
        page = rig.rpc(me, rig.request(me, session, "_roost/history", {"after": after, "limit": 2}))["result"]
        if not page["entries"]:
            break
        numbers += [entry["number"] for entry in page["entries"]]
        after = numbers[-1]
    assert numbers == [entry.number for entry in shelf.entries[session]]
    assert page["last"] == numbers[-1]


def test_a_session_is_deleted_with_its_agent_and_its_history() -> None:
    rig, shelf, me = kept()
    session = rig.create(me, protocol_version=2).session_id
    assert rig.rpc(me, rig.request(me, session, "_roost/delete"))["result"] == {"deleted": True}
    assert rig.agent.exited
    assert shelf.sessions == {}
    rig.assert_nothing_left()


def test_a_busy_session_is_not_put_to_sleep() -> None:
    rig, _, me = kept(accepting)
    session = rig.create(me, protocol_version=2).session_id
    rig.request(me, session, "session/prompt", PROMPT)
    rig.agent.update(sessionUpdate="state_update", state="running")
    reply = rig.ask(me, AcpSessionRequest(session, "_roost/sleep", None))
    assert isinstance(reply, AcpErrorResponse)
    assert reply.code == "conflict"


def test_without_a_journal_there_is_no_inventory() -> None:
    rig = Rig()
    reply = rig.ask(rig.connect("me"), AcpSessionRequest("", "_roost/sessions", None))
    assert reply == AcpErrorResponse("unsupported", "_roost/sessions: this daemon keeps no journal")


def counting(agent: Agent, message: Json) -> bool:
    """Calls its first session the same each time it is started."""
    if message.get("method") == "session/new":
        agent.session_id = "session-1"
    return v2_turn(agent, message)


def test_an_agent_that_calls_each_first_session_the_same_gets_further_ids_for_kept_ones() -> None:
    rig, shelf, me = kept(counting)
    first = rig.create(me, protocol_version=2).session_id
    rig.ask(me, AcpCloseSessionRequest(first))
    second = rig.create(me, protocol_version=2).session_id
    assert (first, second) == ("session-1", "session-1~2")
    assert shelf.sessions[second].live_id == "session-1"
    rig.request(me, second, "session/prompt", PROMPT)
    assert rig.agent.requests("session/prompt")[0]["params"]["sessionId"] == "session-1"
    assert {note["params"]["sessionId"] for note in rig.notifications(me)} == {second}
    rig.agent.exit(1)
    assert rig.agent.requests("session/resume")[0]["params"]["sessionId"] == "session-1"


def test_two_live_sessions_of_one_id_still_collide() -> None:
    rig, _, me = kept(counting)
    rig.create(me, protocol_version=2)
    reply = rig.ask(me, create_request(protocol_version=2))
    assert reply == AcpErrorResponse("conflict", "session id collision: session-1")


def test_a_cancel_of_the_sidecars_own_names_the_session_as_its_agent_does() -> None:
    def script(agent: Agent, message: Json) -> bool:
        if message.get("method") == "session/new":
            agent.session_id = "session-1"
        return accepting(agent, message)

    rig, _, me = kept(script, inactivity_timeout=30.0)
    rig.ask(me, AcpCloseSessionRequest(rig.create(me, protocol_version=2).session_id))
    session = rig.create(me, protocol_version=2).session_id
    rig.request(me, session, "session/prompt", PROMPT)
    rig.agent.update(sessionUpdate="state_update", state="running")
    rig.advance(35)
    assert [message["params"]["sessionId"] for message in rig.agent.requests("session/cancel")] == ["session-1"]


def test_a_turn_whose_prompt_is_answered_at_its_end_is_kept_as_one_turn() -> None:
    """Agents that answer a v2 prompt when all is done, behind their idle."""

    def late(agent: Agent, message: Json) -> bool:
        if message.get("method") != "session/prompt":
            return False
        agent.update(sessionUpdate="state_update", state="running")
        agent.update(sessionUpdate="state_update", state="idle", stopReason="end_turn")
        agent.result(message, {})
        return True

    rig, shelf, me = kept(late)
    session = rig.create(me, protocol_version=2).session_id
    rig.request(me, session, "session/prompt", PROMPT)
    assert shelf.kinds(session).count("turn") == 1
    assert not shelf.sessions[session].turn_open


def test_a_prompt_that_is_refused_by_a_v2_agent_leaves_no_open_turn() -> None:
    def refusing(agent: Agent, message: Json) -> bool:
        if message.get("method") != "session/prompt":
            return False
        agent.error(message, -32602, "no")
        return True

    rig, shelf, me = kept(refusing)
    session = rig.create(me, protocol_version=2).session_id
    rig.request(me, session, "session/prompt", PROMPT)
    assert shelf.kinds(session) == ["prompt", "turn"]
    assert not shelf.sessions[session].turn_open
