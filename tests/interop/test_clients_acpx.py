"""`acpx`, a command line client of v1 from npm, with our agents: one prompt, permissions, and sessions it keeps.

The version that runs on every node is tried always; the newest, which brings its own, when `ROOST_INTEROP` is
`all`. Each run has a home of its own, and is looked for by it: nothing may be left of it.
"""

from __future__ import annotations

import asyncio
import json
import os
import platform
import select
import shlex
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.interop.installed import installed
from tools.interop.clients import ACPX, ACPX_NEWEST, NODE_22

TIMEOUT = 45
LEFT_TIMEOUT = 10
PEERS = Path(__file__).parent / "peers"
WREN = [sys.executable, "-m", "roost.agents.wren"]
NOTE = "write note.txt\n```\nhello\n```"

CODES = {"--approve-all": 0, "--deny-all": 5}  # what it exits with: 5 when it denied something

Json = dict[str, Any]


class Acpx:
    """One home, one workspace, one agent."""

    def __init__(self, program: list[str], root: Path, agent: list[str]) -> None:
        self.cwd = root / "work"
        self.home = root / "home"
        for folder in (self.cwd, self.home):
            folder.mkdir()
        self._program = [*program, "--cwd", str(self.cwd), "--ttl", "20", "--agent", shlex.join(agent)]

    async def run(self, *arguments: str, flags: tuple[str, ...] = (), exit_code: int = 0) -> str:
        """What it printed."""
        words = [*self._program, *flags, *arguments]
        process = await asyncio.create_subprocess_exec(
            *words,
            cwd=self.cwd,
            env={"PATH": os.environ["PATH"], "HOME": str(self.home)},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            async with asyncio.timeout(TIMEOUT):
                out, err = await process.communicate()
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        assert process.returncode == exit_code, (out.decode(), err.decode())
        return out.decode()

    async def talk(self, *arguments: str, flags: tuple[str, ...] = (), exit_code: int = 0) -> Talk:
        out = await self.run(*arguments, flags=("--format", "json", *flags), exit_code=exit_code)
        return Talk([json.loads(line) for line in out.splitlines()])


def left_of(home: Path) -> list[int]:
    """Processes that were started with this home, and run still."""
    mark = f"HOME={home}".encode()
    found: list[int] = []
    if sys.platform != "linux":
        return found  # nowhere to look
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
        except OSError:
            continue  # it has ended, or is not ours
    return found


class Talk:
    """The messages of one command, both ways, as `acpx` prints them."""

    def __init__(self, messages: list[Json]) -> None:
        self.messages = messages

    @property
    def text(self) -> str:
        chunks = [each["content"]["text"] for each in self.updates if each["sessionUpdate"] == "agent_message_chunk"]
        return "".join(chunks)

    @property
    def updates(self) -> list[Json]:
        return [each["params"]["update"] for each in self.messages if each.get("method") == "session/update"]

    @property
    def stop_reason(self) -> str:
        found: list[str] = [
            each["result"]["stopReason"] for each in self.messages if "stopReason" in each.get("result", {})
        ]
        return found[-1]

    def asked(self, method: str) -> list[Json]:
        return [each["params"] for each in self.messages if each.get("method") == method]


@pytest.fixture(scope="module", params=[ACPX, ACPX_NEWEST], ids=lambda pin: pin.version)
def program(request: pytest.FixtureRequest) -> list[str]:
    acpx, node = request.param, "node"
    if acpx == ACPX_NEWEST:
        if os.environ.get("ROOST_INTEROP") != "all":
            pytest.skip("the newest acpx needs a newer node, which is large: make interop")
        if (sys.platform, platform.machine()) != ("linux", "x86_64"):
            pytest.skip("npm has that node for Linux on x86_64 only")
        installed(NODE_22)
        node = str(NODE_22.program("bin/node"))
    installed(acpx, own_node=acpx == ACPX_NEWEST)
    return [node, str(acpx.program("dist/cli.js"))]


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    """Ends what a failed test has left."""
    yield tmp_path
    for pid in left_of(tmp_path / "home"):
        os.kill(pid, signal.SIGKILL)


def assert_nothing_is_left(acpx: Acpx) -> None:
    """What is ending gets the time to: a process that has ended can be read from."""
    for pid in left_of(acpx.home):
        try:
            ending = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        try:
            readable, _, _ = select.select([ending], [], [], LEFT_TIMEOUT)
        finally:
            os.close(ending)
        assert readable, f"process {pid} was left running"
    assert not left_of(acpx.home)


def small(root: Path) -> list[str]:
    return [sys.executable, str(PEERS / "small_agent.py"), str(root / "sessions")]


async def test_acpx_executes_a_prompt_with_a_small_agent_of_ours(program: list[str], root: Path) -> None:
    acpx = Acpx(program, root, small(root))
    talk = await acpx.talk("exec", "grüß dich 🦉")
    assert talk.text == "grüß dich 🦉 (0 before)"
    assert talk.stop_reason == "end_turn"
    assert_nothing_is_left(acpx)


async def test_acpx_executes_a_prompt_with_wren(program: list[str], root: Path) -> None:
    acpx = Acpx(program, root, WREN)
    talk = await acpx.talk("exec", "say grüß dich 🦉")
    assert "grüß dich 🦉" in talk.text
    assert talk.stop_reason == "end_turn"
    assert_nothing_is_left(acpx)


@pytest.mark.parametrize(("flag", "said"), [("--approve-all", "allowed"), ("--deny-all", "denied")])
async def test_acpx_answers_a_permission_of_a_small_agent_of_ours(
    program: list[str], root: Path, flag: str, said: str
) -> None:
    acpx = Acpx(program, root, small(root))
    talk = await acpx.talk("exec", "ask", flags=(flag,), exit_code=CODES[flag])
    assert len(talk.asked("session/request_permission")) == 1
    assert talk.text == said
    assert talk.stop_reason == "end_turn"
    assert_nothing_is_left(acpx)


@pytest.mark.parametrize(("flag", "written"), [("--approve-all", True), ("--deny-all", False)])
async def test_acpx_lets_wren_write_a_file_or_not(program: list[str], root: Path, flag: str, written: bool) -> None:
    acpx = Acpx(program, root, WREN)
    talk = await acpx.talk("exec", NOTE, flags=(flag,), exit_code=CODES[flag])
    assert len(talk.asked("session/request_permission")) == 1
    assert (acpx.cwd / "note.txt").exists() is written
    assert talk.updates[-1]["sessionUpdate"] in ("agent_message_chunk", "usage_update", "tool_call_update")
    assert talk.stop_reason == "end_turn"
    assert_nothing_is_left(acpx)


async def test_acpx_keeps_a_session_of_a_small_agent_of_ours_over_its_processes(program: list[str], root: Path) -> None:
    """It loads the session into a new process of the agent, which shows it what was said before."""
    acpx = Acpx(program, root, small(root))
    session_id = (await acpx.run("sessions", "new", flags=("--format", "quiet"))).strip()
    first = await acpx.talk("prompt", "one")
    second = await acpx.talk("prompt", "two")
    assert (first.text, second.text) == ("one (0 before)", "two (1 before)")
    prompts = [*first.asked("session/prompt"), *second.asked("session/prompt")]
    assert [params["sessionId"] for params in prompts] == [session_id] * 2
    status = await acpx.run("status")
    assert "running" in status
    await acpx.run("sessions", "close")
    assert_nothing_is_left(acpx)


async def test_acpx_changes_a_setting_of_wrens_session(program: list[str], root: Path) -> None:
    acpx = Acpx(program, root, WREN)
    await acpx.run("sessions", "new")
    first = await acpx.talk("prompt", "say one")
    assert "one" in first.text
    changed = await acpx.talk("set", "detail", "brief")
    assert "brief" in json.dumps(changed.messages)
    second = await acpx.talk("prompt", "say two")
    assert "two" in second.text
    await acpx.run("sessions", "close")
    assert_nothing_is_left(acpx)
