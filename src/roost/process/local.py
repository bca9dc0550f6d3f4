"""Running agents as processes of this machine, in the event loop, so that none of them outlives the daemon.

Three nets catch what would be left behind. `LocalProcess.close` and every end of an agent clear its whole tree. The
kernel kills the agent when the daemon's thread ends (`sandboxes/death_signal.py`). The guard (`guard.py`) kills
every tree when the daemon ends, and the next daemon sweeps up after both (`tokens.py`).

`subprocess.Popen` starts a program without `preexec_fn` in 0.2 ms, on CPython's vfork path; asyncio's own way costs
ten times that and, before Python 3.12, a thread for each child. It returns when the program has been loaded: on a
busy Linux that schedules sessions as groups, when the new session has had its first turn.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from roost.errors import ProcessError
from roost.process import table
from roost.process.base import (
    DEFAULT_QUEUED_INPUT_LIMIT,
    ProcessListener,
    SpawnPlan,
)
from roost.process.census import Census
from roost.process.child import LocalProcess
from roost.process.graces import Graces
from roost.process.guard_link import GuardLink
from roost.process.programs import checked, why_not
from roost.process.read_turns import ReadTurns
from roost.process.sandboxes.death_signal import find_setpriv, with_death_signal
from roost.process.table import MARK_VARIABLE, Roots, mark_for
from roost.process.tokens import TokenNote

# Reading about a program that is just replacing `setpriv` holds us up for 0.7 ms; soon after it takes 0.04. Until
# then the agent is known by its mark alone. Seconds.
_LOOK_DELAY = 0.005


class LocalRunner:
    """A `Runner` for one event loop: the one that runs at its first `spawn`.

    `state_dir`: where the token is noted for `sweep` by a later daemon; None for a program that sweeps nothing.
    `python` runs the guard; None does without one. `death_signal` is asked for where the system has `setpriv`.
    """

    def __init__(
        self,
        *,
        state_dir: Path | None = None,
        graces: Graces | None = None,
        queued_input_limit: int = DEFAULT_QUEUED_INPUT_LIMIT,
        death_signal: bool = True,
        python: str | None = sys.executable or None,
    ) -> None:
        self.token = os.urandom(8).hex()
        self._graces = graces or Graces()
        self._queued_input_limit = queued_input_limit
        self._death_signal = death_signal
        self._guard = GuardLink(python, self.token, self._roots) if python else None
        self._note = TokenNote(state_dir, self.token) if state_dir is not None else None
        self._census = Census(self.token, table.start_of(os.getpid()) or 0, self._roots)
        self._turns: ReadTurns | None = None
        self._processes: dict[str, LocalProcess] = {}
        self._starts: dict[str, int] = {}
        self._names = itertools.count(1)
        self._shut = False

    @property
    def processes(self) -> list[LocalProcess]:
        """Those of which something may still be alive."""
        return list(self._processes.values())

    @property
    def guard_pid(self) -> int | None:
        """The guard, while there is one."""
        return self._guard.pid if self._guard is not None else None

    def spawn(self, plan: SpawnPlan, listener: ProcessListener) -> LocalProcess:
        if self._shut:
            raise ProcessError("no agent can be started: the runner was shut down")
        plan = with_death_signal(checked(plan), find_setpriv() if self._death_signal else None)
        turns = self._begin()
        name = str(next(self._names))
        mark = mark_for(self.token, name, os.environ.get(MARK_VARIABLE, ""))
        child, pipes = _start(plan, {**plan.env, MARK_VARIABLE: mark})
        limit, graces = self._queued_input_limit, self._graces
        try:
            process = LocalProcess(turns, name, child, pipes, listener, self._census, limit, graces, self._process_gone)
        except (OSError, RuntimeError) as error:  # no descriptors, no memory, no threads
            _undo(turns.loop, child, pipes)
            raise ProcessError(f"the agent was started and cannot be watched, so it was ended: {error}") from error
        self._processes[name] = process
        turns.loop.call_later(_LOOK_DELAY, self._introduce, process)
        return process

    async def shutdown(self) -> None:
        """Close every agent still running, together, and start none from now on.

        ProcessError when one could not be ended: then the guard stays until it has killed it.
        """
        self._shut = True
        results = await asyncio.gather(*(process.close() for process in self.processes), return_exceptions=True)
        self._census.close()
        clean = not self._processes
        if self._guard is not None:
            await self._guard.close(dismiss=clean)
        if self._note is not None and clean:
            self._note.remove()
        for result in results:
            if isinstance(result, BaseException):
                raise result

    def _begin(self) -> ReadTurns:
        loop = asyncio.get_running_loop()
        if self._turns is None:
            if self._note is not None:
                try:
                    self._note.write()
                except OSError as error:
                    raise ProcessError(f"no agent can be started: its token cannot be noted: {error}") from error
            if self._guard is not None:
                self._guard.start(loop)
            self._turns = ReadTurns(loop)
        elif self._turns.loop is not loop:
            raise ProcessError("a runner belongs to one event loop, and this is another one")
        return self._turns

    def _roots(self) -> Roots:
        return {name: (self._processes[name].pid, start) for name, start in self._starts.items()}

    def _introduce(self, process: LocalProcess) -> None:
        """Tell the guard of an agent by pid and start time."""
        if self._processes.get(process.name) is not process:
            return
        try:
            start = table.start_of(process.pid)
        except OSError:
            return  # found by its mark then
        if start is not None:
            self._starts[process.name] = start
            if self._guard is not None:
                self._guard.register(process.name, process.pid, start)

    def _process_gone(self, process: LocalProcess) -> None:
        del self._processes[process.name]
        self._starts.pop(process.name, None)
        if self._guard is not None:
            self._guard.forget(process.name)


def _start(plan: SpawnPlan, env: dict[str, str]) -> tuple[subprocess.Popen[bytes], tuple[int, int, int]]:
    """Start the program in a session of its own; our ends of its stdin, stdout and stderr."""
    fds: list[int] = []
    try:
        for _ in range(3):
            fds += os.pipe()
        stdin, our_stdin, our_stdout, stdout, our_stderr, stderr = fds
        child = subprocess.Popen(
            plan.argv,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            cwd=plan.cwd,
            env=env,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        for fd in fds:
            os.close(fd)
        raise ProcessError(f"the agent could not be started {why_not(plan.argv, env, error)}") from error
    for fd in (stdin, stdout, stderr):
        os.close(fd)
    return child, (our_stdin, our_stdout, our_stderr)


def _undo(loop: asyncio.AbstractEventLoop, child: subprocess.Popen[bytes], pipes: tuple[int, int, int]) -> None:
    """End a program that has been running for a moment, and close what was opened for it."""
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    for fd in pipes:
        loop.remove_reader(fd)
        os.close(fd)
