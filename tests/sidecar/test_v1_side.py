"""Agents of v1 for callers that asked for version 2: found out, started again, bridged; everybody above sees v2."""

from __future__ import annotations

import json

import pytest

from roost.sidecar.gen.messages import (
    AcpErrorResponse,
    AcpPermissionCallbackResponse,
    AcpResumeSessionRequest,
    AcpSessionResumedResponse,
)
from tests.sidecar.rig import Rig, create_request
from tests.sidecar.scripted_agent import Agent, Json
from tests.sidecar.shelf import Shelf
from tests.sidecar.v1_agents import ANSWERS, LOAD, OPTIONS, V1, ended, exits, opened, say, stop_reason, updates


@pytest.mark.parametrize("first", sorted(ANSWERS))
def test_an_agent_of_v1_is_started_again_and_heard_in_v2(first: str) -> None:
    rig, caller, session = opened(V1(first))
    asked, bridged = rig.agents.values()
    assert asked.requests("initialize")[0]["params"]["protocolVersion"] == 2
    assert asked.exited
    hello = bridged.requests("initialize")[0]["params"]
    assert hello["protocolVersion"] == 1
    assert hello["clientInfo"]["name"] == "roost"
    rig.prompt(caller, session)
    rig.advance(1)
    assert stop_reason(rig, caller) == "end_turn"
    assert updates(rig, caller) == ["user_message", "running", "agent_message_chunk", "idle"]
    ended(rig, caller, session)


def test_what_an_agent_speaks_is_remembered() -> None:
    rig, caller, session = opened(V1())
    rig.session_id = "other"
    other = rig.create(caller, protocol_version=2).session_id
    assert len(rig.agents) == 3
    assert [agent.requests("initialize")[0]["params"]["protocolVersion"] for agent in rig.agents.values()] == [2, 1, 1]
    rig.close(caller, other)
    ended(rig, caller, session)


def test_an_agent_that_learned_v2_meanwhile_is_spoken_to_in_it() -> None:
    rig, caller, session = opened(V1())

    def newer(agent: Agent, message: Json) -> bool:
        if message.get("method") != "initialize":
            return False
        agent.result(
            message, {"protocolVersion": 2, "info": {"name": "n", "version": "2"}, "capabilities": {"session": {}}}
        )
        return True

    rig.script = newer
    rig.session_id = "other"
    other = rig.create(caller, protocol_version=2).session_id
    assert [agent.requests("initialize")[0]["params"]["protocolVersion"] for agent in rig.agents.values()] == [
        2,
        1,
        1,
        2,
    ]
    rig.prompt(caller, other)
    assert stop_reason(rig, caller) == "end_turn"
    rig.close(caller, other)
    ended(rig, caller, session)


def test_version_1_stays_the_json_of_the_agent() -> None:
    rig = Rig(V1())
    caller = rig.connect("me")
    session = rig.create(caller, protocol_version=1).session_id
    assert len(rig.agents) == 1
    prompt = rig.prompt(caller, session)
    assert rig.rpc(caller, prompt)["result"] == {"stopReason": "end_turn"}
    assert updates(rig, caller) == ["agent_message_chunk"]
    ended(rig, caller, session)


def test_a_version_that_is_neither_is_a_mismatch_still() -> None:
    def script(agent: Agent, message: Json) -> bool:
        agent.result(message, {"protocolVersion": 9, "agentCapabilities": {}})
        return True

    rig = Rig(script)
    caller = rig.connect("me")
    request = rig.send(caller, create_request(protocol_version=2))
    rig.advance(30)
    assert rig.reply(caller, request) == AcpErrorResponse(
        "protocol_version_mismatch", "ACP initialize protocolVersion mismatch: requested 2, agent reported 9"
    )
    assert len(rig.agents) == 1
    rig.leave(caller)
    rig.assert_nothing_left()


def test_an_agent_that_names_the_version_it_was_not_asked_for_is_a_mismatch() -> None:
    def script(agent: Agent, message: Json) -> bool:
        other = 3 - message["params"]["protocolVersion"]
        agent.result(message, {"protocolVersion": other, "info": {"name": "a", "version": "1"}, "capabilities": {}})
        return True

    rig = Rig(script)
    caller = rig.connect("me")
    request = rig.send(caller, create_request(protocol_version=2))
    rig.advance(30)
    reply = rig.reply(caller, request)
    assert isinstance(reply, AcpErrorResponse)
    assert reply.code == "protocol_version_mismatch"
    assert "requested 2, agent reported 1" in reply.message
    rig.leave(caller)
    rig.assert_nothing_left()


@pytest.mark.parametrize(
    ("answer", "code"), [({"n": 1}, "invalid_state"), ({"protocolVersion": 9}, "protocol_version_mismatch")]
)
def test_an_answer_to_version_1_has_to_name_a_version_of_ours(answer: Json, code: str) -> None:
    def script(agent: Agent, message: Json) -> bool:
        if message["params"]["protocolVersion"] == 2:
            agent.error(message, -32602, "Invalid params")
        else:
            agent.result(message, answer)
        return True

    rig = Rig(script)
    caller = rig.connect("me")
    request = rig.send(caller, create_request(protocol_version=2))
    rig.advance(30)
    reply = rig.reply(caller, request)
    assert isinstance(reply, AcpErrorResponse)
    assert reply.code == code
    rig.leave(caller)
    rig.assert_nothing_left()


def test_an_agent_that_refuses_both_is_told_by_its_own_words() -> None:
    def script(agent: Agent, message: Json) -> bool:
        agent.error(message, -32000, f"log in first ({message['params']['protocolVersion']})")
        return True

    rig = Rig(script)
    caller = rig.connect("me")
    request = rig.send(caller, create_request(protocol_version=2))
    rig.advance(30)
    reply = rig.reply(caller, request)
    assert isinstance(reply, AcpErrorResponse)
    assert "log in first (1)" in reply.message
    assert all(agent.exited for agent in rig.agents.values())
    rig.leave(caller)
    rig.assert_nothing_left()


def test_a_caller_that_leaves_between_two_starts_leaves_nothing_behind() -> None:
    script = V1()

    def stubborn(agent: Agent, message: Json) -> bool:
        agent.exits_on, agent.exits_on_eof = frozenset({9}), False
        return script(agent, message)

    rig = Rig(stubborn)
    caller = rig.connect("me")
    rig.send(caller, create_request(protocol_version=2))
    assert len(rig.agents) == 1
    rig.leave(caller)
    rig.advance(60)
    assert len(rig.agents) == 1
    rig.assert_nothing_left()


@pytest.mark.parametrize(("reply", "option"), [("once", "y"), ("reject", "n")])
def test_a_permission_is_asked_for_and_the_answer_reaches_the_agent(reply: str, option: str) -> None:
    rig, caller, session = opened(V1(silent=True))
    rig.prompt(caller, session)
    tool = {"toolCallId": "c", "title": "Delete it", "kind": "delete", "status": "pending"}
    params = {"sessionId": rig.agent.session_id, "toolCall": tool, "options": OPTIONS}
    rig.agent.ask("session/request_permission", params)
    [(connection, callback, _)] = rig.asked
    rig.answer(connection, callback, AcpPermissionCallbackResponse("permission", reply))
    [answer] = rig.agent.answers()
    assert answer == {
        "jsonrpc": "2.0",
        "id": "ask-1",
        "result": {"outcome": {"outcome": "selected", "optionId": option}},
    }
    rig.agent.result(rig.agent.requests("session/prompt")[0], {"stopReason": "end_turn"})
    rig.advance(1)
    assert stop_reason(rig, caller) == "end_turn"
    assert "requires_action" in updates(rig, caller)
    ended(rig, caller, session)


@pytest.mark.parametrize("method", ["fs/read_text_file", "terminal/create"])
def test_files_and_terminals_are_not_there(method: str) -> None:
    rig, caller, session = opened(V1())
    rig.agent.ask(method, {"sessionId": rig.agent.session_id, "path": "/w/x", "command": "ls"})
    [answer] = rig.agent.answers()
    assert answer["error"]["code"] == -32601
    assert not rig.asked
    ended(rig, caller, session)


def test_a_cancel_ends_the_turn_whatever_the_agent_calls_it() -> None:
    rig, caller, session = opened(V1(silent=True))
    rig.prompt(caller, session)
    say(rig.agent, "working")
    rig.request(caller, session, "session/cancel")
    assert rig.agent.requests("session/cancel")
    rig.agent.result(rig.agent.requests("session/prompt")[0], {"stopReason": "end_turn"})
    rig.advance(1)
    assert stop_reason(rig, caller) == "cancelled"
    ended(rig, caller, session)


def test_an_agent_that_does_not_end_a_cancelled_turn_is_started_again() -> None:
    script = V1(silent=True, capabilities=LOAD)
    rig, caller, session = opened(script)
    rig.prompt(caller, session)
    say(rig.agent, "working")
    rig.request(caller, session, "session/cancel")
    rig.advance(20)
    assert exits(rig, caller) == ["restarted"]  # it would take the next prompt for one in mid-turn
    assert updates(rig, caller).count("idle") == 1
    assert stop_reason(rig, caller) == "cancelled"
    script.silent = False
    rig.prompt(caller, session)
    rig.advance(1)
    assert stop_reason(rig, caller) == "end_turn"
    ended(rig, caller, session)


def test_an_agent_that_answers_and_exits_at_once_has_ended_its_turn_first() -> None:
    rig, caller, session = opened(V1(silent=True, capabilities=LOAD))
    rig.prompt(caller, session)
    dying = rig.agent
    say(dying, "done")
    dying.result(dying.requests("session/prompt")[0], {"stopReason": "end_turn"})
    dying.exit(0)
    rig.advance(1)
    assert stop_reason(rig, caller) == "end_turn"
    ended(rig, caller, session)


def test_a_crash_in_mid_turn_is_a_crash_and_the_session_goes_on_with_a_new_agent() -> None:
    script = V1(silent=True, capabilities=LOAD)
    rig, caller, session = opened(script)
    rig.prompt(caller, session)
    say(rig.agent, "half")
    script.replayed = 3
    rig.agent.exit(1)
    rig.advance(5)
    assert exits(rig, caller) == ["restarted"]
    assert len(rig.agents) == 3
    assert rig.agent.requests("session/load")
    script.silent = False
    told = len(updates(rig, caller))
    rig.prompt(caller, session)
    rig.advance(1)
    assert stop_reason(rig, caller) == "end_turn"
    assert updates(rig, caller)[told:] == ["user_message", "running", "agent_message_chunk", "idle"]
    ended(rig, caller, session)


def test_an_agent_that_can_neither_load_nor_resume_is_not_restarted() -> None:
    rig, caller, session = opened(V1(silent=True))
    rig.prompt(caller, session)
    rig.agent.exit(1)
    rig.advance(5)
    assert exits(rig, caller) == ["unsupported"]
    rig.leave(caller)
    rig.assert_nothing_left()


@pytest.mark.parametrize(
    ("capabilities", "mode", "method"), [(LOAD, "native", "session/load"), ({}, "fallback", "session/new")]
)
def test_a_session_of_an_earlier_run_is_resumed(capabilities: Json, mode: str, method: str) -> None:
    shelf = Shelf()
    script = V1(capabilities=capabilities)
    rig, caller, session = opened(script, journal=shelf)
    rig.prompt(caller, session)
    rig.advance(1)
    assert stop_reason(rig, caller) == "end_turn"
    script.replayed = 2
    later = Rig(script, journal=shelf)
    later.session_id = "s"
    caller = later.connect("me")
    resume = AcpResumeSessionRequest(session_id=session, agent_type="echo", transcript_path=None, cwd="/w", env={})
    reply = later.ask(caller, resume)
    assert isinstance(reply, AcpSessionResumedResponse)
    assert reply.mode == mode
    assert later.agent.requests(method)
    later.prompt(caller, reply.session_id)
    later.advance(1)
    assert stop_reason(later, caller) == "end_turn"


def test_the_journal_has_v2() -> None:
    shelf = Shelf()
    rig, caller, session = opened(V1(), journal=shelf)
    rig.prompt(caller, session)
    rig.advance(1)
    kept = json.dumps([entry.body.decode() for entry in shelf.entries[session]])
    assert "messageId" in kept
    assert "state_update" in kept


def test_noise_is_remembered_for_the_diagnosis() -> None:
    rig, caller, session = opened(V1(silent=True))
    prompt = rig.prompt(caller, session)
    rig.agent.write(b"Traceback: it broke\n")
    rig.agent.exit(1)
    rig.advance(5)
    reply = rig.reply(caller, prompt)
    assert isinstance(reply, AcpErrorResponse)
    assert "it broke" in reply.message


LONG = {"type": "diff", "path": "/w/x", "oldText": "a" * 700, "newText": "b" * 700}  # three times as long in v2


def test_an_update_that_is_too_long_in_v2_is_dropped() -> None:
    rig, caller, session = opened(V1(silent=True), line_bytes=2000)
    rig.prompt(caller, session)
    rig.agent.update(sessionUpdate="tool_call", toolCallId="t", title="Edit", content=[LONG])
    say(rig.agent, "after")
    assert "tool_call_update" not in updates(rig, caller)
    assert any("over line_bytes (2000)" in note.text for note in rig.notes)
    rig.agent.result(rig.agent.requests("session/prompt")[0], {"stopReason": "end_turn"})
    rig.advance(1)
    assert stop_reason(rig, caller) == "end_turn"
    ended(rig, caller, session)


def test_a_question_that_is_too_long_in_v2_is_refused() -> None:
    rig, caller, session = opened(V1(silent=True), line_bytes=2000)
    rig.prompt(caller, session)
    tool = {"toolCallId": "c", "title": "Edit", "content": [LONG]}
    rig.agent.ask("session/request_permission", {"sessionId": "s", "toolCall": tool, "options": OPTIONS})
    [answer] = rig.agent.answers()
    assert answer["error"]["data"] == {"limit": "line_bytes", "bound": 2000}
    assert not rig.asked
    rig.agent.result(rig.agent.requests("session/prompt")[0], {"stopReason": "end_turn"})
    rig.advance(1)
    ended(rig, caller, session)


def test_an_answer_that_is_too_long_in_v2_is_an_error() -> None:
    script = V1(capabilities={"sessionCapabilities": {"resume": {}}})

    def many_modes(agent: Agent, message: Json) -> bool:
        if message.get("method") != "session/resume":
            return script(agent, message)
        modes = [{"id": f"m{n}", "name": "Mode"} for n in range(45)]
        result = {"modes": {"currentModeId": "m1", "availableModes": modes}}
        line = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}, separators=(",", ":"))
        assert len(line) < 1400
        agent.write(line.encode() + b"\n")
        return True

    rig = Rig(many_modes, line_bytes=1400)
    rig.session_id = "s"
    caller = rig.connect("me")
    session = rig.create(caller, protocol_version=2).session_id
    answer = rig.rpc(caller, rig.request(caller, session, "session/resume", {"cwd": "/w"}))
    assert answer["error"]["data"] == {"limit": "line_bytes", "bound": 1400}
    ended(rig, caller, session)
