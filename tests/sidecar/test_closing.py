"""Sessions and agents that end, in the middle of everything."""

from __future__ import annotations

import pytest

from roost.sidecar import events
from roost.sidecar.gen.messages import AcpAgentExitedEvent, AcpErrorResponse, AcpSessionClosedResponse
from roost.sidecar.life import LIFE_MOVES, Life
from tests.sidecar.rig import Rig, create_request
from tests.sidecar.scripted_agent import Agent, Json

LOAD = {"loadSession": True}


def opened(*hung: str, **limits: int) -> tuple[Rig, int, str]:
    rig = Rig(lambda agent, message: message.get("method") in hung, **limits)
    rig.capabilities = LOAD
    caller = rig.connect()
    return rig, caller, rig.create(caller).session_id


def exits(rig: Rig, caller: int) -> list[AcpAgentExitedEvent]:
    return [event for event in rig.events(caller) if isinstance(event, AcpAgentExitedEvent)]


@pytest.mark.parametrize("after", Life)
@pytest.mark.parametrize("before", Life)
def test_a_session_moves_as_the_table_says_and_a_wrong_move_is_noted_as_a_bug(before: Life, after: Life) -> None:
    rig, _, session_id = opened()
    session = rig.session(session_id)
    assert session is not None
    session.life = before
    session.move(after)
    noted = [command for command in rig.engine.commands() if getattr(command, "bug", False)]
    assert bool(noted) is (after not in LIFE_MOVES[before])


def test_every_life_leads_to_the_end_and_nothing_leads_back_from_it() -> None:
    assert set(LIFE_MOVES) == set(Life)
    assert LIFE_MOVES[Life.ENDED] == ()
    reached, todo = set(), [Life.LIVE]
    while todo:
        life = todo.pop()
        if life not in reached:
            reached.add(life)
            todo.extend(LIFE_MOVES[life])
    assert reached == set(Life)


def test_close_while_a_restart_waits_its_turn_is_quick_and_tells_no_exit() -> None:
    rig, caller, session = opened("session/prompt")
    rig.agent.exit(1)
    rig.agent.exit(1)  # now it backs off
    waiting = rig.prompt(caller, session)
    told = len(exits(rig, caller))
    close = rig.close(caller, session)
    assert rig.reply(caller, close) == AcpSessionClosedResponse(session)
    assert rig.reply(caller, waiting) == AcpErrorResponse("invalid_state", f"unknown ACP session {session}")
    assert [told[0] for _, told in rig.told if isinstance(told, tuple)][-2:] == [waiting, close]
    assert len(exits(rig, caller)) == told
    rig.assert_nothing_left()


@pytest.mark.parametrize("step", ["initialize", "session/load"])
@pytest.mark.parametrize("stubborn", [False, True])
def test_close_in_the_handshake_of_a_restart_ends_the_new_agent_too(step: str, stubborn: bool) -> None:
    rig, caller, session = opened("session/prompt")
    prompt = rig.prompt(caller, session)
    rig.script = lambda agent, message: message.get("method") in ("session/prompt", step)
    rig.agent.exit(7)
    rig.agent.exits_on_eof = not stubborn
    waiting = rig.prompt(caller, session)
    close = rig.close(caller, session)
    # Who waited hears of it at once, however long the agent takes.
    assert rig.reply(caller, prompt).message.endswith("; the session was closed")
    assert "exited with code 7 before response id=3" in rig.reply(caller, prompt).message
    assert rig.reply(caller, waiting) == AcpErrorResponse("invalid_state", f"unknown ACP session {session}")
    if stubborn:  # it still attaches, and must not come to life
        rig.agent.answer(rig.agent.requests(step)[0])
    rig.advance(20)
    assert rig.reply(caller, close) == AcpSessionClosedResponse(session)
    assert exits(rig, caller) == []
    rig.assert_nothing_left()


def test_a_crash_while_it_is_being_closed_is_just_its_end() -> None:
    rig, caller, session = opened("session/prompt")
    rig.agent.exits_on_eof = False
    close = rig.close(caller, session)
    rig.agent.exit(11)
    assert rig.reply(caller, close) == AcpSessionClosedResponse(session)
    assert exits(rig, caller) == []
    rig.assert_nothing_left()


def test_a_request_in_flight_at_the_close_fails_with_the_reason() -> None:
    rig, caller, session = opened("_slow")
    request = rig.request(caller, session, "_slow")
    rig.close(caller, session)
    error = rig.reply(caller, request)
    assert error.code == "invalid_state"
    assert error.message.endswith("; the session was closed")
    rig.assert_nothing_left()


def test_a_prompt_that_waits_for_a_cancel_hears_of_the_close() -> None:
    rig, caller, session = opened("session/prompt")
    running = rig.prompt(caller, session)
    cancel = rig.request(caller, session, "session/cancel")
    queued = rig.prompt(caller, session)
    rig.close(caller, session)
    assert rig.rpc(caller, running)["result"] == {"stopReason": "cancelled"}
    assert rig.rpc(caller, cancel)["result"]["cancelled"] is True
    assert rig.reply(caller, queued) == AcpErrorResponse("invalid_state", f"unknown ACP session {session}")
    rig.assert_nothing_left()


def test_questions_open_at_the_close_are_answered_once_and_leave_no_trace() -> None:
    rig, caller, session = opened("session/prompt")
    rig.prompt(caller, session)
    rig.agent.exits_on_eof = False
    for number, method in enumerate(("session/request_permission", "fs/read_text_file", "elicitation/create")):
        rig.agent.ask(method, {}, number)
    rig.close(caller, session)
    heard = {answer["id"]: answer for answer in rig.agent.answers()}
    assert heard[0]["result"] == {"outcome": {"outcome": "cancelled"}}
    assert heard[1]["error"]["code"] == -32800
    assert heard[2]["result"] == {"action": "cancel"}
    assert len(rig.agent.answers()) == 3
    # Whoever still asks is refused at once: nobody is bothered any more.
    rig.agent.ask("session/request_permission", {}, "late")
    assert rig.agent.answers()[-1]["result"] == {"outcome": {"outcome": "cancelled"}}
    assert len(rig.asked) == 3
    rig.advance(20)
    rig.assert_nothing_left()


def test_questions_open_at_a_crash_leave_no_trace() -> None:
    rig, caller, session = opened("session/prompt")
    rig.prompt(caller, session)
    for number, method in enumerate(("session/request_permission", "fs/read_text_file", "elicitation/create")):
        rig.agent.ask(method, {}, number)
    rig.agent.exit(1)
    connection = rig.engine._context.callers.connections[caller]
    assert connection.asks == {}
    rig.close(caller, session)
    rig.assert_nothing_left()


def test_the_next_agent_may_ask_again() -> None:
    rig, _, _ = opened()
    rig.agent.exit(1)
    rig.agent.ask("session/request_permission", {})
    assert len(rig.asked) == 1


def test_an_agent_that_dies_right_after_its_answer_without_a_newline_has_answered() -> None:
    def script(agent: Agent, message: Json) -> bool:
        if message.get("method") != "session/prompt":
            return False
        agent.write(b'{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}')
        agent.exit(0)
        return True

    rig = Rig(script)
    rig.capabilities = LOAD
    caller = rig.connect()
    session = rig.create(caller).session_id
    assert rig.rpc(caller, rig.prompt(caller, session))["result"] == {"stopReason": "end_turn"}
    assert exits(rig, caller)[0].restart == "restarted"


@pytest.mark.parametrize("last", ["initialize", "session/new"])
def test_an_agent_that_dies_right_after_a_handshake_answer_without_a_newline_is_no_mystery(last: str) -> None:
    def script(agent: Agent, message: Json) -> bool:
        if message.get("method") != last or agent.process != "acp-agent-1":
            return False
        result = '{"protocolVersion":1}' if last == "initialize" else '{"sessionId":"s"}'
        agent.write(b'{"jsonrpc":"2.0","id":%d,"result":%s}' % (message["id"], result.encode()))
        agent.exit(4)
        return True

    rig = Rig(script)
    rig.capabilities = LOAD
    caller = rig.connect()
    answer = rig.ask(caller, create_request())
    if last == "initialize":
        assert isinstance(answer, AcpErrorResponse)
        assert "exited with code 4 before response id=2" in answer.message
    else:  # it had a session, and crashed
        assert [event.restart for event in exits(rig, caller)] == ["restarted"]
        rig.close(caller, answer.session_id)
    rig.advance(20)
    rig.assert_nothing_left()


def test_an_agent_that_crashes_as_soon_as_it_is_back_is_restarted_again() -> None:
    def script(agent: Agent, message: Json) -> bool:
        if message.get("method") == "session/load":
            agent.write(b'{"jsonrpc":"2.0","id":2,"result":{}}')
            agent.exit(5)
            return True
        return False

    rig = Rig(script)
    rig.capabilities = LOAD
    caller = rig.connect()
    rig.create(caller)
    rig.agent.exit(1)
    rig.advance(60)
    assert [(e.restart, e.exit_code) for e in exits(rig, caller)] == [
        ("restarted", 1),
        ("restarted", 5),
        ("restarted", 5),
        ("exhausted", 5),
    ]
    rig.assert_nothing_left()


def test_a_great_budget_does_not_lead_to_waits_without_end() -> None:
    rig, caller, session = opened(restarts=3000)
    found = rig.session(session)
    assert found is not None
    found.restarts = 2500
    rig.agent.exit(1)
    rig.advance(600)
    assert rig.state(caller, session).closed is False


def test_with_no_restarts_allowed_the_first_crash_is_the_last() -> None:
    rig, caller, _ = opened(restarts=0)
    rig.agent.exit(1)
    (event,) = exits(rig, caller)
    assert (event.restart, event.restart_count, event.max_restarts) == ("exhausted", 0, 0)
    rig.assert_nothing_left()


def test_a_process_that_fails_to_start_and_one_nobody_knows_are_no_trouble() -> None:
    rig, caller, session = opened()
    for event in (
        events.AgentStarted("acp-agent-9", 1),
        events.AgentFailedToStart("acp-agent-9", "io", "x"),
        events.AgentWrote("acp-agent-9", b"x\n"),
        events.AgentWroteStderr("acp-agent-9", b"x"),
        events.AgentInputQueued("acp-agent-9", 5),
        events.AgentExited("acp-agent-9", 1),
        events.RecordLoaded(99, None),
        events.CallerBlocked(99),
        events.CallerUnblocked(99),
    ):
        rig.feed(event)
    assert rig.state(caller, session).closed is False


def test_the_exit_of_an_agent_that_was_never_started_is_an_error_that_says_so() -> None:
    rig = Rig()
    rig._follow = lambda event: None if isinstance(event, events.AgentStarted) else Rig._follow(rig, event)  # type: ignore[method-assign]
    caller = rig.connect()
    request = rig.send(caller, create_request())
    rig.agent.exit(3)
    error = rig.reply(caller, request)
    assert error.code == "execution"
    assert error.message.startswith("the agent exited before it was started; ")
    rig.assert_nothing_left()


def test_a_closed_session_and_one_given_up_have_ended_and_a_good_end_is_no_error() -> None:
    rig, caller, session = opened()
    closed = rig.session(session)
    rig.close(caller, session)
    assert closed is not None
    assert closed.life is Life.ENDED
    assert not [note for note in rig.notes if note.level == "error"]
    rig.capabilities = {}
    session = rig.create(caller).session_id
    given_up = rig.session(session)
    rig.agent.exit(1)
    assert given_up is not None
    assert given_up.life is Life.ENDED


@pytest.mark.parametrize("version", [1, 2])
def test_a_cancel_under_way_at_the_close_hears_that_the_turn_was_cancelled(version: int) -> None:
    rig = Rig(lambda agent, message: message.get("method") == "session/prompt")
    caller = rig.connect()
    session = rig.create(caller, protocol_version=version).session_id
    rig.prompt(caller, session)
    if version == 2:
        rig.agent.result({"id": 3}, {})
        rig.agent.update(sessionUpdate="state_update", state="running")
    cancel = rig.request(caller, session, "session/cancel")
    rig.agent.exits_on_eof = False
    rig.close(caller, session)
    assert rig.rpc(caller, cancel)["result"]["cancelled"] is True


def test_a_start_that_a_shutdown_ends_is_answered_when_its_agent_is_gone() -> None:
    rig = Rig(lambda agent, message: message.get("method") == "session/new")
    caller = rig.connect()
    request = rig.send(caller, create_request())
    rig.agent.exits_on_eof, rig.agent.exits_on = False, frozenset((9,))
    rig.feed(events.ShutdownRequested())
    rig.agent.error({"id": 2}, -1, "no")  # the start has failed; the agent is there still
    assert rig.reply(caller, request) is None
    rig.advance(2)
    assert rig.agent.exited
    assert rig.reply(caller, request).message == "ACP session/new failed: no"


def test_after_a_restart_the_session_is_what_the_new_agent_says() -> None:
    def script(agent: Agent, message: Json) -> bool:
        if message.get("method") not in ("session/new", "session/load"):
            return False
        agent.result(message, {"sessionId": "s", "modes": {"currentModeId": message["method"]}})
        return True

    rig = Rig(script)
    rig.capabilities = LOAD
    caller = rig.connect()
    session = rig.create(caller).session_id
    rig.agent.exit(1)
    assert rig.state(caller, session).modes == '{"currentModeId": "session/load"}'
