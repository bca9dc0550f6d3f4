"""A whole sidecar without a process, a socket or a clock: the engine, agents as functions, callers as numbers."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable
from typing import Any

from roost.sidecar import commands, events
from roost.sidecar.engine import Engine
from roost.sidecar.gen.messages import (
    AcpAgentEntry,
    AcpCallback,
    AcpCallbackResponse,
    AcpCloseSessionRequest,
    AcpCreateSessionRequest,
    AcpEvent,
    AcpGetSessionStateRequest,
    AcpRequest,
    AcpResponse,
    AcpRuntimeKind,
    AcpSessionCreatedResponse,
    AcpSessionRequest,
    decode_acp_event,
)
from roost.sidecar.journal import Holder
from roost.sidecar.launch import AgentProgram
from roost.sidecar.limits import Limits
from roost.sidecar.naming import id_in
from roost.sidecar.sessions import Session
from tests.sidecar.scripted_agent import Agent, Json
from tests.sidecar.shelf import Shelf


class Rig:
    """Feeds one engine, carries its commands out, and keeps what callers were told."""

    def __init__(
        self,
        script: Callable[[Agent, Json], bool | None] | None = None,
        *,
        journal: Shelf | None = None,
        services: Json | None = None,
        **limits: Any,
    ) -> None:
        self.shelf = journal
        self.engine = Engine(
            Limits(**limits), version="1.2.3", folder="/instructions", journal=journal is not None, services=services
        )
        self.script = script or (lambda agent, message: False)
        self.capabilities: Json = {}  # of the agents started from now on
        self.session_id: str | None = None
        self.now = 1000.0
        self.agents: dict[str, Agent] = {}
        self.programs: dict[str, AgentProgram] = {}
        self.install("echo")
        self.install("other")
        self.cut: Callable[[bytes], list[bytes]] | None = None  # how a chunk of output is read
        self.pids: bool | None = True  # None: the host knows none
        self.spawn_error: tuple[str, str] | None = None
        self.told: list[tuple[int, Any]] = []  # everything callers were told, in order
        self.replies: dict[tuple[int, int], AcpResponse] = {}
        self.asked: list[tuple[int, int, AcpCallback]] = []
        self.notes: list[commands.Note] = []
        self.disconnected: list[commands.Disconnect] = []
        self.forgotten: list[str] = []
        self.spawned: set[str] = set()
        self.served: list[commands.ServeAgent] = []
        self.decided: dict[int, bool] = {}  # what the driver may do, by token
        self.withdrawn: list[int] = []
        self.services_ended: list[commands.EndServices] = []
        self.services_end = True  # when they are told to
        self.records: dict[str, Any] = {}  # what SessionQuery finds, besides the shelf
        self._unanswered: set[tuple[int, int]] = set()
        self._pending: deque[Any] = deque()
        self._working = False
        self._connections = 0
        self._requests = 0
        if journal is not None:
            self.feed(events.VersionsRecalled(dict(journal.versions)))

    @property
    def agent(self) -> Agent:
        """The one started last."""
        return self.agents[next(reversed(self.agents))]

    def session(self, session_id: str) -> Session | None:
        """The engine's own, of the first caller that has it."""
        return next((session for session in self.engine._context.sessions if session.id == session_id), None)

    def assert_nothing_left(self) -> None:
        """Everybody was answered, every process is accounted for, every table is empty, and no timer is left."""
        assert not self._unanswered, f"never answered: {self._unanswered}"
        context = self.engine._context
        assert not context.links, f"agents left: {context.links}"
        assert not len(context.sessions), f"sessions left: {[session.id for session in context.sessions]}"
        assert not context.loading
        for connection in context.callers.connections.values():
            left = (connection.asks, connection.hears, connection.starting, connection.open_requests)
            assert not any(left), f"connection {connection.number} keeps {left}"
        with_connection = {connection.caller.name for connection in context.callers.connections.values()}
        for name, caller in context.callers._callers.items():
            assert name in with_connection, f"caller {name} is remembered for nothing"
            assert not caller.sessions
            assert caller.opening == 0
        assert context.stage.running == 0
        assert not context.stage.ready
        assert context.stage.timers == 0, f"timers left: {context.stage.timers}"
        assert sorted(self.forgotten) == sorted(set(self.forgotten)), "forgotten twice"
        assert set(self.forgotten) == self.spawned, "a process is not accounted for"
        for agent in self.agents.values():
            assert agent.exited or 9 in agent.signals, f"{agent.process} was left running"
        assert self.engine.idle

    def install(self, name: str, **fields: Any) -> None:
        """Makes an agent known."""
        self.programs[name] = AgentProgram(agent_type=name, entrypoint=f"/opt/agentos/bin/{name}", **fields)

    # ---- callers

    def connect(self, caller: str | None = None) -> int:
        self._connections += 1
        name = caller or f"~{self._connections}"
        self.feed(events.CallerArrived(self._connections, name, caller is not None))
        return self._connections

    def leave(self, connection: int) -> None:
        self.feed(events.CallerLeft(connection))

    def send(self, connection: int, payload: AcpRequest) -> int:
        self._requests += 1
        number = self._requests
        self._unanswered.add((connection, number))
        self.feed(events.RequestArrived(connection, number, payload))
        return number

    def ask(self, connection: int, payload: AcpRequest) -> Any:
        """Sends a request that is answered at once."""
        return self.replies[connection, self.send(connection, payload)]

    def reply(self, connection: int, request: int) -> Any:
        return self.replies.get((connection, request))

    def prompt(self, connection: int, session: str, text: str = "hello") -> int:
        return self.request(connection, session, "session/prompt", {"prompt": [{"type": "text", "text": text}]})

    def close(self, connection: int, session: str) -> int:
        return self.send(connection, AcpCloseSessionRequest(session))

    def state(self, connection: int, session: str) -> Any:
        return self.ask(connection, AcpGetSessionStateRequest(session))

    def create(self, connection: int, agent: str = "echo", **fields: Any) -> AcpSessionCreatedResponse:
        response = self.ask(connection, create_request(agent, **fields))
        assert isinstance(response, AcpSessionCreatedResponse), response
        return response

    def request(self, connection: int, session: str, method: str, params: Any = None) -> int:
        text = None if params is None else json.dumps(params)
        return self.send(connection, AcpSessionRequest(session, method, text))

    def rpc(self, connection: int, request: int) -> Json:
        return json.loads(self.replies[connection, request].response)

    def answer(self, connection: int, callback: int, payload: AcpCallbackResponse) -> None:
        self.feed(events.CallerAnswered(connection, callback, payload))

    def events(self, connection: int) -> list[AcpEvent]:
        return [told for number, told in self.told if number == connection and not isinstance(told, tuple)]

    def notifications(self, connection: int) -> list[Json]:
        return [json.loads(event.notification) for event in self.events(connection) if hasattr(event, "notification")]

    # ---- time and the loop

    def feed(self, event: events.Event) -> None:
        if isinstance(event, events.AgentWrote) and self.cut is not None:
            self._pending.extend(events.AgentWrote(event.process, piece) for piece in self.cut(event.chunk))
        else:
            self._pending.append(event)
        self._work()

    def advance(self, seconds: float) -> None:
        """Lets time pass, deadline by deadline."""
        end = self.now + seconds
        while (deadline := self.engine.next_deadline()) is not None and deadline <= end:
            self.now = max(self.now, deadline)
            self.engine.expire(self.now)
            self._work()
        self.now = end

    def _work(self) -> None:
        if self._working:
            return
        self._working = True
        try:
            self._obey()
            while self._pending:
                self.engine.handle(self._pending.popleft(), self.now)
                self._obey()
        finally:
            self._working = False

    def _obey(self) -> None:
        for command in self.engine.commands():
            self._do(command)

    def _follow(self, event: events.Event) -> None:
        """What a command leads to comes after everything that waits already."""
        self._pending.append(event)

    def _do(self, command: commands.Command) -> None:
        match command:
            case commands.Reply(connection=connection, request=request, response=response):
                assert (connection, request) in self._unanswered, "answered twice, or never asked"
                self._unanswered.discard((connection, request))
                self.replies[connection, request] = response
                self.told.append((connection, (request, response)))
            case commands.Publish(connection=connection, payload=payload):
                self.told.append((connection, decode_acp_event(payload)))
            case commands.AskCaller(connection=connection, callback=callback, payload=payload):
                self.asked.append((connection, callback, payload))
            case commands.SpawnAgent(process=process, launch=launch):
                self.spawned.add(process)
                if self.spawn_error is not None:
                    self._follow(events.AgentFailedToStart(process, *self.spawn_error))
                    return
                self.agents[process] = Agent(self, process, launch)
                self._follow(events.AgentStarted(process, self.pids and 4000 + len(self.agents)))
            case commands.WriteAgent(process=process, data=data):
                if not self.agents[process].exited:
                    self.agents[process].hears(data)
            case commands.CloseAgentInput(process=process):
                agent = self.agents[process]
                agent.input_closed = True
                if agent.exits_on_eof:
                    agent.exit(0)
            case commands.SignalAgent(process=process, signal=signal):
                agent = self.agents[process]
                agent.signals.append(signal)
                if signal in agent.exits_on:
                    agent.exit(-signal)
            case commands.PauseAgent(process=process):
                self.agents[process].paused = True
            case commands.ResumeAgent(process=process):
                self.agents[process].resume()
            case commands.ForgetAgent(process=process):
                self.forgotten.append(process)
            case commands.ServeAgent():
                self.served.append(command)
            case commands.DecideService(token=token, allowed=allowed):
                assert token not in self.decided, "decided twice"
                self.decided[token] = allowed
            case commands.WithdrawService(token=token):
                self.withdrawn.append(token)
            case commands.EndServices(process=process, place=place):
                self.services_ended.append(command)
                if place is None and self.services_end:
                    self._follow(events.ServicesEnded(process))
            case commands.Load(ticket=ticket, query=query):
                self._follow(events.RecordLoaded(ticket, self.look_up(query)))
            case commands.Persist(changes=changes, ticket=ticket):
                assert self.shelf is not None, "nothing is kept without a journal"
                self.shelf.take(changes)
                if ticket and not self.shelf.stuck:
                    self._follow(events.ChangesStored(ticket, self.shelf.failure))
                elif ticket:
                    self.shelf.waiting.append(ticket)
            case commands.Disconnect():
                self.disconnected.append(command)
            case commands.Note():
                assert not command.bug, command.text
                self.notes.append(command)

    def _stored(self) -> dict[str, Any]:
        return {**self.records, **({} if self.shelf is None else self.shelf.sessions)}

    def look_up(self, query: commands.Query) -> Any:
        match query:
            case commands.AgentQuery(agent_type=agent_type):
                return self.programs.get(agent_type)
            case commands.AgentsQuery():
                return [AcpAgentEntry(name, True, program.entrypoint) for name, program in self.programs.items()]
            case commands.SessionQuery(session_id=session_id):
                return self._stored().get(session_id)
            case commands.HoldersQuery(names=names):
                return [
                    Holder(name, session.owner, session.launch.agent_type)
                    for session in self._stored().values()
                    for name in (session.name, session.live_id)
                    if name in names
                ]
            case commands.SessionsQuery(caller=caller, after=after, limit=limit) if self.shelf is not None:
                own = [session for session in self.shelf.sessions.values() if session.owner == caller]
                own.sort(key=lambda session: (session.created_at, session.session_id), reverse=True)
                found = [one for one in own if after is None or (one.created_at, one.session_id) < after]
                return found[:limit]
            case commands.HistoryQuery(session_id=session_id, after=after, limit=limit) if self.shelf is not None:
                found = [entry for entry in self.shelf.entries.get(session_id, ()) if entry.number > after]
                return found[:limit]
            case commands.PromptQuery(session_id=session_id, key=key) if self.shelf is not None:
                return self.shelf.keys.get((session_id, key))
            case commands.TranscriptQuery(session_id=session_id, cwd=cwd):
                return f"{cwd}/{id_in(session_id)}.md"
        return None

    def store(self, failure: str | None = None) -> None:
        """The store, which was stuck, says of everything that it is durable, or why not."""
        assert self.shelf is not None
        waiting, self.shelf.waiting = self.shelf.waiting, []
        for ticket in waiting:
            self.feed(events.ChangesStored(ticket, failure))


def create_request(agent: str = "echo", **fields: Any) -> AcpCreateSessionRequest:
    values: Json = {
        "agent_type": agent,
        "runtime": AcpRuntimeKind.JAVA_SCRIPT,
        "cwd": "/w",
        "args": [],
        "env": {},
        "protocol_version": 1,
        "client_capabilities": "{}",
        "mcp_servers": "[]",
        "skip_os_instructions": True,
        "additional_instructions": None,
    }
    values.update(fields)
    return AcpCreateSessionRequest(**values)
