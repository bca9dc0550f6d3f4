"""What was asked, told and promised, kept apart from the engine: whatever does not add up is a violation.

The engine's own side: its events and commands, and what agents are told. What callers receive is read in `reader`.
"""

from __future__ import annotations

import json
from collections import Counter, deque
from typing import TYPE_CHECKING, Any

import msgspec

from roost.sidecar import commands, events
from roost.sidecar.engine import Engine
from roost.sidecar.gen.messages import (
    AcpAgentExitedEvent,
    AcpCloseSessionRequest,
    AcpGetSessionStateRequest,
    AcpPermissionCallbackResponse,
    AcpResumeSessionRequest,
    AcpSessionCreatedResponse,
    AcpSessionRequest,
    AcpSessionResumedResponse,
    decode_acp_event,
)
from tests.simulation.brain import key_of

if TYPE_CHECKING:
    from tests.simulation.client import Client
    from tests.simulation.process import Process
    from tests.simulation.world import World

EXITED_TAG = 2  # of AcpEvent
CONSENT = frozenset(("yes", "always-yes", "allow_once", "allow_always", "once", "always"))


class Violation(AssertionError):
    """A rule of the simulation was broken."""


class Owned(msgspec.Struct):
    """A session that was opened, and for whom. Only its owner closes it; a crash may end it unseen."""

    owner: str
    process: str


class Asked(msgspec.Struct):
    """A request that is not answered yet. `base`: the process its session runs on, and how much of it was heard."""

    unknown: str | None = None  # the session it names is not the caller's: the only answer there is
    base: tuple[str, int] | None = None


class Ended(msgspec.Struct):
    """A crash that was told. `successor` runs the session now."""

    session_id: str
    successor: str | None


class Heard(msgspec.Struct):
    """One process, as the engine knows it."""

    owner: str = ""
    gone: bool = False  # its end was told, or it never started
    forgotten: bool = False
    closed: bool = False  # its session was closed, and it may still have something to say
    heard: int = 0  # bytes of stdout
    number: int = 0  # of the last notification among them
    told: set[str] = msgspec.field(default_factory=set)  # methods of requests it was sent
    last_call: int = 0
    owed: Counter[Any] = msgspec.field(default_factory=Counter)  # questions without an answer, by the key of their id
    asked: dict[Any, set[str]] = msgspec.field(default_factory=dict)  # the questions that had this id


class Ledger:
    def __init__(self, world: World) -> None:
        self._world = world
        self.violations: list[str] = []
        self.processes: dict[str, Heard] = {}
        self.clients: dict[int, Client] = {}  # by connection number, as long as it is there
        self.gone_clients: set[int] = set()
        self.sessions: dict[str, Owned] = {}
        self.lines: dict[tuple[str, int], str] = {}  # what was printed under a number
        self.open: dict[tuple[int, int], Asked] = {}
        self.loads: set[int] = set()
        self.allowed: set[str | None] = set()  # questions that a caller has said yes to
        self.crashed: dict[str, str] = {}  # process -> the session whose listeners are owed an exit event
        self.ended: dict[str, Ended] = {}
        self.touched: dict[str, None] = {}
        self.spawns: deque[str] = deque()  # to be started, in order
        self.stderr: tuple[str, bytes] = ("", b"")
        self._only_a_reply: tuple[int, int] | None = None
        self._silent = False
        self._going = ""  # whose end is being handled
        self.counts: Counter[str] = Counter()

    def violated(self, text: str) -> None:
        self.violations.append(text)

    def require(self, true: Any, text: str) -> None:
        if not true:
            self.violations.append(text)

    # ---- what the engine is told

    def event(self, event: events.Event) -> None:
        self.counts[type(event).__name__] += 1
        self._world.trace("> %.300s", event)
        match event:
            case events.CallerArrived(connection=number):
                client = self._world.delivering
                self.clients[number] = client
                client.number = number
            case events.RequestArrived(connection=number, request=request, payload=payload):
                self._asked(number, request, payload)
            case events.CallerLeft(connection=number):
                client = self.clients.pop(number)
                self.gone_clients.add(number)
                if not client.named:
                    for session_id, owned in list(self.sessions.items()):
                        if owned.owner == client.token:
                            self._close(session_id)
            case events.CallerAnswered(connection=number, callback=callback, payload=answer):
                callbacks = self.clients[number].callbacks
                self._silent = callback not in callbacks
                if not self._silent and isinstance(answer, AcpPermissionCallbackResponse) and answer.reply in CONSENT:
                    self.allowed.add(callbacks[callback][1])
            case events.AgentExited(process=process) | events.AgentFailedToStart(process=process):
                heard = self.processes[process]
                self.require(not heard.gone, f"{process}: its end was told twice")
                heard.gone = True
                self._going = process
                session = next((sid for sid, owned in self.sessions.items() if owned.process == process), None)
                if session is not None and not heard.forgotten:
                    self.crashed[process] = session
            case events.RecordLoaded(ticket=ticket):
                self.loads.discard(ticket)
            case events.ShutdownRequested():
                for session_id in list(self.sessions):
                    self._close(session_id)

    def _asked(self, number: int, request: int, payload: Any) -> None:
        client = self.clients[number]
        self.require((number, request) not in self.open, f"{client}: request {request} came through the gate twice")
        asked = self.open[number, request] = client.open[request] = Asked()
        match payload:
            case (
                AcpSessionRequest(session_id=session_id)
                | AcpGetSessionStateRequest(session_id=session_id)
                | AcpCloseSessionRequest(session_id=session_id)
                | AcpResumeSessionRequest(session_id=session_id)
            ):
                owned = self.sessions.get(session_id)
                client.interested.add(session_id)
                if owned is not None and owned.owner == client.token:
                    owned.process = self._world.running_process(session_id) or owned.process
                    asked.base = (owned.process, self.processes[owned.process].number)
                    if isinstance(payload, AcpCloseSessionRequest) and self._admitted(client):
                        self._close(session_id)
                elif not isinstance(payload, AcpResumeSessionRequest):
                    self._only_a_reply = (number, request)
                    if self._admitted(client) and not (isinstance(payload, AcpSessionRequest) and _bad_params(payload)):
                        asked.unknown = session_id

    def _admitted(self, client: Client) -> bool:
        count = sum(1 for number, _ in self.open if number == client.number)
        return count <= self._world.limits.requests_per_connection

    def _close(self, session_id: str) -> None:
        owned = self.sessions.pop(session_id)
        self.processes[owned.process].closed = True
        self.crashed.pop(owned.process, None)

    # ---- what the engine wants done

    def command(self, command: commands.Command, engine: Engine) -> None:
        self.counts[type(command).__name__] += 1
        self._world.trace("< %.300s", command)
        match command:
            case commands.Note(bug=True, text=text):
                self.violated(text)
            case commands.Note():
                pass
            case commands.Reply(connection=number, request=request, response=response):
                self._count(number, left=True)
                if self.open.pop((number, request), None) is None:
                    self.violated(f"connection {number}: request {request} is answered, and was not open")
                if isinstance(response, (AcpSessionCreatedResponse, AcpSessionResumedResponse)):
                    self._opened(number, response.session_id, engine)
            case commands.Publish(connection=number, payload=payload):
                self._count(number)
                if payload[0] == EXITED_TAG:
                    self._ended(payload)
            case commands.AskCaller(connection=number):
                self._count(number)
            case commands.Disconnect(connection=number):
                self._count(number)
            case commands.Load(ticket=ticket):
                self.loads.add(ticket)
            case commands.SpawnAgent(process=process, launch=launch):
                self.require(process not in self.processes, f"{process} is started twice")
                self.processes[process] = Heard(owner=launch.env.get("SIM_OWNER", ""))
                self.spawns.append(process)
            case _:
                self._to_agent(command)

    def obeyed(self, emitted: list[commands.Command]) -> None:
        """All commands that one event led to."""
        self._going = ""
        told = [command for command in emitted if not isinstance(command, commands.Note)]
        if self._only_a_reply is not None:
            kinds = [type(command).__name__ for command in told]
            self.require(kinds == ["Reply"], f"a foreign or missing session, and yet: {kinds}")
            self._only_a_reply = None
        if self._silent:
            self.require(not told, f"an answer to a question nobody asked, and yet: {told}")
            self._silent = False

    def _to_agent(self, command: Any) -> None:
        heard = self.processes.get(command.process)
        name = type(command).__name__
        if heard is None or heard.forgotten:
            self.violated(f"{name} for {command.process}, which is {'unknown' if heard is None else 'forgotten'}")
        elif isinstance(command, commands.ForgetAgent):
            heard.forgotten = True
            process = self._world.processes.get(command.process)
            if process is not None and not process.reported and 9 not in process.signals:
                self.violated(f"{process} is forgotten, and was not even killed")
        elif heard.gone and command.process != self._going:
            self.violated(f"{name} for {command.process}, which has exited")

    def _count(self, number: int, *, left: bool = False) -> None:
        client = self.clients.get(number)
        if client is not None:
            client.commanded += 1
        elif not left or number not in self.gone_clients:
            self.violated(f"something for connection {number}, which is not there")

    def _opened(self, number: int, session_id: str, engine: Engine) -> None:
        client = self.clients.get(number)
        session = engine._context.sessions.find(session_id)
        if session is None:
            self.violated(f"session {session_id} was opened, and is not there")
            return
        if client is None:  # only one that was open already
            self.require(session_id in self.sessions, f"session {session_id} was opened for somebody who has left")
            return
        process = session.link.process
        heard = self.processes[process]
        self.require(heard.owner == client.token, f"{client} was given a session on {process} of {heard.owner}")
        owned = self.sessions.get(session_id)
        if owned is None or owned.process != process:
            if owned is not None and not self._may_be_gone(owned):
                self.violated(f"session {session_id} of {owned.owner} was opened again for {client}")
            self.sessions[session_id] = Owned(client.token, process)

    def _ended(self, payload: bytes) -> None:
        """A crash is told to a connection, perhaps not the first."""
        event = decode_acp_event(payload)
        assert isinstance(event, AcpAgentExitedEvent)
        session_id, process = event.session_id, event.process_id
        if process in self.ended:
            return
        owned = self.sessions.get(session_id)
        if owned is None:
            self.violated(f"the end of {process} is told after {session_id} was closed")
            return
        successor = self._world.running_process(session_id)
        if event.restart == "restarted":
            self.require(successor not in (None, process), f"{session_id} was restarted, and nothing runs")
            owned.process = successor or process
        else:
            self.require(successor is None, f"{session_id} was evicted, and is still there")
            del self.sessions[session_id]
            successor = None
        self.ended[process] = Ended(session_id, successor)

    def _may_be_gone(self, owned: Owned) -> bool:
        """A session that crashed may have ended, or moved, while nobody listened."""
        return self.processes[owned.process].gone or self.processes[owned.process].forgotten

    # ---- agents

    def agent_is_heard(self, process: Process, count: int) -> None:
        """Bytes of stdout are about to be told to the engine."""
        heard = self.processes[process.name]
        heard.heard += count
        self._move_on(process, heard, heard.heard)

    def agent_is_gone(self, process: Process) -> None:
        """Its end is about to be told: a last line without its newline counts."""
        heard = self.processes[process.name]
        self._move_on(process, heard, heard.heard + 1)

    def _move_on(self, process: Process, heard: Heard, offset: int) -> None:
        marks = process.brain.marks
        while marks and marks[0][0] <= offset:
            mark = marks.popleft()[1]
            if heard.forgotten:
                continue
            if isinstance(mark, int):
                heard.number = mark
                self.touched[process.name] = None
            else:
                heard.owed[mark.key] += 1
                heard.asked.setdefault(mark.key, set()).add(mark.name)

    def stderr_is_heard(self, process: Process, chunk: bytes) -> None:
        self.stderr = (process.name, chunk)

    def stderr_was_heard(self, process: Process, chunk: bytes) -> None:
        self.stderr = ("", b"")

    def agent_was_told(self, process: Process, line: bytes) -> None:
        """One line on its stdin."""
        self._world.trace("  %s is told %.300r", process, line)
        if not line.endswith(b"\n"):
            self.violated(f"{process}: half a line was written: {line!r}")
        try:
            message = msgspec.json.decode(line)
        except ValueError as error:
            self.violated(f"{process}: what was written is no JSON ({error}): {line!r}")
            return
        heard = self.processes[process.name]
        for part in message if isinstance(message, list) else [message]:
            if "method" in part:
                self._agent_was_asked(process, heard, part)
            else:
                self._agent_was_answered(process, heard, part)

    def _agent_was_asked(self, process: Process, heard: Heard, message: dict[str, Any]) -> None:
        by = message["params"].get("by", process.owner)
        self.require(by == process.owner, f"{process} of {process.owner} was told something by {by}: {message}")
        heard.told.add(message["method"])
        if "id" in message:
            self.require(message["id"] > heard.last_call, f"{process}: call {message['id']} is not new")
            heard.last_call = message["id"]

    def _agent_was_answered(self, process: Process, heard: Heard, message: dict[str, Any]) -> None:
        key = key_of(message["id"])
        if heard.owed[key] <= 0:
            self.violated(f"{process}: an answer to no open question of its: {message}")
            return
        heard.owed[key] -= 1
        result = message.get("result")
        if not isinstance(result, dict):
            return
        outcome = result.get("outcome")
        if isinstance(outcome, dict) and outcome.get("optionId") in CONSENT:
            self.require(
                heard.asked[key] & self.allowed, f"{process}: consent to {heard.asked[key]}, which nobody gave"
            )
        by = result.get("from", process.owner)
        self.require(by == process.owner, f"{process} of {process.owner} was answered by {by}")


def _bad_params(payload: AcpSessionRequest) -> bool:
    if payload.params is None:
        return False
    try:
        json.loads(payload.params)
    except ValueError:
        return True
    return False
