"""Conversations of real agents with our client: it finds out what they speak, and its views show what they said."""

from __future__ import annotations

from random import Random

import pytest

from roost.errors import AgentExited, ConnectionClosed, RpcError, UnsupportedVersion
from tests.replay.client_play import ClientPlay
from tests.replay.compared import assert_same
from tests.replay.recording import Run, runs
from tests.replay.said import Said

# The recorder's `errors` are mistakes that our client does not make; the bridge is tested with them.
V1 = [run for run in runs() if run.dialect == 1 and "-errors" not in run.name]


def is_echo(run: Run) -> bool:
    """Whether the agent was asked for a version nobody has, and echoed it."""
    return run.dialect == 1 and run.answered_version not in (1, 2)


@pytest.mark.parametrize("run", [run for run in V1 if not is_echo(run)], ids=lambda run: run.name)
async def test_our_clients_views_show_what_a_recorded_v1_agent_said(run: Run) -> None:
    play = ClientPlay(run, Random(run.name))
    await play.play()
    said = Said(play.agent.log, play.accepted, marked=True)
    opened = said.opened()
    assert set(play.sessions) == set(opened)
    for identifier, session in opened.items():
        shown = play.sessions[identifier]
        assert_same(shown.view, session, said.current(session), in_order=play.agent.is_in_order)
        turns = play.turns.get(identifier, [])
        assert all(turn.is_over for turn in turns)
        ends = [turn.end.stop_reason for turn in turns if turn.end is not None]
        assert ends[len(ends) - len(session.stops) :] == session.stops


@pytest.mark.parametrize("run", [run for run in V1 if is_echo(run)], ids=lambda run: run.name)
async def test_an_agent_that_names_a_version_nobody_asked_for_is_refused(run: Run) -> None:
    with pytest.raises(UnsupportedVersion):
        await ClientPlay(run, Random(run.name)).play()


@pytest.mark.parametrize("name", ["claude-acp-eofmid", "gemini-eofmid", "vibe-eofmid"])
async def test_a_turn_that_the_agents_end_cuts_short_fails(name: str) -> None:
    [run] = [run for run in runs() if run.name == name]
    play = ClientPlay(run, Random(name))
    await play.play()
    [[turn]] = play.turns.values()
    assert turn.end is None
    with pytest.raises((AgentExited, ConnectionClosed)):
        await turn.finished()


NEITHER = [run for run in runs() if run.dialect == 0 and "-errors" not in run.name]


@pytest.mark.parametrize("run", NEITHER, ids=lambda run: run.name)
async def test_an_agent_that_ends_without_an_answer_or_refuses_to_speak_cannot_be_connected_to(run: Run) -> None:
    """Some print text and exit (quirk 9), some refuse the version they are asked for."""
    with pytest.raises((AgentExited, ConnectionClosed, UnsupportedVersion, RpcError)):
        await ClientPlay(run, Random(run.name), ends=True).play()
