"""What both bridges have: a peer on each side, calls and their outcomes, messages held back, timers, events."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, Literal, TypeVar

import msgspec
from msgspec import Raw

from roost.acp.bridge.events import BridgeEvent, Note
from roost.acp.bridge.limits import BridgeLimits
from roost.acp.bridge.losses import LOSSES, Losses
from roost.acp.bridge.payload import Json, invalid_params, parse_object
from roost.acp.bridge.wire import Wire, rpc_error
from roost.errors import CodecError, RpcError
from roost.rpc.events import Answered, Called, Failed, Notified, PeerEvent, Unmatched, Withdrawn
from roost.rpc.messages import LIMIT_EXCEEDED

Session = TypeVar("Session")


class Pending(msgspec.Struct):
    """A call to the agent, and what becomes of its outcome."""

    answered: Callable[[Raw], None]
    failed: Callable[[RpcError], None]
    token: int | None = None  # the client's request behind it
    raw_id: bytes = b"null"  # ... and its id there


class BridgeCore(ABC, Generic[Session]):
    """A bridge without what it translates. `client` is north, `agent` is south.

    `now`, wherever the driver gives it, is in seconds of one clock that never goes back; so is `next_deadline`.
    """

    def __init__(self, limits: BridgeLimits) -> None:
        self.limits = limits
        self.losses = Losses()
        self.client = Wire(answer_malformed=True)
        self.agent = Wire(answer_malformed=False)
        self.sessions: dict[str, Session] = {}
        self.opening = 0
        """How many answers are awaited that bring a session nobody knows the id of yet."""
        self.now = 0.0
        self.calls: dict[int, Pending] = {}
        self.calls_of: dict[int, int] = {}
        """Calls to the agent, by the token of the client's request behind each."""
        self._held: list[tuple[str, Called | Notified]] = []
        self._held_bytes = 0
        self._timers: dict[tuple[str, str], tuple[float, Callable[[], None]]] = {}
        self._events: list[BridgeEvent] = []

    # ---- what a bridge makes of it

    @abstractmethod
    def client_asked(self, request: Called) -> None:
        """A request of the client, to be answered or failed by its token."""

    @abstractmethod
    def client_told(self, notice: Notified) -> None:
        """A notification of the client."""

    @abstractmethod
    def client_settled(self, outcome: Answered | Failed) -> None:
        """The client has answered a request of ours, or the connection has ended first."""

    @abstractmethod
    def client_withdrew(self, token: int) -> None:
        """The client no longer waits for an answer that is not the agent's to give."""

    @abstractmethod
    def agent_asked(self, request: Called, params: Json) -> None:
        """A request of the agent, to be answered or failed by its token."""

    @abstractmethod
    def agent_told(self, notice: Notified, params: Json) -> None:
        """A notification of the agent."""

    @abstractmethod
    def agent_withdrew(self, token: int) -> None:
        """The agent no longer waits for the answer to its request."""

    def agent_settled(self, token: int | None, result: Raw | None) -> None:
        """What became of the client's request `token` at the agent has been told; None: it failed."""

    # ---- what the driver calls

    def from_north(self, message: bytes, now: float) -> None:
        """One message of the client. A batch is taken apart here: agents die of batches."""
        self.now = now
        for event in self.client.receive(message):
            if isinstance(event, Called):
                self.client_asked(event)
            elif isinstance(event, Notified):
                self.client_told(event)
            elif isinstance(event, Answered | Failed):
                self.client_settled(event)
            elif isinstance(event, Withdrawn):
                call = self.calls_of.get(event.token)
                if call is not None:
                    self.agent.withdraw(call)  # B-32
                else:
                    self.client_withdrew(event.token)

    def north(self) -> list[bytes]:
        """Messages for the client, in order, handed out once."""
        return self.client.drain()

    def south(self) -> list[bytes]:
        """Messages for the agent, in order, handed out once."""
        return self.agent.drain()

    def events(self) -> list[BridgeEvent]:
        """What the driver is to do or to know, in order, handed out once."""
        for name in self.losses.fresh():
            loss = LOSSES[name]
            self.note("info", f"lost toward v{loss.toward}: {loss.lost} ({name}); instead: {loss.instead}")
        events, self._events = self._events, []
        return events

    def next_deadline(self) -> float | None:
        """When `expire` wants to be called; None: not before something else happens."""
        return min((due for due, _ in self._timers.values()), default=None)

    def expire(self, now: float) -> None:
        """Does what is due by `now`; early or late calls do no harm."""
        self.now = now
        for key in sorted(key for key, (due, _) in self._timers.items() if due <= now):
            timer = self._timers.pop(key, None)
            if timer is not None:
                timer[1]()

    # ---- for the parts

    def handle(self, handler: Callable[[Called, Json], None], request: Called, params: Json) -> None:
        """Whatever a handler of the client's request raises is the request's answer."""
        try:
            handler(request, params)
        except RpcError as error:
            self.client.fail(request.token, error)
        except CodecError as error:  # nested so deeply that there is no room for more
            self.client.fail(request.token, invalid_params(str(error)))

    def note(self, level: Literal["info", "warning"], text: str) -> None:
        """A line for the log, see `Note`."""
        self._events.append(Note(level, text))

    def emit(self, event: BridgeEvent) -> None:
        """Something for the driver."""
        self._events.append(event)

    def call(
        self,
        method: str,
        params: bytes | None,
        answered: Callable[[Raw], None],
        failed: Callable[[RpcError], None],
        request: Called | None = None,
    ) -> int:
        """Asks the agent, because of the client's `request`. RpcError when it cannot be asked."""
        call = self.agent.call(method, params)
        token, raw_id = (None, b"null") if request is None else (request.token, request.raw_id)
        self.calls[call] = Pending(answered, failed, token, raw_id)
        if token is not None:
            self.calls_of[token] = call
        return call

    def forget(self, call: int) -> None:
        """No longer waits for an answer of the agent."""
        self._closed_call(call)
        self.agent.forget(call)

    def request_scope(self, call: Any) -> Json | None:
        """The client's request that a call to the agent came of, as a question's scope (B-33)."""
        pending = self.calls.get(call) if type(call) is int else None
        return None if pending is None or pending.token is None else {"requestId": Raw(pending.raw_id)}

    def set_timer(self, session_id: str, name: str, delay: float, fire: Callable[[], None]) -> None:
        """Calls `fire` in `delay` seconds, in place of the timer of that name."""
        self._timers[session_id, name] = (self.now + delay, fire)

    def drop_timer(self, session_id: str, name: str) -> None:
        """Forgets a timer, if there is one of that name."""
        self._timers.pop((session_id, name), None)

    def has_timer(self, session_id: str, name: str) -> bool:
        """Whether a timer of that name is still to fire."""
        return (session_id, name) in self._timers

    def release(self, session_id: str) -> None:
        """What came of a session before its answer, now that it is known (SES-4)."""
        for owner, event in self._take_held():
            if owner == session_id:
                self.take_from_agent(event)
            else:
                self._hold(owner, event)

    def opened_one(self) -> None:
        """An answer is no longer awaited; with the last of them goes what belongs to nobody."""
        self.opening -= 1
        if self.opening <= 0:
            self.opening = 0
            self.release_all()

    def release_all(self) -> None:
        for _, event in self._take_held():
            self.take_from_agent(event)

    def _take_held(self) -> list[tuple[str, Called | Notified]]:
        held, self._held, self._held_bytes = self._held, [], 0
        return held

    # ---- from the agent

    def take_from_agent(self, event: PeerEvent) -> None:
        if isinstance(event, Answered | Failed):
            pending = self._closed_call(event.call)
            if pending is None:
                self.losses.count("late_answer")
            elif isinstance(event, Answered):
                pending.answered(event.result)
                self.agent_settled(pending.token, event.result)
            else:
                pending.failed(rpc_error(event.error))
                if pending.token not in self.calls_of:  # else it is asked for in another way
                    self.agent_settled(pending.token, None)
        elif isinstance(event, Called | Notified):
            params = parse_object(event.params)
            owner = params.get("sessionId")
            if isinstance(owner, str) and owner not in self.sessions and self.opening > 0:
                self._hold(owner, event)
            elif isinstance(event, Called):
                self.agent_asked(event, params)
            else:
                self.agent_told(event, params)
        elif isinstance(event, Withdrawn):
            self.agent_withdrew(event.token)
        elif isinstance(event, Unmatched):
            self.losses.count("late_answer")

    def _hold(self, owner: str, event: Called | Notified) -> None:
        size = self._held_bytes + len(event.message)
        if len(self._held) < self.limits.held_messages and size <= self.limits.held_bytes:
            self._held.append((owner, event))
            self._held_bytes = size
        elif isinstance(event, Called):
            self.agent.fail(event.token, RpcError(LIMIT_EXCEEDED, "Limit exceeded: held_messages"))
        else:
            self.losses.count("early_update")

    def _closed_call(self, call: int) -> Pending | None:
        pending = self.calls.pop(call, None)
        if pending is not None and pending.token is not None:
            self.calls_of.pop(pending.token, None)
        return pending
