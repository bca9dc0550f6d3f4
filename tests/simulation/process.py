"""Agent processes without an operating system: three pipes, signals that are obeyed or not, and an end that is told."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from roost.errors import LimitError, ProcessError
from roost.process.base import QUEUED_INPUT_LIMIT_NAME, ProcessListener, SpawnPlan
from roost.process.graces import Graces
from roost.sidecar.gen.messages import AcpAgentEntry
from roost.sidecar.launch import AgentProgram, Launch
from tests.simulation.brain import Brain
from tests.simulation.temper import OWNER_VARIABLE, SIGTERM, Temper, quirks_of

if TYPE_CHECKING:
    from tests.simulation.world import World

INPUT_PIPE_BYTES = 300  # small, so that input is queued
_OUTPUT_GRACE = Graces().output_grace


class Process:
    """One running agent, as the driver sees it; `brain` is the program in it."""

    def __init__(self, world: World, name: str, pid: int, plan: SpawnPlan, listener: ProcessListener) -> None:
        self._world = world
        self._listener = listener
        self.name = name
        self.pid = pid
        self.owner = world.ledger.processes[name].owner
        self.temper = Temper.named(plan.argv[0], world.random)
        self.quirks = quirks_of(plan.argv[0])
        self.has_key = OWNER_VARIABLE in plan.env
        self.stdout = bytearray()
        self.stderr = bytearray()
        self.inbox: deque[tuple[int, bytes]] = deque()  # lines and their sizes, in its input pipe or queued before it
        self.queued_bytes = 0
        self.unread = 0
        self.paused = False
        self.input_open = True
        self.input_closed_at = 0.0
        self.input_ended = False
        self.exited = False
        self.reported = False
        self.signals: list[int] = []
        self._exit_code: int | None = None
        self.brain = Brain(world, self)

    def __repr__(self) -> str:
        return self.name

    # ---- AgentProcess

    def write(self, data: bytes) -> None:
        if not self.input_open or self.exited:
            raise ProcessError("the agent's standard input is closed")
        limit = self._world.limits.agent_input_bytes
        if self.queued_bytes + len(data) > limit:
            self._world.ledger.violated(f"{self}: the driver was told to write past agent_input_bytes")
            raise LimitError(QUEUED_INPUT_LIMIT_NAME, limit)
        for line in data.splitlines(keepends=True):
            self.inbox.append((len(line), line))
            self._world.ledger.stdio.agent_was_told(self, line)
        self.unread += len(data)
        self._settle_queue()

    def close_input(self) -> None:
        if self.input_open:
            self.input_open = False
            self.input_closed_at = self._world.loop.now
            self._world.trace("%s: its input is closed", self)
            if not self.inbox:
                self._end_of_input()

    def signal_tree(self, sig: int) -> None:
        self.signals.append(sig)
        if sig == SIGTERM and not self.exited:
            self._world.ledger.stdio.agent_is_asked_to_end(self)
        if self.exited:
            return
        delay = self.temper.obeys(sig, self._world.random)
        self._world.trace("%s: signal %d, %s", self, sig, "ignored" if delay is None else f"obeyed in {delay:g} s")
        if delay == 0:
            self.exit(-sig)
        elif delay is not None:
            self._world.loop.call_later(delay, self.exit, -sig)

    def pause(self) -> None:
        self.paused = True

    def resume(self) -> None:
        self.paused = False

    async def close(self, grace: float | None = None) -> None:
        self.signal_tree(9)

    # ---- what the simulation does

    def read(self) -> bytes | None:
        """The program takes one line of its input."""
        if not self.inbox:
            return None
        size, line = self.inbox.popleft()
        self.unread -= size
        was_queued = self.queued_bytes
        self._settle_queue()
        if was_queued and not self.queued_bytes and not self.exited:
            self._listener.agent_took_input()
        if not self.input_open and not self.inbox:
            self._end_of_input()
        return line

    def _settle_queue(self) -> None:
        self.queued_bytes = max(0, self.unread - INPUT_PIPE_BYTES)

    def _end_of_input(self) -> None:
        self.input_ended = True
        delay = self.temper.leaves(self._world.random)
        if delay == 0:
            self.exit(0)
        elif delay is not None:
            self._world.loop.call_later(delay, self.exit, 0)

    @property
    def audible(self) -> bool:
        """Whether the daemon could read something of it now."""
        return not self.reported and bool(self.stderr or (self.stdout and not self.paused))

    def deliver(self, count: int) -> None:
        """Up to that many bytes of stdout reach the daemon."""
        chunk = bytes(self.stdout[:count])
        del self.stdout[:count]
        if chunk:
            self._world.trace("%s writes %r", self, chunk)
            self._world.ledger.stdio.agent_is_heard(self, len(chunk))
            self._listener.agent_wrote(chunk)
            self._report_if_silent()

    def deliver_stderr(self, count: int) -> None:
        chunk = bytes(self.stderr[:count])
        del self.stderr[:count]
        if chunk:
            self._world.ledger.stdio.stderr_is_heard(self, chunk)
            self._listener.agent_wrote_stderr(chunk)
            self._world.ledger.stdio.stderr_was_heard(self, chunk)
            self._report_if_silent()

    def exit(self, code: int | None) -> None:
        if self.exited:
            return
        self._world.trace("%s exits with %s", self, code)
        self.exited = True
        for program in self._world.programs.running:
            if program.process == self.name:
                self._world.loop.call_soon(program.exit)
        self._exit_code = code
        self.inbox.clear()
        self.unread = self.queued_bytes = 0
        self._world.loop.call_later(_OUTPUT_GRACE, self._report)
        self._report_if_silent()

    def _report_if_silent(self) -> None:
        if self.exited and not self.stdout and not self.stderr:
            self._report()

    def _report(self) -> None:
        if self.reported:
            return
        self.reported = True  # also keeps the deliveries from reporting
        self.deliver_stderr(len(self.stderr))
        self.deliver(len(self.stdout))
        self._world.ledger.stdio.agent_is_gone(self)
        self._listener.agent_exited(self._exit_code)


class Runner:
    """Starts simulated agents; now and then it cannot."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._pids = 4000

    def spawn(self, plan: SpawnPlan, listener: ProcessListener) -> Process:
        world = self.world
        if world.random.random() < 0.02:
            raise ProcessError("the agent could not be started: no descriptors left")
        self._pids += 1
        name = plan.argv[1]
        process = world.processes[name] = Process(world, name, self._pids, plan, listener)
        world.trace("%s starts as %s for %s", name, process.temper, process.owner)
        return process

    async def shutdown(self) -> None:
        for process in self.world.processes.values():
            await process.close()


class Catalogue:
    """Every agent type there is: `kind-vice-vice`, see `temper`."""

    def __init__(self, world: World) -> None:
        self._world = world

    def find(self, agent_type: str) -> AgentProgram | None:
        if agent_type == "nobody":
            return None
        return AgentProgram(agent_type=agent_type, entrypoint=agent_type, quirks=quirks_of(agent_type))

    def entries(self) -> list[AcpAgentEntry]:
        return [AcpAgentEntry("v2", True, "v2"), AcpAgentEntry("v1", True, "v1")]

    def plan(self, launch: Launch) -> SpawnPlan:
        name = self._world.ledger.spawns.popleft()
        if launch.cwd == "/gone":
            raise ProcessError("the agent could not be started: its cwd is not there")
        return SpawnPlan(argv=(launch.agent_type, name), env=launch.env, cwd=launch.cwd)
