"""`kill -9` of the daemon: no agent, and nothing an agent started, survives it."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import signal
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from roost.errors import ProcessError
from roost.process import guard
from roost.process.graces import Graces
from roost.process.guard import Register
from roost.process.local import LocalRunner
from roost.process.tokens import TokenNote, sweep


class Daemon:
    """`programs/daemon.py`, its output line by line, and everybody it told of."""

    def __init__(self, process: asyncio.subprocess.Process, patience: float) -> None:
        self.process = process
        self.pids: dict[str, int] = {}
        self._patience = patience

    async def line(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        async with asyncio.timeout(self._patience):
            line = await self.process.stdout.readline()
        assert line, "the daemon has ended"
        self.pids |= json.loads(line)
        return self.pids

    async def kill(self) -> None:
        self.process.kill()
        await self.process.wait()


@pytest.fixture
async def start_daemon(tools) -> AsyncIterator[Any]:
    started: list[Daemon] = []

    async def start(words: tuple[str, ...], **options: Any) -> Daemon:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            str(tools.programs / "daemon.py"),
            json.dumps(options),
            str(tools.programs / "tree.py"),
            *words,
            stdout=asyncio.subprocess.PIPE,
            stdin=asyncio.subprocess.DEVNULL,
        )
        daemon = Daemon(process, tools.patience)
        started.append(daemon)
        await daemon.line()
        return daemon

    yield start
    for daemon in started:
        if daemon.process.returncode is None:
            await daemon.kill()
        for pid in daemon.pids.values():
            if pid is not None and tools.alive(pid):
                os.kill(pid, signal.SIGKILL)


def agents(daemon: Daemon) -> list[int]:
    return [pid for name, pid in daemon.pids.items() if name != "guard"]


WORDS = [
    ("setsid", "detached", "stubborn"),
    ("setsid", "detached", "orphan"),
    ("setsid", "detached", "forget"),
    ("setsid", "detached", "bare"),
]


@pytest.mark.parametrize("words", WORDS, ids=" ".join)
@pytest.mark.parametrize("death_signal", [False, True], ids=["guard alone", "guard and death signal"])
async def test_nobody_survives_the_daemon(start_daemon, tools, words, death_signal):
    daemon = await start_daemon(words, death_signal=death_signal)
    assert all(tools.alive(pid) for pid in agents(daemon))
    await daemon.kill()
    await tools.dead(*agents(daemon))


async def test_a_guard_leaves_when_its_work_is_done(start_daemon, tools):
    daemon = await start_daemon(("setsid",), death_signal=False)
    await daemon.kill()
    await tools.dead(daemon.pids["guard"])


async def test_a_guard_acts_also_while_somebody_else_holds_its_pipe_open(tools):
    # In between stands the guard's daemon: it gives the guard a pipe whose other end is ours.
    starter = "import subprocess, sys; g = subprocess.Popen(sys.argv[1:] + [str(__import__('os').getpid())]); " + (
        "print(g.pid, flush=True); g.wait()"
    )
    theirs, ours = os.pipe()
    between = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-S", "-c", starter, sys.executable, "-I", "-S", guard.__file__, secrets.token_hex(8)),
        stdin=theirs,
        stdout=asyncio.subprocess.PIPE,
    )
    os.close(theirs)
    assert between.stdout is not None
    pid = int(await between.stdout.readline())
    status = Path(f"/proc/{pid}/status")
    await tools.until(lambda: ignores(status, signal.SIGTERM))
    between.kill()
    await between.wait()
    await tools.dead(pid)
    os.close(ours)


async def test_the_death_signal_alone_ends_the_agent(start_daemon, tools):
    daemon = await start_daemon(("setsid", "detached", "stubborn"), python=None)
    await daemon.kill()
    await tools.dead(daemon.pids["agent"])


async def test_a_guard_that_died_is_replaced_and_its_successor_knows_everybody(start_daemon, tools):
    daemon = await start_daemon(("setsid", "detached", "stubborn", "bare"), death_signal=False)
    first = daemon.pids["guard"]
    os.kill(first, signal.SIGKILL)
    await daemon.line()
    assert daemon.pids["guard"] != first
    await daemon.kill()
    await tools.dead(*agents(daemon))


async def test_a_guard_survives_what_a_service_manager_sends_to_everybody(start_daemon, tools):
    daemon = await start_daemon(("setsid", "detached", "stubborn"), death_signal=False)
    status = Path(f"/proc/{daemon.pids['guard']}/status")
    await tools.until(lambda: ignores(status, signal.SIGTERM))
    for sig in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        os.kill(daemon.pids["guard"], sig)
    await daemon.kill()
    await tools.dead(*agents(daemon))


def environment(pid: int) -> list[bytes]:
    return sorted(Path(f"/proc/{pid}/environ").read_bytes().rstrip(b"\0").split(b"\0"))


def ignores(status: Path, sig: int) -> bool:
    ignored = next(line for line in status.read_text().splitlines() if line.startswith("SigIgn:"))
    return bool(int(ignored.split()[1], 16) >> (sig - 1) & 1)


async def test_a_daemon_that_died_with_its_guard_is_swept_up_by_the_next(start_daemon, tools, tmp_path):
    daemon = await start_daemon(("setsid", "detached", "stubborn"), death_signal=False, state_dir=str(tmp_path))
    os.kill(daemon.process.pid, signal.SIGSTOP)  # or it would start another guard
    os.kill(daemon.pids["guard"], signal.SIGKILL)
    await daemon.kill()
    assert all(tools.alive(pid) for pid in agents(daemon))
    assert set(sweep(tmp_path)) == set(agents(daemon))
    await tools.dead(*agents(daemon))
    assert list((tmp_path / "process-tokens").iterdir()) == []
    assert sweep(tmp_path) == []


async def test_the_agents_of_a_daemon_that_lives_are_not_swept_up(tools, tmp_path):
    runner = LocalRunner(state_dir=tmp_path, graces=Graces(close_grace=0.0))
    recorder = tools.Recorder()
    runner.spawn(tools.program("tree.py", "setsid", "detached"), recorder)
    pids = await recorder.line()
    assert sweep(tmp_path) == []
    assert all(tools.alive(pid) for pid in pids.values())
    assert [note.name for note in (tmp_path / "process-tokens").iterdir()] == [runner.token]
    await runner.shutdown()
    assert list((tmp_path / "process-tokens").iterdir()) == []


def test_a_sweep_without_a_state_folder_finds_nothing(tmp_path):
    assert sweep(tmp_path / "none") == []


@pytest.mark.parametrize("text", ["", "1 2 3", "x y z w", "1 2 3 4 5", "\xff" * 20, "9" * 2000])
def test_a_note_that_is_none_is_left_alone(tmp_path, text):
    folder = tmp_path / "process-tokens"
    folder.mkdir()
    (folder / "abc").write_bytes(text.encode("latin-1"))
    assert sweep(tmp_path) == []
    assert (folder / "abc").exists()


def written_note(tmp_path: Path) -> tuple[Path, list[str]]:
    TokenNote(tmp_path, "abc").write()
    note = tmp_path / "process-tokens" / "abc"
    return note, note.read_text().split()


def test_a_note_from_before_the_last_boot_is_forgotten_without_a_look(tmp_path, monkeypatch):
    note, (pid, start, _, namespace) = written_note(tmp_path)
    monkeypatch.setattr("roost.process.table.exterminate", lambda *_, **__: pytest.fail("looked"))
    note.write_text(f"{pid} {start} another-boot {namespace}\n")
    assert sweep(tmp_path) == []
    assert not note.exists()


def test_a_note_from_another_pid_namespace_is_left_alone(tmp_path, monkeypatch):
    note, (_, start, boot, _) = written_note(tmp_path)
    monkeypatch.setattr("roost.process.table.exterminate", lambda *_, **__: pytest.fail("looked"))
    note.write_text(f"4194304 {start} {boot} pid:[1]\n")
    assert sweep(tmp_path) == []
    assert note.exists()


def test_a_recycled_pid_does_not_keep_a_token_alive(tmp_path):
    note, (pid, start, boot, namespace) = written_note(tmp_path)
    note.write_text(f"{pid} {int(start) + 1} {boot} {namespace}\n")
    assert sweep(tmp_path) == []
    assert not note.exists()


async def test_a_state_folder_that_cannot_be_written_stops_the_first_start(tools, tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    runner = LocalRunner(state_dir=file, python=None)
    with pytest.raises(ProcessError, match="token cannot be noted"):
        runner.spawn(tools.plan("cat"), tools.Recorder())
    with pytest.raises(ProcessError, match="token cannot be noted"):
        runner.spawn(tools.plan("cat"), tools.Recorder())


async def test_a_guard_is_started_with_the_first_agent_and_gone_after_the_shutdown(tools):
    runner = LocalRunner(graces=Graces(close_grace=0.0))
    assert runner.guard_pid is None
    runner.spawn(tools.plan("cat"), tools.Recorder())
    pid = runner.guard_pid
    assert pid is not None
    assert tools.alive(pid)
    await tools.until(lambda: environment(pid) != [b""])  # it may not have got that far when the start returns
    assert environment(pid) == [b"LANG=C", b"PATH=" + os.defpath.encode()]
    await runner.shutdown()
    assert not tools.alive(pid)


async def test_a_guard_that_does_not_leave_is_not_waited_for(tools, monkeypatch):
    monkeypatch.setattr("roost.process.guard_link._LEAVE_GRACE", 0.05)
    runner = LocalRunner(graces=Graces(close_grace=0.0))
    runner.spawn(tools.plan("cat"), tools.Recorder())
    pid = runner.guard_pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    await runner.shutdown()
    assert not tools.alive(pid)


async def test_agents_run_without_a_guard_when_none_can_be_started(tools, caplog):
    runner = LocalRunner(python="/no/such/python", graces=Graces(close_grace=0.0))
    recorder = tools.Recorder()
    process = runner.spawn(tools.plan("cat"), recorder)
    process.write(b"1\n")
    assert await recorder.line() == 1
    assert "no guard against agents that outlive this daemon" in caplog.text
    await runner.shutdown()


async def test_a_guard_that_stopped_reading_is_replaced(tools, monkeypatch):
    monkeypatch.setattr("roost.process.guard_link._UNREAD_BYTES", 64)
    runner = LocalRunner(graces=Graces(close_grace=0.0))
    runner.spawn(tools.plan("cat"), tools.Recorder())
    pid = runner.guard_pid
    assert pid is not None
    assert runner._guard is not None
    runner._guard.register("x" * 65, 1, 1)
    await tools.dead(pid)
    await tools.until(lambda: runner.guard_pid not in (None, pid))
    await runner.shutdown()


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_the_register_takes_lines_split_anywhere_and_passes_over_strange_ones(size):
    text = b"+ 1 10 100\n+ 2 20 200\nnonsense\n+ x y z\n\xff\n- 3\n- 1\n+ 3 30 300\n+ 4 4"
    register = Register()
    for at in range(0, len(text), size):
        register.feed(text[at : at + size])
    assert register.roots == {"2": (20, 200), "3": (30, 300)}
    assert not register.dismissed
    register.feed(b"\ndismiss\n")
    assert register.dismissed
