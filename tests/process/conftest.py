"""What the tests of real processes share: a listener that remembers, programs to run, and waits that always end."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from roost.process.base import SpawnPlan
from roost.process.graces import Graces
from roost.process.local import LocalRunner

PROGRAMS = Path(__file__).with_name("programs")
# Every wait for a real process: far more than it needs, so that only a hang reaches it.
PATIENCE = 15.0


class Recorder:
    """Remembers what an agent did, and lets a test wait for it."""

    def __init__(self) -> None:
        self.stdout = bytearray()
        self.stderr_bytes = 0
        self.stderr_tail = b""
        self.largest_chunk = 0
        self.exits: list[int | None] = []
        self.after_exit = 0
        self.drained = 0
        self.log: list[str] = []
        self._changed = asyncio.Event()

    def agent_wrote(self, chunk: bytes) -> None:
        self.after_exit += len(self.exits)
        self.largest_chunk = max(self.largest_chunk, len(chunk))
        self.stdout += chunk
        self._changed.set()

    def agent_wrote_stderr(self, chunk: bytes) -> None:
        self.after_exit += len(self.exits)
        self.largest_chunk = max(self.largest_chunk, len(chunk))
        self.stderr_bytes += len(chunk)
        self.stderr_tail = (self.stderr_tail + chunk)[-4000:]
        self._changed.set()

    def agent_took_input(self) -> None:
        self.drained += 1
        self._changed.set()

    def agent_exited(self, exit_code: int | None) -> None:
        self.exits.append(exit_code)
        self._changed.set()

    async def until(self, true: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not true():
                self._changed.clear()
                await self._changed.wait()

    async def exited(self) -> int | None:
        await self.until(lambda: bool(self.exits))
        return self.exits[0]

    async def line(self) -> Any:
        """The first line of stdout, decoded from JSON."""
        await self.until(lambda: b"\n" in self.stdout)
        return json.loads(self.stdout.split(b"\n", 1)[0])


def plan(*argv: str, cwd: str = "/", **env: str) -> SpawnPlan:
    return SpawnPlan(argv, {"PATH": os.environ["PATH"], **env}, cwd)


def python(code: str, *args: str, **env: str) -> SpawnPlan:
    """A plan that runs some Python, quickly started."""
    return plan(sys.executable, "-I", "-S", "-c", code, *args, **env)


def program(name: str, *args: str, **env: str) -> SpawnPlan:
    """A plan that runs a file of `programs/`."""
    return plan(sys.executable, "-I", "-S", str(PROGRAMS / name), *args, **env)


async def dead(*pids: int) -> None:
    """Wait until processes, anybody's, have ended."""
    loop = asyncio.get_running_loop()
    for pid in pids:
        try:
            handle = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        ended = loop.create_future()
        loop.add_reader(handle, lambda ended=ended: ended.done() or ended.set_result(None))
        try:
            async with asyncio.timeout(PATIENCE):
                await ended
        except TimeoutError:
            raise AssertionError(f"process {pid} is still alive") from None
        finally:
            loop.remove_reader(handle)
            os.close(handle)


def alive(pid: int) -> bool:
    """Whether it runs; a dead one that nobody has collected does not."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except (FileNotFoundError, ProcessLookupError):
        return False


async def until(true: Callable[[], bool]) -> None:
    """Wait for something that nobody announces."""
    async with asyncio.timeout(PATIENCE):
        while not true():  # noqa: ASYNC110
            await asyncio.sleep(0.005)  # the one place that polls


class Tools:
    """The functions above, for tests: they cannot import this file."""

    Recorder = Recorder
    patience = PATIENCE
    programs = PROGRAMS
    plan = staticmethod(plan)
    python = staticmethod(python)
    program = staticmethod(program)
    dead = staticmethod(dead)
    alive = staticmethod(alive)
    until = staticmethod(until)


@pytest.fixture
def tools() -> type[Tools]:
    return Tools


@pytest.fixture
async def runner() -> AsyncIterator[LocalRunner]:
    """A runner without a guard: most tests end what they start."""
    made = LocalRunner(
        python=None, graces=Graces(close_grace=0.0, leftover_grace=0.1, output_grace=0.1, leave_grace=0.2)
    )
    yield made
    await made.shutdown()


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()
