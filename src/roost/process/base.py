"""What a program to be run is, and what whoever runs it promises.

A runner starts programs and nothing else: which program, with which arguments and environment, is decided before
(`launch.py`) and handed over as a `SpawnPlan`. Everything a running agent does is told to its `ProcessListener`,
from the event loop's thread.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

# Close ladder: SIGKILL after this long (sidecar decision "close"). Seconds.
DEFAULT_CLOSE_GRACE = 5.0

# Bytes accepted for an agent's stdin and not yet taken by it: two of the largest lines (16 MiB each).
DEFAULT_QUEUED_INPUT_LIMIT = 32 * 1024 * 1024
QUEUED_INPUT_LIMIT_NAME = "agent_queued_bytes"


@dataclass(frozen=True, slots=True)
class SpawnPlan:
    """One program, completely described: nothing is inherited that is not written here.

    `argv[0]` is a path, or a name looked up in the plan's own PATH. `cwd` is absolute.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str


class ProcessListener(Protocol):
    """Who is told what an agent does. Calls never overlap, and none comes after `agent_exited`."""

    def agent_wrote(self, chunk: bytes) -> None:
        """Some bytes of its stdout, split anywhere; never empty."""

    def agent_wrote_stderr(self, chunk: bytes) -> None:
        """Some bytes of its stderr, split anywhere; never empty. Comes also while stdout is paused."""

    def agent_took_input(self) -> None:
        """Input had to be queued, and all of it is through now: `queued_bytes` is 0 again."""

    def agent_exited(self, exit_code: int | None) -> None:
        """Exactly once, after everything the agent itself wrote.

        Negative for a signal, as in `subprocess`; None when somebody else in this program collected the exit status.
        """


@runtime_checkable
class AgentProcess(Protocol):
    """A running agent program and everything it started."""

    @property
    def pid(self) -> int:
        """The operating system's number of the agent itself."""

    @property
    def queued_bytes(self) -> int:
        """Bytes given to `write` that the agent has not taken yet."""

    def write(self, data: bytes) -> None:
        """Give the agent these bytes on its stdin, now or as soon as it takes them; never blocks.

        LimitError(agent_queued_bytes): nothing of `data` was kept. ProcessError: its stdin is closed, by either side.
        """

    def close_input(self) -> None:
        """End its stdin once the queued bytes are through. May be repeated."""

    def signal_tree(self, sig: int) -> None:
        """Send a signal to the agent and all its descendants; nothing happens when it is gone."""

    def pause(self) -> None:
        """Stop reading its stdout, so that the agent blocks when the pipe is full. Stderr is drained on."""

    def resume(self) -> None:
        """Read its stdout again."""

    async def close(self, grace: float | None = None) -> None:
        """End the whole tree: stdin closed, then SIGTERM, then SIGKILL after `grace` seconds (None: the runner's).

        Returns when no descendant is left, at once when there is none. May be called again, also from elsewhere;
        the shortest grace counts. ProcessError names the processes that even SIGKILL did not end.
        """


@runtime_checkable
class Runner(Protocol):
    """Starts agents on one machine, and lets none of them outlive it."""

    def spawn(self, plan: SpawnPlan, listener: ProcessListener) -> AgentProcess:
        """Start the program. No listener call comes before this has returned.

        ProcessError says what is wrong: program missing or not executable, cwd missing or not a directory, no
        descriptors left.
        """

    async def shutdown(self) -> None:
        """Close every agent still running, together, and start none from now on."""
