"""One command an agent runs: its output, its end, and whoever waits for that."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from roost.errors import LimitError, ProcessError, RpcError
from roost.process.base import AgentProcess
from roost.process.services import faults
from roost.process.services.limits import ServiceLimits
from roost.process.services.tail import OutputTail

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TerminalCreated:
    """A command was started. `command` is its line, from the agent; `cwd` is absolute."""

    command: str
    cwd: str


@dataclass(frozen=True, slots=True)
class TerminalWrote:
    """Bytes it wrote, stdout and stderr in order, split anywhere; never empty. Untrusted (TRM-9)."""

    data: bytes


@dataclass(frozen=True, slots=True)
class TerminalExited:
    """It ended: by itself with `exit_code`, or by a `signal` (SIGKILL …); both None when that is not known."""

    exit_code: int | None
    signal: str | None

    def status(self) -> dict[str, Any]:
        return {"exitCode": self.exit_code, "signal": self.signal}


TerminalEvent = TerminalCreated | TerminalWrote | TerminalExited
# Called in the loop, in order; for each terminal one TerminalCreated first and one TerminalExited last.
TerminalObserver = Callable[[str, TerminalEvent], None]


class Terminal:
    """The `ProcessListener` of its command. `exited` is None while it runs; `is_gone` when all it started has ended."""

    def __init__(
        self, terminal_id: str, output_bytes: int, takes_input: bool, observer: TerminalObserver | None
    ) -> None:
        self.id = terminal_id
        self.exited: TerminalExited | None = None
        self.is_gone = False
        self._tail = OutputTail(output_bytes)
        self._takes_input = takes_input
        self._observer = observer
        self._process: AgentProcess | None = None
        self._ended = asyncio.Event()
        self._ending: asyncio.Task[None] | None = None

    def started(self, process: AgentProcess, command: str, cwd: str) -> None:
        self._process = process
        self._tell(TerminalCreated(command, cwd))

    # ---- ProcessListener

    def agent_wrote(self, chunk: bytes) -> None:
        self._tail.feed(chunk)
        self._tell(TerminalWrote(chunk))

    # Everything goes to stdout but what is said before the command runs.
    agent_wrote_stderr = agent_wrote

    def agent_took_input(self) -> None:
        """Whoever writes more than a command reads is told so by the bound, not made to wait."""

    def agent_exited(self, exit_code: int | None) -> None:
        if exit_code is None or exit_code >= 0:
            self._finish(TerminalExited(exit_code, None))
        else:
            self._finish(TerminalExited(None, _signal_name(-exit_code)))

    def _finish(self, end: TerminalExited) -> None:
        if self.exited is None:
            self._tail.finish()
            self.exited = end
            self._ended.set()
            self._tell(end)

    def _tell(self, event: TerminalEvent) -> None:
        if self._observer is None:
            return
        try:
            self._observer(self.id, event)
        except Exception:
            _log.exception("the observer of terminal %s failed", self.id)

    # ---- what the agent asks

    def output(self) -> dict[str, Any]:
        answer: dict[str, Any] = {"output": self._tail.text, "truncated": self._tail.truncated}
        if self.exited is not None:
            answer["exitStatus"] = self.exited.status()
        return answer

    async def wait(self) -> dict[str, Any]:
        """How it ended, as soon as it has. Any number may wait, also when it is released meanwhile."""
        await self._ended.wait()
        assert self.exited is not None
        return self.exited.status()

    def write(self, data: bytes, limits: ServiceLimits) -> None:
        """Give the command input. RpcError: it takes none, or does not read what it has."""
        process = self._process
        if process is None or not self._takes_input or self.exited is not None:
            why = "takes no input" if self.exited is None else "has exited"
            raise faults.bad_params(f"ACP terminal {self.id} {why}")
        if process.queued_bytes + len(data) > limits.input_bytes:
            raise LimitError("input_bytes", limits.input_bytes)
        try:
            process.write(data)
        except ProcessError:
            raise faults.bad_params(f"ACP terminal {self.id} takes no input any more") from None

    def signal(self, number: int) -> None:
        """Send a signal to the command and everything it started; nothing happens when it has exited, or for 0."""
        if self._process is not None and self.exited is None and number:
            self._process.signal_tree(number)

    async def end(self, grace: float) -> None:
        """End the command and everything it started: SIGTERM, and SIGKILL after `grace` seconds.

        RpcError when even that did not end it; whoever waits for its exit is answered all the same.
        """
        if self._ending is None or (self._ending.done() and not self.is_gone):
            self._ending = asyncio.get_running_loop().create_task(self._end(grace))
            self._ending.add_done_callback(_hear)
        # Shielded: who asked may stop waiting, but what was to be ended ends.
        await asyncio.shield(self._ending)

    async def _end(self, grace: float) -> None:
        process = self._process
        assert process is not None
        try:
            if self.exited is None:
                # Closing begins with letting it leave by itself, which is for agents.
                process.signal_tree(signal.SIGTERM)
            # Also of a command that has exited, something may still run.
            await process.close(grace)
        except ProcessError as error:
            _log.error("terminal %s could not be ended: %s", self.id, error)
            raise RpcError(faults.INTERNAL_ERROR, f"ACP terminal {self.id} could not be ended") from error
        else:
            self.is_gone = True
        finally:
            self._finish(TerminalExited(None, None))

    def pause(self) -> None:
        if self._process is not None:
            self._process.pause()

    def resume(self) -> None:
        if self._process is not None:
            self._process.resume()


def _hear(task: asyncio.Task[None]) -> None:
    """Nobody may be left to hear of a failure; it is in the log."""
    if not task.cancelled():
        task.exception()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time one
        return f"SIG{number}"
