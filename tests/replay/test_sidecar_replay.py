"""Conversations of real v1 agents through the sidecar: in version 2 their callers see v2, in 1 what the agent wrote."""

from __future__ import annotations

import json
from random import Random

import pytest

from roost.sidecar.gen.messages import AcpErrorResponse, AcpSessionCreatedResponse
from tests.replay.bridge_play import SERVED
from tests.replay.compared import assert_same
from tests.replay.recording import Json, Run, runs
from tests.replay.said import Said
from tests.replay.sidecar_play import SidecarPlay

# What one session of one process can do; second sessions and mistakes are left to the bridge's own replay.
ELSEWHERE = ("-errors", "-two", "-persist")
ALL = [run for run in runs() if run.dialect == 1 and not any(part in run.name for part in ELSEWHERE)]
TALKS = [run for run in ALL if run.requests("session/prompt") and run.opens_a_session]
LOCKED = [run for run in ALL if run.requests("session/new") and not run.opens_a_session]


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("run", TALKS, ids=lambda run: run.name)
def test_a_caller_of_version_2_is_shown_what_a_recorded_v1_agent_said(run: Run, seed: int) -> None:
    play = SidecarPlay(run, Random(seed), 2)
    said = Said(play.agent.log, play.accepted)
    [(identifier, session)] = said.opened().items()
    assert identifier == play.session
    assert_same(play.shown.view, session, said.current(session), in_order=play.agent.is_in_order)
    assert play.shown.stops == session.stops
    assert_asked_and_answered(play)
    play.close()


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("run", [run for run in TALKS if run.answered_version == 1], ids=lambda run: run.name)
def test_a_caller_of_version_1_gets_the_lines_of_a_recorded_agent(run: Run, seed: int) -> None:
    play = SidecarPlay(run, Random(seed), 1)
    assert isinstance(play.created, AcpSessionCreatedResponse)
    texts = {id(line.message): line.text for line in run.lines}
    said = [texts[id(message)] for sign, message in play.agent.log if is_update(sign, message, play.session)]
    told = [text for text in play.notifications() if json.loads(text)["method"] == "session/update"]
    assert told == said
    play.close()


@pytest.mark.parametrize("run", LOCKED, ids=lambda run: run.name)
def test_an_agent_that_wants_a_login_first_opens_no_session_and_is_gone(run: Run) -> None:
    play = SidecarPlay(run, Random(run.name), 2)
    if play.created is not None:  # else it was asked to log in, and printed a page about that
        assert isinstance(play.created, AcpErrorResponse)
        assert play.created.code == "invalid_state"
    play.close()


def is_update(sign: str, message: Json, session_id: str) -> bool:
    return sign == "<" and message.get("method") == "session/update" and message["params"]["sessionId"] == session_id


def assert_asked_and_answered(play: SidecarPlay) -> None:
    """Whatever the agent asked was answered as it was, once; a cancelled turn takes its questions with it."""
    answers = play.rig.agent.answers()
    assert len({repr(answer["id"]) for answer in answers}) == len(answers)
    for sign, recorded in play.agent.log:
        if sign != ">" or "method" in recorded:
            continue
        came = recorded["came"]
        [request] = [
            said
            for sign, said in play.agent.log
            if sign == "<" and "method" in said and said.get("id") == recorded["id"]
        ]
        if request["method"].startswith(SERVED):
            assert came.get("result") == recorded.get("result")
            assert came.get("error", {}).get("code") == recorded.get("error", {}).get("code")
        elif "optionId" in recorded["result"]["outcome"]:
            assert kind_of(request, came) == kind_of(request, recorded)


def kind_of(request: Json, answer: Json) -> str | None:
    """Which kind of option was chosen; an agent may have two of a kind."""
    kinds = {option["optionId"]: option["kind"] for option in request["params"]["options"]}
    return kinds.get(answer["result"]["outcome"].get("optionId"))
