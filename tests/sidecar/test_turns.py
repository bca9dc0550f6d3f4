"""Whether an agent works on a prompt, in either version."""

from __future__ import annotations

from typing import Any

import pytest

from roost.sidecar.conversation import Stage
from roost.sidecar.turns import Turns
from tests.sidecar.rig import Rig


def stage() -> Stage:
    def broken(error: Exception) -> None:
        raise error

    return Stage(broken)


def played(by_state: bool, *steps: Any) -> Turns:
    turns = Turns(stage(), by_state=by_state)
    for step in steps:
        apply(turns, step)
    return turns


def apply(turns: Turns, step: Any) -> None:
    match step:
        case "sent":
            turns.prompt_sent(3)
        case "sent 4":
            turns.prompt_sent(4)
        case "answered":
            turns.prompt_answered(3, None, failed=False)
        case "answered 4":
            turns.prompt_answered(4, None, failed=False)
        case "ended":
            turns.prompt_answered(3, "end_turn", failed=False)
        case "failed":
            turns.prompt_answered(3, None, failed=True)
        case "idle":
            turns.state_told("idle", None)
        case "idle end_turn":
            turns.state_told("idle", "end_turn")
        case "reset":
            turns.reset()
        case state:
            turns.state_told(state, None)


@pytest.mark.parametrize(
    ("steps", "busy"),
    [
        ([], False),
        (["sent"], True),
        (["sent", "ended"], False),
        (["sent", "failed"], False),
        (["sent", "sent 4", "ended"], True),
        (["sent", "sent 4", "ended", "answered 4"], False),
        (["answered"], False),  # nobody asked
        (["sent", "reset"], False),
        (["sent", "reset", "ended"], False),
    ],
)
def test_a_version_1_turn_is_an_open_prompt(steps: list[str], busy: bool) -> None:
    assert played(False, *steps).busy is busy


@pytest.mark.parametrize(
    ("steps", "busy"),
    [
        (["sent", "answered"], True),  # accepted, nothing more
        (["sent", "answered", "running"], True),
        (["sent", "answered", "running", "idle"], False),
        (["sent", "answered", "running", "idle end_turn"], False),
        (["sent", "answered", "requires_action", "running", "idle"], False),
        (["sent", "answered", "thinking_hard"], True),  # FWD-7: an unknown state is not idle
        (["sent", "answered", "thinking_hard", "idle"], False),
        (["sent", "answered", "idle"], True),  # PRM-10: a stale idle
        (["sent", "answered", "idle end_turn"], False),
        (["sent", "idle", "answered"], True),
        (["sent", "running", "answered"], True),
        (["sent", "running", "answered", "idle"], False),
        (["sent", "running", "idle", "answered"], False),  # it answers at the end
        (["sent", "running", "idle end_turn", "answered", "idle"], False),
        (["sent", "failed"], False),
        (["running"], True),  # work of the agent's own
        (["running", "idle"], False),
        (["running", "sent", "idle end_turn", "answered"], True),  # that idle was the other turn's
        (["running", "sent", "answered", "idle end_turn"], False),  # one span may serve several prompts
        (["sent", "answered", "running", "sent 4", "idle", "answered 4"], True),
        (["sent", "answered", "running", "sent 4", "idle", "running", "answered 4", "idle"], False),
        (["sent", "answered", "running", "reset"], False),
    ],
)
def test_a_version_2_turn_ends_at_the_idle_after_its_running_or_with_a_reason(steps: list[str], busy: bool) -> None:
    assert played(True, *steps).busy is busy


@pytest.mark.parametrize(
    ("by_state", "steps", "ending", "reason"),
    [
        (False, ["sent"], "ended", "end_turn"),
        (False, ["sent"], "failed", None),
        (False, ["sent"], "reset", None),
        (True, ["sent", "answered", "running"], "idle end_turn", "end_turn"),
        (True, ["sent", "answered", "running"], "idle", None),
        (True, ["sent", "running", "idle end_turn"], "answered", "end_turn"),
        (True, ["running"], "idle end_turn", "end_turn"),
    ],
)
def test_the_end_says_why(by_state: bool, steps: list[str], ending: str, reason: str | None) -> None:
    turns = played(by_state, *steps)
    ended = turns.ended()
    assert not ended.settled
    apply(turns, ending)
    assert ended.settled
    assert ended.value == reason
    assert turns.ended() is not ended


def test_a_reset_may_say_why() -> None:
    turns = played(True, "running")
    ended = turns.ended()
    turns.reset("cancelled")
    assert ended.value == "cancelled"


@pytest.mark.parametrize("version", [1, 2])
def test_an_answered_prompt_and_an_answered_choice_leave_nothing_behind(version: int) -> None:
    rig = Rig()
    caller = rig.connect()
    session = rig.create(caller, protocol_version=version).session_id
    for _ in range(3):
        rig.prompt(caller, session)
        rig.request(caller, session, "session/set_mode", {"modeId": "code"})
    found = rig.session(session)
    assert found is not None
    assert found.prompts == {}
    assert found.choices == []
    assert not found.is_busy
