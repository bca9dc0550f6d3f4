"""Agents that do not answer the version they are asked for: silent, gone, or with an answer that is none (INI-7)."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from roost.errors import (
    AgentExited,
    ConnectionClosed,
    RemoteProtocolError,
    RpcError,
    TransportError,
    UnsupportedVersion,
)
from roost.sdk.client_limits import ClientLimits
from roost.sdk.connect import connect
from tests.sdk.fresh_agents import END, SILENCE, Fresh
from tests.sdk.raw_agent import bounded, eventually

V1 = {"protocolVersion": 1, "agentCapabilities": {}, "agentInfo": {"name": "old", "version": "1"}}
V2 = {"protocolVersion": 2, "info": {"name": "new", "version": "1"}, "capabilities": {}}
REFUSED = RpcError(-32602, "params are wrong")
BRIEF = ClientLimits(negotiation_timeout=0.02)  # for those who never answer; the next trial has a minute


@pytest.mark.parametrize("first", [SILENCE, END, None, [], "2"], ids=["silence", "end", "null", "list", "text"])
async def test_an_agent_that_gives_version_2_no_answer_is_asked_for_version_1(first: object) -> None:
    fresh = Fresh(first, V1)
    async with connect(fresh, limits=BRIEF) as client:
        assert fresh.asked == [2, 1]
        assert fresh.agents[0].is_over
        assert not fresh.agents[1].is_over
        assert client.agent.info.name == "old"


@pytest.mark.parametrize(
    ("first", "why"),
    [
        (SILENCE, "it gave no answer: this program did not answer initialize within 0.02 seconds"),
        (END, "it gave no answer: this program has ended the connection"),
        (None, "it gave no answer: the answer to initialize is no object"),
        (REFUSED, "it answered with an error: params are wrong (-32602)"),
    ],
)
@pytest.mark.parametrize(("second", "kind"), [(END, ConnectionClosed), (REFUSED, RpcError), ([], RemoteProtocolError)])
async def test_when_both_fail_the_last_error_is_raised_and_the_first_is_in_its_notes(
    first: object, why: str, second: object, kind: type[Exception]
) -> None:
    fresh = Fresh(first, second)
    with pytest.raises(kind) as caught:
        await bounded(connect(fresh, limits=BRIEF if first is SILENCE else ClientLimits()))
    assert fresh.asked == [2, 1]
    assert caught.value.__notes__ == [f"asked for ACP version 2 before, {why}"]
    assert all(agent.is_over for agent in fresh.agents)


@pytest.mark.parametrize("patience", [{"negotiation_timeout": 0.01}, {"negotiation_timeout": 600.0}])
async def test_an_agent_that_is_silent_at_both_is_given_up_in_time(patience: dict[str, float]) -> None:
    """`start_timeout` bounds each trial."""
    fresh = Fresh(SILENCE, SILENCE)
    with pytest.raises(TransportError, match=r"did not answer initialize within 0\.02 seconds"):
        await bounded(connect(fresh, limits=ClientLimits(start_timeout=0.02, **patience)))
    assert fresh.asked == [2, 1]
    assert all(agent.is_over for agent in fresh.agents)


async def test_an_agent_of_version_2_that_was_only_slow_is_asked_for_it_again() -> None:
    fresh = Fresh(SILENCE, V2, V2)
    async with connect(fresh, limits=BRIEF) as client:
        assert fresh.asked == [2, 1, 2]
        assert [agent.is_over for agent in fresh.agents] == [True, True, False]
        assert client.agent.info.name == "new"


async def test_an_agent_that_is_slow_for_ever_is_given_up_after_three_trials() -> None:
    fresh = Fresh(SILENCE, V2, END)
    with pytest.raises(ConnectionClosed) as caught:
        await connect(fresh, limits=BRIEF)
    assert fresh.asked == [2, 1, 2]
    assert [note.partition(", it ")[2][:12] for note in caught.value.__notes__] == ["gave no answ", "answered in "]
    assert all(agent.is_over for agent in fresh.agents)


async def test_an_agent_whose_version_is_known_has_all_the_time_there_is() -> None:
    fresh = Fresh(V1)
    async with connect(fresh, speaks=1, limits=ClientLimits(negotiation_timeout=0.0)):
        assert fresh.asked == [1]


async def test_an_agent_that_is_known_wrongly_and_silent_is_found_out() -> None:
    fresh = Fresh(END, V2)
    async with connect(fresh, speaks=1):
        assert fresh.asked == [1, 2]


@pytest.mark.parametrize("deed", [SILENCE, END, None])
async def test_an_agent_that_cannot_be_reached_anew_is_asked_once(deed: object) -> None:
    fresh = Fresh(deed)
    with pytest.raises((TransportError, RemoteProtocolError)) as caught:
        await connect(fresh(), limits=ClientLimits(start_timeout=0.05))
    assert fresh.asked == [2]
    assert not hasattr(caught.value, "__notes__")


@pytest.mark.parametrize(
    ("named", "kind"),
    [(9, UnsupportedVersion), (0, UnsupportedVersion), (True, RemoteProtocolError), (None, RemoteProtocolError)],
)
async def test_an_answer_in_the_shape_of_version_1_names_a_version_that_is_known(
    named: object, kind: type[Exception]
) -> None:
    fresh = Fresh(REFUSED, {**V1, "protocolVersion": named})
    with pytest.raises(kind):
        await connect(fresh)
    assert fresh.asked == [2, 1]
    assert all(agent.is_over for agent in fresh.agents)


async def test_version_2_is_tried_when_an_agent_known_to_speak_1_names_neither() -> None:
    fresh = Fresh({**V1, "protocolVersion": 9}, V2)
    async with connect(fresh, speaks=1):
        assert fresh.asked == [1, 2]


async def test_giving_up_in_the_second_trial_leaves_nobody() -> None:
    fresh = Fresh(END, SILENCE)
    opening = asyncio.ensure_future(connect(fresh).open())
    await eventually(lambda: len(fresh.agents) == 2 and fresh.tasks[1].done())
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    assert all(agent.is_over for agent in fresh.agents)


# ---- as processes

PROGRAM = """
import json, os, sys
with open(sys.argv[1], "a") as file:
    file.write(f"{os.getpid()}\\n")
for line in sys.stdin:
    message = json.loads(line)
    if message["params"]["protocolVersion"] != int(sys.argv[2]):
        sys.exit("what is that?")
    result = {"protocolVersion": 1, "agentCapabilities": {}, "agentInfo": {"name": "old", "version": "1"}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


def command(pids: Path, speaks: int) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", PROGRAM, str(pids), str(speaks)]


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_a_program_that_exits_at_version_2_is_started_again_and_the_first_is_gone(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    async with connect(command(pids, 1)) as client:
        assert client.agent.info.name == "old"
        first, second = map(int, pids.read_text().split())
        assert not is_alive(first)
        assert is_alive(second)
    assert not is_alive(second)


async def test_a_program_that_exits_at_both_says_how(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    with pytest.raises(AgentExited, match=r"what is that\?") as caught:
        await connect(command(pids, 0))
    assert caught.value.exit_code == 1
    assert "exit code 1" in caught.value.__notes__[0]
    assert not any(is_alive(int(pid)) for pid in pids.read_text().split())
