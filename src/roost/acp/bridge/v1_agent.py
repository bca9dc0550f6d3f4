"""A v1 agent seen as v2: the bridge between a v2 client (north) and a v1 agent (south).

    from_north, from_south, service_answered, terminal_* ──► north(), south(), events()

Whole JSON-RPC messages in, whole messages out. It is a peer on both sides, with its own ids (BR-1, BR-3), reads no
clock and never raises for what either side sends. Each request gets one answer. The driver calls `expire` when
`next_deadline` has come, and answers each ServiceRequest.

The rest of it: `agent_turns` (prompts and their end), `agent_requests` (what the client asks), `agent_questions` (what
the agent asks), `agent_session` (one session's memory).
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from typing import Any, Literal

import msgspec
from msgspec import UNSET, Raw, UnsetType

from roost.acp.bridge.agent_questions import Questions
from roost.acp.bridge.agent_requests import Requests
from roost.acp.bridge.agent_session import AgentSession
from roost.acp.bridge.agent_turns import Turns
from roost.acp.bridge.events import BridgeEvent, Note, SessionClosed, SessionOpened
from roost.acp.bridge.limits import DEFAULT_LIMITS, BridgeLimits
from roost.acp.bridge.losses import LOSSES, Losses
from roost.acp.bridge.payload import Json, as_object, parse_object, strict
from roost.acp.bridge.wire import Wire, encode_text, rpc_error
from roost.acp.v2 import SessionUpdate
from roost.errors import RpcError
from roost.rpc.events import Answered, Called, Failed, Notified, PeerEvent, Withdrawn
from roost.rpc.messages import INTERNAL_ERROR, LIMIT_EXCEEDED, UNDECODABLE
from roost.wire.decode import encode

__all__ = ["V1AgentBridge"]


class _Text(msgspec.Struct, tag_field="type", tag="text", forbid_unknown_fields=True, gc=False):
    text: str


class _Chunk(msgspec.Struct, rename="camel", gc=False):
    session_update: Literal["agent_message_chunk", "agent_thought_chunk"]
    content: _Text
    message_id: str | UnsetType | None = UNSET
    meta: UnsetType = msgspec.field(default=UNSET, name="_meta")


class _Params(msgspec.Struct, rename="camel", gc=False):
    session_id: str
    update: _Chunk
    meta: UnsetType = msgspec.field(default=UNSET, name="_meta")


class _PlainChunk(msgspec.Struct, gc=False):
    """What nearly every message of an agent is; whatever has more to it does not decode."""

    jsonrpc: Literal["2.0"]
    method: Literal["session/update"]
    params: _Params
    id: UnsetType = UNSET


_decode_chunk = msgspec.json.Decoder(_PlainChunk).decode


class Pending(msgspec.Struct):
    """A call to the agent, and what becomes of its outcome."""

    answered: Callable[[Raw], None]
    failed: Callable[[RpcError], None]
    token: int | None = None  # the client's request behind it
    raw_id: bytes = b"null"  # ... and its id there


class V1AgentBridge:
    """One connection to one v1 agent.

    `services`: the `fs` and `terminal` of a v1 client's capabilities that the driver serves (`ClientServices` has them
    as `capabilities`); without, none are offered and such requests are refused. `name` is the agent's when it does not
    say its own. `nonce` makes message ids of sessions that are resumed without their history unlike those they had.
    """

    def __init__(
        self,
        *,
        services: Json | None = None,
        name: str = "unknown-v1-agent",
        nonce: str = "",
        limits: BridgeLimits = DEFAULT_LIMITS,
    ) -> None:
        self.services: Json = services or {}
        self.name = name
        self.nonce = nonce
        self.limits = limits
        self.losses = Losses()
        self.client = Wire(answer_malformed=True)
        self.agent = Wire(answer_malformed=False)
        self.sessions: dict[str, AgentSession] = {}
        self.opening = 0
        """How many answers are awaited that bring a session nobody knows the id of yet."""
        self.now = 0.0
        self._calls: dict[int, Pending] = {}
        self._calls_of: dict[int, int] = {}  # by the token of the client's request
        self._held: list[tuple[str, PeerEvent]] = []
        self._timers: dict[tuple[str, str], tuple[float, Callable[[], None]]] = {}
        self._events: list[BridgeEvent] = []
        self.turns = Turns(self)
        self.questions = Questions(self)
        self.requests = Requests(self)

    # ---- what the driver calls

    def from_north(self, message: bytes, now: float) -> None:
        """One message of the client. A batch is taken apart here: agents die of batches."""
        self.now = now
        for event in self.client.receive(message):
            if isinstance(event, Called):
                self.requests.take(event)
            elif isinstance(event, Notified):
                self.requests.take_notification(event)
            elif isinstance(event, Answered | Failed):
                self.questions.settle(event)
            elif isinstance(event, Withdrawn):
                self._withdrawn(event.token)

    def from_south(self, message: bytes, now: float) -> None:
        """One message of the agent, or a line that is none."""
        self.now = now
        try:
            params = _decode_chunk(message).params
        except UNDECODABLE:
            pass
        else:
            session = self.sessions.get(params.session_id)
            if session is not None and not session.loading and not session.closed:
                turn = session.turn
                if turn is not None and not turn.accepted:
                    self.turns.accept(session)
                self._pass_chunk(session, params.update)
                return
        for event in self.agent.receive(message):
            self._take_from_agent(event)

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
        return min((due for due, _ in self._timers.values()), default=None)

    def expire(self, now: float) -> None:
        self.now = now
        due = sorted(key for key, (at, _) in self._timers.items() if at <= now)
        for key in due:
            timer = self._timers.pop(key, None)
            if timer is not None:
                timer[1]()

    def end_south(self, cause: str, now: float) -> None:
        """The agent is gone. Its turns end with a message, every request of the client is answered (B-37)."""
        self.now = now
        for event in self.agent.end(cause):
            self._take_from_agent(event)
        self.opening = 0
        self._release_held()
        for session in self.sessions.values():
            self.questions.cancel(session.id)
            self.turns.end_all(session, cause)
        self.questions.cancel(None)

    def end_north(self, cause: str, now: float) -> None:
        """The client is gone: its work is cancelled, the agent's questions are answered so (PER-10)."""
        self.now = now
        for session in self.sessions.values():
            self.turns.cancel(session)
        self.questions.cancel(None)
        self.client.end(cause)

    # ---- services

    def service_answered(self, token: int, result: Any) -> None:
        if self.questions.service_ended(token):
            try:
                self.agent.answer(token, encode(result))
            except Exception:
                self.agent.fail(token, RpcError(INTERNAL_ERROR, "the result cannot be told"))

    def service_failed(self, token: int, error: RpcError) -> None:
        if self.questions.service_ended(token):
            self.agent.fail(token, error)

    def terminal_created(self, session_id: str, terminal_id: str, command: str, cwd: str) -> None:
        self._terminal(session_id, {"terminalId": terminal_id, "command": command, "cwd": cwd})

    def terminal_wrote(self, session_id: str, terminal_id: str, data: bytes) -> None:
        update = {"sessionUpdate": "terminal_output_chunk", "terminalId": terminal_id}
        self._tell_own(session_id, {**update, "data": b64encode(data).decode()})

    def terminal_exited(self, session_id: str, terminal_id: str, exit_code: int | None, signal: str | None) -> None:
        status: Json = {}
        if exit_code is not None and exit_code >= 0:
            status["exitCode"] = exit_code
        if signal is not None:
            status["signal"] = signal
        self._terminal(session_id, {"terminalId": terminal_id, "exitStatus": status})

    def _terminal(self, session_id: str, patch: Json) -> None:
        self._tell_own(session_id, {"sessionUpdate": "terminal_update", **patch})

    def _tell_own(self, session_id: str, update: Json) -> None:
        session = self.sessions.get(session_id)
        if session is not None and not session.closed:
            self.tell(session, update)

    # ---- for the parts

    def note(self, level: Literal["info", "warning"], text: str) -> None:
        self._events.append(Note(level, text))

    def emit(self, event: BridgeEvent) -> None:
        self._events.append(event)

    def call(
        self,
        method: str,
        params: bytes | None,
        answered: Callable[[Raw], None],
        failed: Callable[[RpcError], None],
        request: Called | None = None,
    ) -> int:
        """Asks the agent. RpcError when it cannot be asked."""
        call = self.agent.call(method, params)
        token, raw_id = (None, b"null") if request is None else (request.token, request.raw_id)
        self._calls[call] = Pending(answered, failed, token, raw_id)
        if token is not None:
            self._calls_of[token] = call
        return call

    def forget(self, call: int) -> None:
        """No longer waits for an answer of the agent."""
        pending = self._calls.pop(call, None)
        if pending is not None and pending.token is not None:
            self._calls_of.pop(pending.token, None)
        self.agent.forget(call)

    def scope_of(self, call: Any) -> Json | None:
        """What a question about a call to the agent is about, as the client knows it (B-33): the request it came of, or
        the session of a prompt, whose request has its answer already."""
        for session in self.sessions.values():
            if session.turn is not None and session.turn.prompt.call == call:
                return {"sessionId": session.id}
        pending = self._calls.get(call) if type(call) is int else None
        return None if pending is None or pending.token is None else {"requestId": Raw(pending.raw_id)}

    def tell(self, session: AgentSession, update: Json, meta: Any = None) -> None:
        """One update for the client, made strict; what cannot be is dropped."""
        payload = strict(SessionUpdate, update, self.losses)
        if payload is None:
            self.losses.count("malformed_update")
            return
        tail = b"" if not isinstance(meta, dict) else b',"_meta":%b' % encode(meta)
        self.client.push(
            b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":%b,"update":%b%b}}'
            % (encode_text(session.id), payload, tail)
        )

    def set_timer(self, session: AgentSession, name: str, delay: float, fire: Callable[[], None]) -> None:
        self._timers[session.id, name] = (self.now + delay, fire)

    def drop_timer(self, session: AgentSession, name: str) -> None:
        self._timers.pop((session.id, name), None)

    def open_session(self, session_id: str, roots: tuple[str, ...], *, whole: bool) -> AgentSession:
        """`whole`: this connection sees all of its messages. RpcError: too many."""
        session = self.sessions.get(session_id)
        if session is None:
            if len(self.sessions) >= self.limits.sessions:
                raise RpcError(LIMIT_EXCEEDED, "Limit exceeded: sessions", {"limit": "sessions"})
            prefix = "m" if whole else f"m{self.nonce}."
            session = AgentSession(session_id, roots, prefix, self.limits, self.losses)
            self.sessions[session_id] = session
        session.attach(roots)
        self.emit(SessionOpened(session_id, roots))
        return session

    def close_session(self, session: AgentSession) -> None:
        """Its work is over, whatever the agent does with it."""
        self.turns.stop(session)
        self.questions.cancel(session.id)
        session.closed = True
        self.emit(SessionClosed(session.id))

    def release(self, session_id: str) -> None:
        """What came of a session before its answer, now that it is known (SES-4)."""
        held, self._held = self._held, []
        for owner, event in held:
            if owner == session_id:
                self._take_from_agent(event)
            else:
                self._held.append((owner, event))

    def opened_one(self) -> None:
        """An answer is no longer awaited; with the last of them goes what belongs to nobody."""
        self.opening -= 1
        if self.opening <= 0:
            self._release_held()

    # ---- from the agent

    def _release_held(self) -> None:
        held, self._held = self._held, []
        for _, event in held:
            self._take_from_agent(event)

    def _take_from_agent(self, event: PeerEvent) -> None:
        if isinstance(event, Answered | Failed):
            pending = self._calls.pop(event.call, None)
            if pending is None:
                self.losses.count("late_answer")
                return
            if pending.token is not None:
                self._calls_of.pop(pending.token, None)
            if isinstance(event, Answered):
                pending.answered(event.result)
            else:
                pending.failed(rpc_error(event.error))
        elif isinstance(event, Withdrawn):
            self.questions.withdrawn(event.token)
        elif isinstance(event, Called | Notified):
            params = parse_object(event.params)
            owner = params.get("sessionId")
            if isinstance(owner, str) and owner not in self.sessions and self.opening > 0:
                if len(self._held) < self.limits.held_messages:
                    self._held.append((owner, event))
                elif isinstance(event, Called):
                    self.agent.fail(event.token, RpcError(LIMIT_EXCEEDED, "Limit exceeded: held_messages"))
                else:
                    self.losses.count("early_update")
            elif isinstance(event, Called):
                self.questions.take(event, params)
            elif event.method == "session/update":
                self._update(params)
            else:
                self.questions.take_notification(event, params)
        elif type(event).__name__ == "Unmatched":
            self.losses.count("late_answer")

    def _update(self, params: Json) -> None:
        session = self.sessions.get(params["sessionId"]) if isinstance(params.get("sessionId"), str) else None
        if session is None or session.closed:
            self.losses.count("early_update")
            return
        update = as_object(params.get("update"))
        if session.turn is not None and not session.turn.accepted:
            self.turns.accept(session)
        swallowed = session.loading == "swallow"
        for shaped in session.shaped(update):
            if not swallowed:
                self.tell(session, shaped, params.get("_meta"))
            elif shaped["sessionUpdate"] in ("available_commands_update", "session_info_update", "usage_update"):
                session.kept.append(shaped)  # it is no history: the client needs it (B-02)

    def _pass_chunk(self, session: AgentSession, chunk: _Chunk) -> None:
        kind, given = chunk.session_update, chunk.message_id
        if given.__class__ is str:
            session.break_message()
        else:
            given = session.message_id(kind)
        self.client.push(
            b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":%b,"update":{"sessionUpdate":"%b",'
            b'"messageId":%b,"content":{"type":"text","text":%b}}}}'
            % (encode_text(session.id), kind.encode(), encode_text(given), encode_text(chunk.content.text))
        )

    def _withdrawn(self, token: int) -> None:
        """The client no longer waits for an answer: of a prompt in the queue, or of a call to the agent (B-32)."""
        call = self._calls_of.get(token)
        if call is not None:
            self.agent.withdraw(call)
        else:
            self.turns.withdraw(token)
