"""Turns of a v1 agent as a v2 client sees them (B-01, B-05 to B-08, B-19, B-37, B-38)."""

from __future__ import annotations

import pytest

from roost.acp.bridge.limits import BridgeLimits
from tests.acp.bridge.rig import AgentRig, chunk, opened, tags, text

PERMISSION = {
    "sessionId": "s1",
    "toolCall": {"toolCallId": "t1", "title": "Write"},
    "options": [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}],
}


def test_b_01_a_whole_turn_is_accepted_reported_run_and_ended() -> None:
    """B-01, BR-1"""
    rig = opened()
    call = rig.prompt("hello")
    assert rig.north() == []
    rig.update("s1", chunk("a"))
    rig.update("s1", chunk("b"))
    usage = {"totalTokens": 3, "inputTokens": 1, "outputTokens": 2}
    rig.reply(call, {"stopReason": "end_turn", "usage": usage})
    rig.later(0.02)
    answer, *updates = rig.north()
    assert answer["result"] == {}
    updates = [message["params"]["update"] for message in updates]
    assert tags(updates) == ["user_message", "running", "agent_message_chunk", "agent_message_chunk", "idle"]
    assert updates[0]["content"] == [text("hello")]
    assert updates[2]["messageId"] == updates[3]["messageId"] != updates[0]["messageId"]
    assert updates[4] == {"sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn", "usage": usage}


def test_a_silent_agent_has_accepted_after_the_grace() -> None:
    rig = opened()
    rig.prompt()
    assert rig.bridge.next_deadline() == pytest.approx(rig.now + 0.05)
    rig.later(0.05)
    answer, *updates = rig.north()
    assert answer["result"] == {}
    assert len(updates) == 2
    assert rig.bridge.next_deadline() is None


@pytest.mark.parametrize("code", [-32000, -32002, -32600, -32602])
def test_a_prompt_refused_at_once_is_refused_and_nothing_is_reported(code: int) -> None:
    """BR-7, PRM-3"""
    rig = opened()
    rig.refuse(rig.prompt(), code)
    (answer,) = rig.north()
    assert answer["error"]["code"] == code
    assert rig.bridge.next_deadline() is None


@pytest.mark.parametrize(("code", "reason"), [(-32603, "_error"), (400, "_error"), (-32000, "_auth_required")])
def test_b_05_a_turn_that_fails_ends_with_a_message_and_idle(code: int, reason: str) -> None:
    """B-05"""
    rig = opened()
    call = rig.running()
    rig.refuse(call, code, "it broke")
    rig.later(0.02)
    message, idle = rig.updates()
    assert message["sessionUpdate"] == "agent_message"
    assert message["content"] == [text("it broke")]
    assert idle["stopReason"] == reason
    assert idle["_meta"]["_bridge"]["code"] == code
    assert rig.bridge.losses.counts["failed_turn"] == 1


def test_an_agent_that_fails_at_once_for_another_reason_began_a_turn() -> None:
    rig = opened()
    rig.refuse(rig.prompt(), -32603)
    rig.later(0.02)
    answer, *_ = rig.north()
    assert answer["result"] == {}


def test_b_06_a_cancel_nobody_answers_ends_after_the_timeout_and_the_late_answer_is_ignored() -> None:
    """B-06"""
    rig = opened()
    call = rig.running()
    rig.tell("session/cancel", {"sessionId": "s1"})
    assert [message["method"] for message in rig.south()] == ["session/cancel"]
    rig.later(9.9)
    assert rig.updates() == []
    rig.later(0.1)
    (idle,) = rig.updates()
    assert idle["stopReason"] == "cancelled"
    rig.reply(call, {"stopReason": "end_turn"})
    assert rig.updates() == []
    assert rig.bridge.losses.counts["late_answer"] == 1
    assert rig.prompt("again") != call


def test_b_07_end_turn_after_a_cancel_is_cancelled() -> None:
    """B-07"""
    rig = opened()
    call = rig.running()
    rig.tell("session/cancel", {"sessionId": "s1"})
    rig.reply(call, {"stopReason": "end_turn"})
    rig.later(0.02)
    assert rig.updates()[-1]["stopReason"] == "cancelled"


@pytest.mark.parametrize("code", [-32800, -32603])
def test_an_error_after_a_cancel_is_cancelled(code: int) -> None:
    rig = opened()
    call = rig.running()
    rig.tell("session/cancel", {"sessionId": "s1"})
    rig.refuse(call, code)
    rig.later(0.02)
    (idle,) = rig.updates()
    assert idle["stopReason"] == "cancelled"


def test_b_08_updates_behind_the_answer_come_before_idle_and_later_ones_while_idle() -> None:
    """B-08, PRM-12"""
    rig = opened()
    call = rig.running()
    rig.update("s1", chunk("a"))
    rig.reply(call, {"stopReason": "end_turn"})
    rig.update("s1", chunk("b"))
    rig.later(0.02)
    rig.update("s1", chunk("c"))
    updates = rig.updates()
    assert tags(updates) == ["agent_message_chunk", "agent_message_chunk", "idle", "agent_message_chunk"]
    assert updates[0]["messageId"] == updates[1]["messageId"] != updates[3]["messageId"]


def test_without_a_settle_grace_idle_is_told_at_once() -> None:
    rig = opened(limits=BridgeLimits(settle_grace=0))
    call = rig.running()
    rig.reply(call, {"stopReason": "end_turn"})
    assert tags(rig.updates()) == ["idle"]


def test_a_second_answer_is_ignored() -> None:
    rig = opened()
    call = rig.running()
    rig.reply(call, {"stopReason": "end_turn"})
    rig.reply(call, {"stopReason": "refusal"})
    rig.later(0.02)
    (idle,) = rig.updates()
    assert idle["stopReason"] == "end_turn"


@pytest.mark.parametrize("result", [None, {}, {"stopReason": 7}, [], {"stopReason": "end_turn", "usage": "much"}])
def test_an_answer_that_says_little_ends_the_turn(result: object) -> None:
    rig = opened()
    call = rig.running()
    rig.reply(call, result)
    rig.later(0.02)
    (idle,) = rig.updates()
    assert idle == {"sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn"}


def test_b_19_a_cancel_answers_the_agents_question_and_takes_it_back_from_the_client() -> None:
    """B-19, PER-10"""
    rig = opened()
    rig.running()
    rig.request(0, "session/request_permission", PERMISSION)
    messages = rig.north()
    asked = messages[-1]
    rig.tell("session/cancel", {"sessionId": "s1"})
    cancel, answer = rig.south()
    assert cancel["method"] == "session/cancel"
    assert answer == {"jsonrpc": "2.0", "id": 0, "result": {"outcome": {"outcome": "cancelled"}}}
    withdrawal = next(message for message in rig.north() if message.get("method") == "$/cancel_request")
    assert withdrawal["params"]["requestId"] == asked["id"]
    rig.answer(asked["id"], {"outcome": {"outcome": "selected", "optionId": "yes"}})
    assert rig.south() == []  # exactly one answer
    rig.request(1, "session/request_permission", PERMISSION)
    assert rig.south()[0]["result"] == {"outcome": {"outcome": "cancelled"}}


def test_the_user_being_asked_is_a_state() -> None:
    """PRM-7, PER-9"""
    rig = opened()
    rig.running()
    rig.request(0, "session/request_permission", PERMISSION)
    rig.request("srv_1", "session/request_permission", PERMISSION)
    first, *_, second = [message for message in rig.north() if message.get("method") == "session/request_permission"]
    rig.answer(first["id"], {"outcome": {"outcome": "selected", "optionId": "yes"}})
    assert rig.updates() == []
    rig.answer(second["id"], {"outcome": {"outcome": "selected", "optionId": "yes"}})
    assert tags(rig.updates()) == ["running"]
    assert [message["id"] for message in rig.south()] == [0, "srv_1"]


def test_a_cancel_without_work_is_nothing() -> None:
    """PRM-17"""
    rig = opened()
    rig.tell("session/cancel", {"sessionId": "s1"})
    rig.tell("session/cancel", {"sessionId": "unknown"})
    assert rig.south() == []


def test_a_cancel_before_acceptance_still_leads_to_idle() -> None:
    """PRM-19"""
    rig = opened()
    call = rig.prompt()
    rig.tell("session/cancel", {"sessionId": "s1"})
    rig.reply(call, {"stopReason": "cancelled"})
    rig.later(0.02)
    assert tags(rig.updates()) == ["user_message", "running", "idle"]


def test_b_37_an_agent_that_dies_ends_its_turns_and_answers_everything() -> None:
    """B-37"""
    rig = opened()
    rig.running()
    rig.request(7, "session/request_permission", PERMISSION)
    rig.north()
    rig.ask("session/new", {"cwd": "/elsewhere"})
    rig.ask("session/prompt", {"sessionId": "s1", "prompt": [text("next")]})
    rig.bridge.end_south("exit code 1", rig.now)
    messages = rig.north()
    updates = [message["params"]["update"] for message in messages if message.get("method") == "session/update"]
    assert "agent_message" in tags(updates)
    assert updates[-1]["stopReason"] == "_error"
    assert [message["error"]["code"] for message in messages if "error" in message] == [-32603, -32603]
    assert any(message.get("method") == "$/cancel_request" for message in messages)
    assert not rig.checker.asked
    assert rig.bridge.next_deadline() is None
    rig.ask("session/prompt", {"sessionId": "s1", "prompt": [text("dead")]})
    assert "error" in rig.north()[0]


def test_b_38_prompts_of_one_session_are_worked_on_one_after_another() -> None:
    """B-38, PRM-14"""
    rig = opened()
    first = rig.running("one")
    rig.ask("session/prompt", {"sessionId": "s1", "prompt": [text("two")]}, id="second")
    assert (rig.south(), rig.north()) == ([], [])
    rig.reply(first, {"stopReason": "end_turn"})
    assert rig.asked()["params"]["prompt"] == [text("two")]
    assert tags(rig.updates()) == ["idle"]


def test_a_prompt_that_waits_can_be_withdrawn_and_is_dropped_by_a_cancel() -> None:
    """PRM-18, CAN-12"""
    rig = opened()
    rig.running("one")
    for id in ("second", "third"):
        rig.ask("session/prompt", {"sessionId": "s1", "prompt": [text(id)]}, id=id)
    rig.tell("$/cancel_request", {"requestId": "second"})
    (answer,) = rig.north()
    assert (answer["id"], answer["error"]["code"]) == ("second", -32800)
    rig.tell("session/cancel", {"sessionId": "s1"})
    (answer,) = rig.north()
    assert (answer["id"], answer["error"]["code"]) == ("third", -32800)


def test_prompts_beyond_the_queue_are_refused_by_the_limits_name() -> None:
    rig = opened(limits=BridgeLimits(queued_prompts=1))
    rig.running("one")
    for id in ("second", "third"):
        rig.ask("session/prompt", {"sessionId": "s1", "prompt": [text(id)]}, id=id)
    (answer,) = rig.north()
    assert answer["id"] == "third"
    assert answer["error"]["data"] == {"limit": "queued_prompts"}


def test_sessions_do_not_wait_for_each_other() -> None:
    rig = opened()
    rig.new("s2")
    first = rig.running("one", "s1")
    second = rig.running("two", "s2")
    rig.reply(second, {"stopReason": "end_turn"})
    rig.later(0.02)
    (message,) = rig.north()
    assert message["params"]["sessionId"] == "s2"
    rig.reply(first, {"stopReason": "max_tokens"})
    rig.later(0.02)
    assert rig.updates()[0]["stopReason"] == "max_tokens"


def test_quirk_20_the_echo_of_a_prompt_is_not_shown_twice() -> None:
    rig = opened()
    rig.prompt("hello there")
    rig.update("s1", chunk("hello ", "user_message_chunk", messageId="x"))
    rig.update("s1", chunk("there", "user_message_chunk", messageId="x"))
    rig.update("s1", chunk("something else", "user_message_chunk"))
    updates = rig.updates()
    assert tags(updates) == ["user_message", "running", "user_message_chunk"]
    assert updates[2]["content"] == text("something else")


def test_a_client_that_leaves_cancels_its_work() -> None:
    rig = opened()
    rig.running()
    rig.request(5, "session/request_permission", PERMISSION)
    rig.north()
    rig.bridge.end_north("it left", rig.now)
    rig.north()
    cancel, answer = rig.south()
    assert cancel["method"] == "session/cancel"
    assert answer["result"] == {"outcome": {"outcome": "cancelled"}}
    rig.update("s1", chunk("still at work"))
    assert rig.north() == []


def test_nothing_is_asked_of_an_agent_before_initialize() -> None:
    """INI-1, INI-10"""
    rig = AgentRig()
    rig.ask("session/new", {"cwd": "/"})
    assert rig.north()[0]["error"]["code"] == -32600
    rig.initialize()
    rig.ask("initialize", {"protocolVersion": 2, "info": {"name": "a", "version": "1"}})
    assert rig.north()[0]["error"]["code"] == -32600
    assert rig.south() == []
