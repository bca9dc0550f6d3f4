"""What is kept of a conversation, in which order and under which name."""

from __future__ import annotations

import json

from roost.sidecar.gen.messages import (
    AcpCloseSessionRequest,
    AcpErrorResponse,
)
from tests.sidecar.kept_sessions import PROMPT, accepting, ask_permission, kept, v2_turn
from tests.sidecar.rig import create_request
from tests.sidecar.scripted_agent import Agent, Json


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
