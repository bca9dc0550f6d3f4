"""A v2 agent seen by a v1 client: the bridge between a v1 client (north) and a v2 agent (south).

    from_north, from_south ──► north(), south(), events()

The driver's side is that of V1AgentBridge. What v2 has and v1 has not is emulated or counted in `losses`; nothing the
client does not know is ever sent to it (BR-5).

The rest of it: `client_turns` (prompts held until idle), `client_requests` (what the client asks), `client_questions`
(what the agent asks), `client_session` with `client_messages`, `client_tools` and `client_terminals` (updates).
"""

from __future__ import annotations

from typing import Any

import msgspec

from roost.acp.bridge.client_questions import ClientQuestions
from roost.acp.bridge.client_requests import ClientRequests
from roost.acp.bridge.client_session import ClientSession
from roost.acp.bridge.client_tools import ReadFile
from roost.acp.bridge.client_turns import HeldTurns
from roost.acp.bridge.content import Which
from roost.acp.bridge.core import BridgeCore
from roost.acp.bridge.limits import DEFAULT_LIMITS, BridgeLimits
from roost.acp.bridge.payload import Json, as_object
from roost.acp.bridge.plain_chunk import PLAIN_CHUNK, V2Chunk, decode_v2_chunk
from roost.acp.bridge.wire import encode_text
from roost.acp.v2 import UpdateSessionNotification
from roost.errors import CodecError, RpcError
from roost.rpc.events import Answered, Called, Failed, Notified
from roost.rpc.messages import LIMIT_EXCEEDED, UNDECODABLE
from roost.wire.decode import decode, encode

__all__ = ["V1ClientBridge"]

_RESEND = "resend"


class V1ClientBridge(BridgeCore[ClientSession]):
    """One connection of one v1 client.

    `which` finds the program of an MCP server that is named without its folder, as v1 clients do; without it such a
    server is refused. `read_file` gives a file's text, so that a patch of v2 can be shown as the texts of v1; without
    it, it is shown as a patch.
    """

    def __init__(
        self,
        *,
        which: Which | None = None,
        read_file: ReadFile | None = None,
        limits: BridgeLimits = DEFAULT_LIMITS,
    ) -> None:
        super().__init__(limits)
        self.which = which
        self._read_file = read_file
        self.turns = HeldTurns(self)
        self.questions = ClientQuestions(self)
        self.requests = ClientRequests(self)

    # ---- what the driver calls

    def from_south(self, message: bytes, now: float) -> None:
        """One message of the agent, or a line that is none."""
        self.now = now
        try:
            params = decode_v2_chunk(message).params
        except UNDECODABLE:
            pass
        else:
            session = self.sessions.get(params.session_id)
            if session is not None:
                self._pass_chunk(session, params.update)
                return
        for event in self.agent.receive(message):
            self.take_from_agent(event)

    def end_south(self, cause: str, now: float) -> None:
        """The agent is gone: every request of the client fails."""
        self.now = now
        for event in self.agent.end(cause):
            self.take_from_agent(event)
        self.opening = 0
        self.release_all()
        self.questions.cancel(None)
        for session in self.sessions.values():
            self.turns.end_all(session, cause)
            session.is_closed = True

    def end_north(self, cause: str, now: float) -> None:
        """The client is gone: its work is cancelled."""
        self.now = now
        for session in self.sessions.values():
            if session.turn is not None:
                self.turns.cancel(session)
        self.opening = 0
        self.release_all()
        self.questions.cancel(None)
        self.client.end(cause)

    # ---- for the parts

    def scope_of(self, call: Any) -> Json | None:
        """What a question about a call to the agent is about, as the client knows it (B-33)."""
        for session in self.sessions.values():
            if session.turn is not None and session.turn.prompt.call == call:
                return {"requestId": msgspec.Raw(session.turn.prompt.raw_id)}
        return self.request_scope(call)

    def open_session(self, session_id: str, *, switches: bool, plans: bool) -> ClientSession:
        """RpcError: too many."""
        session = self.sessions.get(session_id)
        if session is None:
            if len(self.sessions) >= self.limits.sessions:
                raise RpcError(LIMIT_EXCEEDED, "Limit exceeded: sessions", {"limit": "sessions"})
            session = ClientSession(
                session_id, self.limits, self.losses, self._read_file, switches=switches, plans=plans
            )
            self.sessions[session_id] = session
        session.is_closed = False
        return session

    def drop_session(self, session_id: str) -> None:
        self.sessions.pop(session_id, None)
        self.drop_timer(session_id, _RESEND)

    def tell(self, session: ClientSession, update: Json, meta: Any = None) -> None:
        """One v1 update for the client."""
        tail = b"" if not isinstance(meta, dict) else b',"_meta":%b' % encode(meta)
        self.client.push(
            b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":%b,"update":%b%b}}'
            % (encode_text(session.id), encode(update), tail)
        )

    def resend(self, session: ClientSession) -> None:
        """The whole content of every tool call that has grown (B-24)."""
        if not session.dirty:
            return
        dirty, session.dirty = session.dirty, {}
        size = 0
        for tool_call_id in dirty:
            if session.tools.size(tool_call_id):  # else its content was given up, or it is forgotten
                size += session.tools.size(tool_call_id)
                self.tell(session, {"sessionUpdate": "tool_call_update", **session.tools.whole(tool_call_id)})
        self._pause(session, size)

    def _pause(self, session: ClientSession, size: int) -> None:
        """Until content may be sent again: the longer, the more it is, so that all of it stays linear."""
        limits = self.limits
        delay = limits.resend_interval * (1 + size / limits.resend_bytes)
        self.set_timer(session.id, _RESEND, delay, lambda: self.resend(session))

    # ---- from the core

    def client_asked(self, request: Called) -> None:
        self.requests.take(request)

    def client_told(self, notice: Notified) -> None:
        self.requests.take_notification(notice)

    def client_settled(self, outcome: Answered | Failed) -> None:
        self.questions.settle(outcome)

    def client_withdrew(self, token: int) -> None:
        self.turns.withdraw(token)

    def agent_asked(self, request: Called, params: Json) -> None:
        try:
            self.questions.take(request, params)
        except CodecError as error:
            self.agent.fail(request.token, RpcError(-32602, f"Invalid params: {error}"))

    def agent_withdrew(self, token: int) -> None:
        self.questions.withdrawn(token)

    def agent_told(self, notice: Notified, params: Json) -> None:
        if notice.method != "session/update":
            self.questions.take_notification(notice)
            return
        session = self.sessions.get(params["sessionId"]) if isinstance(params.get("sessionId"), str) else None
        if session is None:
            self.losses.count("early_update")
            return
        update = self._readable(notice, params)
        if update is None:
            self.losses.count("malformed_update")
        elif update.get("sessionUpdate") == "state_update":
            self.turns.state(session, update)
        else:
            for shaped in session.shaped(update):
                self.tell(session, shaped, params.get("_meta"))
            if session.dirty and not self.has_timer(session.id, _RESEND):
                self.resend(session)

    def _readable(self, notice: Notified, params: Json) -> Json | None:
        """The update as a lenient reader takes it: a v1 client may be none."""
        forgiven: list[str] = []
        try:
            typed = decode(
                UpdateSessionNotification, notice.params or b"{}", on_loss=lambda path, what: forgiven.append(what)
            )
            if not forgiven:
                return as_object(params.get("update"))
            self.losses.count("malformed_field")
            return as_object(msgspec.json.decode(encode(typed.update)))
        except CodecError:
            return None

    def _pass_chunk(self, session: ClientSession, chunk: V2Chunk) -> None:
        kind, message_id, text = chunk.session_update, chunk.message_id, chunk.content.text
        session.messages.appended_text(kind, message_id, text)
        self.client.push(
            PLAIN_CHUNK % (encode_text(session.id), kind.encode(), encode_text(message_id), encode_text(text))
        )
