"""The daemon's end of the pipe to its guard: starts it, tells it who lives, and replaces it when it dies."""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from roost.errors import LimitError, ProcessError
from roost.process.exits import ExitWatch
from roost.process.pipes import PipeWriter
from roost.process.table import Roots

_log = logging.getLogger(__name__)

_PROGRAM = Path(__file__).with_name("guard.py")

# A guard that dies again and again (no memory, killed by hand) must not become a busy loop; one that lasted longer
# than the last delay starts from the first again. Seconds.
_FIRST_RESTART_DELAY = 0.05
_LAST_RESTART_DELAY = 60.0

# How long a guard that was let go may take to leave. Seconds.
_LEAVE_GRACE = 5.0

# Lines a guard that was stopped has not read: about 30,000 agents started or ended.
_UNREAD_BYTES = 1024 * 1024


class GuardLink:
    """One guard at a time. Nothing here raises: without one agents still run, and the log says that a net is missing.

    `roots` tells who has to be registered with a guard that starts.
    """

    def __init__(self, python: str, token: str, roots: Callable[[], Roots]) -> None:
        self._python = python
        self._token = token
        self._roots = roots
        self._loop: asyncio.AbstractEventLoop | None = None
        self._guard: subprocess.Popen[bytes] | None = None
        self._watch: ExitWatch | None = None
        self._pipe: PipeWriter | None = None
        self._restart: asyncio.TimerHandle | None = None
        self._delay = _FIRST_RESTART_DELAY
        self._started_at = 0.0
        self._gone = asyncio.Event()

    @property
    def pid(self) -> int | None:
        """The running guard."""
        return self._guard.pid if self._guard is not None else None

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Have a guard from now on."""
        if self._loop is None:
            self._loop = loop
            self._start()

    def register(self, name: str, pid: int, start: int) -> None:
        """An agent was started."""
        self._send(f"+ {name} {pid} {start}\n")

    def forget(self, name: str) -> None:
        """An agent's tree was seen to be empty."""
        self._send(f"- {name}\n")

    async def close(self, dismiss: bool) -> None:
        """Let the guard go: with `dismiss` at once; else after it has killed whatever carries the token."""
        if dismiss:
            self._send("dismiss\n")
        self._loop = None
        if self._restart is not None:
            self._restart.cancel()
        if self._guard is None:
            return
        if self._pipe is not None:
            self._pipe.close()
        try:
            async with asyncio.timeout(_LEAVE_GRACE):
                await self._gone.wait()
        except TimeoutError:
            if self._guard is not None:
                self._guard.kill()
            await self._gone.wait()

    def _start(self) -> None:
        loop = self._loop
        assert loop is not None
        self._restart = None
        try:
            theirs, ours = os.pipe()
        except OSError as error:
            self._failed(error)
            return
        try:
            self._guard = subprocess.Popen(
                [self._python, "-I", "-S", str(_PROGRAM), self._token, str(os.getpid())],
                stdin=theirs,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                # Without our environment it carries no mark, so that nobody takes it for an agent's child.
                env={"PATH": os.defpath, "LANG": "C"},
                cwd="/",
                start_new_session=True,
            )
        except OSError as error:
            os.close(ours)
            self._failed(error)
            return
        finally:
            os.close(theirs)
        self._started_at = loop.time()
        self._pipe = PipeWriter(loop, ours, _UNREAD_BYTES)
        self._watch = ExitWatch(loop, self._guard, self._ended)
        for name, (pid, start) in self._roots().items():
            self.register(name, pid, start)

    def _failed(self, error: OSError) -> None:
        _log.warning("no guard against agents that outlive this daemon: %s", error)
        self._restart_later()

    def _ended(self, _code: int | None) -> None:
        assert self._watch is not None
        assert self._pipe is not None
        self._watch.reap()
        self._pipe.abandon()
        self._guard = self._watch = self._pipe = None
        if self._loop is None:
            self._gone.set()
            return
        _log.warning("the guard against agents that outlive this daemon has ended; it is started again")
        if self._loop.time() - self._started_at > _LAST_RESTART_DELAY:
            self._delay = _FIRST_RESTART_DELAY
        self._restart_later()

    def _restart_later(self) -> None:
        if self._loop is not None:
            self._restart = self._loop.call_later(self._delay, self._start)
            self._delay = min(self._delay * 2, _LAST_RESTART_DELAY)

    def _send(self, line: str) -> None:
        if self._pipe is None:
            return
        # A dying one is replaced when its end is noticed, and its successor is told everything again.
        with suppress(ProcessError):
            try:
                self._pipe.write(line.encode("ascii"))
            except LimitError:
                # It does not read, so it would not act either.
                if self._guard is not None:
                    self._guard.kill()
