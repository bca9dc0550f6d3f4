"""Conversations of real v1 agents through the bridge: a client of v2 is shown what was said, and nothing else is lost.

Each message for the client is decoded strictly on its way (BridgePlay); the recordings are chunked and timed by a seed.
"""

from __future__ import annotations

from random import Random

import pytest

from roost.acp.bridge.losses import LOSSES
from tests.replay.bridge_play import LAST_WORDS, BridgePlay
from tests.replay.compared import assert_same
from tests.replay.recording import Json, Run, runs
from tests.replay.said import Said

SEEDS = range(3)
V1 = [run for run in runs() if run.dialect != 2]
# What comes of how these agents are made, and of how the recorder behaved; see the table for what it means.
EXPECTED_LOSSES = {
    *(
        "client_files",
        "acceptance",
        "message_id",
        "failed_turn",
        "user_echo",
        "mcp_sse",
        "mode_duplicate",
        "emulated_list",
    ),
    *("early_update", "late_answer", "vendor_traffic"),
}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("run", V1, ids=lambda run: run.name)
def test_a_client_of_v2_is_shown_what_a_recorded_v1_agent_said(run: Run, seed: int) -> None:
    play = BridgePlay(run, Random(seed))
    said = Said(play.agent.log, play.accepted, f"the other side is gone: {LAST_WORDS}")
    opened = said.opened()
    assert set(play.sessions) == set(opened)
    for identifier, session in opened.items():
        shown = play.sessions[identifier]
        assert_same(shown.view, session, said.current(session), in_order=play.agent.is_in_order)
        assert shown.stops == session.stops
    assert_losses(play, said)
    assert_answers(play, said)
    assert_outcomes(play)
    assert not [each for each in play.agent.unexpected if "method" in each and "id" in each], "asked on its own"


def assert_losses(play: BridgePlay, said: Said) -> None:
    """Each is in the table, is one that can be here, and is counted as often as the recording has it."""
    counts = play.bridge.losses.counts
    assert counts.keys() <= LOSSES.keys()
    assert counts.keys() <= EXPECTED_LOSSES
    for name in ("early_update", "late_answer", "failed_turn", "user_echo"):
        assert counts.get(name, 0) == said.losses[name], name
    assert counts.get("acceptance", 0) == sum(len(session.stops) for session in said.sessions.values()) + said.cleared
    if play.agent.is_in_order:
        assert counts.get("message_id", 0) == sum(session.unnamed for session in said.opened().values())
    assert counts.get("vendor_traffic", 0) == sum(
        line.message is not None and line.message.get("method") == "no/such_notification" for line in play.run.lines
    )


def assert_answers(play: BridgePlay, said: Said) -> None:
    """An agent's refusals reach the client with their code, their message and their data."""
    answers = {repr(request["id"]): answer for request, answer in play.answers}
    for request, recorded in said.answers:
        shown = answers[repr(request["id"])]
        if "error" in recorded and "error" in shown:
            assert shown["error"] == recorded["error"]
        elif "error" in recorded:
            assert request["method"] == "session/prompt"  # a turn that failed
        else:
            assert "error" not in shown, shown
        if request["method"] == "session/list":
            assert [each["sessionId"] for each in shown["result"]["sessions"]] == [
                each["sessionId"] for each in recorded["result"]["sessions"]
            ]


def assert_outcomes(play: BridgePlay) -> None:
    """Whatever the agent asked is answered once, as it was by the recorded client."""
    asked = {
        message["id"] for sign, message in play.agent.log if sign == "<" and "method" in message and "id" in message
    }
    assert set(play.outcomes) == asked
    for sign, recorded in play.agent.log:
        if sign == ">" and "method" not in recorded:
            assert _outcome(recorded["came"]) == _outcome(recorded)


def _outcome(answer: Json) -> Json:
    return {name: answer[name] for name in ("result", "error") if name in answer}
