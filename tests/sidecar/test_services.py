"""Files and terminals of bridged agents, as the engine sees them: offered, served, decided, told, ended."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

import pytest

from roost.acp.bridge.events import CommandRun, FileWrite
from roost.errors import RpcError
from roost.sidecar import commands, events
from roost.sidecar.gen.messages import AcpPermissionCallback, AcpPermissionCallbackResponse
from roost.sidecar.quirks import Quirks
from tests.sidecar.embedded import EmbeddedRig
from tests.sidecar.rig import Json, Rig, Shelf, create_request
from tests.sidecar.v1_agents import LOAD, V1, ended, exits, opened, stop_reason

SERVICES = {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True}
NOTE = "/w/note.md"
WRITE = FileWrite(NOTE, NOTE, True, False, "old\n")
RUN = CommandRun("make test", "/w", {})


def served(script: V1 | None = None, **options: Any) -> tuple[Rig, int, str]:
    rig, caller, session = opened(script or V1(silent=True), services=SERVICES, **options)
    rig.prompt(caller, session)
    return rig, caller, session


def ask(rig: Rig, method: str = "fs/read_text_file", id: Any = "r", **params: Any) -> commands.ServeAgent:
    rig.agent.ask(method, {"sessionId": rig.agent.session_id, "path": NOTE, **params}, id)
    return rig.served[-1]


def wish(rig: Rig, what: FileWrite | CommandRun = WRITE, id: Any = "w") -> commands.ServeAgent:
    """A request whose driver asks whether it may."""
    if isinstance(what, FileWrite):
        command = ask(rig, "fs/write_text_file", id, content="new\n")
    else:
        command = ask(rig, "terminal/create", id, command=what.line)
    rig.feed(events.ServiceWished(command.process, command.token, what))
    return command


def answered(rig: Rig, command: commands.ServeAgent, result: Any = None, error: RpcError | None = None) -> None:
    rig.feed(events.ServiceAnswered(command.process, command.token, result, error))


def answer_to(rig: Rig, id: Any) -> Json:
    [answer] = [message for message in rig.agent.answers() if message["id"] == id]
    return answer


def finish(rig: Rig, caller: int, session: str) -> None:
    rig.agent.result(rig.agent.requests("session/prompt")[-1], {"stopReason": "end_turn"})
    rig.advance(1)
    ended(rig, caller, session)


def told(rig: Rig, caller: int, kind: str) -> list[Json]:
    found = [n["params"]["update"] for n in rig.notifications(caller) if n["method"] == "session/update"]
    return [update for update in found if update["sessionUpdate"] == kind]


# ---- what is offered


@pytest.mark.parametrize(
    "services", [SERVICES, {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": True}]
)
def test_a_bridged_agent_is_offered_what_the_driver_serves(services: Json) -> None:
    rig, caller, session = opened(V1(), services=services)
    offered = rig.agent.requests("initialize")[0]["params"]["clientCapabilities"]
    assert {name: offered[name] for name in services} == services
    ended(rig, caller, session)


def test_an_agent_that_is_spoken_to_in_version_1_is_offered_what_its_caller_says() -> None:
    rig = Rig(services=SERVICES)
    caller = rig.connect("me")
    session = rig.create(caller, protocol_version=1, client_capabilities='{"terminal":false}').session_id
    assert rig.agent.requests("initialize")[0]["params"]["clientCapabilities"] == {"terminal": False}
    rig.agent.ask("fs/read_text_file", {"sessionId": session, "path": NOTE})
    assert not rig.served
    [(_, _, callback)] = rig.asked
    assert not isinstance(callback, AcpPermissionCallback)
    rig.leave(caller)
    rig.advance(200)


@pytest.mark.parametrize("services", [None, SERVICES])
def test_a_host_that_drives_the_engine_serves_what_it_has_said_it_does(services: Json | None) -> None:
    rig = EmbeddedRig(V1(silent=True), services=services)
    rig.session_id = "s"
    caller = rig.connect("me")
    session = rig.create(caller, protocol_version=2).session_id
    rig.agent.ask("terminal/create", {"sessionId": "s", "command": "x"}, "r")
    if services is None:
        assert answer_to(rig, "r")["error"]["code"] == -32601
        assert not rig.served
    else:
        answered(rig, rig.served[0], {"terminalId": "t"})
        assert answer_to(rig, "r")["result"] == {"terminalId": "t"}
    ended(rig, caller, session)


# ---- a request


def test_a_request_is_served_in_the_sessions_roots() -> None:
    rig, caller, session = served()
    command = ask(rig, line=2)
    assert command.process == rig.agent.process
    assert command.place.session_id == "s"
    assert command.place.roots == ("/w",)
    assert command.place.missing_file == "error"
    assert command.method == "fs/read_text_file"
    assert command.params["line"] == 2
    answered(rig, command, {"content": "x"})
    assert answer_to(rig, "r")["result"] == {"content": "x"}
    finish(rig, caller, session)


def test_an_agents_quirk_says_how_a_missing_file_is_read() -> None:
    rig = Rig(V1(silent=True), services=SERVICES)
    rig.session_id = "s"
    rig.install("gem", quirks=Quirks(missing_file="empty"))
    caller = rig.connect("me")
    session = rig.create(caller, "gem", protocol_version=2).session_id
    assert ask(rig).place.missing_file == "empty"
    ended(rig, caller, session)


def test_an_error_is_the_agents() -> None:
    rig, caller, session = served()
    answered(rig, ask(rig), error=RpcError(-32002, "Resource not found: x", {"path": "x"}))
    error = answer_to(rig, "r")["error"]
    assert (error["code"], error["data"]) == (-32002, {"path": "x"})
    finish(rig, caller, session)


def test_a_request_of_a_session_that_is_none_is_not_served() -> None:
    rig, caller, session = served()
    rig.agent.ask("fs/read_text_file", {"sessionId": "other", "path": NOTE})
    assert not rig.served
    assert answer_to(rig, "ask-1")["error"]["code"] == -32602
    finish(rig, caller, session)


def test_a_withdrawn_request_is_answered_and_taken_back() -> None:
    rig, caller, session = served()
    command = ask(rig, "terminal/wait_for_exit", terminalId="t")
    rig.agent.notify("$/cancel_request", {"requestId": "r"})
    assert rig.withdrawn == [command.token]
    assert answer_to(rig, "r")["error"]["code"] == -32800
    answered(rig, command, {})
    assert answer_to(rig, "r")
    finish(rig, caller, session)


def test_a_release_during_a_wait_leaves_both_answered() -> None:
    rig, caller, session = served()
    wait = ask(rig, "terminal/wait_for_exit", "wait", terminalId="t")
    release = ask(rig, "terminal/release", "release", terminalId="t")
    answered(rig, wait, {"exitCode": None, "signal": "SIGTERM"})
    answered(rig, release, {})
    assert answer_to(rig, "wait")["result"]["signal"] == "SIGTERM"
    assert answer_to(rig, "release")["result"] == {}
    finish(rig, caller, session)


# ---- permissions


@pytest.mark.parametrize(("reply", "allowed"), [("once", True), ("always", True), ("reject", False), ("other", False)])
@pytest.mark.parametrize("what", [WRITE, RUN])
def test_what_changes_something_is_a_permission_like_any_other(reply: str, allowed: bool, what: Any) -> None:
    rig, caller, session = served()
    command = wish(rig, what)
    [(connection, callback, payload)] = rig.asked
    assert isinstance(payload, AcpPermissionCallback)
    assert payload.session_id == session
    assert not rig.decided
    rig.answer(connection, callback, AcpPermissionCallbackResponse("permission", reply))
    assert rig.decided == {command.token: allowed}
    answered(rig, command, {})
    finish(rig, caller, session)


def test_always_is_asked_once() -> None:
    rig, caller, session = served()
    first = wish(rig)
    [(connection, callback, _)] = rig.asked
    rig.answer(connection, callback, AcpPermissionCallbackResponse("permission", "always"))
    second = wish(rig, id="w2")
    assert rig.decided == {first.token: True, second.token: True}
    assert len(rig.asked) == 1
    finish(rig, caller, session)


def test_what_the_agent_asked_for_itself_is_not_asked_again() -> None:
    rig, caller, session = served()
    call = {"toolCallId": "t", "title": "Edit", "kind": "edit", "locations": [{"path": NOTE}]}
    options = [{"optionId": "y", "name": "Yes", "kind": "allow_once"}]
    rig.agent.ask("session/request_permission", {"sessionId": "s", "toolCall": call, "options": options}, "p")
    [(connection, callback, _)] = rig.asked
    rig.answer(connection, callback, AcpPermissionCallbackResponse("permission", "once"))
    command = wish(rig)
    assert rig.decided == {command.token: True}
    assert len(rig.asked) == 1
    finish(rig, caller, session)


def test_no_answer_in_time_is_a_no() -> None:
    rig, caller, session = served(callback_timeout=5.0)
    command = wish(rig)
    rig.advance(4)
    assert not rig.decided
    rig.advance(2)
    assert rig.decided == {command.token: False}
    answered(rig, command, error=RpcError(-32603, "not allowed"))
    finish(rig, caller, session)


def test_a_caller_that_leaves_says_no() -> None:
    rig, caller, session = served()
    command = wish(rig)
    rig.leave(caller)
    assert rig.decided == {command.token: False}
    answered(rig, command, error=RpcError(-32603, "not allowed"))
    later = wish(rig, id="w2")
    assert rig.decided[later.token] is False
    ended(rig, rig.connect("me"), session)


def test_a_cancel_says_no() -> None:
    rig, caller, session = served()
    command = wish(rig)
    rig.request(caller, session, "session/cancel")
    assert rig.decided == {command.token: False}
    answered(rig, command, error=RpcError(-32603, "not allowed"))
    later = wish(rig, id="w2")
    assert rig.decided[later.token] is False
    finish(rig, caller, session)


def test_a_close_says_no() -> None:
    rig, caller, session = served()
    rig.agent.exits_on_eof = False
    command = wish(rig)
    rig.close(caller, session)
    assert rig.decided == {command.token: False}
    rig.advance(30)
    rig.leave(caller)
    rig.assert_nothing_left()


def test_too_many_questions_are_a_no() -> None:
    rig, caller, session = served(callbacks_per_session=1)
    wish(rig)
    second = wish(rig, id="w2")
    assert rig.decided == {second.token: False}
    finish(rig, caller, session)


def test_a_question_that_is_too_long_for_a_line_is_a_no() -> None:
    rig, caller, session = served(line_bytes=2000)
    command = wish(rig, CommandRun("x" * 1500, "/w", {"A": "y" * 500}))
    assert not rig.asked
    assert rig.decided == {command.token: False}
    answered(rig, command, error=RpcError(-32603, "not allowed"))
    finish(rig, caller, session)


def test_a_decision_is_kept_before_it_is_passed_on() -> None:
    shelf = Shelf()
    rig, caller, session = served(journal=shelf)
    command = wish(rig)
    [(connection, callback, _)] = rig.asked
    shelf.stuck = True
    rig.answer(connection, callback, AcpPermissionCallbackResponse("permission", "once"))
    assert not rig.decided
    shelf.stuck = False
    rig.store()
    assert rig.decided == {command.token: True}
    assert {"permission", "decision"} <= set(shelf.kinds(session))
    finish(rig, caller, session)


def test_a_decision_that_cannot_be_kept_is_a_no() -> None:
    shelf = Shelf()
    rig, caller, session = served(journal=shelf)
    command = wish(rig)
    [(connection, callback, _)] = rig.asked
    shelf.stuck = True
    rig.answer(connection, callback, AcpPermissionCallbackResponse("permission", "once"))
    shelf.stuck = False
    rig.store("full")
    assert rig.decided == {command.token: False}
    finish(rig, caller, session)


# ---- terminals


def test_a_terminal_is_a_display_terminal() -> None:
    rig, caller, session = served()
    process = rig.agent.process
    rig.feed(events.TerminalStarted(process, "s", "t", "ls", "/w"))
    rig.feed(events.TerminalPrinted(process, "s", "t", b"a\xff"))
    rig.feed(events.TerminalEnded(process, "s", "t", 2, None))
    started, over = told(rig, caller, "terminal_update")
    assert (started["terminalId"], started["command"], started["cwd"]) == ("t", "ls", "/w")
    assert over["exitStatus"] == {"exitCode": 2}
    [chunk] = told(rig, caller, "terminal_output_chunk")
    assert b64decode(chunk["data"]) == b"a\xff"
    finish(rig, caller, session)


def test_what_a_terminal_prints_keeps_a_turn_alive() -> None:
    rig, caller, session = served(inactivity_timeout=10.0)
    for _ in range(5):
        rig.advance(8)
        rig.feed(events.TerminalPrinted(rig.agent.process, "s", "t", b"."))
    assert not rig.agent.requests("session/cancel")
    rig.advance(11)
    assert rig.agent.requests("session/cancel")
    finish(rig, caller, session)


def test_terminals_of_two_agents_have_ids_of_their_own() -> None:
    script = V1(silent=True, capabilities=LOAD)
    rig, caller, session = served(script)
    first = ask(rig, "terminal/create", command="x").place.terminals
    rig.agent.exit(1)
    rig.advance(5)
    assert exits(rig, caller) == ["restarted"]
    second = ask(rig, "terminal/create", command="x").place.terminals
    assert first != second
    assert first.startswith("acp-terminal-")
    ended(rig, caller, session)


# ---- the end


def test_an_agent_that_was_served_is_forgotten_when_its_terminals_have_ended() -> None:
    rig, caller, session = served()
    rig.services_end = False
    answered(rig, ask(rig), {"content": ""})
    process = rig.agent.process
    request = rig.close(caller, session)
    assert rig.services_ended == [commands.EndServices(process, None)]
    assert rig.agent.exited
    assert rig.reply(caller, request) is None
    rig.feed(events.ServicesEnded(process))
    assert rig.reply(caller, request) is not None
    rig.leave(caller)
    rig.assert_nothing_left()


def test_terminals_that_cannot_be_ended_are_given_up() -> None:
    rig, caller, session = served()
    rig.services_end = False
    ask(rig)
    request = rig.close(caller, session)
    rig.advance(7.1)
    assert rig.reply(caller, request) is not None
    assert any("terminals have not ended" in note.text for note in rig.notes)
    rig.leave(caller)
    rig.assert_nothing_left()


def test_an_agent_that_asked_for_nothing_is_not_waited_for() -> None:
    rig, caller, session = served()
    rig.close(caller, session)
    rig.advance(30)
    assert not rig.services_ended
    rig.leave(caller)
    rig.assert_nothing_left()


def test_a_crash_ends_what_the_agent_has_started() -> None:
    rig, caller, session = served(V1(silent=True, capabilities=LOAD))
    command = ask(rig)
    rig.agent.exit(1)
    assert rig.services_ended == [commands.EndServices(command.process, None)]
    answered(rig, command, {"content": "late"})
    rig.advance(5)
    assert exits(rig, caller) == ["restarted"]
    assert not rig.agent.answers()
    ended(rig, caller, session)


def test_a_closing_agent_is_served_nothing_more() -> None:
    rig, caller, session = served()
    rig.agent.exits_on_eof = False
    rig.close(caller, session)
    rig.agent.ask("terminal/create", {"sessionId": "s", "command": "x"}, "late")
    assert not rig.served
    assert answer_to(rig, "late")["error"]["code"] in (-32602, -32603)
    rig.advance(30)
    rig.leave(caller)
    rig.assert_nothing_left()


def test_what_is_printed_while_everything_ends_is_not_told() -> None:
    rig, caller, session = served()
    rig.agent.exits_on_eof = False
    ask(rig)
    rig.close(caller, session)
    rig.feed(events.TerminalPrinted(rig.agent.process, "s", "t", b"flood"))
    assert not told(rig, caller, "terminal_output_chunk")
    rig.advance(30)
    rig.leave(caller)
    rig.assert_nothing_left()


def test_a_session_opened_in_other_directories_begins_anew() -> None:
    rig, caller, session = opened(V1(), services=SERVICES)
    first = ask(rig).place
    rig.request(caller, session, "session/resume", {"cwd": "/w"})
    assert ask(rig, id="r2").place == first
    rig.request(caller, session, "session/resume", {"cwd": "/v"})
    second = ask(rig, id="r3").place
    assert second.roots == ("/v",)
    assert second.terminals != first.terminals
    assert rig.services_ended == [commands.EndServices(rig.agent.process, first)]
    ended(rig, caller, session)


def test_a_session_that_a_caller_closes_at_the_agent_ends_its_services() -> None:
    rig, caller, session = opened(V1(), services=SERVICES)
    place = ask(rig).place
    rig.request(caller, session, "session/close")
    assert rig.services_ended == [commands.EndServices(rig.agent.process, place)]
    ended(rig, caller, session)


def test_the_turn_ends_as_ever() -> None:
    rig, caller, session = served()
    command = wish(rig)
    [(connection, callback, _)] = rig.asked
    rig.answer(connection, callback, AcpPermissionCallbackResponse("permission", "once"))
    answered(rig, command, {})
    rig.agent.result(rig.agent.requests("session/prompt")[0], {"stopReason": "end_turn"})
    rig.advance(1)
    assert stop_reason(rig, caller) == "end_turn"
    [shown] = [update for update in told(rig, caller, "tool_call_update") if update.get("status") == "pending"]
    assert "+new" in shown["content"][0]["patch"]["text"]
    ended(rig, caller, session)


def test_events_of_agents_nobody_knows_are_nothing() -> None:
    rig = Rig(services=SERVICES)
    rig.feed(events.ServiceWished("acp-agent-9", 1, WRITE))
    rig.feed(events.ServiceAnswered("acp-agent-9", 1, {}))
    rig.feed(events.TerminalPrinted("acp-agent-9", "s", "t", b"x"))
    rig.feed(events.ServicesEnded("acp-agent-9"))
    caller = rig.connect()
    rig.send(caller, create_request())
    rig.feed(events.ServicesEnded(rig.agent.process))
    rig.leave(caller)
    rig.advance(30)
    rig.assert_nothing_left()
