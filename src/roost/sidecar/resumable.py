"""The sidecar for hosts that cannot wait: each step returns at once, and the host carries on from there (section 10).

An adapter over the same engine. `request` feeds one request; when no answer came out, the answer is
AcpPendingResponse{processId}, and the exchange stays open. AcpDeliverAgentOutputRequest for that process is its
agent's output; it is answered Pending until the real answer is there, and then with that. No thread, task or clock is
needed: what the host is to do comes as commands, and it says what happened with `tell`.

An exchange ends by itself when its agent exits or its time is up: then its answer comes from `tell` or `expire`. So
none is ever left behind, whoever abandoned it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from roost.sidecar import commands, events
from roost.sidecar.cancel import CANCEL
from roost.sidecar.commands import Command, Publish, Query
from roost.sidecar.engine import Engine, error_response
from roost.sidecar.gen.messages import (
    AcpCloseSessionRequest,
    AcpDeliverAgentOutputRequest,
    AcpGetSessionStateRequest,
    AcpPendingResponse,
    AcpRequest,
    AcpResponse,
    AcpResumeSessionRequest,
    AcpSessionRequest,
)
from roost.sidecar.inventory import INVENTORY


class Completed(msgspec.Struct, frozen=True):
    """The answer to a request, in its place among the events. `request` is what the request's own Step said."""

    connection: int
    request: int
    response: AcpResponse


class Step(msgspec.Struct, frozen=True):
    """What one step came to.

    `response` answers the request of this step; None when it was none. `told` is all that callers are to hear, in
    order: events, and the answers of exchanges that are complete. `commands` are for the host, in order.
    """

    response: AcpResponse | None
    request: int
    told: list[Publish | Completed]
    commands: list[Command]


class _Exchange(msgspec.Struct):
    """A request that is not answered yet."""

    connection: int
    caller: str
    session_id: str | None  # None while it opens one
    process: str
    busy: bool  # no other request goes to the same agent meanwhile


class Resumable:
    """Drives one engine step by step.

    `look_up` answers what the engine would load: an AgentProgram for an AgentQuery, a list of AcpAgentEntry for an
    AgentsQuery, a StoredSession or None for a SessionQuery, a list of Holder for a HoldersQuery. Agents count as
    started when the SpawnAgent command is out; a host that fails to carry it out tells AgentFailedToStart.
    """

    def __init__(self, engine: Engine, look_up: Callable[[Query], Any]) -> None:
        self._engine = engine
        self._look_up = look_up
        self._exchanges: dict[int, _Exchange] = {}
        self._last_request = 0
        self._told: list[Publish | Completed] = []
        self._commands: list[Command] = []

    @property
    def pending(self) -> int:
        """How many exchanges are open."""
        return len(self._exchanges)

    def request(self, connection: int, payload: AcpRequest, now: float) -> Step:
        """One request of a caller."""
        self._pass_time(now)
        if isinstance(payload, AcpDeliverAgentOutputRequest):
            return self._deliver(connection, payload, now)
        self._last_request += 1
        number = self._last_request
        caller = self._engine.caller_of(connection) or ""
        exchange = _Exchange(connection, caller, None, "", False)
        if isinstance(payload, (AcpSessionRequest, AcpCloseSessionRequest, AcpGetSessionStateRequest)):
            exchange.session_id = payload.session_id
            exchange.process = self._engine.process_of(payload.session_id, caller) or ""
        elif isinstance(payload, AcpResumeSessionRequest):
            launch = self._engine.launch_of(payload.session_id, caller)
            exchange.session_id = None if launch is None else payload.session_id
            exchange.process = self._engine.process_of(payload.session_id, caller) or ""
        if isinstance(payload, AcpSessionRequest):
            launch = self._engine.launch_of(payload.session_id, caller)
            one_way = launch is not None and launch.dialect.is_notification(payload.method)
            exchange.busy = not (one_way or payload.method == CANCEL or payload.method.startswith(INVENTORY))
            process = self._at_work(caller, payload.session_id)
            if exchange.busy and process is not None:
                text = f"{process} is busy with another ACP interaction"
                return self._step(error_response("conflict", text))
        self._exchanges[number] = exchange
        self._feed(events.RequestArrived(connection, number, payload), now, exchange)
        return self._step(self._answer_of(number), number)

    def tell(self, event: events.Event, now: float) -> Step:
        """Something that happened: to an agent, to a caller, to the daemon. Requests come through `request`."""
        self._pass_time(now)
        self._feed(event, now)
        return self._step(None)

    def expire(self, now: float) -> Step:
        """Deadlines that have come; call it at `next_deadline` at the latest."""
        self._pass_time(now)
        return self._step(None)

    def next_deadline(self) -> float | None:
        return self._engine.next_deadline()

    # ---- the steps

    def _deliver(self, connection: int, payload: AcpDeliverAgentOutputRequest, now: float) -> Step:
        caller = self._engine.caller_of(connection)
        number = next(
            (n for n, e in self._exchanges.items() if e.process == payload.process_id and e.caller == caller), None
        )
        if number is None:  # unknown, done, or somebody else's: the same words, and the chunk is not looked at
            text = f"no pending ACP interaction for {payload.process_id}"
            return self._step(error_response("invalid_state", text))
        if payload.chunk:
            self._feed(events.AgentWrote(payload.process_id, payload.chunk), now)
        return self._step(self._answer_of(number), number)

    def _answer_of(self, number: int) -> AcpResponse:
        exchange = self._exchanges.get(number)
        if exchange is not None:
            return AcpPendingResponse(exchange.process)
        return next(told.response for told in self._told if isinstance(told, Completed) and told.request == number)

    def _at_work(self, caller: str, session_id: str) -> str | None:
        """The agent that a request of this session is waiting for, or that is being woken for one."""
        for exchange in self._exchanges.values():
            if exchange.busy and (exchange.caller, exchange.session_id) == (caller, session_id):
                return exchange.process
        return None

    def _step(self, response: AcpResponse | None, number: int = 0) -> Step:
        step = Step(response, number, self._told, self._commands)
        self._told, self._commands = [], []
        return step

    # ---- the engine

    def _pass_time(self, now: float) -> None:
        self._engine.expire(now)
        self._drain(now)

    def _feed(self, event: events.Event, now: float, opening: _Exchange | None = None) -> None:
        self._engine.handle(event, now)
        self._drain(now, opening)

    def _drain(self, now: float, opening: _Exchange | None = None) -> None:
        """Sorts what the engine wants done, and does at once what needs nobody."""
        while emitted := self._engine.commands():
            for command in emitted:
                match command:
                    case commands.Reply(connection=connection, request=request, response=response):
                        del self._exchanges[request]
                        self._told.append(Completed(connection, request, response))
                    case Publish():
                        self._told.append(command)
                    case commands.Load(ticket=ticket, query=query):
                        self._engine.handle(events.RecordLoaded(ticket, self._look_up(query)), now)
                    case commands.SpawnAgent(process=process):
                        self._commands.append(command)
                        if opening is not None:
                            opening.process = process
                        self._engine.handle(events.AgentStarted(process, None), now)
                    case _:
                        self._commands.append(command)
        for exchange in self._exchanges.values():
            if exchange.session_id is not None:  # a restart moves it to another process
                exchange.process = self._engine.process_of(exchange.session_id, exchange.caller) or exchange.process
