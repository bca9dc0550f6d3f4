"""The turns of a v1 agent's sessions: prompts one after another, `running` to `idle`, and how each may end (4.4).

    queued ──► sent ──accept──► running ──answer──► settling ──► idle
                 └─ refused at once: the prompt's own error

A v1 agent does not say that it accepted a prompt. It has when it says anything of the session, when its answer is no
refusal, or when `acceptance_grace` is over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from roost.acp.bridge.agent_session import AgentSession, Prompt, Turn
from roost.acp.bridge.payload import Json, as_text, noted, parse_object, strict
from roost.acp.bridge.wire import encode_text
from roost.acp.v2 import Usage
from roost.errors import RpcError
from roost.rpc.messages import (
    AUTH_REQUIRED,
    INVALID_PARAMS,
    INVALID_REQUEST,
    LIMIT_EXCEEDED,
    METHOD_NOT_FOUND,
    REQUEST_CANCELLED,
    RESOURCE_NOT_FOUND,
)
from roost.wire.decode import encode

if TYPE_CHECKING:
    from roost.acp.bridge.v1_agent import V1AgentBridge

# Codes that say a prompt was never begun; any other is a turn that failed.
REFUSALS: Final = frozenset(
    {AUTH_REQUIRED, RESOURCE_NOT_FOUND, METHOD_NOT_FOUND, INVALID_REQUEST, INVALID_PARAMS, REQUEST_CANCELLED}
)
_ACCEPT, _CANCEL, _SETTLE = "accept", "cancel", "settle"


class Turns:
    """All turns of one bridge."""

    def __init__(self, bridge: V1AgentBridge) -> None:
        self._bridge = bridge

    def prompt(self, session: AgentSession, prompt: Prompt) -> None:
        """RpcError: too many wait already. A prompt in the queue has no answer yet, and can be withdrawn (PRM-14)."""
        self.settle(session)
        if session.turn is not None:
            if len(session.queue) >= self._bridge.limits.queued_prompts:
                raise RpcError(LIMIT_EXCEEDED, "Limit exceeded: queued_prompts", {"limit": "queued_prompts"})
            session.queue.append(prompt)  # B-38
            return
        self._send(session, prompt)

    def _send(self, session: AgentSession, prompt: Prompt) -> None:
        bridge = self._bridge
        turn = session.begin(prompt)
        try:
            prompt.call = bridge.call(
                "session/prompt",
                encode(prompt.params),
                lambda result: self._answered(session, turn, parse_object(result)),
                lambda error: self._failed(session, turn, error),
            )
        except RpcError as error:
            session.turn = None
            bridge.client.fail(prompt.token, error)
            return
        bridge.set_timer(session.id, _ACCEPT, bridge.limits.acceptance_grace, lambda: self.accept(session))

    def accept(self, session: AgentSession) -> None:
        """`{}`, the user's message, `running` (B-01)."""
        turn, bridge = session.turn, self._bridge
        if turn is None or turn.accepted:
            return
        turn.accepted = True
        bridge.drop_timer(session.id, _ACCEPT)
        bridge.losses.count("acceptance")
        bridge.client.answer(turn.prompt.token, b"{}")
        content = turn.prompt.params.get("prompt")
        message = {"sessionUpdate": "user_message", "messageId": session.new_message_id(), "content": content}
        bridge.tell(session, message)
        self._state(session, "running")

    def _state(self, session: AgentSession, state: str) -> None:
        self._bridge.tell(session, {"sessionUpdate": "state_update", "state": state})

    # ---- the user is asked

    def asking(self, session: AgentSession) -> bool:
        """A question is put. Whether it belongs to a turn."""
        turn = session.turn
        if turn is None or turn.ending is not None:
            return False
        self.accept(session)
        turn.asking += 1
        if turn.asking == 1:
            self._state(session, "requires_action")  # PRM-7
        return True

    def asked(self, session: AgentSession) -> None:
        """... and is no longer."""
        turn = session.turn
        if turn is None or not turn.asking:
            return
        turn.asking -= 1
        if not turn.asking and turn.ending is None:
            self._state(session, "running")

    # ---- how a turn ends: the call of one that was given up is forgotten, so what is answered is the session's turn

    def _answered(self, session: AgentSession, turn: Turn, result: Json) -> None:
        self.accept(session)
        stop_reason = as_text(result.get("stopReason"), "end_turn")
        if turn.cancelled and stop_reason == "end_turn":
            stop_reason = "cancelled"  # B-07
        idle: Json = {"stopReason": stop_reason}
        if isinstance(result.get("usage"), dict) and strict(Usage, result["usage"], self._bridge.losses) is not None:
            idle["usage"] = result["usage"]
        if isinstance(result.get("_meta"), dict):
            idle["_meta"] = result["_meta"]
        self._end(session, turn, idle)

    def _failed(self, session: AgentSession, turn: Turn, error: RpcError) -> None:
        if not turn.accepted and error.code in REFUSALS:
            self._bridge.drop_timer(session.id, _ACCEPT)
            self._bridge.drop_timer(session.id, _CANCEL)
            session.turn = None
            self._bridge.client.fail(turn.prompt.token, error)
            self._next(session)
            return
        self.accept(session)
        self._end(session, turn, self._idle_of(session, turn, error))

    def _idle_of(self, session: AgentSession, turn: Turn, error: RpcError) -> Json:
        """A failed turn as v2 tells it: what went wrong as a message, then `idle` (B-05, PRM-11)."""
        if turn.cancelled or error.code == REQUEST_CANCELLED:
            return noted({"stopReason": "cancelled"}, code=error.code)
        self._bridge.losses.count("failed_turn")
        content = [{"type": "text", "text": error.message or f"error {error.code}"}]
        message = {"sessionUpdate": "agent_message", "messageId": session.new_message_id(), "content": content}
        self._bridge.tell(session, message)
        reason = "_auth_required" if error.code == AUTH_REQUIRED else "_error"
        return noted({"stopReason": reason}, code=error.code, message=error.message)

    def _end(self, session: AgentSession, turn: Turn, idle: Json) -> None:
        bridge = self._bridge
        bridge.drop_timer(session.id, _CANCEL)
        turn.ending = idle
        bridge.questions.cancel(session.id)
        if bridge.limits.settle_grace > 0 and not session.queue:
            bridge.set_timer(session.id, _SETTLE, bridge.limits.settle_grace, lambda: self.settle(session))
        else:
            self.settle(session)

    def settle(self, session: AgentSession) -> None:
        """Tells the end of a turn that waited for late updates, and begins the next."""
        turn = session.turn
        if turn is None or turn.ending is None:
            return
        self._bridge.drop_timer(session.id, _SETTLE)
        self._bridge.tell(session, {"sessionUpdate": "state_update", "state": "idle", **turn.ending})
        session.turn = None
        session.break_message()
        self._next(session)

    def _next(self, session: AgentSession) -> None:
        while session.queue and session.turn is None:
            self._send(session, session.queue.popleft())

    # ---- cancelling

    def cancel(self, session: AgentSession) -> None:
        """Of the work there is and of the prompts that wait (PRM-18); without either, nothing (PRM-17)."""
        bridge, turn = self._bridge, session.turn
        while session.queue:
            bridge.client.fail(session.queue.popleft().token, RpcError(REQUEST_CANCELLED, "Request cancelled"))
        if turn is None or turn.ending is not None or turn.cancelled:
            return
        self.accept(session)  # PRM-19: it leads to an idle
        turn.cancelled = True
        bridge.agent.notify("session/cancel", b'{"sessionId":%b}' % encode_text(session.id))
        bridge.questions.cancel(session.id)  # B-19
        bridge.set_timer(session.id, _CANCEL, bridge.limits.cancel_timeout, lambda: self.give_up(session))

    def give_up(self, session: AgentSession) -> None:
        """The agent does not end its turn: it is over without it, and what it still answers is ignored (B-06)."""
        turn = session.turn
        if turn is None or turn.ending is not None:
            return
        self._bridge.note("warning", "the agent did not end a cancelled turn in time")
        self._bridge.forget(turn.prompt.call)
        self._end(session, turn, noted({"stopReason": "cancelled"}, timeout=True))
        self.settle(session)

    def stop(self, session: AgentSession) -> None:
        """The session closes: its turn ends now (SES-26)."""
        self.cancel(session)
        turn = session.turn
        if turn is not None and turn.ending is None:
            self._bridge.forget(turn.prompt.call)
            self._end(session, turn, {"stopReason": "cancelled"})
        self.settle(session)

    def withdraw(self, token: int) -> None:
        """A prompt that waits is withdrawn; one the agent has already is cancelled, if it is not accepted (CAN-12)."""
        for session in self._bridge.sessions.values():
            if session.turn is not None and session.turn.prompt.token == token:
                self.cancel(session)
                return
            for prompt in session.queue:
                if prompt.token == token:
                    session.queue.remove(prompt)
                    self._bridge.client.fail(token, RpcError(REQUEST_CANCELLED, "Request cancelled"))
                    return

    def end_all(self, session: AgentSession, cause: str) -> None:
        """The agent is gone; its calls have failed, which ended the turn. Nothing waits any longer (B-37)."""
        self.settle(session)
        while session.queue:
            self._bridge.client.fail(session.queue.popleft().token, RpcError(-32603, f"the agent is gone: {cause}"))
        session.closed = True
