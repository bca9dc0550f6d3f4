"""The loop that carries events in and commands out: the one place where the engine meets the world."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from roost.errors import LimitError, ProcessError, RoostError
from roost.process.base import AgentProcess, Runner, SpawnPlan
from roost.sidecar import commands, events
from roost.sidecar.engine import Engine
from roost.sidecar.gen.messages import AcpAgentEntry, AcpCallback, AcpResponse
from roost.sidecar.launch import AgentProgram, Launch

if TYPE_CHECKING:
    from roost.daemon.archivist import Archivist
    from roost.daemon.services import AgentServices
    from roost.store.base import Store

log = logging.getLogger("roost.daemon")
_LEVELS = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


class Outlet(Protocol):
    """One connection, as the driver sees it. Nothing is sent before `flush`."""

    def reply(self, request: int, response: AcpResponse) -> None: ...
    def publish(self, payload: bytes) -> None: ...
    def ask(self, callback: int, payload: AcpCallback) -> None: ...
    def refuse_connection(self, code: str, message: str) -> None: ...
    def flush(self) -> None: ...


class Catalogue(Protocol):
    """Which agents there are, and how one is started."""

    def find(self, agent_type: str) -> AgentProgram | None: ...
    def entries(self) -> list[AcpAgentEntry]: ...
    def plan(self, launch: Launch) -> SpawnPlan:
        """Raises ProcessError with a text for the caller."""


class _Ear:
    """Hears one process for the driver."""

    def __init__(self, driver: Driver, process: str) -> None:
        self._driver = driver
        self._process = process

    def agent_wrote(self, chunk: bytes) -> None:
        self._driver.feed(events.AgentWrote(self._process, chunk))

    def agent_wrote_stderr(self, chunk: bytes) -> None:
        self._driver.feed(events.AgentWroteStderr(self._process, chunk))

    def agent_took_input(self) -> None:
        self._driver.feed(events.AgentInputQueued(self._process, 0))

    def agent_exited(self, exit_code: int | None) -> None:
        self._driver.feed(events.AgentExited(self._process, exit_code))


def _both(first: Callable[[Any], None], second: Callable[[Any], None]) -> Callable[[Any], None]:
    def do(command: Any) -> None:
        first(command)
        second(command)

    return do


class Driver:
    """Feeds one engine and does what it says, in order, in one event loop."""

    def __init__(
        self,
        engine: Engine,
        runner: Runner,
        catalogue: Catalogue,
        store: Store | None = None,
        services: AgentServices | None = None,
    ) -> None:
        self._engine = engine
        self._runner = runner
        self._catalogue = catalogue
        self._archivist: Archivist | None = None
        if store is not None:
            from roost.daemon.archivist import Archivist  # here, so that a daemon without a journal stays small

            self._archivist = Archivist(store, self.feed)
        self._loop = asyncio.get_running_loop()
        self._outlets: dict[int, Outlet] = {}
        self._processes: dict[str, AgentProcess] = {}
        self._pending: deque[events.Event] = deque()
        self._feeding = False
        self._touched: dict[int, Outlet] = {}
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_at: float | None = None
        self._last_connection = 0
        self._idle: asyncio.Event = asyncio.Event()
        self._do: dict[type, Callable[[Any], None]] = {
            commands.Publish: self._publish,
            commands.Reply: self._reply,
            commands.AskCaller: self._ask,
            commands.WriteAgent: self._write_agent,
            commands.SpawnAgent: self._spawn_agent,
            commands.CloseAgentInput: self._close_agent_input,
            commands.SignalAgent: self._signal_agent,
            commands.PauseAgent: self._pause_agent,
            commands.ResumeAgent: self._resume_agent,
            commands.ForgetAgent: self._forget_agent,
            commands.Disconnect: self._disconnect,
            commands.Load: self._load,
            commands.Persist: self._persist,
            commands.Note: self._note,
        }
        self._services = services
        if services is not None:
            services.tell = self.feed
            self._do.update(services.commands)

    def also(self, kind: type, do: Callable[[Any], None]) -> None:
        """Has a command carried out elsewhere: after what is done with it here, if anything is."""
        here = self._do.get(kind)
        self._do[kind] = do if here is None else _both(here, do)

    # ---- connections

    def arrive(self, outlet: Outlet, caller: str, named: bool) -> int:
        """A greeted connection; the number it has from now on."""
        self._last_connection += 1
        number = self._last_connection
        self._outlets[number] = outlet
        self.feed(events.CallerArrived(number, caller, named))
        return number

    def leave(self, connection: int) -> None:
        self._outlets.pop(connection, None)
        self.feed(events.CallerLeft(connection))

    # ---- the loop

    def feed(self, event: events.Event) -> None:
        """One event in, and everything that follows from it done. Events that arise meanwhile wait their turn."""
        self._pending.append(event)
        if not self._feeding:
            self._work()

    def _ring(self) -> None:
        """The engine's next deadline has come."""
        self._alarm = self._alarm_at = None
        self._engine.expire(self._loop.time())
        self._work()

    def _work(self) -> None:
        self._feeding = True
        try:
            self._obey()
            while self._pending:
                self._engine.handle(self._pending.popleft(), self._loop.time())
                self._obey()
        finally:
            self._feeding = False
        self._flush()

    def _obey(self) -> None:
        do = self._do
        for command in self._engine.commands():
            do[type(command)](command)

    def _flush(self) -> None:
        touched, self._touched = self._touched, {}
        for outlet in touched.values():
            outlet.flush()
        deadline = self._engine.next_deadline()
        if deadline is not None and (self._alarm_at is None or deadline < self._alarm_at):
            if self._alarm is not None:
                self._alarm.cancel()
            self._alarm_at = deadline
            self._alarm = self._loop.call_at(deadline, self._ring)
        if self._engine.idle:
            self._idle.set()
        else:
            self._idle.clear()

    async def shutdown(self) -> None:
        """Closes every session and every agent; returns when none is left."""
        self.feed(events.ShutdownRequested())
        await self._idle.wait()
        if self._services is not None:
            await self._services.close()
        await self._runner.shutdown()
        if self._archivist is not None:
            await self._archivist.close()
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    # ---- commands to callers

    def _publish(self, command: commands.Publish) -> None:
        outlet = self._outlets.get(command.connection)
        if outlet is not None:
            outlet.publish(command.payload)
            self._touched[command.connection] = outlet

    def _reply(self, command: commands.Reply) -> None:
        outlet = self._outlets.get(command.connection)
        if outlet is not None:
            outlet.reply(command.request, command.response)
            self._touched[command.connection] = outlet

    def _ask(self, command: commands.AskCaller) -> None:
        outlet = self._outlets.get(command.connection)
        if outlet is not None:
            outlet.ask(command.callback, command.payload)
            self._touched[command.connection] = outlet

    def _disconnect(self, command: commands.Disconnect) -> None:
        outlet = self._outlets.get(command.connection)
        if outlet is not None:
            outlet.refuse_connection(command.code, command.message)
            self._touched[command.connection] = outlet

    # ---- commands to agents

    def _spawn_agent(self, command: commands.SpawnAgent) -> None:
        name = command.process
        try:
            plan = self._catalogue.plan(command.launch)
            process = self._runner.spawn(plan, _Ear(self, name))
        except ProcessError as error:
            self._pending.append(events.AgentFailedToStart(name, "execution", str(error)))
            return
        except RoostError as error:
            self._pending.append(events.AgentFailedToStart(name, "unsupported", str(error)))
            return
        self._processes[name] = process
        log.info("%s: %s started as process %d", name, command.launch.program.entrypoint, process.pid)
        self._pending.append(events.AgentStarted(name, process.pid))

    def _write_agent(self, command: commands.WriteAgent) -> None:
        process = self._processes.get(command.process)
        if process is None:
            return
        before = process.queued_bytes
        try:
            process.write(command.data)
        except LimitError as error:  # the engine refuses before it comes to this, but for answers to the agent
            log.error("%s: does not read its input (%s); it is ended", command.process, error)
            process.signal_tree(9)
            return
        except ProcessError:
            return  # its input is closed: the exit that follows says it better
        queued = process.queued_bytes
        if queued or before:
            self._pending.append(events.AgentInputQueued(command.process, queued))

    def _close_agent_input(self, command: commands.CloseAgentInput) -> None:
        process = self._processes.get(command.process)
        if process is not None:
            process.close_input()

    def _signal_agent(self, command: commands.SignalAgent) -> None:
        process = self._processes.get(command.process)
        if process is not None:
            process.signal_tree(command.signal)

    def _pause_agent(self, command: commands.PauseAgent) -> None:
        process = self._processes.get(command.process)
        if process is not None:
            process.pause()
        if self._services is not None:
            self._services.pause(command.process)

    def _resume_agent(self, command: commands.ResumeAgent) -> None:
        process = self._processes.get(command.process)
        if process is not None:
            process.resume()
        if self._services is not None:
            self._services.resume(command.process)

    def _forget_agent(self, command: commands.ForgetAgent) -> None:
        process = self._processes.pop(command.process, None)
        if process is not None:
            process.signal_tree(9)  # whatever it left behind
        if self._services is not None:
            self._services.resume(command.process)

    # ---- the rest

    def _persist(self, command: commands.Persist) -> None:
        if self._archivist is not None:
            self._archivist.persist(command)

    def _load(self, command: commands.Load) -> None:
        if self._archivist is not None and self._archivist.load(command):
            return
        value: object = None
        match command.query:
            case commands.AgentQuery(agent_type=agent_type):
                value = self._catalogue.find(agent_type)
            case commands.AgentsQuery():
                value = self._catalogue.entries()
        self._pending.append(events.RecordLoaded(command.ticket, value))

    def _note(self, command: commands.Note) -> None:
        log.log(_LEVELS[command.level], "%s", command.text)
