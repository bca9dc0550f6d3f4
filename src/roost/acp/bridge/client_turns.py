"""The prompts of a v1 client: each held until the v2 agent is seen to have ended its work (4.4).

    queued ──► sent ──`{}`, user message, running──► at work ──idle──► answered

v2 has no turn ids. The idle that ends a prompt comes after `running`, or after the message that reports the prompt when
it says why work stopped; any other is stale (PRM-10).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from roost.acp.bridge.client_session import ClientSession, HeldPrompt, HeldTurn
from roost.acp.bridge.payload import Json, note_of, noted, strict, with_meta, without_note
from roost.acp.bridge.wire import encode_text
from roost.acp.v2 import PromptRequest
from roost.errors import RpcError
from roost.rpc.messages import INTERNAL_ERROR, INVALID_PARAMS, LIMIT_EXCEEDED
from roost.wire.decode import encode

if TYPE_CHECKING:
    from roost.acp.bridge.v1_client import V1ClientBridge

STOP_REASONS: Final = frozenset({"end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"})
_CANCEL = "cancel"


class HeldTurns:
    """All turns of one bridge."""

    def __init__(self, bridge: V1ClientBridge) -> None:
        self._bridge = bridge

    def prompt(self, session: ClientSession, prompt: HeldPrompt) -> None:
        """RpcError: too many wait already."""
        if session.turn is None:
            self._send(session, prompt)
        elif len(session.queue) < self._bridge.limits.queued_prompts:
            session.queue.append(prompt)
        else:
            raise RpcError(LIMIT_EXCEEDED, "Limit exceeded: queued_prompts", {"limit": "queued_prompts"})

    def _send(self, session: ClientSession, prompt: HeldPrompt) -> None:
        bridge = self._bridge
        turn = session.turn = HeldTurn(prompt)
        try:
            payload = strict(PromptRequest, prompt.params, bridge.losses)
            if payload is None:
                raise RpcError(INVALID_PARAMS, "Invalid params: a prompt that cannot be read")
            prompt.call = bridge.call(
                "session/prompt",
                payload,
                lambda result: self._accepted(session, turn),
                lambda error: self._refused(session, turn, error),
            )
        except RpcError as error:
            self._refused(session, turn, error)

    def _accepted(self, session: ClientSession, turn: HeldTurn) -> None:
        turn.accepted = True
        if session.turn is turn and turn.ended is not None:
            self._finish(session, turn, turn.ended)

    def _refused(self, session: ClientSession, turn: HeldTurn, error: RpcError) -> None:
        if session.turn is turn:
            self._over(session)
            self._bridge.client.fail(turn.prompt.token, error)
            self._next(session)

    # ---- what the agent says of its state

    def state(self, session: ClientSession, update: Json) -> None:
        turn, state = session.turn, update.get("state")
        self._bridge.losses.count("state")
        if turn is None:
            return
        if state in ("running", "requires_action"):
            turn.running = True
        elif state == "idle":
            reason = update.get("stopReason")
            said = reason is not None and (turn.user_message is not None or turn.cancelled)
            if not turn.running and not said:
                return  # B-22
            turn.ended = update
            if turn.accepted:
                self._finish(session, turn, update)

    def _finish(self, session: ClientSession, turn: HeldTurn, idle: Json) -> None:
        self._bridge.resend(session)
        self._over(session)
        result = self._result(idle)
        if isinstance(result, RpcError):
            self._bridge.client.fail(turn.prompt.token, result)
        else:
            self._bridge.client.answer(turn.prompt.token, encode(result))
        self._next(session)

    def _result(self, idle: Json) -> Json | RpcError:
        reason, note = idle.get("stopReason"), note_of(idle)
        code: Any = note.get("code")
        if reason in ("_error", "_auth_required") and type(code) is int and -(2**31) <= code < 2**31:
            return RpcError(code, str(note.get("message", "")))  # what a v1 agent behind another bridge answered
        v1: Json = {"stopReason": reason if reason in STOP_REASONS else "end_turn"}
        if idle.get("usage") is not None:
            v1["usage"] = idle["usage"]
        with_meta(v1, without_note(idle))
        if reason is not None and reason not in STOP_REASONS:
            self._bridge.losses.count("stop_reason")
            noted(v1, stopReason=reason)
        return v1

    def _over(self, session: ClientSession) -> None:
        session.turn = None
        self._bridge.drop_timer(session.id, _CANCEL)

    def _next(self, session: ClientSession) -> None:
        while session.queue and session.turn is None:
            self._send(session, session.queue.popleft())

    # ---- cancelling

    def cancel(self, session: ClientSession) -> None:
        """The client's `session/cancel`: what waits is answered at once, what runs when the agent has ended it."""
        bridge = self._bridge
        while session.queue:
            bridge.client.answer(session.queue.popleft().token, b'{"stopReason":"cancelled"}')
        bridge.agent.notify("session/cancel", b'{"sessionId":%b}' % encode_text(session.id))
        bridge.questions.cancel(session.id)
        if session.turn is not None and not session.turn.cancelled:
            session.turn.cancelled = True
            bridge.set_timer(session.id, _CANCEL, bridge.limits.cancel_timeout, lambda: self.give_up(session))

    def give_up(self, session: ClientSession) -> None:
        """The agent does not say that it is idle: the prompt is answered without it."""
        turn = session.turn
        if turn is not None:
            self._bridge.forget(turn.prompt.call)
            self._finish(session, turn, {"stopReason": "cancelled"})

    def withdraw(self, token: int) -> None:
        """The client gives its prompt up: out of the queue, or as a cancel."""
        for session in self._bridge.sessions.values():
            for prompt in session.queue:
                if prompt.token == token:
                    session.queue.remove(prompt)
                    self._bridge.client.answer(token, b'{"stopReason":"cancelled"}')
                    return
            if session.turn is not None and session.turn.prompt.token == token:
                self.cancel(session)
                return

    def end_all(self, session: ClientSession, cause: str) -> None:
        """The agent is gone: every prompt fails."""
        turn = session.turn
        tokens = [prompt.token for prompt in session.queue] + ([] if turn is None else [turn.prompt.token])
        session.queue.clear()
        self._over(session)
        for token in tokens:
            self._bridge.client.fail(token, RpcError(INTERNAL_ERROR, f"the agent is gone: {cause}"))
