"""Session requests: prepared, sent, waited for, answered (section 4)."""

from __future__ import annotations

import msgspec

from roost.errors import RoostError, SidecarError
from roost.rpc.messages import REQUEST_CANCELLED
from roost.sidecar.answers import Answer
from roost.sidecar.bootstrap import exit_text
from roost.sidecar.callers import Connection
from roost.sidecar.cancel import CANCEL, cancel, tell, wait_for_end, watch_turn
from roost.sidecar.closing import cut_short, response_line
from roost.sidecar.commands import PromptQuery
from roost.sidecar.context import Context
from roost.sidecar.conversation import Conversation, TimedOut, Wait
from roost.sidecar.gen.messages import AcpResponse, AcpSessionRequest, AcpSessionRpcResponse
from roost.sidecar.journal import Kind, StoredPrompt
from roost.sidecar.keeper import IDEMPOTENCY_KEY
from roost.sidecar.launch import shown
from roost.sidecar.link import AgentGone, LineTooLong, Link
from roost.sidecar.mcp_relay import is_mcp_notice
from roost.sidecar.payloads import compact, encoded, items, members, string
from roost.sidecar.redaction import redact_params
from roost.sidecar.sessions import Session, settled
from roost.sidecar.tracking import choice_of, chosen
from roost.sidecar.wake import session_of

PROMPT = "session/prompt"
TIMED_OUT = -32000


def session_request(context: Context, connection: Connection, request: AcpSessionRequest) -> Conversation[AcpResponse]:
    """AcpSessionRequest: any method, forwarded verbatim; the agent's answer comes back whole, errors included."""
    params = session_params(request)
    session = yield from session_of(context, connection, request.session_id)
    session.join(connection)
    yield from settled(session)
    session.last_used = context.stage.now
    params["sessionId"] = encoded(session.live_id)
    method = request.method
    if method == CANCEL:
        cancelled = yield from cancel(context, session, encode_params(params))
        yield from end_told(session)
        return rpc_response(session, cancelled)
    if session.link.launch.dialect.is_notification(method) or is_mcp_notice(method, params):
        data = encode_params(params)
        session.link.admit_input(len(data))
        session.link.notify(method, data)
        return rpc_response(session, b'{"jsonrpc":"2.0","id":null,"result":{}}')
    if method == PROMPT:
        # A late cancel must not hit the next prompt, nor may its turn be taken for the past.
        while session.cancelling or session.attaching:
            place = context.stage.wait()
            session.queued.append(place)
            if not (yield place):
                return rpc_response(session, cut_short(session.link, None).text)
            yield from settled(session)
        known = yield from keep_prompt(context, session, params)
        if known is not None:
            return rpc_response(session, known)
    response = yield from exchange(context, session, method, params)
    yield from session.caught_up()
    return response


def end_told(session: Session) -> Conversation[None]:
    """Waits until the end of a turn is kept and told: by an update, or by the answer to its prompt."""
    yield from session.caught_up()
    if session.journal is not None and not session.link.launch.by_state:
        try:
            yield from session.journal.promise()
        except SidecarError:
            pass  # whoever has sent the prompt is told so


def keep_prompt(context: Context, session: Session, params: dict[str, msgspec.Raw]) -> Conversation[bytes | None]:
    """A prompt is in the journal before the agent hears of it, so that none is ever sent twice.

    One whose idempotency key was used before is not sent again: what comes back is its answer.
    """
    journal = session.journal
    if journal is None:
        return None
    key = string((members(params.get("_meta")) or {}).get(IDEMPOTENCY_KEY))
    if key is not None:
        found = yield from context.load(PromptQuery(session.key, key))
        if isinstance(found, StoredPrompt):
            result: dict[str, object] = {"_meta": {"roost/duplicateOf": found.number}}
            if not session.link.launch.by_state:
                result["stopReason"] = "end_turn"
            return response_line(None, {"result": result})
    body = msgspec.Raw(redact_params(encode_params(params)))
    journal.add(Kind.PROMPT, {"params": body, "call": None, "key": key})
    journal.change(turn_open=True, interrupted=False)
    session.turn_kept = False
    yield from journal.promise()
    yield from settled(session)
    return None


def exchange(
    context: Context, session: Session, method: str, params: dict[str, msgspec.Raw]
) -> Conversation[AcpResponse]:
    """One request to the agent and what comes of it. What a failed prompt took from the session is given back."""
    link = session.link
    preamble = session.preamble if method == PROMPT else None
    if preamble is not None:
        params["prompt"] = with_preamble(preamble, params.get("prompt"))
    data = encode_params(params)
    link.admit_input(len(data))
    session.request_count.admit(link.open_calls + 1, f"session {session.id} has too many requests open")
    choice = choice_of(method, params)
    call, wait = link.call(method, data)
    if choice is not None:
        session.choices.append(choice)
    if method == PROMPT:
        session.preamble = None
        session.turns.prompt_sent(call)
        session.prompts[call] = wait
    try:
        answer: Answer = yield from answered_in_time(context, session, link, method, wait)
    except TimedOut as timeout:
        return rpc_response(session, timed_out(context, session, link, method, call, wait, timeout.timeout))
    except RoostError as fault:
        prompt_over(session, call, None)
        if method == PROMPT and link.launch.by_state:  # its turn may go on without an answer
            context.stage.start(watch_turn(context, session, link))
        error = yield from failed(link, method, call, fault)
        session.preamble = session.preamble or preamble
        raise error from None
    finally:
        session.request_count.watch(link.open_calls)
        if preamble is not None and session.preamble is None:
            session.past_told()
        if choice is not None:
            session.choices.remove(choice)
    if method == PROMPT:
        prompt_over(session, call, answer)
        if session.journal is not None and not session.turns.busy and not session.turn_kept:
            session.turn_ended(stop_reason(answer))
            yield from session.journal.promise()
        if link.launch.by_state:
            context.stage.start(watch_turn(context, session, link))
    elif choice is not None and answer.error is None:
        chosen(session, choice, params, answer)
    return rpc_response(session, answer.text)


def prompt_over(session: Session, call: int, answer: Answer | None) -> None:
    """A prompt has its answer, or never will."""
    session.prompts.pop(call, None)
    session.turns.prompt_answered(call, stop_reason(answer), failed=answer is None or answer.error is not None)


def stop_reason(answer: Answer | None) -> str | None:
    """Why a turn is over, as far as the answer to its prompt tells; an error can tell of a cancel too (CAN-7)."""
    if answer is None:
        return None
    if answer.error is not None:
        return "cancelled" if answer.error.code == REQUEST_CANCELLED else None
    return string((members(answer.result) or {}).get("stopReason"))


def failed(link: Link, method: str, call: int, fault: RoostError) -> Conversation[SidecarError]:
    """What a caller is told of a request that got no answer. After a crash: once it is known what became of it."""
    match fault:
        case AgentGone(exit_code=exit_code):
            text = exit_text(link, exit_code, call)
            recovery = yield link.aftermath
            ending = "; the session was closed" if recovery is None else recovery.sentence
            return SidecarError("invalid_state", text + ending)
        case LineTooLong():
            return SidecarError("limit_exceeded", str(fault))
    return SidecarError("invalid_state", f"ACP {method} (id={call}): {fault}")


def answered_in_time(context: Context, session: Session, link: Link, method: str, wait: Wait) -> Conversation[Answer]:
    """A prompt may take as long as its agent shows signs of life; anything else has a fixed time."""
    stage, limits = context.stage, context.limits
    if method != PROMPT:
        answer: Answer = yield stage.within(limits.request_timeout, wait)
        return answer
    sent = stage.now
    while True:
        remaining = max(sent, session.last_sign_of_life(link)) + limits.inactivity_timeout - stage.now
        if remaining <= 0:
            raise TimedOut(limits.inactivity_timeout)
        try:
            answer = yield stage.within(remaining, wait)
        except TimedOut:
            continue
        return answer


def outlast(context: Context, session: Session, call: int, wait: Wait) -> Conversation[None]:
    """A prompt that was answered for its agent is under way until the agent says so too."""
    answer: Answer | None = None
    try:
        answer = yield wait
    except RoostError:
        pass
    prompt_over(session, call, answer)


def timed_out(
    context: Context, session: Session, link: Link, method: str, call: int, wait: Wait, seconds: float
) -> bytes:
    """The agent is told to stop; the caller gets a JSON-RPC error with all there is to know (4.4)."""
    busy = session.turns.busy
    if method == PROMPT:
        context.stage.start(outlast(context, session, call, wait))
        context.stage.start(wait_for_end(context, session, link))
    else:
        link.withdraw(call)
        link.forget(call)
    if method != PROMPT and busy:  # a session/cancel would hit a turn that has nothing to do with this request
        state = "sent $/cancel_request notification"
    else:
        problem = tell(session, link)
        state = "sent session/cancel notification"
        if problem is not None:
            state = f"failed to send session/cancel notification: {problem}"
    milliseconds = round(seconds * 1000)
    activity = link.activity
    message = (
        f"ACP request {shown(method)} (id={call}) timed out after {milliseconds}ms. adapter process {link.process}. "
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
    return response_line(call, {"error": {"code": TIMED_OUT, "message": message, "data": data}})


# ---- parameters


def session_params(request: AcpSessionRequest) -> dict[str, msgspec.Raw]:
    """The members of `params`, sessionId forced. A value that is no object becomes `{"value": …}`."""
    found: dict[str, msgspec.Raw] = {}
    if request.params is not None:
        try:
            text = compact(request.params)
        except ValueError as error:
            raise SidecarError("invalid_state", f"invalid session request params JSON: {error}") from None
        object_members = members(text)
        if object_members is not None:
            found = object_members
        elif text != b"null":
            found = {"value": msgspec.Raw(text)}
    found["sessionId"] = encoded(request.session_id)
    return found


def encode_params(params: dict[str, msgspec.Raw]) -> bytes:
    return msgspec.json.encode(params)


def with_preamble(preamble: str, prompt: msgspec.Raw | None) -> msgspec.Raw:
    """The prompt with a text block put first; what is no list of blocks becomes one."""
    return encoded([encoded({"type": "text", "text": preamble}), *(items(prompt) or [])])


def rpc_response(session: Session, text: bytes) -> AcpSessionRpcResponse:
    return AcpSessionRpcResponse(session_id=session.id, response=text.decode())
