"""Real processes, killed, stopped and cut short at random: nothing hangs, nothing is left, others never notice.

40 sessions of scripted agents at one `roost daemon`. Sixteen of them are steady: nobody touches them. Of twelve the
agents are killed and stopped; twelve belong to callers in processes of their own, which are killed and stopped, or
misbehave by themselves. The daemon is stopped now and then, and in the end killed. Seconds: ROOST_CHAOS_SECONDS.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from roost.sidecar.gen.messages import AcpErrorResponse, AcpSessionStateResponse
from tests.chaos.caller import Caller, ConnectionLost
from tests.chaos.scene import PATIENCE, Scene, until
from tests.chaos.victim import WAYS

SECONDS = float(os.environ.get("ROOST_CHAOS_SECONDS", "5"))
STEADY, STRUCK, VICTIMS = 16, 12, 12
CUT = "import socket, sys; s = socket.socket(1); s.connect(sys.argv[1]); s.send(bytes.fromhex(sys.argv[2]))"
NAMES = ("alice", "bob", "carol", "dave")

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="processes are found by their environment in /proc"),
    pytest.mark.timeout(SECONDS + 200),
]


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    scene = Scene(tmp_path)
    yield scene
    scene.clear()


class Monkey:
    """Strikes at random until told to stop, and leaves nobody stopped."""

    def __init__(self, scene: Scene, struck: list[tuple[Caller, str]]) -> None:
        self._scene = scene
        self._struck = struck
        self._stopped: set[int] = set()
        self._victims: list[subprocess.Popen[bytes]] = []
        self._random = random.Random()
        self.deeds: dict[str, int] = {}

    async def rage(self, seconds: float, hurt: list[str]) -> None:
        """For that long, and on until somebody was hurt."""
        end = time.monotonic() + seconds
        last = end + PATIENCE
        deeds: tuple[Callable[[], object], ...] = (
            self.kill_an_agent,
            self.kill_an_agent,
            self.stop_an_agent,
            self.replace_a_victim,
            self.replace_a_victim,
            self.stop_a_victim,
            self.let_go,
            self.cut_a_frame,
        )
        while time.monotonic() < (end if hurt else last):
            deed = self._random.choice(deeds)
            deed()
            self.deeds[deed.__name__] = self.deeds.get(deed.__name__, 0) + 1
            if self._random.random() < 0.03:
                await self.hold_the_daemon()
            await asyncio.sleep(self._random.random() * 0.1)
        self.let_go()

    def fill_up(self) -> None:
        while len(self._victims) < VICTIMS:
            self._victims.append(self._scene.start_victim(self._random.choice(WAYS)))

    def _agent(self) -> int | None:
        caller, session_id = self._random.choice(self._struck)
        return caller.streams[session_id].pid

    def kill_an_agent(self) -> None:
        pid = self._agent()
        if pid is not None:
            self._scene.signal(pid, signal.SIGKILL)

    def stop_an_agent(self) -> None:
        pid = self._agent()
        if pid is not None:
            self._scene.signal(pid, signal.SIGSTOP)
            self._stopped.add(pid)

    def replace_a_victim(self) -> None:
        victim = self._victims.pop(0)
        victim.kill()
        victim.wait(PATIENCE)
        self.fill_up()

    def stop_a_victim(self) -> None:
        victim = self._random.choice(self._victims)
        if victim.poll() is None:
            victim.send_signal(signal.SIGSTOP)

    def let_go(self) -> None:
        for pid in self._stopped:
            self._scene.signal(pid, signal.SIGCONT)
        self._stopped.clear()
        for victim in self._victims:
            if victim.poll() is None:
                victim.send_signal(signal.SIGCONT)

    def cut_a_frame(self) -> None:
        """Somebody connects, says half of something, and is gone."""
        what = self._random.choice((b"\x00", b"\x00\x00\x00\x20\x00", b"\xff\xff\xff\xff", b"GET / HTTP/1.1\r\n\r\n"))
        half = subprocess.Popen([sys.executable, "-S", "-E", "-c", CUT, str(self._scene.socket), what.hex()])
        self._scene.others.append(half)

    async def hold_the_daemon(self) -> None:
        assert self._scene.daemon is not None
        self._scene.daemon.send_signal(signal.SIGSTOP)
        await asyncio.sleep(self._random.random() * 0.5)
        self._scene.daemon.send_signal(signal.SIGCONT)


async def keep_prompting(caller: Caller, session_id: str, over: asyncio.Event) -> int:
    """A steady session: every turn ends well, with every update in its place."""
    stream, turns = caller.streams[session_id], 0
    while not over.is_set():
        before, count = stream.heard, random.randrange(1, 60)
        outcome = await caller.prompt(session_id, f"{count} {random.choice((0, 1, 3))} {random.choice(('', 'ask'))}")
        assert outcome == "end_turn"
        assert stream.heard - before == count
        assert stream.faults == []
        assert len(stream.last) == 1, "a steady session's agent was replaced"
        turns += 1
    return turns


async def suffer(
    caller: Caller, struck: list[tuple[Caller, str]], place: int, scene: Scene, over: asyncio.Event, hurt: list[str]
) -> None:
    """A session whose agent is struck: every request is answered, and what is heard is in order all the same."""
    while not over.is_set():
        session_id = struck[place][1]
        outcome = await caller.prompt(session_id, f"{random.randrange(1, 60)} 2 ask")
        assert caller.streams[session_id].faults == []
        if isinstance(outcome, AcpErrorResponse):
            hurt.append(outcome.message)
            if "evicted" in outcome.message or "unknown ACP session" in outcome.message:
                struck[place] = (caller, await caller.create(scene.agent_env))


async def test_whatever_is_struck_the_rest_goes_on_and_nothing_is_left(scene: Scene) -> None:
    await scene.start_daemon()
    steady_callers = [await Caller.connect(scene.socket, name) for name in NAMES]
    struck_callers = [await Caller.connect(scene.socket) for _ in range(3)]
    steady = [(caller, await caller.create(scene.agent_env)) for caller in steady_callers * (STEADY // len(NAMES))]
    struck = [(caller, await caller.create(scene.agent_env, child=True)) for caller in struck_callers * (STRUCK // 3)]
    monkey = Monkey(scene, struck)
    monkey.fill_up()

    over, hurt = asyncio.Event(), list[str]()
    async with asyncio.TaskGroup() as group:
        turns = [group.create_task(keep_prompting(caller, session_id, over)) for caller, session_id in steady]
        for place, (caller, _) in enumerate(struck):
            group.create_task(suffer(caller, struck, place, scene, over, hurt))
        await monkey.rage(SECONDS, hurt)
        over.set()
    assert all(task.result() > 0 for task in turns)
    assert hurt, f"nobody was hurt by {monkey.deeds}"
    assert "internal error" not in scene.log

    await _the_daemon_is_killed(scene, steady, [*steady_callers, *struck_callers])
    await _a_new_one_goes_on(scene, [session_id for _, session_id in steady[: len(NAMES)]])


async def _the_daemon_is_killed(scene: Scene, steady: list[tuple[Caller, str]], callers: list[Caller]) -> None:
    """In the middle of many turns: everybody notices at once, and no agent outlives it."""
    assert scene.daemon is not None
    prompts = [asyncio.ensure_future(caller.prompt(session_id, "1000 5")) for caller, session_id in steady]
    await until(lambda: all(caller.streams[sid].heard for caller, sid in steady), "no turn has begun")
    scene.daemon.kill()
    for outcome in await asyncio.gather(*prompts, return_exceptions=True):
        assert isinstance(outcome, ConnectionLost), outcome
    for caller in callers:
        await caller.until_lost()
    for victim in scene.others:
        if victim.poll() is None:
            victim.kill()
    scene.daemon.wait(PATIENCE)
    await scene.until_nothing_is_left()


async def _a_new_one_goes_on(scene: Scene, sessions: list[str]) -> None:
    """The sessions of callers with a name are still theirs, and only theirs; and this one ends when it is told to."""
    await scene.start_daemon()
    assert scene.daemon is not None
    for name, session_id in zip(NAMES, sessions, strict=True):
        caller = await Caller.connect(scene.socket, name)
        assert isinstance(await caller.state(session_id), AcpSessionStateResponse)
        assert await caller.prompt(session_id, "20 0") == "end_turn"
        assert caller.streams[session_id].faults == []
        stranger = await Caller.connect(scene.socket, "mallory")
        assert await stranger.state(session_id) == AcpErrorResponse(
            "invalid_state", f"unknown ACP session {session_id}"
        )
        await stranger.close()
    scene.daemon.terminate()
    assert await asyncio.to_thread(scene.daemon.wait, PATIENCE) == 0
    await scene.until_nothing_is_left()
    assert not scene.socket.exists()
