"""What was asked, told and promised, kept apart from the engine: whatever does not add up is a violation.

The engine's own side: its events and commands, and what agents are told. What callers receive is read in `reader`.
"""

from __future__ import annotations

import json
import math
from collections import Counter, deque
from typing import TYPE_CHECKING, Any

import msgspec

from roost.sidecar import commands, events, naming
from roost.sidecar.engine import Engine
from roost.sidecar.gen.messages import (
    AcpAgentExitedEvent,
    AcpCloseSessionRequest,
    AcpGetSessionStateRequest,
    AcpPermissionCallback,
    AcpPermissionCallbackResponse,
    AcpResumeSessionRequest,
    AcpSessionClosedResponse,
    AcpSessionCreatedResponse,
    AcpSessionRequest,
    AcpSessionResumedResponse,
    decode_acp_event,
)
from roost.sidecar.mcp_relay import CutRelay, WithdrawRelay
from tests.simulation import invariants
from tests.simulation.accounts import UNKNOWN, Asked, Ended, Heard, Owned, Place
from tests.simulation.endings import LETTING_GO, Endings
from tests.simulation.serving import Serving
from tests.simulation.stdio import CONSENT, Stdio

if TYPE_CHECKING:
    from tests.simulation.client import Client
    from tests.simulation.world import World

AFTER_THE_END = (commands.EndServices, WithdrawRelay, CutRelay)
EXITED_TAG = 2  # of AcpEvent
SERVICES = (commands.ServeAgent, commands.DecideService, commands.WithdrawService, commands.EndServices)


class Ledger:
    def __init__(self, world: World) -> None:
        self._world = world
        self.violations: list[str] = []
        self.processes = {UNKNOWN: Heard(gone=True, forgotten=True)}
        self.clients: dict[int, Client] = {}  # by connection number, as long as it is there
        self.gone_clients: set[int] = set()
        self.sessions: dict[Place, Owned] = {}
        self.had: set[Place] = set()  # besides
        self.lines: dict[tuple[str, int], str] = {}  # what was printed under a number
        self.open: dict[tuple[int, int], Asked] = {}
        self.loads: set[int] = set()
        self.endings = Endings(self, world)
        self.stdio = Stdio(self, world)
        self.serving = Serving(self, world)
        self.leaving: set[int] = set()  # connections that the driver was told to end
        self.allowed: set[str | None] = set()  # questions that a caller has said yes to
        self.crashed: dict[str, tuple[str, list[Client]]] = {}  # by process: the session, and who is to be told
        self.ended: dict[str, Ended] = {}
        self.touched: dict[str, None] = {}
        self.spawns: deque[str] = deque()  # to be started, in order
        self._only_a_reply = False
        self._silent = False
        self._going = ""  # whose end is being handled
        self._heard = ""  # whose words are
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
            case events.AgentWrote(process=process):
                self._heard = process
            case events.RequestArrived(connection=number, request=request, payload=payload):
                self._asked(number, request, payload)
            case events.CallerLeft(connection=number):
                client = self.clients.pop(number)
                self.leaving.discard(number)
                self.gone_clients.add(number)
                if not client.named:
                    for place in list(self.sessions):
                        if place[0] == client.token:
                            self.close(place)
            case events.CallerAnswered(connection=number, callback=callback, payload=answer):
                callbacks = self.clients[number].callbacks
                self._silent = callback not in callbacks
                if not self._silent and isinstance(answer, AcpPermissionCallbackResponse) and answer.reply in CONSENT:
                    asked, question = callbacks[callback]
                    self.allowed.add(question)
                    connection = self._world.engine._context.callers.connections[number]
                    if callback in connection.asks and isinstance(asked, AcpPermissionCallback):
                        self.serving.answered(asked.params, question, answer.reply)
            case events.AgentExited(process=process) | events.AgentFailedToStart(process=process):
                heard = self.processes[process]
                self.require(not heard.gone, f"{process}: its end was told twice")
                heard.gone = True
                self._going = self._heard = process
                place = next((place for place, owned in self.sessions.items() if owned.process == process), None)
                if (
                    place is not None
                    and self._world.running_process(place) == process
                    and not self.endings.is_under_way(place)
                ):
                    listeners = [client for client in self.clients.values() if process in client.reader.seen]
                    self.crashed[process] = (place[1], listeners)
            case events.RecordLoaded(ticket=ticket):
                self.loads.discard(ticket)
            case events.ServiceWished() | events.ServiceAnswered() | events.ServicesEnded():
                self.serving.event(event)
            case events.ShutdownRequested():
                for place in list(self.sessions):
                    self.close(place)

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
                place = (client.token, session_id)
                owned = self.sessions.get(place)
                client.interested.add(session_id)
                if owned is not None:
                    running = self._world.running_process(place)
                    asked.live = running is not None
                    owned.process = running or owned.process
                    joins = not (isinstance(payload, AcpSessionRequest) and payload.method.startswith("_roost/"))
                    if joins and not invariants.waits_for_the_journal(self._world, owned.process):
                        asked.base = (owned.process, self.processes[owned.process].number)
                    if isinstance(payload, AcpCloseSessionRequest) and self._admitted(client):
                        self.close(place)
                elif not isinstance(payload, AcpResumeSessionRequest) and not self.may_know(client, session_id):
                    self._only_a_reply = True
                    if self._admitted(client) and not _is_refused_anyway(payload, self._world.store is not None):
                        asked.unknown = session_id
                if isinstance(payload, AcpCloseSessionRequest):
                    self.endings.logged_out.discard(place)
                if isinstance(payload, AcpSessionRequest):
                    self.endings.asked(asked, place, payload)

    def may_know(self, client: Client, session_id: str) -> bool:
        """It may be the caller's after all: just being opened, at rest since it crashed, or deleted meanwhile."""
        if self._world.session((client.token, session_id)) is not None:
            return True
        store = self._world.store
        return client.named and store is not None and (client.token, session_id) in store.owners

    def _admitted(self, client: Client) -> bool:
        count = sum(1 for number, _ in self.open if number == client.number)
        return count <= self._world.limits.requests_per_connection

    def close(self, place: Place) -> None:
        owned = self.sessions.pop(place)
        self.had.add(place)
        self.processes[owned.process].closed = True
        self.crashed.pop(owned.process, None)

    # ---- what the engine wants done

    def command(self, command: commands.Command, engine: Engine) -> None:
        self.counts[type(command).__name__] += 1
        self._world.trace("< %.300s", command)
        match command:
            case commands.Note(bug=True, text=text):
                self.violated(text)
            case commands.Note(text=text):
                self.serving.noted(text)
            case commands.Persist():
                pass
            case commands.Reply(connection=number, request=request, response=response):
                self._count(number, left=True)
                asked = self.open.pop((number, request), None)
                if asked is None:
                    self.violated(f"connection {number}: request {request} is answered, and was not open")
                elif asked.place is not None and asked.method in (*LETTING_GO, "session/resume"):
                    self.endings.answered(asked, asked.place, response)
                if isinstance(response, AcpSessionClosedResponse):
                    client = self.clients.get(number)
                    alive = None if client is None else self._world.session((client.token, response.session_id))
                    kept = alive is not None and alive.journal is not None
                    self.require(not kept, f"session {response.session_id} was closed, and is there")
                if isinstance(response, (AcpSessionCreatedResponse, AcpSessionResumedResponse)):
                    self._opened(number, response.session_id, getattr(response, "pid", None))
            case commands.Publish(connection=number, payload=payload):
                self._count(number)
                if payload[0] == EXITED_TAG:
                    self._ended(payload)
            case commands.AskCaller(connection=number):
                self._count(number)
            case commands.Disconnect(connection=number):
                self._count(number)
                self.leaving.add(number)
            case commands.Load(ticket=ticket):
                self.loads.add(ticket)
            case commands.SpawnAgent(process=process, launch=launch):
                self.require(process not in self.processes, f"{process} is started twice")
                owner = launch.env.get("SIM_OWNER") or self._world.starter_of(process)
                self.processes[process] = Heard(owner=owner)
                self.spawns.append(process)
            case _:
                self._to_agent(command)

    def obeyed(self, emitted: list[commands.Command]) -> None:
        """All commands that one event led to."""
        self._going = self._heard = ""
        told = [command for command in emitted if not isinstance(command, commands.Note | commands.Persist)]
        if self._only_a_reply:
            kinds = [type(command).__name__ for command in told]  # a caller with a name is looked up in the journal
            harmless = kinds == ["Reply"] or (self._world.store is not None and kinds in ([], ["Load"]))
            self.require(harmless, f"a foreign or missing session, and yet: {kinds}")
            self._only_a_reply = False
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
            self.serving.forgotten(command.process)
            process = self._world.processes.get(command.process)
            if process is not None and not process.reported and not heard.killed:
                self.violated(f"{process} is forgotten, and was not even killed")
        elif heard.gone and command.process != self._going and not isinstance(command, AFTER_THE_END):
            self.violated(f"{name} for {command.process}, which has exited")
        elif isinstance(command, SERVICES):
            self.serving.command(command)
        elif isinstance(command, commands.SignalAgent) and command.signal == commands.SIGKILL:
            heard.killed = True
        elif isinstance(command, commands.WriteAgent) and b'"session/' in command.data:
            for line in command.data.splitlines():
                message = msgspec.json.decode(line)
                if isinstance(message, dict) and message.get("method") in ("session/load", "session/resume"):
                    # What follows in a chunk that leads to it is told by the agent later, as far as anybody can tell.
                    first = heard.before if command.process == self._heard else heard.number
                    heard.replays[message["id"]] = [first, math.inf]

    def _count(self, number: int, *, left: bool = False) -> None:
        client = self.clients.get(number)
        if client is not None:
            client.commanded += 1
        elif not left or number not in self.gone_clients:
            self.violated(f"something for connection {number}, which is not there")

    def _opened(self, number: int, session_id: str, pid: int | None) -> None:
        client = self.clients.get(number)
        if client is None:  # only one that was open already, or that is in the journal
            alive = [session for session in self._world.engine._context.sessions if session.id == session_id]
            kept = [session for session in alive if session.journal is not None]
            for session in kept:
                self.sessions.setdefault((session.owner.name, session_id), Owned(session.link.process))
            known = kept or any(name == session_id for _, name in self.sessions)
            self.require(known or not alive, f"session {session_id} was opened for somebody who has left")
            return
        place = (client.token, session_id)
        found = self._world.session(place)
        if found is None:
            self._gone_at_once(place, pid)
            return
        session = found
        process = session.link.process
        heard = self.processes[process]
        self.require(heard.owner == client.token, f"{client} was given a session on {process} of {heard.owner}")
        owned = self.sessions.get(place)
        if owned is None or owned.process != process:
            if owned is not None and not self._may_be_gone(owned):
                self.violated(f"session {session_id} was opened again for {client}")
            self.sessions[place] = Owned(process)

    def _gone_at_once(self, place: Place, pid: int | None) -> None:
        """Its agent had exited while the journal took it, and now that can be told."""
        process = next((process.name for process in self._world.processes.values() if process.pid == pid), None)
        self.require(self._world.store is not None, f"session {place[1]} was opened, and is not there")
        self.sessions[place] = Owned(process or UNKNOWN)

    def _ended(self, payload: bytes) -> None:
        """A crash is told to a connection, perhaps not the first."""
        event = decode_acp_event(payload)
        assert isinstance(event, AcpAgentExitedEvent)
        session_id, process = event.session_id, event.process_id
        if process in self.ended:
            return
        store, owner = self._world.store, self.processes[process].owner
        place = (owner, session_id)
        if (
            store is not None and naming.key_of(*place) in store.sessions_kept
        ):  # opened for somebody who had left, or woken
            self.sessions.setdefault(place, Owned(process))
        owned = self.sessions.get(place)
        if owned is None:
            self.violated(f"the end of {process} is told after {session_id} was closed")
            return
        successor = self._world.running_process(place)
        if event.restart == "restarted":
            asleep = successor is None and store is not None  # again already, or closed: it was asked for meanwhile
            self.require(asleep or successor not in (None, process), f"{session_id} was restarted, and nothing runs")
            owned.process = successor or process
        else:
            self.require(successor is None, f"{session_id} was evicted, and is still there")
            successor = None
            if store is None or naming.key_of(*place) not in store.sessions_kept:
                self.had.add(place)
                del self.sessions[place]  # else it is only asleep
        self.ended[process] = Ended(session_id, successor)

    def _may_be_gone(self, owned: Owned) -> bool:
        """A session that crashed may have ended, or moved, while nobody listened."""
        return self.processes[owned.process].gone or self.processes[owned.process].forgotten

    def is_bridged(self, process: str) -> bool:
        """It speaks v1 to a caller of v2: what it prints is translated, and what a caller hears is counted only."""
        heard = self.processes[process]
        link = self._world.engine._context.links.get(process)
        if link is not None and link.side is not None:
            heard.bridged = True
        return heard.bridged

    def require_kept(self, session_id: str, process: str, number: int) -> None:
        """What a caller hears of a session that is kept is in the journal."""
        store = self._world.store
        session = self._world.session((self.processes[process].owner, session_id))
        kept = session is not None and session.journal is not None and session.link.process == process
        if store is not None and kept and not self.is_bridged(process):
            replayed = number <= (self._world.processes[process].brain.attached_at or 0)
            self.require(
                replayed or self.processes[process].is_replay(number) or (process, number) in store.told,
                f"event {number} of {process} was told, and is not in the journal",
            )


def _is_refused_anyway(payload: Any, journal: bool) -> bool:
    """Whatever session it names."""
    if not isinstance(payload, AcpSessionRequest):
        return False
    if payload.method.startswith("_roost/") and (not journal or payload.method == "_roost/sessions"):
        return True
    if payload.params is None:
        return False
    try:
        json.loads(payload.params)
    except ValueError:
        return True
    return False
