"""Cancelling: the agent's own outcome, and a session that never stays wedged."""

from __future__ import annotations

import json
from typing import Any

import pytest

from roost.sidecar import events
from roost.sidecar.gen.messages import AcpAgentExitedEvent, AcpPermissionCallbackResponse
from tests.sidecar.rig import Rig
from tests.sidecar.scripted_agent import Json

LOAD = {"loadSession": True}
CANCELLED = {"stopReason": "cancelled"}


def running(version: int = 1, **limits: Any) -> tuple[Rig, int, str, int]:
    """A session with a turn the agent does not end by itself."""
    rig = Rig(lambda agent, message: message.get("method") == "session/prompt", **limits)
    rig.capabilities = LOAD
    caller = rig.connect()
    session = rig.create(caller, protocol_version=version).session_id
    return rig, caller, session, rig.prompt(caller, session)


def cancel(rig: Rig, caller: int, session: str) -> int:
    return rig.request(caller, session, "session/cancel")


def outcome(rig: Rig, caller: int, request: int) -> Any:
    """`cancelled` of the answer; None while there is none."""
    if rig.reply(caller, request) is None:
        return None
    answer = rig.rpc(caller, request)
    assert (answer["id"], answer["result"]["requested"], answer["result"]["via"]) == (None, True, "notification")
    return answer["result"]["cancelled"]


def states(rig: Rig, caller: int) -> list[Json]:
    return [m["params"]["update"] for m in rig.notifications(caller) if "state" in m["params"].get("update", {})]


@pytest.mark.parametrize(("reason", "cancelled"), [("cancelled", True), ("end_turn", False), ("refusal", False)])
def test_the_agents_own_outcome_is_what_counts(reason: str, cancelled: bool) -> None:
    rig, caller, session, prompt = running()
    request = cancel(rig, caller, session)
    assert outcome(rig, caller, request) is None
    rig.agent.result({"id": 3}, {"stopReason": reason})
    assert rig.rpc(caller, prompt)["result"] == {"stopReason": reason}
    assert outcome(rig, caller, request) is cancelled


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(("code", "cancelled"), [(-32800, True), (-32000, False), (-32603, False)])
def test_a_prompt_that_fails_as_cancelled_was_cancelled(code: int, cancelled: bool, version: int) -> None:
    """CAN-7."""
    rig, caller, session, prompt = running(version)
    request = cancel(rig, caller, session)
    rig.agent.error({"id": 3}, code, "aborted")
    assert rig.rpc(caller, prompt)["error"] == {"code": code, "message": "aborted"}
    assert outcome(rig, caller, request) is cancelled


def test_the_answers_come_in_the_order_prompt_then_cancel_and_before_what_follows() -> None:
    rig, caller, session, prompt = running()
    request = cancel(rig, caller, session)
    rig.told.clear()
    late = json.dumps({"jsonrpc": "2.0", "method": "_late", "params": {}}).encode()
    rig.agent.write(b'{"jsonrpc":"2.0","id":3,"result":{"stopReason":"cancelled"}}\n' + late + b"\n")
    kinds = [told[0] if isinstance(told, tuple) else "event" for _, told in rig.told]
    assert kinds == [prompt, request, "event"]


@pytest.mark.parametrize("version", [1, 2])
def test_an_agent_that_does_not_end_its_turn_is_answered_for_and_restarted(version: int) -> None:
    rig, caller, session, prompt = running(version)
    if version == 2:
        rig.agent.result({"id": 3}, {})
        rig.agent.update(sessionUpdate="state_update", state="running")
    request = cancel(rig, caller, session)
    rig.advance(9.9)
    assert outcome(rig, caller, request) is None
    assert rig.agent.signals == []
    rig.advance(0.2)
    assert outcome(rig, caller, request) is True
    assert rig.rpc(caller, prompt)["result"] == (CANCELLED if version == 1 else {})
    assert rig.agents["acp-agent-1"].signals == [9]
    assert any("cancel_grace" in note.text for note in rig.notes)
    (event,) = [event for event in rig.events(caller) if isinstance(event, AcpAgentExitedEvent)]
    assert (event.process_id, event.exit_code, event.restart) == ("acp-agent-1", -9, "restarted")
    idle = {"sessionUpdate": "state_update", "state": "idle", "stopReason": "cancelled"}
    assert states(rig, caller)[-1:] == ([idle] if version == 2 else [])
    rig.script = lambda agent, message: False
    rig.agent.hear = rig.script
    assert "result" in rig.rpc(caller, rig.prompt(caller, session))


def test_a_wedged_agent_that_even_sigkill_does_not_end_is_replaced_all_the_same() -> None:
    rig, caller, session, prompt = running()
    rig.agent.exits_on = frozenset()
    request = cancel(rig, caller, session)
    rig.advance(10.1)
    assert rig.rpc(caller, prompt)["result"] == CANCELLED
    rig.advance(5.1)
    assert outcome(rig, caller, request) is True
    assert rig.state(caller, session).process_id == "acp-agent-2"


def test_a_crash_while_a_cancel_is_under_way_answers_both() -> None:
    rig, caller, session, prompt = running()
    request = cancel(rig, caller, session)
    rig.agent.exit(1)
    assert outcome(rig, caller, request) is False
    assert "auto-restarted" in rig.reply(caller, prompt).message
    rig.advance(60)
    assert [agent.signals for agent in rig.agents.values()] == [[], []]


def test_the_next_prompt_waits_for_the_outcome_of_a_cancel() -> None:
    rig, caller, session, _ = running()
    cancel(rig, caller, session)
    rig.prompt(caller, session)
    assert len(rig.agent.requests("session/prompt")) == 1
    other = rig.request(caller, session, "_x")  # anything else does not wait
    assert rig.rpc(caller, other)["result"] == {}
    rig.agent.result({"id": 3}, CANCELLED)
    assert len(rig.agent.requests("session/prompt")) == 2


def test_the_next_prompt_goes_to_the_next_agent_when_the_turn_was_wedged() -> None:
    rig, caller, session, _ = running()
    cancel(rig, caller, session)
    queued = rig.prompt(caller, session)
    rig.advance(10.1)
    assert len(rig.agents["acp-agent-1"].requests("session/prompt")) == 1
    rig.agent.result({"id": 3}, {"stopReason": "end_turn"})
    assert rig.rpc(caller, queued)["result"] == {"stopReason": "end_turn"}


def test_a_second_cancel_drops_the_prompts_that_wait_for_the_first() -> None:
    """PRM-18."""
    rig, caller, session, _ = running()
    cancel(rig, caller, session)
    dropped = [rig.prompt(caller, session), rig.prompt(caller, session)]
    cancel(rig, caller, session)
    for prompt in dropped:
        assert rig.rpc(caller, prompt) == {"jsonrpc": "2.0", "id": None, "result": CANCELLED}
    kept = rig.prompt(caller, session)
    rig.agent.result({"id": 3}, CANCELLED)
    assert [message["id"] for message in rig.agent.requests("session/prompt")] == [3, 4]
    rig.agent.result({"id": 4}, {"stopReason": "end_turn"})
    assert rig.rpc(caller, kept)["result"] == {"stopReason": "end_turn"}


@pytest.mark.parametrize("how", ["close", "wedge", "queue"])
def test_a_version_2_prompt_that_was_not_accepted_is_not_answered_as_if_it_was(how: str) -> None:
    rig, caller, session, prompt = running(2)
    if how == "close":
        rig.close(caller, session)
    else:
        cancel(rig, caller, session)
        if how == "queue":
            prompt = rig.prompt(caller, session)
            cancel(rig, caller, session)
        rig.advance(10.1)
    error = rig.rpc(caller, prompt)["error"]
    assert error == {"code": -32800, "message": "the prompt was cancelled before it was accepted"}


def test_a_second_cancel_has_the_same_outcome_and_the_fence_stays_up() -> None:
    rig, caller, session, _ = running()
    first = cancel(rig, caller, session)
    rig.advance(9)
    second = cancel(rig, caller, session)
    rig.agent.exits_on = frozenset()  # SIGKILL takes a while
    rig.advance(1.5)
    assert outcome(rig, caller, second) is True
    queued = rig.prompt(caller, session)
    assert len(rig.agent.requests("session/prompt")) == 1
    rig.agent.exit(-9)
    assert outcome(rig, caller, first) is True
    rig.agent.result({"id": 3}, {"stopReason": "end_turn"})
    assert rig.rpc(caller, queued)["result"] == {"stopReason": "end_turn"}


def test_permissions_and_elicitations_are_cancelled_and_other_questions_stay() -> None:
    """CAN-13, ELI-17."""
    rig, caller, session, _ = running()
    for number, method in enumerate(("session/request_permission", "fs/read_text_file", "elicitation/create")):
        rig.agent.ask(method, {"options": [{"optionId": "n", "kind": "reject_once"}]}, number)
    cancel(rig, caller, session)
    heard = {answer["id"]: answer["result"] for answer in rig.agent.answers()}
    assert heard == {0: {"outcome": {"outcome": "cancelled"}}, 2: {"action": "cancel"}}
    rig.answer(caller, 1, AcpPermissionCallbackResponse("permission", "once"))  # too late
    assert len(rig.agent.answers()) == 2


def test_a_cancel_in_version_2_waits_for_the_idle() -> None:
    rig, caller, session, _ = running(2)
    rig.agent.result({"id": 3}, {})
    rig.agent.update(sessionUpdate="state_update", state="running")
    request = cancel(rig, caller, session)
    rig.agent.update(sessionUpdate="agent_message_chunk")
    assert outcome(rig, caller, request) is None
    rig.agent.update(sessionUpdate="state_update", state="idle", stopReason="cancelled")
    assert outcome(rig, caller, request) is True


@pytest.mark.parametrize("late", [{"stopReason": "end_turn"}, CANCELLED])
def test_a_prompt_that_was_quiet_too_long_is_cancelled_and_its_late_answer_spares_the_agent(late: Json) -> None:
    rig, caller, session, prompt = running()
    rig.advance(600.1)
    assert rig.rpc(caller, prompt)["error"]["data"]["kind"] == "acp_timeout"
    assert rig.rpc(caller, prompt)["error"]["data"]["timeoutMs"] == 600_000
    assert len(rig.agent.requests("session/cancel")) == 1
    queued = rig.prompt(caller, session)
    rig.agent.result({"id": 3}, late)
    rig.advance(60)
    assert rig.agent.signals == []
    assert rig.agent.requests("session/prompt")[-1]["id"] == 4
    rig.agent.result({"id": 4}, {"stopReason": "end_turn"})
    assert rig.rpc(caller, queued)["result"] == {"stopReason": "end_turn"}


def test_a_prompt_that_was_quiet_too_long_and_stays_so_costs_the_agent_its_life() -> None:
    rig, caller, session, _ = running()
    rig.advance(600.1 + 10.1)
    assert rig.agents["acp-agent-1"].signals == [9]
    assert rig.state(caller, session).process_id == "acp-agent-2"
    rig.close(caller, session)
    rig.assert_nothing_left()


@pytest.mark.parametrize("sign", ["stdout", "stderr", "garbage"])
def test_any_output_keeps_a_prompt_alive(sign: str) -> None:
    rig, caller, _, prompt = running()
    for _ in range(5):
        rig.advance(500)
        if sign == "stdout":
            rig.agent.update(sessionUpdate="x")
        elif sign == "stderr":
            rig.agent.stderr(b".")
        else:
            rig.agent.write(b"tick")
    assert rig.reply(caller, prompt) is None
    rig.advance(601)
    assert rig.reply(caller, prompt) is not None


def test_the_inactivity_of_a_prompt_does_not_count_while_somebody_is_asked() -> None:
    rig, caller, _, prompt = running(callback_timeout=100_000.0)
    rig.advance(500)
    rig.agent.ask("session/request_permission", {})
    rig.advance(50_000)
    assert rig.reply(caller, prompt) is None
    rig.answer(caller, 1, AcpPermissionCallbackResponse("permission", "once"))
    rig.advance(599)
    assert rig.reply(caller, prompt) is None
    rig.advance(2)
    assert rig.rpc(caller, prompt)["error"]["data"]["kind"] == "acp_timeout"


def test_the_inactivity_of_a_version_2_turn_cancels_it_and_ends_in_an_idle() -> None:
    rig, caller, session, prompt = running(2)
    rig.agent.result({"id": 3}, {})
    rig.agent.update(sessionUpdate="state_update", state="running")
    assert rig.rpc(caller, prompt)["result"] == {}
    rig.advance(599)
    rig.agent.update(sessionUpdate="agent_message_chunk")
    rig.advance(599)
    assert rig.agent.requests("session/cancel") == []
    rig.advance(2)
    assert len(rig.agent.requests("session/cancel")) == 1
    rig.advance(10)
    assert states(rig, caller)[-1]["stopReason"] == "cancelled"
    assert rig.state(caller, session).process_id == "acp-agent-2"
    rig.close(caller, session)
    rig.assert_nothing_left()


def test_a_turn_that_ends_in_time_is_not_watched_any_longer() -> None:
    rig, caller, session, _ = running(2)
    rig.agent.result({"id": 3}, {})
    rig.agent.update(sessionUpdate="state_update", state="running")
    rig.agent.update(sessionUpdate="state_update", state="idle", stopReason="end_turn")
    rig.advance(10_000)
    assert list(rig.agents) == ["acp-agent-1"]
    assert rig.agent.requests("session/cancel") == []
    assert rig.notes == []
    rig.close(caller, session)
    rig.assert_nothing_left()


def test_a_turn_whose_end_waits_behind_a_slow_caller_is_not_wedged() -> None:
    rig, caller, session, _ = running()
    rig.feed(events.CallerBlocked(caller))
    assert rig.agent.paused
    request = cancel(rig, caller, session)
    rig.agent.result({"id": 3}, CANCELLED)  # said, and not read
    rig.advance(30)
    assert rig.agents["acp-agent-1"].signals == []
    rig.feed(events.CallerUnblocked(caller))
    assert outcome(rig, caller, request) is True


def test_a_wedged_agent_that_is_paused_is_read_to_its_end() -> None:
    rig, caller, session, _ = running(stuck_caller_timeout=5.0)
    cancel(rig, caller, session)
    rig.feed(events.CallerBlocked(caller))
    rig.advance(10.1)
    assert rig.agents["acp-agent-1"].signals == [9]
    assert rig.state(caller, session).process_id == "acp-agent-2"
    assert rig.agent.paused


def test_a_second_cancel_of_a_wedged_version_2_turn_hears_the_same() -> None:
    rig, caller, session, _ = running(2)
    rig.agent.result({"id": 3}, {})
    rig.agent.update(sessionUpdate="state_update", state="running")
    first = cancel(rig, caller, session)
    rig.advance(5)
    second = cancel(rig, caller, session)
    rig.advance(5.1)
    assert outcome(rig, caller, first) is outcome(rig, caller, second) is True


def test_a_version_2_turn_of_several_prompts_is_cancelled_once_and_the_next_one_is_watched_too() -> None:
    rig, caller, session, _ = running(2)
    rig.agent.result({"id": 3}, {})
    rig.agent.update(sessionUpdate="state_update", state="running")
    rig.prompt(caller, session)
    rig.agent.result({"id": 4}, {})
    rig.advance(601)
    assert len(rig.agent.requests("session/cancel")) == 1
    rig.agent.update(sessionUpdate="state_update", state="idle", stopReason="cancelled")
    rig.prompt(caller, session)
    rig.agent.result({"id": 5}, {})
    rig.advance(601)
    assert len(rig.agent.requests("session/cancel")) == 2


def test_a_slow_caller_does_not_protect_a_wedged_agent_for_ever() -> None:
    rig, caller, session, _ = running(stuck_caller_timeout=25.0)
    cancel(rig, caller, session)
    rig.feed(events.CallerBlocked(caller))
    rig.advance(40)
    assert rig.agents["acp-agent-1"].signals == [9]


def test_a_prompt_that_failed_is_no_turn_any_more() -> None:
    rig, caller, session, prompt = running(line_bytes=1000)
    rig.agent.write(b"x" * 1001 + b"\n")
    assert rig.reply(caller, prompt).code == "limit_exceeded"
    assert outcome(rig, caller, cancel(rig, caller, session)) is False


def test_of_two_version_1_prompts_each_has_its_own_deadline_and_one_cancel_is_sent() -> None:
    rig, caller, session, first = running()
    second = rig.prompt(caller, session)
    rig.agent.result({"id": 3}, {"stopReason": "end_turn"})
    assert rig.rpc(caller, first)["result"] == {"stopReason": "end_turn"}
    rig.advance(601)
    assert rig.rpc(caller, second)["error"]["data"]["id"] == 4
    assert len(rig.agent.requests("session/cancel")) == 1
