"""A v1 agent seen as v2: the bridge between a v2 client (north) and a v1 agent (south).

    from_north, from_south, service_answered, terminal_* ──► north(), south(), events()

Whole JSON-RPC messages in, whole messages out. It is a peer on both sides, with its own ids (BR-1, BR-3), reads no
clock and never raises for what either side sends. Each request gets one answer. The driver calls `expire` when
`next_deadline` has come, and answers each ServiceRequest.

The rest of it: `agent_turns` (prompts and their end), `agent_requests` and `agent_sessions` (what the client asks),
`agent_questions` (what the agent asks), `agent_services` (files and terminals), `agent_session` (one session's memory).
"""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING, Any

from msgspec import Raw

from roost.acp.bridge.agent_questions import Questions
from roost.acp.bridge.agent_requests import Requests
from roost.acp.bridge.agent_services import Services
from roost.acp.bridge.agent_session import AgentSession
from roost.acp.bridge.agent_turns import Turns
from roost.acp.bridge.core import BridgeCore
from roost.acp.bridge.events import FileWrite, SessionClosed, SessionOpened, Wish
from roost.acp.bridge.limits import DEFAULT_LIMITS, BridgeLimits
from roost.acp.bridge.payload import Json, as_object, strict
from roost.acp.bridge.plain_chunk import PLAIN_CHUNK, V1Chunk, decode_v1_chunk
from roost.acp.bridge.wire import encode_text
from roost.acp.v2 import SessionUpdate
from roost.errors import CodecError, RpcError
from roost.rpc.events import Answered, Called, Failed, Notified
from roost.rpc.messages import INTERNAL_ERROR, LIMIT_EXCEEDED, UNDECODABLE
from roost.wire.decode import encode

if TYPE_CHECKING:
    from roost.acp.bridge.mcp_relays import McpRelays

__all__ = ["V1AgentBridge"]

# What a swallowed replay says of the present rather than of the past (B-02).
_PRESENT = frozenset({"available_commands_update", "session_info_update", "usage_update"})


class V1AgentBridge(BridgeCore[AgentSession]):
    """One connection to one v1 agent.

    `services`: the `fs` and `terminal` of a v1 client's capabilities that the driver serves (`ClientServices` has them
    as `capabilities`); without, none are offered and such requests are refused. `name` is the agent's when it does not
    say its own. `nonce` makes message ids of sessions that are resumed without their history unlike those they had.
    `relays_mcp`: the driver has a program that connects an agent to the client's own MCP servers (`mcp`, McpRelays).
    """

    def __init__(
        self,
        *,
        services: Json | None = None,
        name: str = "unknown-v1-agent",
        nonce: str = "",
        relays_mcp: bool = False,
        limits: BridgeLimits = DEFAULT_LIMITS,
    ) -> None:
        super().__init__(limits)
        self.services: Json = services or {}
        self.name = name
        self.nonce = nonce
        self.keeps_apart = False  # its sessions have a past of which neither it nor its agent knows
        self.turns = Turns(self)
        self.questions = Questions(self)
        self.service_requests = Services(self)
        self.requests = Requests(self)
        self.mcp: McpRelays | None = None
        if relays_mcp:
            from roost.acp.bridge.mcp_relays import McpRelays  # here, for those who start many bridges without

            self.mcp = McpRelays(self)

    # ---- what the driver calls

    def from_south(self, message: bytes, now: float) -> None:
        """One message of the agent, or a line that is none."""
        self.now = now
        try:
            params = decode_v1_chunk(message).params
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
            self.take_from_agent(event)

    def end_south(self, cause: str, now: float) -> None:
        """The agent is gone. Its turns end with a message, every request of the client is answered (B-37)."""
        self.now = now
        for event in self.agent.end(cause):
            self.take_from_agent(event)
        self.opening = 0
        self.release_all()
        self.questions.cancel(None)
        if self.mcp is not None:
            self.mcp.end()
        for session in self.sessions.values():
            self.turns.end_all(session, cause)

    def end_north(self, cause: str, now: float) -> None:
        """The client is gone: its work is cancelled, the agent's questions are answered so (PER-10)."""
        self.now = now
        for session in self.sessions.values():
            self.turns.cancel(session)
        self.opening = 0
        self.release_all()
        self.questions.cancel(None)
        if self.mcp is not None:
            self.mcp.end()
        self.client.end(cause)

    # ---- services

    def service_answered(self, token: int, result: Any) -> None:
        """`result` is JSON data. Ignored when the agent no longer waits."""
        if self.service_requests.ended(token, done=True):
            try:
                self.agent.answer(token, encode(result))
            except CodecError:
                self.agent.fail(token, RpcError(INTERNAL_ERROR, "the result cannot be told"))

    def service_failed(self, token: int, error: RpcError) -> None:
        """The agent gets this error. Ignored when it no longer waits."""
        if self.service_requests.ended(token, done=False):
            self.agent.fail(token, error)

    def service_wishes(self, token: int, wish: Wish) -> None:
        """What a request would do; answered by a ServiceDecided, at once or when the user has decided."""
        self.service_requests.wishes(token, wish)

    def service_writes(self, token: int, write: FileWrite) -> None:
        """What a request is about to write, by a driver that decides by itself; shown when it is done."""
        self.service_requests.writes(token, write)

    def terminal_created(self, session_id: str, terminal_id: str, command: str, cwd: str) -> None:
        """A terminal of the agent is there: the client is shown it. `cwd` is absolute."""
        self._terminal(session_id, {"terminalId": terminal_id, "command": command, "cwd": cwd})

    def terminal_wrote(self, session_id: str, terminal_id: str, data: bytes) -> None:
        """Output of a terminal, as it comes: bytes, cut anywhere."""
        update = {"sessionUpdate": "terminal_output_chunk", "terminalId": terminal_id}
        self._tell_own(session_id, {**update, "data": b64encode(data).decode()})

    def terminal_exited(self, session_id: str, terminal_id: str, exit_code: int | None, signal: str | None) -> None:
        """A terminal's command has ended: by itself with a code, or by a signal, by name; None is not known."""
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

    def scope_of(self, call: Any) -> Json | None:
        """What a question about a call to the agent is about, as the client knows it (B-33): the request it came of, or
        the session of a prompt, whose request has its answer already."""
        for session in self.sessions.values():
            if session.turn is not None and session.turn.prompt.call == call:
                return {"sessionId": session.id}
        return self.request_scope(call)

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

    def open_session(self, session_id: str, roots: tuple[str, ...], *, whole: bool) -> AgentSession:
        """`whole`: this connection sees all of its messages. RpcError: too many."""
        session = self.sessions.get(session_id)
        if session is None:
            if len(self.sessions) >= self.limits.sessions:
                raise RpcError(LIMIT_EXCEEDED, "Limit exceeded: sessions", {"limit": "sessions"})
            prefix = "m" if whole and not self.keeps_apart else f"m{self.nonce}."
            session = AgentSession(session_id, roots, prefix, self.limits, self.losses)
            self.sessions[session_id] = session
        session.attach(roots)
        self.emit(SessionOpened(session_id, roots))
        return session

    def is_open(self, session_id: str) -> bool:
        """Whether the session can be used on this connection."""
        session = self.sessions.get(session_id)
        return session is not None and not session.closed

    def close_session(self, session: AgentSession) -> None:
        """Its work is over, whatever the agent does with it."""
        self.turns.stop(session)
        self.questions.cancel(session.id)
        self.service_requests.forget(session.id)
        session.closed = True
        if self.mcp is not None:
            self.mcp.session_ended(session.id)
        self.emit(SessionClosed(session.id))

    # ---- from the core

    def client_asked(self, request: Called) -> None:
        self.requests.take(request)

    def client_told(self, notice: Notified) -> None:
        self.requests.take_notification(notice)

    def client_settled(self, outcome: Answered | Failed) -> None:
        if self.mcp is None or not self.mcp.settle(outcome):
            self.questions.settle(outcome)

    def client_withdrew(self, token: int) -> None:
        if self.mcp is None or not self.mcp.withdrew(token):
            self.turns.withdraw(token)

    def agent_settled(self, token: int | None, result: Raw | None) -> None:
        if self.mcp is not None:
            self.mcp.settled(token, result)

    def agent_asked(self, request: Called, params: Json) -> None:
        self.questions.take(request, params)

    def agent_withdrew(self, token: int) -> None:
        self.questions.withdrawn(token)

    def agent_told(self, notice: Notified, params: Json) -> None:
        if notice.method != "session/update":
            self.questions.take_notification(notice, params)
            return
        session = self.sessions.get(params["sessionId"]) if isinstance(params.get("sessionId"), str) else None
        if session is None or session.closed:
            self.losses.count("early_update")
            return
        if session.turn is not None and not session.turn.accepted:
            self.turns.accept(session)
        for shaped in session.shaped(as_object(params.get("update"))):
            if session.loading != "swallow":
                self.tell(session, shaped, params.get("_meta"))
            elif shaped["sessionUpdate"] in _PRESENT:
                session.keep(shaped)
            else:
                self.losses.count("swallowed_replay")

    def _pass_chunk(self, session: AgentSession, chunk: V1Chunk) -> None:
        kind, given = chunk.session_update, chunk.message_id
        if given.__class__ is str:
            session.break_message()
        else:
            given = session.message_id(kind)
        self.client.push(
            PLAIN_CHUNK % (encode_text(session.id), kind.encode(), encode_text(given), encode_text(chunk.content.text))
        )
