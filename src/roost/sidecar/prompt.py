"""Session requests: prepared, sent, waited for, answered (section 4)."""

from __future__ import annotations

from typing import Any

import msgspec

from roost.acp.dialect import V1, V2
from roost.errors import RemoteProtocolError, SidecarError
from roost.sidecar.callers import Connection
from roost.sidecar.cancel import cancel, watch_cancel, watch_turn
from roost.sidecar.context import Context
from roost.sidecar.conversation import Conversation, TimedOut, Wait
from roost.sidecar.gen.messages import AcpResponse, AcpSessionRequest, AcpSessionRpcResponse
from roost.sidecar.limits import limit_exceeded
from roost.sidecar.link import AgentGone, Answer, LineTooLong, Link
from roost.sidecar.open import exit_text
from roost.sidecar.sessions import Life, Session, unknown_session

PROMPT = "session/prompt"
CANCEL = "session/cancel"
SET_MODE = "session/set_mode"
SET_OPTION = "session/set_config_option"
TIMED_OUT = -32000


def session_request(context: Context, connection: Connection, request: AcpSessionRequest) -> Conversation[AcpResponse]:
    """AcpSessionRequest: any method, forwarded verbatim; the agent's answer comes back whole, errors included."""
    params = session_params(request)
    session = context.sessions.owned(request.session_id, connection.caller)
    session.join(connection)
    yield from settled(session)
    link = session.link
    method = request.method
    if method == CANCEL:
        return rpc_response(session, (yield from cancel(context, session, encode_params(params))))
    if is_notification(method, link.launch.protocol_version):
        link.notify(method, encode_params(params))
        return rpc_response(session, b'{"jsonrpc":"2.0","id":null,"result":{}}')
    if method == PROMPT:
        while session.cancelling is not None:  # a late cancel must not hit the next prompt
            yield session.cancelling
            yield from settled(session)
        link = session.link
    return (yield from exchange(context, session, link, method, params))


def settled(session: Session) -> Conversation[None]:
    """Waits for a restart under way. Raises when the session ended meanwhile."""
    while session.recovery is not None:
        yield session.recovery
    if session.life is not Life.LIVE:
        raise unknown_session(session.id)


def exchange(
    context: Context, session: Session, link: Link, method: str, params: dict[str, msgspec.Raw]
) -> Conversation[AcpResponse]:
    preamble = session.preamble if method == PROMPT else None
    if preamble is not None:
        session.preamble = None
        params["prompt"] = with_preamble(preamble, params.get("prompt"))
    data = encode_params(params)
    bound = context.limits.agent_input_bytes
    if link.queued_input + len(data) > bound:
        session.preamble = session.preamble or preamble
        raise limit_exceeded("agent_input_bytes", bound, f"{link.process} does not read its input")
    mark = session.tellings
    call, wait = link.call(method, data)
    if method == PROMPT:
        session.turns.prompt_sent(call)
        session.prompts[call] = wait
    try:
        answer: Answer = yield from answered_in_time(context, session, link, method, wait)
    except TimedOut as timeout:
        return rpc_response(session, timed_out(context, session, link, method, call, timeout.timeout))
    except AgentGone as gone:
        text = exit_text(link, gone.exit_code, call)
        if session.life in (Life.CLOSING, Life.ENDED):
            raise SidecarError("invalid_state", f"{text}; the session was closed") from None
        recovery = yield link.aftermath
        if recovery.live:
            session.preamble = session.preamble or preamble
        raise SidecarError("invalid_state", text + recovery.sentence) from None
    except LineTooLong as fault:
        session.preamble = session.preamble or preamble
        session.turns.prompt_answered(call, None, failed=True)
        raise SidecarError("limit_exceeded", str(fault)) from None
    except RemoteProtocolError as fault:
        session.preamble = session.preamble or preamble
        session.turns.prompt_answered(call, None, failed=True)
        raise SidecarError("invalid_state", f"ACP {method} (id={call}): {fault}") from None
    finally:
        session.prompts.pop(call, None)
    if method == PROMPT:
        session.turns.prompt_answered(call, stop_reason(answer), failed=answer.error is not None)
        if answer.error is None and link.launch.protocol_version >= V2.version:
            context.stage.start(watch_turn(context, session, link))
    elif answer.error is None:
        track(session, method, params, answer, mark)
    return rpc_response(session, answer.text)


def answered_in_time(context: Context, session: Session, link: Link, method: str, wait: Wait) -> Conversation[Answer]:
    """A prompt may take as long as its agent shows signs of life; anything else has a fixed time."""
    stage, limits = context.stage, context.limits
    if method != PROMPT:
        answer: Answer = yield stage.within(limits.request_timeout, wait)
        return answer
    sent = stage.now
    while True:
        remaining = max(sent, session.last_sign_of_life(link)) + limits.inactivity_timeout - stage.now
        try:
            answer = yield stage.within(max(remaining, 0.0), wait)
            return answer
        except TimedOut:
            if max(sent, session.last_sign_of_life(link)) + limits.inactivity_timeout <= stage.now:
                raise TimedOut(limits.inactivity_timeout) from None


def timed_out(context: Context, session: Session, link: Link, method: str, call: int, seconds: float) -> bytes:
    """The agent is told to stop; the caller gets a JSON-RPC error with all there is to know (4.4)."""
    link.forget(call)
    state = "sent session/cancel notification"
    if link.gone:  # pragma: no cover - an agent that is gone has failed the call already
        state = "failed to send session/cancel notification: the agent is gone"
    else:
        link.notify(CANCEL, msgspec.json.encode({"sessionId": session.id}))
    if method == PROMPT:
        context.stage.start(watch_cancel(context, session, link))
    milliseconds = round(seconds * 1000)
    activity = link.activity
    message = (
        f"ACP request {method} (id={call}) timed out after {milliseconds}ms. adapter process {link.process}. "
        f"{state}. {activity.sentence()}"
    )
    data = {
        "kind": "acp_timeout",
        "method": method,
        "id": call,
        "timeoutMs": milliseconds,
        "transportState": state,
        "recentActivity": activity.recent,
    }
    error = {"code": TIMED_OUT, "message": message, "data": data}
    return msgspec.json.encode({"jsonrpc": "2.0", "id": call, "error": error})


# ---- parameters


def session_params(request: AcpSessionRequest) -> dict[str, msgspec.Raw]:
    """The members of `params`, sessionId forced. A value that is no object becomes `{"value": …}`."""
    members: dict[str, msgspec.Raw] = {}
    if request.params is not None:
        try:
            text = msgspec.json.format(request.params.encode(), indent=-1)  # on one line, and checked
            value = msgspec.json.decode(text, type=msgspec.Raw)
            if text[:1] == b"{":
                members = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
            elif text != b"null":
                members = {"value": value}
        except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
            raise SidecarError("invalid_state", f"invalid session request params JSON: {error}") from None
    members["sessionId"] = msgspec.Raw(msgspec.json.encode(request.session_id))
    return members


def encode_params(params: dict[str, msgspec.Raw]) -> bytes:
    return msgspec.json.encode(params)


def with_preamble(preamble: str, prompt: msgspec.Raw | None) -> msgspec.Raw:
    """The prompt with a text block put first; what is no list of blocks becomes one."""
    block = msgspec.Raw(msgspec.json.encode({"type": "text", "text": preamble}))
    blocks = [] if prompt is None or bytes(prompt)[:1] != b"[" else msgspec.json.decode(prompt, type=list[msgspec.Raw])
    return msgspec.Raw(msgspec.json.encode([block, *blocks]))


def is_notification(method: str, version: int) -> bool:
    """Whether the agent's dialect knows the method as a notification only."""
    dialect = V2 if version >= V2.version else V1
    return dialect.is_notification(method)


def rpc_response(session: Session, text: bytes) -> AcpSessionRpcResponse:
    return AcpSessionRpcResponse(session_id=session.id, response=text.decode())


# ---- tracking (4.6)


def track(session: Session, method: str, params: dict[str, msgspec.Raw], answer: Answer, mark: int) -> None:
    """Keeps modes and options up to date, and tells them once: not when the agent has told them itself."""
    if method == SET_MODE:
        mode = decoded(params.get("modeId"))
        if isinstance(mode, str):
            update = session.facts.mode_chosen(mode)
            if not (session.mode_told[0] > mark and session.mode_told[1] == mode):
                session.publish_update(update)
    elif method == SET_OPTION:
        option = decoded(params.get("configId"))
        if isinstance(option, str) and "value" in params:
            changed = session.facts.option_chosen(option, decoded(params["value"]), full_list(answer))
            if changed is not None and not session.options_told > mark:
                session.publish_update(changed)


def full_list(answer: Answer) -> list[Any] | None:
    result = None if answer.result is None else msgspec.json.decode(answer.result)
    options = result.get("configOptions") if isinstance(result, dict) else None
    return options if isinstance(options, list) else None


def stop_reason(answer: Answer) -> str | None:
    result = None if answer.result is None else msgspec.json.decode(answer.result)
    reason = result.get("stopReason") if isinstance(result, dict) else None
    return reason if isinstance(reason, str) else None


def decoded(raw: msgspec.Raw | None) -> Any:
    return None if raw is None else msgspec.json.decode(raw)
