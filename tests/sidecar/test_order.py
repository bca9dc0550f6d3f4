"""Events and answers around each other: what a caller hears is in the order the agent wrote it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.sidecar.rig import Rig, create_request
from tests.sidecar.scripted_agent import Agent, Json


def line(message: Any) -> bytes:
    return json.dumps(message).encode() + b"\n"


def update(name: str, **more: Any) -> Json:
    return {"jsonrpc": "2.0", "method": "session/update", "params": {"update": {"sessionUpdate": name, **more}}}


def answer(number: int, **result: Any) -> Json:
    return {"jsonrpc": "2.0", "id": number, "result": result}


def heard(rig: Rig, caller: int) -> list[Any]:
    """Names of updates, methods of other notifications, numbers of answers."""
    out: list[Any] = []
    for connection, told in rig.told:
        if connection != caller:
            continue
        if isinstance(told, tuple):
            out.append(told[0])
        else:
            message = json.loads(told.notification)
            out.append(message["params"].get("update", {}).get("sessionUpdate", message["method"]))
    return out


def opened(version: int = 1) -> tuple[Rig, int, str]:
    rig = Rig(lambda agent, message: message.get("method") in ("session/prompt", "_x"))
    caller = rig.connect()
    session = rig.create(caller, protocol_version=version).session_id
    rig.told.clear()
    return rig, caller, session


def test_answers_come_where_they_stand_between_the_updates_of_one_chunk() -> None:
    rig, caller, session = opened()
    one, two = rig.request(caller, session, "_x"), rig.request(caller, session, "_x")
    rig.agent.write(
        line(update("a"))
        + line(answer(4))
        + line(update("b"))
        + line(update("c"))
        + line(answer(3))
        + line(update("d"))
    )
    assert heard(rig, caller) == ["a", two, "b", "c", one, "d"]


def test_answers_come_where_they_stand_in_a_batch() -> None:
    rig, caller, session = opened()
    one = rig.request(caller, session, "_x")
    rig.agent.write(line([update("a"), answer(3), update("b")]))
    assert heard(rig, caller) == ["a", one, "b"]


def test_a_cancel_is_answered_at_the_idle_and_not_after_what_follows() -> None:
    rig, caller, session = opened(2)
    prompt = rig.prompt(caller, session)
    rig.agent.write(line(answer(3)) + line(update("state_update", state="running")))
    cancel = rig.request(caller, session, "session/cancel")
    rig.told.clear()
    rig.agent.write(line(update("state_update", state="idle", stopReason="cancelled")) + line(update("late")))
    assert heard(rig, caller) == ["state_update", cancel, "late"]
    assert prompt


def test_a_synthetic_update_comes_before_the_answer_it_belongs_to() -> None:
    rig, caller, session = opened()
    request = rig.request(caller, session, "session/set_mode", {"modeId": "m"})
    assert heard(rig, caller) == ["current_mode_update", request]


@pytest.mark.parametrize("cut", [True, False])
def test_what_follows_the_session_new_answer_in_its_chunk_follows_it(cut: bool) -> None:
    def script(agent: Agent, message: Json) -> bool:
        if message["method"] != "session/new":
            return False
        lines = [line(update("early")), line(answer(2, sessionId="s")), line(update("late"))]
        for part in lines if cut else [b"".join(lines)]:
            agent.write(part)
        return True

    rig = Rig(script)
    caller = rig.connect()
    request = rig.send(caller, create_request())
    assert heard(rig, caller) == [request, "early", "late"]


def test_sessions_do_not_wait_for_each_other() -> None:
    rig, caller, session = opened()
    other = rig.create(caller).session_id
    rig.told.clear()
    slow = rig.prompt(caller, session)
    rig.prompt(caller, other)
    quick = rig.request(caller, other, "session/set_mode", {})
    rig.agents["acp-agent-2"].write(line(answer(3, stopReason="end_turn")))
    assert rig.reply(caller, slow) is None
    assert quick in heard(rig, caller)
    rig.agents["acp-agent-1"].write(line(answer(3, stopReason="end_turn")))
    assert rig.reply(caller, slow) is not None


def test_updates_in_a_batch_are_followed_like_any_other() -> None:
    rig, caller, session = opened()
    rig.agent.write(line([update("config_option_update", configOptions=[{"id": "a"}]), {"jsonrpc": "2.0"}]))
    assert rig.state(caller, session).config_options == ['{"id": "a"}']
