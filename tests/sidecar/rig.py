"""A whole sidecar without a process, a socket or a clock: the engine, agents as functions, callers as numbers."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

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
from roost.sidecar.journal import (
    Append,
    Change,
    ChangeSession,
    DeleteSession,
    Entry,
    Kind,
    LearnVersion,
    OpenSession,
    StoredPrompt,
    StoredSession,
)
from roost.sidecar.launch import AgentProgram, Launch
from roost.sidecar.limits import Limits
from roost.sidecar.naming import id_in
from roost.sidecar.sessions import Session

Json = dict[str, Any]


class Agent:
    """A scripted agent: `hear` is called with each message; what is not handled there gets a plain v1 or v2 answer."""

    def __init__(self, rig: Rig, process: str, launch: Launch) -> None:
        self.rig = rig
        self.process = process
        self.launch = launch
        self.heard: list[Json] = []
        self.signals: list[int] = []
        self.input_closed = False
        self.exited = False
        self.done: set[Any] = set()  # for scripts: ids it has answered
        self.paused = False
        self.hear: Callable[[Agent, Json], bool | None] = rig.script
        self.session_id = rig.session_id or f"s-{process}"
        self.capabilities: Json = dict(rig.capabilities)
        self._held: list[events.Event] = []
        self.exits_on: frozenset[int] = frozenset((9, 15))
        self.exits_on_eof = True

    # what it does

    def say(self, message: Json) -> None:
        self.write(json.dumps(message).encode() + b"\n")

    def write(self, data: bytes) -> None:
        self._told(events.AgentWrote(self.process, data))

    def _told(self, event: events.Event) -> None:
        """What happens on stdout stays in the pipe while nobody reads it."""
        if self.paused:
            self._held.append(event)
        else:
            self.rig.feed(event)

    def resume(self) -> None:
        self.paused = False
        held, self._held = self._held, []
        for event in held:
            self.rig.feed(event)

    def stderr(self, data: bytes) -> None:
        self.rig.feed(events.AgentWroteStderr(self.process, data))

    def result(self, request: Json, result: Any) -> None:
        self.say({"jsonrpc": "2.0", "id": request["id"], "result": result})

    def error(self, request: Json, code: int, message: str, data: Any = None) -> None:
        error: Json = {"code": code, "message": message}
        if data is not None:
            error["data"] = data
        self.say({"jsonrpc": "2.0", "id": request["id"], "error": error})

    def update(self, **update: Any) -> None:
        self.notify("session/update", {"sessionId": self.session_id, "update": update})

    def notify(self, method: str, params: Any) -> None:
        self.say({"jsonrpc": "2.0", "method": method, "params": params})

    def ask(self, method: str, params: Any, id: Any = "ask-1") -> None:
        self.say({"jsonrpc": "2.0", "id": id, "method": method, "params": params})

    def exit(self, code: int | None) -> None:
        if not self.exited:
            self.exited = True
            self._told(events.AgentExited(self.process, code))

    # what is done to it

    def hears(self, data: bytes) -> None:
        for line in data.splitlines():
            parsed = json.loads(line, parse_int=lambda digits: int(digits) if len(digits) < 4000 else digits)
            for message in parsed if isinstance(parsed, list) else [parsed]:
                self.heard.append(message)
                if not self.hear(self, message):
                    self.answer(message)

    def answer(self, message: Json) -> None:
        method = message.get("method")
        if "id" not in message or method is None:
            return
        if method == "initialize":
            version = message["params"]["protocolVersion"]
            if version == 2:
                info = {"name": "scripted", "version": "1"}
                caps = {"session": {}, **self.capabilities}
                self.result(message, {"protocolVersion": 2, "info": info, "capabilities": caps})
            else:
                self.result(message, {"protocolVersion": version, "agentCapabilities": self.capabilities})
        elif method == "session/new":
            self.result(message, {"sessionId": self.session_id})
        elif method == "session/prompt" and self.launch.protocol_version == 1:
            self.result(message, {"stopReason": "end_turn"})
        elif method == "session/prompt":
            self.result(message, {})
            self.update(sessionUpdate="state_update", state="running")
            self.update(sessionUpdate="state_update", state="idle", stopReason="end_turn")
        else:
            self.result(message, {})

    def requests(self, method: str) -> list[Json]:
        return [message for message in self.heard if message.get("method") == method]

    def answers(self) -> list[Json]:
        return [message for message in self.heard if "method" not in message]


class Keyed(dict[str, Any]):
    """By key; a session can be found by its id alone, too, which does for tests of one caller."""

    def _key(self, key: object) -> str:
        return next((known for known in self if key in (known, id_in(known))), "")

    def __getitem__(self, key: str) -> Any:
        return super().__getitem__(self._key(key))

    def __setitem__(self, key: str, value: Any) -> None:
        super().__setitem__(self._key(key) or key, value)

    def __contains__(self, key: object) -> bool:
        return bool(self._key(key))


class Shelf:
    """A journal as plain as can be; outlives the rig, as a file outlives a daemon."""

    def __init__(self) -> None:
        self.sessions: dict[str, StoredSession] = Keyed()
        self.entries: dict[str, list[Entry]] = Keyed()
        self.keys: dict[tuple[str, str], StoredPrompt] = {}
        self.versions: dict[str, int] = {}
        self.opened = 0.0  # its clock
        self.failure: str | None = None
        self.stuck = False
        self.waiting: list[int] = []

    def take(self, changes: tuple[Change, ...]) -> None:
        for change in changes:
            match change:
                case OpenSession(session=session):
                    assert session.session_id not in self.sessions
                    self.opened += 1.0
                    self.sessions[session.session_id] = replace(session, created_at=self.opened, updated_at=self.opened)
                    self.entries[session.session_id] = []
                case ChangeSession(session_id=session_id, fields=fields) if session_id in self.sessions:
                    self.sessions[session_id] = replace(self.sessions[session_id], **fields)
                case Append(entry=entry) if entry.session_id in self.sessions:
                    session = self.sessions[entry.session_id]
                    assert entry.number == session.last_number + 1, "numbers have no holes"
                    self.sessions[entry.session_id] = replace(session, last_number=entry.number)
                    self.entries[entry.session_id].append(entry)
                    if entry.kind is Kind.PROMPT and (key := json.loads(entry.body)["key"]) is not None:
                        self.keys.setdefault((entry.session_id, key), StoredPrompt(entry.number, b""))
                case LearnVersion(digest=digest, version=version):
                    self.versions.pop(digest, None)
                    self.versions[digest] = version
                case DeleteSession(session_id=session_id):
                    self.sessions.pop(session_id, None)
                    self.entries.pop(session_id, None)

    def kinds(self, session_id: str) -> list[str]:
        return [entry.kind.value for entry in self.entries[session_id]]


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
            case commands.StrangerQuery(caller=caller, session_id=session_id):
                others = [session for session in self._stored().values() if session.owner != caller]
                return any(session_id in (session.name, session.live_id) for session in others)
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
