"""Cases about programs: writers at once, agents that crash, many sessions, a daemon that is told to end."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from pathlib import Path

import pytest

from roost.errors import RoostError
from roost.host import AgentCrashed, Host, Notification, Session, embedded
from tests.cli.rig import daemon, ended, pids_told, program, scripted

SCRIPTED = f"{sys.executable} -P -m roost.testing.scripted"
WRITERS = """
import asyncio, threading
from roost.sdk.agent import Agent
from roost.sdk.turn import Turn

agent = Agent("writers", "1")

@agent.prompt
async def answer(turn: Turn) -> None:
    async def write(name: str) -> None:
        for number in range(200):
            await turn.raw_update({"sessionUpdate": "_x/line", "name": name, "number": number, "pad": "x" * 3000})
    await asyncio.gather(*(write(str(number)) for number in range(20)))

agent.run()
"""


@pytest.fixture(autouse=True)
def nobody_elses_daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No daemon, no packages and no journal of whoever runs the tests."""
    monkeypatch.delenv("ROOST_SOCKET", raising=False)
    for name in ("XDG_RUNTIME_DIR", "XDG_DATA_HOME", "XDG_STATE_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))


def command(code: str, tmp_path: Path) -> str:
    file = tmp_path / "agent.py"
    file.write_text(code)
    return f"{sys.executable} {file}"


async def test_h_08_many_writers_at_once_never_mix_their_lines(tmp_path: Path) -> None:
    async with embedded() as host:
        session = await host.create_session(command(WRITERS, tmp_path), cwd=str(tmp_path), protocol_version=2)
        numbers: dict[str, list[int]] = {}
        async for event in session.prompt("go"):
            if isinstance(event, Notification):
                update = event.raw_update
                if update["sessionUpdate"] == "_x/line":
                    assert len(update["pad"]) == 3000
                    numbers.setdefault(update["name"], []).append(update["number"])
        assert numbers == {str(name): list(range(200)) for name in range(20)}


async def test_h_39_an_agent_that_crashes_fails_its_own_session_with_its_exit_and_its_last_words(
    tmp_path: Path,
) -> None:
    async with embedded() as host:
        one = await scripted_session(host, tmp_path)
        two = await scripted_session(host, tmp_path)
        with pytest.raises(RoostError) as crash:
            await one.prompt("note the reason\nexit 7")
        assert isinstance(crash.value, AgentCrashed)
        assert crash.value.exit_code == 7
        assert "the reason" in crash.value.stderr
        assert (await two.prompt("text still here")).stop_reason == "end_turn"


async def test_h_40_a_hundred_turns_of_twenty_sessions_keep_to_themselves_and_in_order(tmp_path: Path) -> None:
    async def use(number: int) -> None:
        session = await scripted_session(host, tmp_path)
        for turn in range(5):
            words = [f"{number}-{turn}-{piece}" for piece in range(20)]
            heard = [
                event.raw_update["content"]["text"]
                async for event in session.prompt("\n".join(f"text {word}" for word in words))
                if isinstance(event, Notification) and event.raw_update["sessionUpdate"] == "agent_message_chunk"
            ]
            assert heard == words
        await session.close()

    async with embedded() as host:
        await asyncio.gather(*(use(number) for number in range(20)))


async def scripted_session(host: Host, cwd: Path) -> Session:
    return await host.create_session(SCRIPTED, cwd=str(cwd), protocol_version=2)


def test_h_42_a_daemon_that_is_told_to_end_ends_its_agents_and_says_so(tmp_path: Path) -> None:
    socket = tmp_path / "s"
    with daemon(socket) as served, program("run", "--json", "--socket", str(socket), scripted(), "family") as run:
        run.until("pids ")
        told = next(line for line in run.stdout.splitlines() if b"pids " in line)
        pids = pids_told(json.dumps(json.loads(told)).replace('"', "\n").replace("\\n", "\n"))
        served.process.send_signal(signal.SIGTERM)
        assert served.end() == 0
        assert ended(*pids)
        assert run.end() != 0
    assert not socket.exists()
