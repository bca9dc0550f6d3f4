"""What is durable before it is promised or told: prompts, ends of turns, decisions, sessions."""

from __future__ import annotations

import json

import pytest

from roost.sidecar.gen.messages import (
    AcpAgentExitedEvent,
    AcpErrorResponse,
    AcpPermissionCallbackResponse,
    AcpSessionClosedResponse,
    AcpSessionEvent,
)
from tests.sidecar.kept_sessions import PROMPT, accepting, ask_permission, kept, updates
from tests.sidecar.rig import create_request
from tests.sidecar.scripted_agent import Agent, Json


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


def test_what_an_agent_told_before_its_crash_and_waits_for_the_journal_is_told_before_the_crash_is() -> None:
    rig, shelf, me = kept(accepting)
    session = rig.create(me, protocol_version=2).session_id
    rig.request(me, session, "session/prompt", PROMPT)
    rig.agent.update(sessionUpdate="state_update", state="running")
    shelf.stuck = True
    rig.agent.update(sessionUpdate="state_update", state="idle", stopReason="end_turn")
    rig.told.clear()
    rig.agent.exit(1)
    assert rig.events(me) == []
    rig.store()
    assert [type(event) for event in rig.events(me)] == [AcpSessionEvent, AcpAgentExitedEvent]


def test_what_waits_for_the_journal_is_told_before_the_session_is_closed() -> None:
    rig, shelf, me = kept(accepting)
    session = rig.create(me, protocol_version=2).session_id
    rig.request(me, session, "session/prompt", PROMPT)
    rig.agent.update(sessionUpdate="state_update", state="running")
    shelf.stuck = True
    rig.agent.update(sessionUpdate="state_update", state="idle", stopReason="end_turn")
    rig.told.clear()
    close = rig.close(me, session)
    assert rig.told == []
    rig.store()
    rig.store()  # and that it is closed
    told = [told for _, told in rig.told]
    assert isinstance(told[0], AcpSessionEvent)
    assert told[1:] == [(close, AcpSessionClosedResponse(session))]


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


def test_the_end_of_a_cancelled_v1_turn_is_durable_before_the_cancel_is_answered_and_behind_its_prompt() -> None:
    rig, shelf, me = kept(lambda agent, message: message.get("method") == "session/prompt")
    session = rig.create(me).session_id
    prompt = rig.request(me, session, "session/prompt", PROMPT)
    assert shelf.sessions[session].turn_open
    cancel = rig.request(me, session, "session/cancel")
    shelf.stuck = True
    rig.agent.error({"id": 3}, -32800, "cancelled")
    assert rig.reply(me, prompt) is rig.reply(me, cancel) is None
    rig.store()
    assert [told[0] for _, told in rig.told[-2:]] == [prompt, cancel]
    assert rig.rpc(me, cancel)["result"]["cancelled"] is True
    assert json.loads(shelf.entries[session][-1].body)["stopReason"] == "cancelled"


def test_a_cancel_is_answered_also_when_the_end_of_its_turn_cannot_be_kept() -> None:
    rig, shelf, me = kept(lambda agent, message: message.get("method") == "session/prompt")
    session = rig.create(me).session_id
    rig.request(me, session, "session/prompt", PROMPT)
    cancel = rig.request(me, session, "session/cancel")
    shelf.failure = "the disk is full"
    rig.agent.result({"id": 3}, {"stopReason": "cancelled"})
    assert rig.rpc(me, cancel)["result"]["cancelled"] is True


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


def test_a_prompt_whose_agent_dies_while_it_is_kept_goes_to_the_next_agent() -> None:
    rig, shelf, me = kept(lambda agent, message: False)
    rig.capabilities = {"loadSession": True}
    session = rig.create(me).session_id
    shelf.stuck = True
    prompt = rig.request(me, session, "session/prompt", PROMPT)
    rig.agent.exit(1)
    shelf.stuck = False
    rig.store()
    assert rig.rpc(me, prompt)["result"] == {"stopReason": "end_turn"}
    assert len(rig.agents["acp-agent-2"].requests("session/prompt")) == 1


def test_a_prompt_whose_session_closes_while_it_is_kept_is_never_sent() -> None:
    rig, shelf, me = kept(lambda agent, message: False)
    session = rig.create(me).session_id
    shelf.stuck = True
    prompt = rig.request(me, session, "session/prompt", PROMPT)
    rig.close(me, session)
    shelf.stuck = False
    rig.store()
    assert rig.reply(me, prompt) == AcpErrorResponse("invalid_state", f"unknown ACP session {session}")
    assert rig.agent.requests("session/prompt") == []


def test_an_agent_that_dies_while_its_new_session_is_kept_has_crashed() -> None:
    rig, shelf, me = kept()
    rig.capabilities = {"loadSession": True}
    shelf.stuck = True
    asked = rig.send(me, create_request())
    rig.agent.exit(1)
    assert rig.reply(me, asked) is None
    shelf.stuck = False
    rig.store()
    session = rig.reply(me, asked).session_id
    (exited,) = rig.events(me)
    assert (exited.session_id, exited.process_id, exited.restart) == (session, "acp-agent-1", "restarted")
    assert rig.state(me, session).process_id == "acp-agent-2"


def test_a_session_that_is_closed_while_it_is_kept_is_not_created() -> None:
    rig, shelf, me = kept()
    rig.session_id = "s"
    shelf.stuck = True
    asked = rig.send(me, create_request())
    other = rig.connect("me")
    close = rig.close(other, "s")
    shelf.stuck = False
    rig.store()
    assert rig.reply(me, asked) == AcpErrorResponse("invalid_state", "the session was closed before it was open")
    assert rig.agent.exited
    assert rig.reply(other, close) == AcpSessionClosedResponse("s")


@pytest.mark.parametrize("joined", [False, True])
def test_a_session_whose_creator_leaves_while_it_is_kept_is_its_callers_like_any_other(joined: bool) -> None:
    rig, shelf, me = kept(accepting)
    rig.session_id = "s"
    shelf.stuck = True
    rig.send(me, create_request(protocol_version=2))
    other = rig.connect("me")
    prompt = rig.request(other, "s", "session/prompt", PROMPT) if joined else None
    rig.leave(me)
    rig.agent.update(sessionUpdate="usage_update", used=1, size=2)
    shelf.stuck = False
    rig.store()
    assert rig.agent is rig.agents["acp-agent-1"]
    assert not rig.agent.exited
    assert rig.state(other, "s").process_id == "acp-agent-1"
    assert "update" in shelf.kinds("s")
    if prompt is not None:
        assert rig.rpc(other, prompt)["result"] == {}
        assert updates(rig, other) == ["usage_update"]
