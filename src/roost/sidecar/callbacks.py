"""Questions of an agent, put to the caller: permissions and everything else a client is asked (section 5).

Several may be open at once and are answered in any order. Each ends in exactly one answer to the agent: the caller's,
or a refusal when the time is up, the caller is gone, the turn is cancelled or the session closes. Silence is never
consent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec

from roost.errors import RpcError, SidecarError
from roost.rpc.messages import INTERNAL_ERROR, METHOD_NOT_FOUND, REQUEST_CANCELLED, id_key, is_legal_id
from roost.sidecar import permissions
from roost.sidecar.activity import LABEL_LENGTH
from roost.sidecar.callers import Connection
from roost.sidecar.commands import AskCaller
from roost.sidecar.context import Context
from roost.sidecar.conversation import Conversation, Timer
from roost.sidecar.gen.messages import (
    AcpCallback,
    AcpCallbackResponse,
    AcpHostRequestCallback,
    AcpHostRequestCallbackResponse,
    AcpPermissionCallback,
    AcpPermissionCallbackResponse,
)
from roost.sidecar.journal import Kind
from roost.sidecar.limits import Gauge
from roost.sidecar.mcp_relay import MESSAGE as MCP_MESSAGE
from roost.sidecar.payloads import UNREADABLE, compact, members, renamed
from roost.sidecar.redaction import redact_params

if TYPE_CHECKING:
    from roost.sidecar.keeper import Journal
    from roost.sidecar.link import Inbound, Link

PERMISSION_METHODS = frozenset(("session/request_permission", "request/permission"))
ELICITATION = "elicitation/create"
REFUSALS_TOLD = 16


class Ask:
    """One open question."""

    __slots__ = ("asked", "inbound", "owner", "timer")

    def __init__(self, owner: Asks, inbound: Inbound) -> None:
        self.owner = owner
        self.inbound = inbound
        self.asked: dict[int, int] = {}  # connection -> callback id
        self.timer: Timer | None = None

    @property
    def is_permission(self) -> bool:
        return self.inbound.method in PERMISSION_METHODS

    @property
    def is_kept(self) -> bool:
        """What is said to an MCP server of the caller's is no part of the session's history."""
        return self.inbound.method != MCP_MESSAGE


class Asks:
    """The open questions of one agent. `session_id` is "" while the session has none."""

    def __init__(self, context: Context, link: Link, session_id: str, audience: list[Connection]) -> None:
        self._context = context
        self._link = link
        self._open: dict[int, Ask] = {}
        self._closed: str | None = None  # why nobody is asked any more
        self._refusals = 0
        self._gauge = Gauge("callbacks_per_session", context.limits.callbacks_per_session, context.warn)
        self.journal: Journal | None = None  # of the session, where it is kept
        self.session_id = session_id
        self.live_id = session_id  # what the agent calls it
        self.audience = audience
        self.last_settled = context.stage.now

    def __len__(self) -> int:
        return len(self._open)

    def put(self, inbound: Inbound) -> None:
        """Asks every connection that hears the session, by the name they know; the first answer counts."""
        if self.session_id and self.live_id != self.session_id:
            inbound = _renamed(inbound, self.live_id, self.session_id)
        ask = Ask(self, inbound)
        if self._closed is not None:
            self._refuse(ask, self._closed, cancelled=True)
            return
        if len(self._open) >= self._gauge.bound:
            limit, bound = self._gauge.limit, self._gauge.bound
            self._refuse(ask, f"limit {limit} of {bound} reached; raise {limit} to allow more")
            return
        if not self.audience:
            self._refuse(ask, "nobody is there to answer")
            return
        self._open[inbound.token] = ask
        self._gauge.watch(len(self._open))
        timeout = self._context.limits.callback_timeout
        ask.timer = self._context.stage.after(timeout, lambda: self._timed_out(ask))
        self._keep_question(ask)
        payload = self._callback(ask)
        for connection in self.audience:
            callback = connection.next_callback()
            connection.asks[callback] = ask
            ask.asked[connection.number] = callback
            self._context.emit(AskCaller(connection.number, callback, payload))

    def _callback(self, ask: Ask) -> AcpCallback:
        inbound = ask.inbound
        if ask.is_permission:
            params = "null" if inbound.params is None else inbound.params.decode()
            return AcpPermissionCallback(self.session_id, permissions.permission_id(inbound.params), params)
        return AcpHostRequestCallback(self.session_id, inbound.line.decode())

    # ---- endings

    def answered(self, ask: Ask, payload: AcpCallbackResponse) -> None:
        if not self._close(ask):
            return
        inbound = ask.inbound
        if ask.is_permission:
            reply = payload.reply if isinstance(payload, AcpPermissionCallbackResponse) else "reject"
            result = permissions.outcome(reply, inbound.params)
            self._keep_decision(ask, "caller", reply=reply, result=msgspec.Raw(result))
            self._context.stage.start(self._pass_on(ask, result, permissions.refusal(inbound.params)))
        else:
            text = payload.response if isinstance(payload, AcpHostRequestCallbackResponse) else None
            self._keep_decision(ask, "caller", answered=text is not None)
            self._answer_host_request(inbound, text)

    def _pass_on(self, ask: Ask, result: bytes, otherwise: bytes) -> Conversation[None]:
        """A decision reaches the agent when it is durable; what cannot be kept is no consent: `otherwise` is told."""
        if self.journal is not None:
            try:
                yield from self.journal.promise()
            except SidecarError as error:
                self._context.note("error", f"{self._link.process}: a decision could not be kept: {error}")
                result = otherwise
        self._link.answer(ask.inbound.token, result)

    def _keep_question(self, ask: Ask) -> None:
        if self.journal is not None and ask.is_kept:
            inbound = ask.inbound
            params = None if inbound.params is None else msgspec.Raw(redact_params(inbound.params))
            if ask.is_permission:
                self.journal.add(Kind.PERMISSION, {"id": inbound.token, "params": params})
            else:
                body = {"id": inbound.token, "method": inbound.method[:LABEL_LENGTH], "params": params}
                self.journal.add(Kind.REQUEST, body)

    def _keep_decision(self, ask: Ask, by: str, **outcome: object) -> None:
        if self.journal is not None and ask.is_kept:
            self.journal.add(Kind.DECISION, {"id": ask.inbound.token, "by": by, **outcome})

    def _answer_host_request(self, inbound: Inbound, text: str | None) -> None:
        if text is None:
            self._link.fail(inbound.token, method_not_found(inbound.method))
            return
        try:
            result, error = _read_response(text, inbound.raw_id)
        except ValueError as problem:
            self._context.note("warning", f"{self._link.process}: {problem}")
            self._link.fail(inbound.token, RpcError(INTERNAL_ERROR, str(problem)))
            return
        if error is not None:
            self._link.fail(inbound.token, error)
        else:
            self._link.answer(inbound.token, result)

    def _timed_out(self, ask: Ask) -> None:
        if self._close(ask):
            timeout = self._context.limits.callback_timeout
            self._refuse(ask, f"no answer within callback_timeout ({timeout:g} s)", was_asked=True)

    def withdrawn(self, token: int) -> None:
        """The agent took its question back; it is still owed an answer (CAN-4)."""
        ask = self._open.get(token)
        if ask is not None and self._close(ask):
            self._keep_decision(ask, "agent", withdrawn=True)
            self._link.fail(token, RpcError(REQUEST_CANCELLED, "request cancelled"))

    def cancel_turn(self) -> None:
        """The turn was cancelled: permissions and elicitations are answered so (CAN-13, ELI-17); the rest go on."""
        for ask in list(self._open.values()):
            if ask.is_permission and self._close(ask):
                self._keep_decision(ask, "cancel", result=msgspec.Raw(permissions.CANCELLED))
                self._context.stage.start(self._pass_on(ask, permissions.CANCELLED, permissions.CANCELLED))
            elif ask.inbound.method == ELICITATION and self._close(ask):
                self._link.answer(ask.inbound.token, b'{"action":"cancel"}')

    def drop_connection(self, number: int) -> None:
        """One of those asked has gone; the last one to go leaves a refusal."""
        for ask in list(self._open.values()):
            if ask.asked.pop(number, None) is not None and not ask.asked and self._close(ask):
                self._refuse(ask, "the caller has left", was_asked=True)

    def close(self, why: str) -> None:
        """The session closes, or its agent is gone: what is open is refused, and so is what may still come."""
        self._closed = self._closed or why
        for ask in list(self._open.values()):
            if self._close(ask):
                self._refuse(ask, why, cancelled=True)

    def _close(self, ask: Ask) -> bool:
        """Takes the question off every table; False when it was answered already."""
        if self._open.pop(ask.inbound.token, None) is None:
            return False
        if ask.timer is not None:
            ask.timer.cancel()
        for number, callback in ask.asked.items():
            connection = self._context.callers.connections.get(number)
            if connection is not None:
                connection.asks.pop(callback, None)
        self._gauge.watch(len(self._open))
        self.last_settled = self._context.stage.now
        return True

    def _refuse(self, ask: Ask, why: str, *, cancelled: bool = False, was_asked: bool = False) -> None:
        """`was_asked`: somebody could have decided otherwise, so this is a decision like theirs."""
        inbound = ask.inbound
        self._refusals += 1
        # The first few are told; an agent that goes on asking must not fill the log.
        level = "info" if self._refusals <= REFUSALS_TOLD else "debug"
        self._context.note(level, f"{self._link.process}: {inbound.method[:LABEL_LENGTH]} refused: {why}")
        self._keep_decision(ask, "policy", refused=why)
        if ask.is_permission:
            result = permissions.CANCELLED if cancelled else permissions.refusal(inbound.params)
            if was_asked:
                self._context.stage.start(self._pass_on(ask, result, result))
            else:
                self._link.answer(inbound.token, result)
        elif inbound.method == ELICITATION:
            self._link.answer(inbound.token, b'{"action":"cancel"}')
        elif cancelled:
            self._link.fail(inbound.token, RpcError(REQUEST_CANCELLED, f"{inbound.method}: {why}"))
        else:
            self._link.fail(inbound.token, method_not_found(inbound.method))


def _renamed(inbound: Inbound, live_id: str, session_id: str) -> Inbound:
    line = renamed(inbound.line, live_id, session_id)
    if line is inbound.line:
        return inbound
    params = (members(line) or {}).get("params")
    return msgspec.structs.replace(inbound, line=line, params=None if params is None else bytes(params))


def method_not_found(method: str) -> RpcError:
    return RpcError(METHOD_NOT_FOUND, f"method not found: {method}", {"method": method})


class _Response(msgspec.Struct):
    id: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    result: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    error: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class _Error(msgspec.Struct):
    code: Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
    message: str
    data: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


def _read_response(text: str, raw_id: bytes) -> tuple[bytes, RpcError | None]:
    """A host's answer in parts. Raises ValueError saying what is wrong with it."""
    try:
        line = compact(text)
    except ValueError as problem:
        raise ValueError(f"invalid ACP host request response JSON: {problem}") from None
    try:
        response = msgspec.json.decode(line, type=_Response)
        answered = b"null" if response.id is msgspec.UNSET else bytes(response.id)
        if not is_legal_id(answered) or id_key(answered) != id_key(raw_id):
            shown, wanted = (part.decode("utf-8", "replace")[:LABEL_LENGTH] for part in (answered, raw_id))
            raise ValueError(f"ACP host request response id {shown} did not match request id {wanted}")
        if response.error is not msgspec.UNSET and bytes(response.error) != b"null":
            error = msgspec.json.decode(response.error, type=_Error)
            return b"", RpcError(error.code, error.message, None if error.data is msgspec.UNSET else error.data)
    except UNREADABLE as problem:
        raise ValueError(f"invalid ACP host request response JSON: {problem}") from None
    if response.result is msgspec.UNSET:
        raise ValueError("invalid ACP host request response JSON: neither result nor error")
    return bytes(response.result), None
