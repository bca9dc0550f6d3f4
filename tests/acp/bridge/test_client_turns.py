"""Prompts of a v1 client before a v2 agent (B-21, B-22)."""

from __future__ import annotations

from roost.acp.bridge.limits import BridgeLimits
from tests.acp.bridge.bridge_rig import Json
from tests.acp.bridge.client_rig import ready
from tests.acp.bridge.rig import text


def said(value: str, kind: str = "agent_message_chunk", id: str = "a1") -> Json:
    return {"sessionUpdate": kind, "messageId": id, "content": text(value)}


def test_b_21_a_prompt_is_answered_when_the_agent_is_idle_again() -> None:
    """B-21"""
    rig = ready()
    rig.running()
    rig.update(said("a"))
    usage = {"totalTokens": 3, "inputTokens": 1, "outputTokens": 2}
    rig.state("idle", stopReason="max_tokens", usage=usage)
    update, answer = rig.north()
    assert update["params"]["update"] == said("a")
    assert (answer["id"], answer["result"]) == ("p-hello", {"stopReason": "max_tokens", "usage": usage})


def test_b_22_an_idle_that_came_too_early_ends_nothing() -> None:
    """B-22, PRM-10"""
    rig = ready()
    rig.state("idle")
    rig.prompt()
    rig.state("idle")
    rig.state("idle", stopReason="end_turn")
    assert rig.north() == []
    rig.state("running")
    rig.state("idle")
    assert rig.north()[0]["result"] == {"stopReason": "end_turn"}


def test_an_idle_with_a_reason_behind_the_users_message_ends_a_turn_that_never_ran() -> None:
    rig = ready()
    rig.prompt()
    rig.update({"sessionUpdate": "user_message", "messageId": "u", "content": [text("hello")]})
    rig.state("idle", stopReason="refusal")
    assert rig.north()[0]["result"] == {"stopReason": "refusal"}


def test_an_end_before_the_acceptance_waits_for_it() -> None:
    rig = ready()
    rig.ask("session/prompt", {"sessionId": "s1", "prompt": [text("x")]})
    call = rig.asked()["id"]
    rig.state("running")
    rig.state("idle", stopReason="end_turn")
    assert rig.north() == []
    rig.reply(call, {})
    assert rig.north()[0]["result"] == {"stopReason": "end_turn"}


def test_a_reason_v1_has_not_is_end_turn_and_told_in_meta() -> None:
    rig = ready()
    rig.running()
    rig.state("idle", stopReason="_paused", _meta={"x": 1})
    result = rig.north()[0]["result"]
    assert result == {"stopReason": "end_turn", "_meta": {"x": 1, "_bridge": {"stopReason": "_paused"}}}


def test_a_refused_prompt_is_an_error() -> None:
    """BR-7"""
    rig = ready()
    rig.ask("session/prompt", {"sessionId": "s1", "prompt": [text("x")]})
    rig.refuse(rig.asked()["id"], -32000)
    assert rig.north()[0]["error"]["code"] == -32000
    rig.running("next")


def test_prompts_wait_for_each_other_and_a_cancel_drops_those_that_wait() -> None:
    rig = ready()
    rig.running("one")
    rig.ask("session/prompt", {"sessionId": "s1", "prompt": [text("two")]}, id="two")
    rig.ask("session/prompt", {"sessionId": "s1", "prompt": [text("three")]}, id="three")
    assert rig.south() == []
    rig.state("idle", stopReason="end_turn")
    assert rig.north()[0]["id"] == "p-one"
    call = rig.asked()["id"]
    rig.tell("session/cancel", {"sessionId": "s1"})
    (answer,) = rig.north()
    assert (answer["id"], answer["result"]) == ("three", {"stopReason": "cancelled"})
    assert [message["method"] for message in rig.south()] == ["session/cancel"]
    rig.reply(call, {})
    rig.state("idle", stopReason="cancelled")
    assert rig.north()[0]["result"] == {"stopReason": "cancelled"}


def test_an_agent_that_does_not_end_a_cancelled_turn_is_not_waited_for() -> None:
    rig = ready()
    rig.running()
    rig.tell("session/cancel", {"sessionId": "s1"})
    rig.later(10)
    assert rig.north()[0]["result"] == {"stopReason": "cancelled"}


def test_prompts_beyond_the_queue_are_refused() -> None:
    rig = ready(limits=BridgeLimits(queued_prompts=0))
    rig.running()
    rig.ask("session/prompt", {"sessionId": "s1", "prompt": [text("x")]})
    assert rig.north()[0]["error"]["data"] == {"limit": "queued_prompts"}


def test_an_agent_that_dies_fails_every_prompt() -> None:
    rig = ready()
    rig.running("one")
    rig.ask("session/prompt", {"sessionId": "s1", "prompt": [text("two")]})
    rig.ask("session/list", {})
    rig.bridge.end_south("exit code 1", rig.now)
    assert [message["error"]["code"] for message in rig.north()] == [-32603] * 3
    assert not rig.open


def test_a_client_that_leaves_cancels_its_work() -> None:
    rig = ready()
    rig.running()
    rig.bridge.end_north("gone", rig.now)
    assert [message["method"] for message in rig.south()] == ["session/cancel"]
