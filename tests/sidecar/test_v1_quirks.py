"""What v1 agents in the field do beside the protocol, as callers of version 2 see it: through the link, kept or not."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sidecar.rig import Rig
from tests.sidecar.scripted_agent import Agent, Json
from tests.sidecar.shelf import Shelf
from tests.sidecar.v1_agents import LOAD, V1, ended, exits, say, stop_reason, updates


def opened(*, kept: bool = True, script: Any = None, **limits: Any) -> tuple[Rig, int, str]:
    rig = Rig(script or V1(silent=True), journal=Shelf() if kept else None, **limits)
    rig.session_id = "s"
    caller = rig.connect("me")
    return rig, caller, rig.create(caller, protocol_version=2).session_id


def begin(rig: Rig, caller: int, session: str) -> Json:
    """A prompt; the request its agent has got."""
    rig.prompt(caller, session)
    say(rig.agent, "working")
    return rig.agent.requests("session/prompt")[-1]


def answered(rig: Rig, request: Json, reason: str = "end_turn") -> None:
    rig.agent.result(request, {"stopReason": reason})


def texts(rig: Rig, caller: int) -> list[str]:
    """What the agent said."""
    told = [line["params"]["update"] for line in rig.notifications(caller) if line["method"] == "session/update"]
    return [update["content"]["text"] for update in told if update["sessionUpdate"] == "agent_message_chunk"]


@pytest.fixture(params=[True, False], ids=["kept", "not kept"])
def kept(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


# ---- how turns end


@pytest.mark.parametrize("how", ["end_turn", "cancelled", "error", "aborted"])
def test_however_an_agent_ends_a_cancelled_turn_it_was_cancelled(kept: bool, how: str) -> None:
    """B-07"""
    rig, caller, session = opened(kept=kept)
    request = begin(rig, caller, session)
    cancel = rig.request(caller, session, "session/cancel")
    match how:
        case "error":
            rig.agent.error(request, -32603, "Request was aborted")
        case "aborted":
            rig.agent.error(request, -32800, "cancelled")
        case _:
            answered(rig, request, how)
    rig.advance(1)
    assert stop_reason(rig, caller) == "cancelled"
    assert rig.rpc(caller, cancel)["result"]["cancelled"] is True
    begin_again = begin(rig, caller, session)
    answered(rig, begin_again)
    rig.advance(1)
    assert stop_reason(rig, caller) == "end_turn", "a cancel is over with its turn"
    ended(rig, caller, session)


def test_a_turn_that_ends_by_itself_as_it_is_cancelled_has_ended_by_itself(kept: bool) -> None:
    rig, caller, session = opened(kept=kept)
    answered(rig, begin(rig, caller, session))
    cancel = rig.request(caller, session, "session/cancel")
    rig.advance(1)
    assert stop_reason(rig, caller) == "end_turn"
    assert rig.rpc(caller, cancel)["result"]["cancelled"] is False
    ended(rig, caller, session)


def test_a_second_stop_reason_is_ignored_and_is_not_that_of_the_next_turn(kept: bool) -> None:
    rig, caller, session = opened(kept=kept)
    first = begin(rig, caller, session)
    answered(rig, first, "max_tokens")
    answered(rig, first, "refusal")
    rig.advance(1)
    assert stop_reason(rig, caller) == "max_tokens"
    second = begin(rig, caller, session)
    answered(rig, first, "refusal")
    rig.advance(1)
    assert updates(rig, caller)[-1] == "agent_message_chunk", "the second turn goes on"
    answered(rig, second)
    rig.advance(1)
    assert updates(rig, caller).count("idle") == 2
    assert stop_reason(rig, caller) == "end_turn"
    ended(rig, caller, session)


def test_a_state_an_agent_of_v1_reports_by_itself_is_not_believed(kept: bool) -> None:
    rig, caller, session = opened(kept=kept)
    request = begin(rig, caller, session)
    rig.agent.update(sessionUpdate="state_update", state="idle", stopReason="end_turn")
    rig.advance(1)
    assert updates(rig, caller).count("idle") == 0
    answered(rig, request)
    rig.advance(1)
    assert updates(rig, caller).count("idle") == 1
    ended(rig, caller, session)


def test_an_answer_long_after_a_cancel_is_nobodys(kept: bool) -> None:
    """B-06: the agent is started again, and what the first one says then is not heard."""
    script = V1(silent=True, capabilities=LOAD)
    rig, caller, session = opened(kept=kept, script=script)
    request, wedged = begin(rig, caller, session), rig.agent
    cancel = rig.request(caller, session, "session/cancel")
    rig.advance(12)
    assert rig.rpc(caller, cancel)["result"]["cancelled"] is True
    assert stop_reason(rig, caller) == "cancelled"
    assert exits(rig, caller) == ["restarted"]
    before = len(rig.notifications(caller))
    wedged.result(request, {"stopReason": "end_turn"})
    assert len(rig.notifications(caller)) == before
    answered(rig, begin(rig, caller, session))
    rig.advance(1)
    assert stop_reason(rig, caller) == "end_turn"
    ended(rig, caller, session)


# ---- updates at the wrong time


def test_updates_right_behind_the_end_come_before_it(kept: bool) -> None:
    rig, caller, session = opened(kept=kept)
    answered(rig, begin(rig, caller, session))
    say(rig.agent, "one thing more")
    rig.advance(1)
    assert updates(rig, caller)[-2:] == ["agent_message_chunk", "idle"]
    assert texts(rig, caller) == ["working", "one thing more"]
    ended(rig, caller, session)


def test_updates_after_the_end_are_told_while_idle_and_begin_no_turn(kept: bool) -> None:
    """B-08"""
    rig, caller, session = opened(kept=kept)
    answered(rig, begin(rig, caller, session))
    rig.advance(1)
    say(rig.agent, "much later")
    rig.agent.update(sessionUpdate="tool_call_update", toolCallId="unknown", status="completed")
    rig.advance(1)
    assert updates(rig, caller)[-3:] == ["idle", "agent_message_chunk", "tool_call_update"]
    found = rig.session(session)
    assert found is not None
    assert not found.is_busy
    if rig.shelf is not None:
        assert b"much later" in b"".join(entry.body for entry in rig.shelf.entries[session])
        assert not rig.shelf.sessions[session].turn_open
    answered(rig, begin(rig, caller, session))
    rig.advance(1)
    assert updates(rig, caller).count("idle") == 2
    ended(rig, caller, session)


def test_what_is_told_before_a_session_is_open_is_told_behind_its_answer_in_order(kept: bool) -> None:
    """SES-4"""

    class Early(V1):
        def __call__(self, agent: Agent, message: Json) -> bool:
            if message.get("method") != "session/new":
                return super().__call__(agent, message)
            say(agent, "early")
            agent.update(sessionUpdate="available_commands_update", availableCommands=[])
            say(agent, "bird")
            agent.result(message, {"sessionId": agent.session_id})
            return True

    rig, caller, session = opened(kept=kept, script=Early(silent=True))
    order = [told for number, told in rig.told if number == caller]
    assert isinstance(order[0], tuple), "the answer comes first"
    assert updates(rig, caller) == ["agent_message_chunk", "available_commands_update", "agent_message_chunk"]
    assert texts(rig, caller) == ["early", "bird"]
    if rig.shelf is not None:
        assert rig.shelf.kinds(session) == ["update"] * 3
    answered(rig, begin(rig, caller, session))
    rig.advance(1)
    assert stop_reason(rig, caller) == "end_turn"
    ended(rig, caller, session)


def test_what_is_told_of_a_session_that_is_never_opened_is_dropped(kept: bool) -> None:
    """SES-5"""

    class Early(V1):
        def __call__(self, agent: Agent, message: Json) -> bool:
            if message.get("method") == "session/new":
                other = {"sessionId": "another", "update": {"sessionUpdate": "plan", "entries": []}}
                agent.notify("session/update", other)
            return super().__call__(agent, message)

    rig, caller, session = opened(kept=kept, script=Early(silent=True))
    other = {"sessionId": "another", "update": {"sessionUpdate": "plan", "entries": []}}
    rig.agent.notify("session/update", other)
    assert updates(rig, caller) == []
    ended(rig, caller, session)


def test_a_prompt_echoed_in_its_turn_is_reported_once(kept: bool) -> None:
    rig, caller, session = opened(kept=kept)
    rig.prompt(caller, session, "hello")
    for piece in ("hel", "lo"):
        rig.agent.update(sessionUpdate="user_message_chunk", content={"type": "text", "text": piece})
    answered(rig, rig.agent.requests("session/prompt")[0])
    rig.advance(1)
    assert updates(rig, caller) == ["user_message", "running", "idle"]
    ended(rig, caller, session)
