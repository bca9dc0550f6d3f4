"""One running agent: its three pipes, its end, and its whole tree."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from roost.errors import ProcessError
from roost.process import table
from roost.process.base import ProcessListener
from roost.process.census import Census
from roost.process.exits import ExitWatch
from roost.process.graces import Graces
from roost.process.members import Members
from roost.process.pipes import PipeReader, PipeWriter
from roost.process.read_turns import ReadTurns

_log = logging.getLogger(__name__)

# Between two rounds of SIGKILL, or two tries to count after one that failed. Seconds.
COUNT_INTERVAL = 0.2

# The system answers in milliseconds, except about a process that hangs in the kernel: then it may never. Seconds.
COUNT_TIMEOUT = 2.0


class LocalProcess:
    """An `AgentProcess` on this machine. Made by `LocalRunner.spawn`.

    It is *running*, then *exited* (its end was noticed), then *reported* (its output is out and the listener was
    told), then *gone* (nothing of its tree is left, and its pid may mean somebody else).
    """

    def __init__(
        self,
        turns: ReadTurns,
        name: str,
        child: subprocess.Popen[bytes],
        pipes: tuple[int, int, int],
        listener: ProcessListener,
        census: Census,
        queued_input_limit: int,
        graces: Graces,
        gone: Callable[[LocalProcess], None],
    ) -> None:
        self._loop = loop = turns.loop
        self.name = name
        self._pid = child.pid
        self._listener = listener
        self._census = census
        self._graces = graces
        self._when_gone = gone
        self._exit_code: int | None = None
        self._exited = asyncio.Event()
        self._reported = False
        self._ended = asyncio.Event()
        self._members = Members(loop)
        # What SIGKILL did not end, once that was given up. The list may be empty: nobody could be counted.
        self._survivors: list[int] | None = None
        self._abandoned = False
        self._kill_at: float | None = None
        self._group_signals: set[int] = set()
        self._ending: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[object]] = set()
        self._timer: asyncio.TimerHandle | None = None
        stdin, stdout, stderr = pipes
        self._stdin = PipeWriter(loop, stdin, queued_input_limit, listener.agent_took_input)
        self._stdout = PipeReader(turns, stdout, listener.agent_wrote, self._stdout_ended)
        self._stderr = PipeReader(turns, stderr, listener.agent_wrote_stderr, self._stderr_ended)
        self._watch = ExitWatch(loop, child, self._exit_noticed)

    def __repr__(self) -> str:
        return f"<LocalProcess {self.name} pid={self._pid}>"

    @property
    def pid(self) -> int:
        return self._pid

    @property
    def queued_bytes(self) -> int:
        return self._stdin.queued

    @property
    def is_gone(self) -> bool:
        """Nothing of its tree is left."""
        return self._ended.is_set() and self._survivors is None

    def write(self, data: bytes) -> None:
        self._stdin.write(data)

    def close_input(self) -> None:
        self._stdin.refuse()
        if not self._exited.is_set():
            self._in_background(self._end_input())

    def signal_tree(self, sig: int) -> None:
        if not self._ended.is_set():
            # The group hears it now; who has left the group has to be looked for.
            self._signal_group(sig)
            self._in_background(self._signal_strays(sig))

    def pause(self) -> None:
        self._stdout.pause()

    def resume(self) -> None:
        self._stdout.resume()

    async def close(self, grace: float | None = None) -> None:
        self._begin_ending(self._graces.close_grace if grace is None else grace)
        while not self._ended.is_set():  # an attempt that began when the last was given up is waited for too
            await self._ended.wait()
        if self._survivors is not None:
            pids = ", ".join(map(str, self._survivors)) or "it cannot be told which"
            raise ProcessError(
                f"the agent {self._pid} was closed, and some of its processes may survive: {pids}", self._exit_code
            )

    def _in_background(self, work: Coroutine[Any, Any, object]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    # Its end, step by step.

    def _stdout_ended(self) -> None:
        if self._exited.is_set():
            self._report_if_settled()
        else:
            self._set_timer(self._graces.mute_grace, self._still_mute)

    def _stderr_ended(self) -> None:
        if self._exited.is_set():
            self._report_if_settled()

    def _still_mute(self) -> None:
        self._end_by_itself(self._graces.close_grace)

    def _exit_noticed(self, code: int | None) -> None:
        self._exit_code = code
        self._exited.set()
        self._members.notify()
        self._stdin.abandon()
        # While paused the pipes do not end. What is in them then is no more than they hold, and is told with the end.
        self._set_timer(self._graces.output_grace, self._report)
        self._report_if_settled()

    def _report_if_settled(self) -> None:
        if self._stdout.closed and self._stderr.closed:
            self._report()

    def _report(self) -> None:
        if self._reported:
            return
        self._reported = True
        if self._timer is not None:
            self._timer.cancel()
        # A listener that fails over its last bytes is told of the end all the same.
        self._tell(self._stderr.finish)
        self._tell(self._stdout.finish)
        self._tell(lambda: self._listener.agent_exited(self._exit_code))
        self._end_by_itself(self._graces.leftover_grace)

    def _tell(self, call: Callable[[], None]) -> None:
        try:
            call()
        except Exception as error:
            self._loop.call_exception_handler(
                {"message": f"{self!r}: its listener failed", "exception": error, "listener": self._listener}
            )

    def _set_timer(self, delay: float, call: Callable[[], None]) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_later(delay, call)

    # The close ladder.

    def _end_by_itself(self, grace: float) -> None:
        """Nobody asked for it, so it is no new attempt after one that was given up: who asked has to hear of that."""
        if self._survivors is None:
            self._begin_ending(grace)

    def _begin_ending(self, grace: float) -> None:
        """SIGKILL in `grace` seconds at the latest; an earlier call may have said sooner."""
        if self._survivors is not None and not self._abandoned:  # an earlier attempt was given up
            self._survivors, self._ending, self._kill_at = None, None, None
            self._group_signals.clear()
            self._ended.clear()
        kill_at = self._loop.time() + max(grace, 0.0)
        if self._kill_at is None or kill_at < self._kill_at:
            self._kill_at = kill_at
            self._members.notify()
        if self._ending is None:
            self._ending = self._loop.create_task(self._end())

    async def _end(self) -> None:
        try:
            if not self._exited.is_set():
                await self._let_go()
            await self._kill_all()
        except BaseException:
            # The loop is being torn down, or we have a bug. Neither may leave an agent behind.
            self._abandon()
            raise
        else:
            if self._exited.is_set():
                # Whatever its tree had to say is in the pipes by now.
                self._report()
            if self._survivors is None:
                self._watch.reap()
                self._when_gone(self)
        finally:
            self._members.close()
            self._ended.set()

    def _abandon(self) -> None:
        """Kill what is known and let go of everything, without waiting."""
        self._abandoned, self._survivors = True, self._members.alive
        self._signal_group(signal.SIGKILL)
        self._members.signal(signal.SIGKILL)
        self._stdin.abandon()
        self._stdout.close()
        self._stderr.close()
        self._watch.close()
        self._watch.reap()
        self._exited.set()
        self._report()

    async def _let_go(self) -> None:
        """Close its stdin and give it a moment to leave by itself."""
        await self._end_input()
        await self._members.wait(
            self._exited, min(self._graces.leave_grace, (self._deadline() - self._loop.time()) / 2)
        )

    async def _end_input(self) -> None:
        # Counted first: who has thrown the mark away is known by its parents, and only as long as they live.
        await self._count()
        self._stdin.close()

    async def _kill_all(self) -> None:
        """SIGTERM, and SIGKILL from the deadline on, to everybody, until a count finds nobody."""
        while True:
            counted = await self._count()
            if counted and self._exited.is_set() and not self._members.alive:
                return
            left = self._deadline() - self._loop.time()
            if left > 0:
                self._signal_everybody(signal.SIGTERM)
            elif left > -self._graces.kill_grace:
                self._signal_everybody(signal.SIGKILL)
            else:
                self._survivors = self._members.alive if self._exited.is_set() else [self._pid, *self._members.alive]
                _log.error("%r: SIGKILL did not end %s", self, self._survivors or "what could not be counted")
                return
            if not counted:
                await asyncio.sleep(COUNT_INTERVAL)
            else:
                await self._members.wait(self._exited, left if left > 0 else COUNT_INTERVAL)

    def _signal_everybody(self, sig: int) -> None:
        if sig not in self._group_signals or sig == signal.SIGKILL:
            self._group_signals.add(sig)
            self._signal_group(sig)
            if sig == signal.SIGTERM:
                # A stopped process would not get to hear it.
                self._signal_group(signal.SIGCONT)
            # Who has left the group since it was counted has heard nothing; SIGKILL goes to each one as well.
            if self._watch.pinned and sig != signal.SIGKILL:
                self._members.count_as_signalled(sig, self._pid)
        self._members.signal(sig)

    def _deadline(self) -> float:
        assert self._kill_at is not None
        return self._kill_at

    async def _count(self) -> bool:
        """Take in the members of its tree besides itself. False when they could not be counted."""
        try:
            others = await self._others()
        except OSError as error:
            _log.warning("%r: the members of its tree cannot be counted: %r", self, error)
            return False
        if not self._ended.is_set():
            self._members.add(others)
        return True

    async def _others(self) -> list[table.Process]:
        """OSError, a TimeoutError too, when they cannot be counted."""
        async with asyncio.timeout(COUNT_TIMEOUT):
            families = await self._census.take()
        return [process for process in families.get(self.name, []) if process.pid != self._pid]

    async def _signal_strays(self, sig: int) -> None:
        with suppress(OSError):
            for process in await self._others():
                if process.group != self._pid:
                    table.signal_process(process.pid, process.start, sig)

    def _signal_group(self, sig: int) -> None:
        # Only while the agent, alive or dead, keeps the number from being given to others.
        if self._watch.pinned:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._pid, sig)
