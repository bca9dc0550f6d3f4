"""The processes of a chaos test: the daemon and what descends from it, found by a mark in their environment."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 30.0
MARK = "ROOST_CHAOS"


class Scene:
    """One test's. `mark` is in the environment of the daemon, `agents` in that of agents and what they start."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.socket = folder / "s"
        self.value = os.urandom(8).hex()
        self.daemon: subprocess.Popen[bytes] | None = None
        self.others: list[subprocess.Popen[bytes]] = []

    @property
    def agent_env(self) -> dict[str, str]:
        return {MARK: self.value}

    async def start_daemon(self) -> None:
        self.socket.unlink(missing_ok=True)
        self.daemon = self._spawn_daemon()
        await until(lambda: self.socket.exists() or self._daemon_ended(), "the daemon does not listen")
        assert not self._daemon_ended(), self.log

    def _spawn_daemon(self) -> subprocess.Popen[bytes]:
        environment = {
            **os.environ,
            MARK: self.value,
            "XDG_RUNTIME_DIR": str(self.folder / "run"),
            "XDG_DATA_HOME": str(self.folder / "data"),
            "XDG_STATE_HOME": str(self.folder / "state"),
            "XDG_CONFIG_HOME": str(self.folder / "config"),
        }
        with (self.folder / "daemon.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "roost.cli.main", "daemon", "--socket", str(self.socket)],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=ROOT,
            )

    def _daemon_ended(self) -> bool:
        return self.daemon is not None and self.daemon.poll() is not None

    @property
    def log(self) -> str:
        return (self.folder / "daemon.log").read_text(errors="replace")

    def start_victim(self, way: str) -> subprocess.Popen[bytes]:
        arguments = [sys.executable, "-m", "tests.chaos.victim", str(self.socket), way, MARK, self.value]
        devnull = subprocess.DEVNULL
        victim = subprocess.Popen(arguments, cwd=ROOT, stdin=devnull, stdout=devnull, stderr=devnull)
        self.others.append(victim)
        return victim

    def signal(self, pid: int, number: int) -> None:
        """Only to processes of this test, whatever a pid means by now."""
        if self.value in _environment(pid):
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    def left(self) -> list[int]:
        """Processes with the mark: the daemon, its guard, agents, and what agents have started."""
        pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
        return [pid for pid in pids if pid != os.getpid() and self.value in _environment(pid)]

    async def until_nothing_is_left(self) -> None:
        await until(lambda: not self.left(), lambda: f"still there: {[_shown(pid) for pid in self.left()]}")

    def clear(self) -> None:
        """Whatever happened, nothing of it stays."""
        for process in (*self.others, *([self.daemon] if self.daemon is not None else [])):
            if process.poll() is None:
                process.kill()
            process.wait(PATIENCE)
        for pid in self.left():
            self.signal(pid, signal.SIGKILL)


async def until(true: Callable[[], object], complaint: str | Callable[[], str]) -> None:
    """Looks again and again, but not for ever."""
    end = time.monotonic() + PATIENCE
    while not true():
        if time.monotonic() > end:
            raise AssertionError(complaint if isinstance(complaint, str) else complaint())
        await asyncio.sleep(0.05)


def _environment(pid: int) -> str:
    """Empty for a process that has ended, a zombie too."""
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace")
    except OSError:
        return ""


def _shown(pid: int) -> str:
    with suppress(OSError):
        return f"{pid} {Path(f'/proc/{pid}/cmdline').read_bytes().replace(bytes(1), b' ').decode(errors='replace')}"
    return str(pid)
