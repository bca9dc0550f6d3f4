"""Terminals of bridged agents: shown, counted, and ended with the agent that has started them."""

from __future__ import annotations

from base64 import b64decode

from roost.sidecar import commands, events
from roost.sidecar.gen.messages import AcpPermissionCallbackResponse
from tests.sidecar.rig import Rig, create_request
from tests.sidecar.scripted_agent import Json
from tests.sidecar.served import SERVICES, WRITE, answer_to, answered, ask, finish, served, wish
from tests.sidecar.v1_agents import LOAD, V1, ended, exits, opened, stop_reason


def told(rig: Rig, caller: int, kind: str) -> list[Json]:
    found = [n["params"]["update"] for n in rig.notifications(caller) if n["method"] == "session/update"]
    return [update for update in found if update["sessionUpdate"] == kind]


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
