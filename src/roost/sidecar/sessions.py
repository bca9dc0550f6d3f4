"""One live session: who owns it, who hears it, which agent it runs on, and what is under way in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from roost.errors import SidecarError
from roost.sidecar.callers import Caller, Connection
from roost.sidecar.commands import Publish
from roost.sidecar.context import Context
from roost.sidecar.conversation import Conversation, Wait
from roost.sidecar.facts import Facts
from roost.sidecar.gen.messages import (
    AcpAgentExitedEvent,
    AcpAgentStderrEvent,
    AcpSessionEvent,
    AcpSessionStateResponse,
    encode_acp_event,
)
from roost.sidecar.journal import Kind
from roost.sidecar.life import LIFE_MOVES, Life
from roost.sidecar.limits import Gauge
from roost.sidecar.link import UPDATE
from roost.sidecar.mcp_relay import MESSAGE as MCP_MESSAGE
from roost.sidecar.naming import key_of
from roost.sidecar.payloads import renamed
from roost.sidecar.tracking import TRACKED, Choice, told
from roost.sidecar.turns import Turns
from roost.wire.bare import UINTS, uint

if TYPE_CHECKING:
    from roost.sidecar.callbacks import Asks
    from roost.sidecar.keeper import Journal
    from roost.sidecar.link import Inbound, Link


_SESSION_EVENT = b"\x00"  # AcpEvent tag 0: AcpSessionEvent
SHORT = len(UINTS)  # most lines: their length's varint is in the table


class Session:
    """A live session, and the Sink of its agent's link."""

    def __init__(self, context: Context, session_id: str, owner: Caller, link: Link, asks: Asks, facts: Facts) -> None:
        raw_id = session_id.encode()
        limits = context.limits
        self._context = context
        self._emit = context.emit
        self._event_head = _SESSION_EVENT + uint(len(raw_id)) + raw_id
        self.id = session_id
        self.key = key_of(owner.name, session_id)  # in the journal
        self.owner = owner
        self.link = link
        self.asks = asks
        self.facts = facts
        self.life = Life.LIVE
        self.turns = Turns(context.stage, by_state=link.launch.by_state)
        self.audience = asks.audience
        self.preamble: str | None = None
        self.untold: dict[str, object] = {}  # of its record, what is so only when its agent has read the preamble
        self.recovery: Wait | None = None  # while RECOVERING: the dead link's aftermath
        self.starting: Link | None = None  # while RECOVERING: the agent being started
        self.opening: Wait | None = None  # while the journal takes it: settles when it is open, or ended
        self.ending = context.stage.wait()  # settles when the session begins to close, or is given up
        self.cancelling = False  # a cancel is under way; the next prompt waits for its outcome
        self.attaching = False  # its past is being told again; the next prompt waits for the end of that
        self.queued: list[Wait] = []  # prompts that do: true when it is their turn, false when they are dropped
        self.prompts: dict[int, Wait] = {}  # session/prompt calls that wait for their answer
        self.watched = False  # the inactivity of its v2 turn is being watched
        self.request_count = Gauge("requests_per_session", limits.requests_per_session, context.warn)
        self.restart_count = Gauge("restarts", limits.restarts, context.warn)
        self.restarts = 0
        self.last_crash: float | None = None
        self.exit_code: int | None = None
        self.journal: Journal | None = None  # set where sessions are kept
        self.live_id = session_id  # what the agent calls it; another one after a fallback wake
        self.last_used = context.stage.now
        self.turn_kept = True  # the end of the latest prompt's turn is in the journal
        self._held: list[bytes] | None = None  # told to callers when a turn's end is durable
        self._holds = 0
        self._caught_up: Wait | None = None
        self.choices: list[Choice] = []  # of callers, which the agent has not answered yet

    def move(self, life: Life) -> None:
        if life not in LIFE_MOVES[self.life]:
            self._context.note("error", f"session {self.id}: {self.life.value} to {life.value}", bug=True)
        self.life = life
        if life in (Life.CLOSING, Life.ENDED):
            self.ending.resolve()

    def goes_by(self, live_id: str) -> None:
        """What the agent calls the session."""
        self.live_id = self.asks.live_id = live_id

    @property
    def agent_type(self) -> str:
        return self.link.launch.agent_type

    # ---- who hears it

    def join(self, connection: Connection) -> None:
        if self not in connection.hears and not connection.left:
            connection.hears[self] = None
            self.audience.append(connection)
            if connection.blocked:
                self.link.brake.wait_for(connection.number)

    def leave(self, connection: Connection) -> None:
        if self in connection.hears:
            del connection.hears[self]
            self.audience.remove(connection)
            self.link.brake.go_on_for(connection.number)

    def publish(self, line: bytes) -> None:
        """Passes one notification on, byte for byte."""
        if not self.audience:
            return
        size = len(line)
        payload = self._event_head + (UINTS[size] if size < SHORT else uint(size)) + line
        for connection in self.audience:
            self._emit(Publish(connection.number, payload))

    def tell(self, update: dict[str, Any], *, tracked: str | None = None) -> None:
        """A session/update of the sidecar's own, kept like any other. v2 wants the session named; the reference's v1
        form does not. `tracked`: its kind, when it says more than what is known here already.
        """
        params: dict[str, Any] = {"update": update}
        if self.link.launch.by_state:
            params = {"sessionId": self.id, "update": update}
        line = msgspec.json.encode({"jsonrpc": "2.0", "method": "session/update", "params": params})
        bound = self._context.limits.line_bytes
        if len(line) > bound:
            kind = update["sessionUpdate"]
            self._context.note("warning", f"session {self.id}: a {kind} over line_bytes ({bound}) is not told")
            return
        self.noticed(line, UPDATE, tracked)

    def publish_exit(self, link: Link, exit_code: int | None, restart: str, count: int) -> None:
        event = AcpAgentExitedEvent(
            session_id=self.id,
            agent_type=self.agent_type,
            process_id=link.process,
            exit_code=exit_code,
            restart=restart,
            restart_count=count,
            max_restarts=self._context.limits.restarts,
        )
        payload = encode_acp_event(event)
        for connection in self.audience:
            self._emit(Publish(connection.number, payload))
        if self.journal is not None:
            self.journal.add(Kind.EXIT, {"exitCode": exit_code, "restart": restart, "count": count})

    # ---- Sink

    def noticed(self, line: bytes, method: str, update: str | None) -> None:
        if self.live_id != self.id:
            line = renamed(line, self.live_id, self.id)
        if update is None and method == MCP_MESSAGE:  # part of a channel, not of what the session tells
            self.publish(line)
            return
        if self.journal is None:
            self.publish(line)
            if update in TRACKED:
                told(self, line, update)
            return
        self.journal.update(line)
        busy = self.turns.busy
        if update in TRACKED:
            told(self, line, update)
        if busy and not self.turns.busy:  # a turn's end is told when all of it is durable
            self._hold()
        self.pass_on(line)

    def pass_on(self, line: bytes) -> None:
        """Publishes it, behind whatever is held."""
        if self._held is None:
            self.publish(line)
        else:
            self._held.append(line)

    def _hold(self) -> None:
        if self._held is None:
            self._held = []
        self._holds += 1
        self._context.stage.start(self._release())

    def _release(self) -> Conversation[None]:
        try:
            yield from self._context.keeper.promise()
        except SidecarError as error:  # it cannot be held for ever; no further prompt is taken while the journal fails
            self._context.note("error", f"session {self.id}: a turn's end is told without being kept: {error}")
        self._holds -= 1
        if self._holds == 0 and self._held is not None:
            held, self._held = self._held, None
            for line in held:
                self.publish(line)
            caught_up, self._caught_up = self._caught_up, None
            if caught_up is not None:
                caught_up.resolve()

    def caught_up(self) -> Conversation[None]:
        """Waits until everything the agent has told is told: an answer must not overtake it."""
        if self._held is not None:
            if self._caught_up is None:
                self._caught_up = self._context.stage.wait()
            yield self._caught_up

    def turn_began(self) -> None:
        """The agent says so, of a turn that nobody's prompt began or is known to have begun."""
        self._context.sessions.began(self)

    def turn_ended(self, reason: str | None, usage: Any = None) -> None:
        """Keeps the end of a turn."""
        self.turn_kept = True
        if self.journal is not None:
            self.journal.add(Kind.TURN, {"stopReason": reason, "usage": usage, "call": None})
            self.journal.change(turn_open=False)

    def past_told(self) -> None:
        """Its agent knows where to read what was before: from now on it is its agent's session that is woken."""
        fields, self.untold = self.untold, {}
        if fields and self.journal is not None:
            self.journal.change(**fields)

    def keep_facts(self) -> None:
        """What GetSessionState tells of a session at rest."""
        if self.journal is not None:
            self.journal.change(modes=self.facts.modes, config_options=tuple(self.facts.option_texts))

    def asked(self, inbound: Inbound) -> None:
        self.asks.put(inbound)

    def withdrawn(self, token: int) -> None:
        self.asks.withdrawn(token)

    def wrote_stderr(self, chunk: bytes) -> None:
        publish_stderr(self._context, self.audience, self.id, self.link, chunk)

    def exited(self, exit_code: int | None) -> None:
        self.exit_code = exit_code
        self.asks.close("the agent is gone")
        if self.turns.busy and self.life is Life.LIVE:
            self.turn_ended(None)
        self.turns.reset()
        if self.life is Life.LIVE:
            self._context.sessions.crashed(self, exit_code)

    def call_up(self, go: bool) -> None:
        """Lets the prompts that wait go on, or drops them."""
        queued, self.queued = self.queued, []
        for place in queued:
            place.resolve(go)

    # ---- state

    @property
    def is_busy(self) -> bool:
        """Something is under way, so its agent must not be put to sleep."""
        waiting = (
            self.opening is not None
            or self._held is not None
            or self.turns.busy
            or len(self.asks)
            or self.queued
            or self.cancelling
            or self.attaching
            or self.link.open_calls
        )
        return bool(waiting) or self.life is not Life.LIVE

    def last_sign_of_life(self, link: Link) -> float:
        """When the agent last said anything; now, while it waits for a person or for a caller that does not read.

        A store that keeps it waiting is no excuse: nothing else would end that wait.
        """
        if len(self.asks) or link.brake.by_caller:
            return self._context.stage.now
        return max(link.last_output, self.asks.last_settled)

    def state(self) -> AcpSessionStateResponse:
        facts = self.facts
        return AcpSessionStateResponse(
            session_id=self.id,
            agent_type=self.agent_type,
            process_id=self.link.process,
            pid=self.link.pid,
            closed=self.life is not Life.LIVE,
            exit_code=self.exit_code,
            modes=facts.modes,
            config_options=facts.option_texts,
            agent_capabilities=facts.capabilities,
            agent_info=facts.info,
        )


def publish_stderr(context: Context, audience: list[Connection], session_id: str, link: Link, chunk: bytes) -> None:
    """One chunk of stderr, to those who read; for a blocked connection it is only counted (it is a log)."""
    payload: bytes | None = None
    for connection in audience:
        if connection.blocked:
            connection.dropped_stderr += len(chunk)
            continue
        if payload is None:
            event = AcpAgentStderrEvent(session_id, link.launch.agent_type, link.process, chunk)
            payload = encode_acp_event(event)
        context.emit(Publish(connection.number, payload))


def publish_notice(context: Context, audience: list[Connection], session_id: str, line: bytes) -> None:
    """One notification for all of them; `session_id` is "" while the session has none."""
    payload = encode_acp_event(AcpSessionEvent(session_id, line.decode()))
    for connection in audience:
        context.emit(Publish(connection.number, payload))


class Sessions:
    """Every live session; each caller has ids of its own. A foreign one looks exactly like a missing one."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._live: dict[Session, None] = {}
        self.leaving: dict[Session, None] = {}  # removed, while their agents are being ended
        self.crashed: Callable[[Session, int | None], None]  # set by the engine
        self.began: Callable[[Session], None]  # a v2 turn, told by its agent; set by the engine

    def __len__(self) -> int:
        return len(self._live)

    def __iter__(self) -> Iterator[Session]:
        return iter(list(self._live))

    def all(self) -> Iterable[Session]:
        """Those whose agents are being ended included: they have them still."""
        return (*self._live, *self.leaving)

    def is_strangers(self, session_id: str, caller: Caller) -> bool:
        """Whether an agent knows that id as a session of somebody else."""
        return any(
            session.owner is not caller and session_id in (session.id, session.live_id) for session in self.all()
        )

    def owned(self, session_id: str, caller: Caller) -> Session:
        """Raises SidecarError `unknown ACP session <id>` for a missing and for a foreign one alike."""
        session = caller.sessions.get(session_id)
        if session is None:
            raise unknown_session(session_id)
        return session

    def add(self, session: Session) -> None:
        self._live[session] = None
        session.owner.sessions[session.id] = session
        session.owner.session_count.watch(len(session.owner.sessions))

    def remove(self, session: Session) -> None:
        """Takes the session off every table; what still comes from its agent is heard by nobody new."""
        self.leaving[session] = None
        if self._live.pop(session, self) is None:
            session.owner.sessions.pop(session.id, None)
            session.owner.session_count.watch(len(session.owner.sessions))

    def dismiss(self, session: Session) -> None:
        """Ends the hearing of a removed session."""
        del self.leaving[session]
        for connection in list(session.audience):
            session.leave(connection)
        self._context.callers.tidy(session.owner)


def unknown_session(session_id: str) -> SidecarError:
    return SidecarError("invalid_state", f"unknown ACP session {session_id}")


def settled(session: Session) -> Conversation[None]:
    """Waits for a restart under way. Raises when the session ended meanwhile."""
    if session.opening is not None:
        yield session.opening
    while session.recovery is not None and session.life is Life.RECOVERING:
        yield session.recovery
    if session.life is not Life.LIVE:
        raise unknown_session(session.id)
