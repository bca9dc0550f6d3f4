"""Callers that do not read, and agents that do not read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from roost.sidecar import commands, events
from roost.sidecar.gen.messages import AcpAgentStderrEvent, AcpErrorResponse
from tests.sidecar.rig import Rig


def opened(name: str | None = None, **limits: Any) -> tuple[Rig, int, str]:
    rig = Rig(lambda agent, message: message.get("method") == "_slow", **limits)
    rig.capabilities = {"loadSession": True}
    caller = rig.connect(name)
    return rig, caller, rig.create(caller).session_id


def block(rig: Rig, caller: int) -> None:
    rig.feed(events.CallerBlocked(caller))


def unblock(rig: Rig, caller: int) -> None:
    rig.feed(events.CallerUnblocked(caller))


def test_the_agents_of_a_blocked_caller_pause_and_nothing_is_dropped() -> None:
    rig, caller, _ = opened()
    other = rig.connect()
    rig.create(other)
    block(rig, caller)
    assert [agent.paused for agent in rig.agents.values()] == [True, False]
    rig.agents["acp-agent-1"].update(sessionUpdate="x")
    assert rig.notifications(caller) == []
    unblock(rig, caller)
    assert [agent.paused for agent in rig.agents.values()] == [False, False]
    assert len(rig.notifications(caller)) == 1


def test_what_was_read_before_the_pause_still_comes() -> None:
    rig, caller, _ = opened()
    rig._follow(events.CallerBlocked(caller))
    rig.feed(events.AgentWrote("acp-agent-1", b'{"jsonrpc":"2.0","method":"_x"}\n'))
    assert len(rig.notifications(caller)) == 1


def test_a_session_opened_or_joined_by_a_blocked_caller_pauses_too() -> None:
    rig, caller, session = opened("me")
    block(rig, caller)
    rig.create(caller)
    assert rig.agents["acp-agent-2"].paused
    unblock(rig, caller)
    late = rig.connect("me")
    block(rig, late)
    assert not rig.agents["acp-agent-1"].paused
    rig.state(late, session)
    assert rig.agents["acp-agent-1"].paused
    rig.leave(late)
    assert not rig.agents["acp-agent-1"].paused


def test_an_agent_runs_on_when_the_last_of_its_blocked_callers_reads() -> None:
    rig, one, session = opened("me")
    two = rig.connect("me")
    rig.state(two, session)
    block(rig, one)
    block(rig, two)
    unblock(rig, one)
    assert rig.agent.paused
    unblock(rig, two)
    assert not rig.agent.paused


def test_a_new_agent_after_a_crash_is_paused_for_who_is_blocked() -> None:
    rig, one, session = opened("me")
    two = rig.connect("me")
    rig.state(two, session)
    rig.agent.exit(1)
    block(rig, one)
    rig.agent.exit(1)  # not read, and not seen, before it is
    unblock(rig, one)
    block(rig, one)
    rig.advance(5)
    assert rig.agent.process == "acp-agent-3"
    assert rig.agent.paused


def test_the_end_of_an_agent_that_exits_while_paused_is_seen_when_its_output_was() -> None:
    rig, caller, session = opened()
    request = rig.request(caller, session, "_slow")
    block(rig, caller)
    rig.agent.update(sessionUpdate="last words")
    rig.agent.exit(1)
    assert rig.reply(caller, request) is None
    rig.told.clear()
    unblock(rig, caller)
    kinds = ["answer" if isinstance(told, tuple) else type(told).__name__ for _, told in rig.told]
    assert kinds == ["AcpSessionEvent", "AcpAgentExitedEvent", "answer"]


def test_a_paused_agent_that_is_closed_is_read_to_its_end() -> None:
    rig, caller, session = opened()
    block(rig, caller)
    assert rig.agent.paused
    rig.close(caller, session)
    assert not rig.agent.paused
    unblock(rig, caller)
    rig.assert_nothing_left()


def test_an_agent_that_is_being_closed_is_not_paused_any_more() -> None:
    rig, caller, session = opened()
    rig.agent.exits_on_eof = False
    rig.close(caller, session)
    block(rig, caller)
    assert not rig.agent.paused
    rig.advance(10)
    assert rig.agent.signals == [15]


def test_of_an_agent_that_is_closed_and_never_done_no_more_is_read_than_the_limit() -> None:
    rig, caller, session = opened(closing_output_bytes=1000)
    rig.agent.exits_on_eof, rig.agent.exits_on = False, frozenset((9,))
    block(rig, caller)
    rig.close(caller, session)
    for _ in range(9):
        rig.agent.update(sessionUpdate="x", text="y" * 100)
    line = len(json.dumps(rig.notifications(caller)[0])) + 1
    assert len(rig.notifications(caller)) == -(-1000 // line)
    assert rig.agent.paused
    rig.advance(5.6)
    assert rig.agent.signals == [15, 9]
    assert rig.agent.exited
    rig.advance(5.1)
    unblock(rig, caller)
    rig.assert_nothing_left()


def test_an_agent_at_its_end_is_read_again_when_its_caller_reads_again() -> None:
    rig, caller, session = opened(closing_output_bytes=1)
    rig.agent.exits_on_eof = False
    block(rig, caller)
    rig.close(caller, session)
    rig.agent.update(sessionUpdate="x")
    assert rig.agent.paused
    rig.agent.update(sessionUpdate="x")
    unblock(rig, caller)
    assert not rig.agent.paused
    assert len(rig.notifications(caller)) == 2
    block(rig, caller)
    assert rig.agent.paused


def test_what_an_agent_at_its_end_says_to_those_who_read_is_not_limited() -> None:
    rig, caller, session = opened(closing_output_bytes=1)
    rig.agent.exits_on_eof = False
    rig.close(caller, session)
    for _ in range(5):
        rig.agent.update(sessionUpdate="x")
    assert len(rig.notifications(caller)) == 5


def test_a_caller_that_stays_stuck_is_disconnected() -> None:
    rig, caller, _ = opened()
    block(rig, caller)
    block(rig, caller)
    rig.advance(59.9)
    assert rig.disconnected == []
    rig.advance(0.2)
    assert rig.disconnected == [
        commands.Disconnect(caller, "timeout", "nothing was read for 60 s (stuck_caller_timeout)")
    ]
    rig.leave(caller)
    rig.assert_nothing_left()


def test_a_caller_that_reads_in_time_is_not_disconnected() -> None:
    rig, caller, _ = opened()
    for _ in range(5):
        block(rig, caller)
        rig.advance(50)
        unblock(rig, caller)
        unblock(rig, caller)
    rig.advance(100)
    assert rig.disconnected == []


def test_being_blocked_is_noted_once_and_names_the_setting() -> None:
    rig, caller, _ = opened()
    for _ in range(3):
        block(rig, caller)
        unblock(rig, caller)
    assert sum("caller_output_bytes" in note.text for note in rig.notes) == 1


def test_stderr_for_a_blocked_caller_is_dropped_and_counted() -> None:
    rig, one, session = opened("me")
    two = rig.connect("me")
    rig.state(two, session)
    block(rig, one)
    rig.agent.stderr(b"12345")
    rig.agent.stderr(b"678")
    assert rig.events(one) == []
    assert [event.chunk for event in rig.events(two)] == [b"12345", b"678"]
    unblock(rig, one)
    text = b"[roost] 8 bytes of stderr were dropped while this connection was not read\n"
    assert rig.events(one) == [AcpAgentStderrEvent("", "", "", text)]
    block(rig, one)
    unblock(rig, one)
    assert len(rig.events(one)) == 1
    rig.agent.stderr(b"again")
    assert rig.events(one)[-1].chunk == b"again"


def test_the_silence_of_a_paused_agent_is_not_its_own() -> None:
    rig, caller, session = opened(stuck_caller_timeout=10_000.0)
    rig.agent.hear = lambda agent, message: True
    prompt = rig.prompt(caller, session)
    block(rig, caller)
    rig.advance(5000)
    assert rig.reply(caller, prompt) is None
    unblock(rig, caller)
    rig.advance(599)
    assert rig.reply(caller, prompt) is None
    rig.advance(2)
    assert rig.reply(caller, prompt) is not None


def queued(rig: Rig, count: int) -> None:
    rig.feed(events.AgentInputQueued("acp-agent-1", count))


@pytest.mark.parametrize("method", ["_x", "session/prompt", "session/cancel", "document/didOpen"])
def test_nothing_more_is_sent_to_an_agent_that_does_not_read(method: str) -> None:
    rig, caller, session = opened(agent_input_bytes=1000)
    queued(rig, 990)
    heard = len(rig.agent.heard)
    error = rig.reply(caller, rig.request(caller, session, method))
    assert error == AcpErrorResponse(
        "limit_exceeded",
        "acp-agent-1 does not read its input: limit agent_input_bytes of 1000 reached; raise agent_input_bytes to "
        "allow more",
    )
    assert len(rig.agent.heard) == heard
    queued(rig, 0)
    assert isinstance(rig.reply(caller, rig.request(caller, session, "_x")), object)
    assert rig.agent.heard[-1]["id"] == 3  # no id was consumed


def test_a_running_turn_of_an_agent_that_does_not_read_can_be_cancelled_still() -> None:
    rig, caller, session = opened(agent_input_bytes=1000)
    rig.agent.hear = lambda agent, message: True
    prompt = rig.prompt(caller, session)
    queued(rig, 1000)
    cancel = rig.request(caller, session, "session/cancel")
    rig.advance(10.1)
    assert rig.rpc(caller, prompt)["result"] == {"stopReason": "cancelled"}
    assert rig.rpc(caller, cancel)["result"]["cancelled"] is True
    assert rig.agents["acp-agent-1"].signals == [9]


def test_a_time_out_says_that_the_agent_could_not_be_told() -> None:
    rig, caller, session = opened(agent_input_bytes=1000)
    request = rig.request(caller, session, "_slow")
    queued(rig, 1000)
    rig.advance(121)
    state = rig.rpc(caller, request)["error"]["data"]["transportState"]
    assert state.startswith("failed to send session/cancel notification: acp-agent-1 does not read its input")


def test_an_agent_that_asks_and_takes_no_answer_is_ended() -> None:
    rig, caller, session = opened(agent_input_bytes=1000)
    queued(rig, 995)
    heard = len(rig.agent.heard)
    rig.agent.ask("$/unknown", {})
    assert rig.agents["acp-agent-1"].signals == [9]
    assert len(rig.agents["acp-agent-1"].heard) == heard
    assert any("agent_input_bytes" in note.text for note in rig.notes)
    assert rig.state(caller, session).process_id == "acp-agent-2"


def test_an_agent_that_takes_no_answer_and_does_not_die_is_given_up() -> None:
    rig, caller, session = opened(agent_input_bytes=1000)
    rig.agent.exits_on = frozenset()
    queued(rig, 995)
    rig.agent.ask("$/unknown", {})
    rig.agent.ask("$/unknown", {})
    assert rig.agent.signals == [9]
    rig.advance(5.1)
    assert rig.state(caller, session).process_id == "acp-agent-2"
