"""A daemon with its agents and callers, all in one: every choice comes from one seed, and time from nobody else.

The engine, the driver, the gates and the channels are the real ones. What is simulated is what they meet: processes
(`process`), the programs in them (`brain`), sockets (`wire`) and the programs behind those (`client`).
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping
from random import Random
from typing import Any

import roost.transport.mcp_relay
from roost.daemon.connection import Reception
from roost.daemon.driver import Driver
from roost.daemon.mcp_relay import McpRelays
from roost.daemon.services import AgentServices
from roost.sidecar import commands, events
from roost.sidecar.callers import Caller
from roost.sidecar.engine import Engine
from roost.sidecar.gen.messages import AcpCloseSessionRequest
from roost.sidecar.sessions import Session
from tests.simulation import invariants
from tests.simulation.accounts import Place, Violation
from tests.simulation.bounds import random_limits
from tests.simulation.client import NO_LIMIT, Client
from tests.simulation.host import Host
from tests.simulation.ledger import Ledger
from tests.simulation.loop import VirtualLoop
from tests.simulation.process import Catalogue, Process, Runner
from tests.simulation.programs import ProgramServer
from tests.simulation.store import SimulatedStore
from tests.simulation.surroundings import surroundings
from tests.simulation.temper import OWNER_VARIABLE

MAX_CLIENTS = 6
# More deadlines in a row than any schedule can have open.
PATIENCE = 4000


class WatchedEngine(Engine):
    """The engine, with a ledger that hears everything that goes in and comes out."""

    ledger: Ledger

    def handle(self, event: events.Event, now: float) -> None:
        self.ledger.event(event)
        super().handle(event, now)

    def commands(self) -> list[commands.Command]:
        emitted = self.meddle(super().commands())
        for command in emitted:
            self.ledger.command(command, self)
        self.ledger.obeyed(emitted)
        return emitted

    def meddle(self, emitted: list[commands.Command]) -> list[commands.Command]:
        """For tests of the simulation itself: an engine that does something else."""
        return emitted


class World:
    """One schedule. `live` runs it, and raises Violation with what went wrong first."""

    def __init__(
        self,
        seed: int,
        loop: VirtualLoop,
        *,
        steps: int | None = None,
        tracing: bool = False,
        engine: type[WatchedEngine] = WatchedEngine,
        about: str = "",
    ) -> None:
        self.random = random = Random(seed)
        self.loop = loop
        self.tracing = tracing
        self.log: list[str] = []
        self.limits = random_limits(random)
        drawn = random.choices(("anything", "replays", "services"), (80, 10, 10))[0]
        self.emulates = (about or drawn) == "replays"  # all about kept sessions of agents of v1 that callers of 2 use
        self.serves = (about or drawn) == "services"  # all about files and terminals of such agents
        self.steps = steps or random.choice((120, 250) if self.emulates or self.serves else (30, 80, 120, 250))
        self.hurry = random.choice((0.2, 0.6, 0.95))  # how often what was sent arrives at once
        self.ledger = Ledger(self)
        self.processes: dict[str, Process] = {}
        self.clients: list[Client] = []
        self.delivering: Client
        self._serials = itertools.count(1)
        self.taken = 0
        self.store = SimulatedStore(self) if self.emulates or random.random() < 0.5 else None
        self.hosts: list[Host] = []
        self.services = self._some_services()
        self.engine = engine(
            self.limits,
            version="1.2.3",
            folder="/instructions",
            journal=self.store is not None,
            services=None if self.services is None else self.services.capabilities,
        )
        self.engine.ledger = self.ledger
        self.driver = Driver(self.engine, Runner(self), Catalogue(self), self.store, self.services)
        self.programs = ProgramServer(self)
        roost.transport.mcp_relay.McpRelayServer = lambda **_: self.programs  # type: ignore[assignment, misc]
        self.relays = McpRelays(self.engine, self.driver, self.limits, {}) if random.random() < 0.9 else None
        loop.disk_delay = lambda: random.choice((0.0,) * 12 + (0.5, 40.0, None))
        self.reception = Reception(self.driver, self.limits, server="roost/1.2.3", uid=None, token=None)
        loop.set_exception_handler(self._failed)

    def _some_services(self) -> AgentServices | None:
        """What agents are offered: mostly everything."""
        if self.random.random() < 0.05:
            return None
        files, terminals = self.random.choice(((True, True),) * 6 + ((True, False), (False, True)))
        return AgentServices(Runner(self), self.limits, files=files, terminals=terminals, own_env={})

    def _failed(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self.ledger.violated(f"a callback failed: {context.get('exception')!r} ({context['message']})")

    def trace(self, form: str, *values: Any) -> None:
        if self.tracing:
            self.log.append(f"{self.loop.now:10.3f} {form % values}")

    def session(self, place: Place) -> Session | None:
        """A live session, by the engine's table."""
        token, session_id = place
        for session in self.engine._context.sessions:
            if session.id == session_id and self._token_of(session.owner, session.link.launch.env) == token:
                return session
        return None

    def _token_of(self, owner: Caller, env: Mapping[str, str]) -> str:
        """Whose it is. What is closed keeps nothing of its environment, and only callers with a name keep anything."""
        return owner.name if owner.named else env.get(OWNER_VARIABLE, "")

    def starter_of(self, process: str) -> str:
        """For whom an agent is started that has no environment."""
        context = self.engine._context
        for connection in context.callers.connections.values():
            if any(link.process == process for link in connection.starting):
                return connection.caller.name
        for session in context.sessions:
            if session.starting is not None and session.starting.process == process:
                return session.owner.name
        return ""

    def can(self, process: str, ability: str) -> bool:
        return self.processes[process].temper.can(ability)

    def running_process(self, place: Place) -> str | None:
        """Which process a session runs on."""
        session = self.session(place)
        return None if session is None else session.link.process

    # ---- the schedule

    async def live(self) -> None:
        for step in range(1, self.steps + 1):
            self.taken = step
            seconds = self.step()
            await self._settle()
            if seconds:
                await self._pass_time(seconds)
        await self._fall_silent()
        await self._end()

    def step(self) -> float:
        """One thing happens. Returns how much time is to pass then."""
        random = self.random
        self.trace("---- step %d", self.taken)
        choice = random.random()
        if choice < 0.6:
            self._agent_step()
        elif choice < 0.9:
            self._client_step()
        elif choice < 0.975:
            return self._some_time()
        elif choice < 0.985:
            self._kill_somebody()
        elif choice < 0.995:
            self._lose_somebody()
        elif self.store is not None and random.random() < 0.5:
            self.store.press()
        elif random.random() < 0.1:
            self.driver.feed(events.ShutdownRequested())
        return 0.0

    async def _settle(self) -> None:
        """Everything that follows at once from what happened, and the look at what came of it."""
        while self.loop.busy:  # noqa: ASYNC110  nobody else could tell that nothing is left to do
            await asyncio.sleep(0)
        invariants.check(self)
        self._raise()

    def _raise(self) -> None:
        if self.ledger.violations:
            raise Violation("\n".join(self.ledger.violations[:5]))

    # ---- steps

    def _agent_step(self) -> None:
        random = self.random
        running = [terminal for host in self.hosts for terminal in host.running]
        if running and random.random() < 0.15:
            random.choice(running).act()
        if self.programs.running and random.random() < 0.25:
            random.choice(self.programs.running).act()
        able = [process for process in self.processes.values() if process.audible or process.brain.has_work]
        if not able:
            self._client_step()
            return
        process = random.choice(able)
        for _ in range(random.choice((1, 2, 4, 12))):
            process.brain.act()
        if process.audible and random.random() < 0.8:
            if process.stderr and random.random() < 0.6:
                process.deliver_stderr(random.choice((1, 20, NO_LIMIT)))
            if process.stdout and not process.paused:
                size = len(process.stdout)
                process.deliver(size if random.random() < self.hurry else random.randrange(1, size + 1))

    def _client_step(self) -> None:
        random = self.random
        clients = [client for client in self.clients if not client.gone]
        if len(clients) < MAX_CLIENTS and (not clients or random.random() < 0.06):
            clients = [self.connect()]
        client = random.choice(clients)
        if random.random() < 0.75 and client.pending < 4096:
            client.act()
        if client.pending:
            client.deliver(NO_LIMIT if random.random() < self.hurry else random.randrange(1, client.pending + 1))
        if random.random() < (0.1 if client.lazy else 0.9):
            client.read(random.choice((NO_LIMIT, NO_LIMIT, 100, 1000)))

    def connect(self, name: str | None = None, *, known: bool = False) -> Client:
        random = self.random
        if not known:
            name = random.choice(("alice", "bob") if self.emulates else (None, None, "alice", "bob"))
        client = Client(self, next(self._serials), name, hostile=not known and random.random() < 0.2)
        self.clients.append(client)
        return client

    def _some_time(self) -> float:
        random = self.random
        deadline = self.engine.next_deadline()
        if deadline is not None and random.random() < 0.4:
            return max(0.0, deadline - self.loop.now) + random.choice((0, 0, 0.001))
        return random.choice((0.001, 0.1, 0.3, 0.6, 1, 3, 6, 12, 35, 65, 125, 700))

    async def _pass_time(self, seconds: float) -> None:
        """Deadline by deadline; or all at once, as when the machine was asleep."""
        end = self.loop.now + seconds
        leap = self.random.random() < 0.1
        self.trace("%g s %s", seconds, "are slept through" if leap else "pass")
        while not leap and (when := self.loop.next_timer()) is not None and when <= end:
            self.loop.now = max(self.loop.now, when)
            await asyncio.sleep(0)
            await self._settle()
        self.loop.now = end
        await asyncio.sleep(0)
        await self._settle()

    def _kill_somebody(self) -> None:
        alive = [process for process in self.processes.values() if not process.exited]
        if alive:
            self.random.choice(alive).exit(self.random.choice((-9, -11, 0, 1)))

    def _lose_somebody(self) -> None:
        clients = [client for client in self.clients if not client.gone]
        if clients:
            self.random.choice(clients).vanish()

    # ---- the end

    async def _fall_silent(self) -> None:
        """Nobody says a word any more, and nothing is read: time alone has to end everything that was begun."""
        self.trace("---- silence")
        for _ in range(PATIENCE):
            when = self.loop.next_timer()
            if when is None:
                break
            self.loop.now = max(self.loop.now, when)
            await asyncio.sleep(0)
            await self._settle()
        else:
            raise Violation(f"after {PATIENCE} deadlines in silence there are more")
        invariants.check_at_rest(self)
        self._raise()

    async def _end(self) -> None:
        """Everybody leaves, or the daemon ends: nothing may be left."""
        self.trace("---- the end")
        if self.random.random() < 0.4:
            ending = self.loop.create_task(self.driver.shutdown())
            await self._until_quiet()
            if not ending.done():
                ending.cancel()
                raise Violation("the daemon's shutdown never ends")
            await ending
            if self.relays is not None:
                self.relays.close()
            for connection in list(self.reception.connections):  # as the daemon does then
                connection.close()
            await self._until_quiet()
        else:
            await self._leave()
        invariants.check_nothing_left(self)
        self._raise()

    async def _leave(self) -> None:
        for client in self.clients:
            if not client.gone:
                client.vanish()
        await self._until_quiet()
        for name in ("alice", "bob"):
            own = [session_id for owner, session_id in self.ledger.sessions if owner == name]
            live = [session.id for session in self.engine._context.sessions if session.owner.name == name]
            own += [session_id for session_id in live if session_id not in own]
            client = self.connect(name, known=True)
            client.hello()
            client.deliver(NO_LIMIT)
            for session_id in own:
                client.request(AcpCloseSessionRequest(session_id))
                client.deliver(NO_LIMIT)
                await self._until_quiet()
            client.vanish()
            await self._settle()

    async def _until_quiet(self) -> None:
        await asyncio.sleep(0)
        await self._settle()
        for _ in range(PATIENCE):
            when = self.loop.next_timer()
            if when is None:
                return
            self.loop.now = max(self.loop.now, when)
            await asyncio.sleep(0)
            await self._settle()
        raise Violation(f"after {PATIENCE} deadlines there are more")


def run(
    seed: int,
    *,
    steps: int | None = None,
    tracing: bool = False,
    engine: type[WatchedEngine] = WatchedEngine,
    about: str = "",
) -> World:
    """One schedule from beginning to end. Raises what went wrong, with a note of how to see it again.

    `about`: it is about replays, services or anything, whatever the seed says.
    """
    world: World | None = None

    async def live(loop: VirtualLoop) -> World:
        nonlocal world
        world = World(seed, loop, steps=steps, tracing=tracing, engine=engine, about=about)
        await world.live()
        return world

    try:
        with surroundings() as loop:
            return loop.run_until_complete(live(loop))
    except Exception as error:
        again = f"{seed} -v --about {about}" if about else f"{seed} -v"
        error.add_note(f"seed {seed}, step {world.taken if world else 0}: python -m tests.simulation.run {again}")
        if world is not None and tracing:
            print("\n".join(world.log))
        raise
