"""What a v1 agent lacks of the session methods of protocol 2, out of the journal (spec 4.1, 4.2; B-04, B-35).

The bridge makes up for an agent's `session/list`, `resume`, `close` and `logout` as far as it can without a memory.
For a session that is kept there is one, so here the list is that of the caller's stored sessions, a replay comes from
the journal (`replay`), a closed session is closed for good, and a logout lasts until a login, with no agent meanwhile.
Sessions that are not kept, of protocol 1, or of an agent that has the method are not concerned; but what any agent of
protocol 2 has deleted is deleted here, and no list tells of other callers' sessions (`listing`).
"""

from __future__ import annotations

import binascii
from datetime import UTC, datetime
from typing import Any

import msgspec

from roost.acp.bridge.payload import noted
from roost.acp.dialect import V2
from roost.acp.paths import is_absolute
from roost.errors import CodecError, RoostError, RpcError, SidecarError
from roost.rpc.messages import AUTH_REQUIRED, INVALID_PARAMS
from roost.sidecar.answers import Answer
from roost.sidecar.bootstrap import Bootstrap
from roost.sidecar.callers import Connection
from roost.sidecar.cancel import CANCEL, cancel
from roost.sidecar.closing import response_line
from roost.sidecar.commands import SessionQuery, SessionsQuery
from roost.sidecar.context import Context
from roost.sidecar.conversation import Conversation
from roost.sidecar.gen.messages import AcpCloseSessionRequest, AcpResponse, AcpSessionRequest, AcpSessionRpcResponse
from roost.sidecar.inventory import delete
from roost.sidecar.journal import StoredSession
from roost.sidecar.listing import without_strangers
from roost.sidecar.naming import key_of
from roost.sidecar.payloads import decoded, encoded, members
from roost.sidecar.prompt import encode_params, exchange, session_params, session_request
from roost.sidecar.replay import RESUME, at_work, attached, refused, resume
from roost.sidecar.rest import alone, close_session, put_to_sleep, quiet, record_of
from roost.sidecar.sessions import Session, settled, unknown_session
from roost.sidecar.wake import session_of, wake
from roost.wire.decode import decode

LIST = "session/list"
CLOSE = "session/close"
DELETE = "session/delete"
LOGIN = "auth/login"
LOGOUT = "auth/logout"
METHODS = frozenset((LIST, RESUME, CLOSE, DELETE, LOGOUT))

ROWS = 50  # of one answer to session/list
SCAN = 200  # stored sessions looked at at once, for those of one agent
SCANS = 25  # so often in one answer; whoever has more sessions than that of other agents gets a short page


def concerns(context: Context, connection: Connection, request: AcpSessionRequest) -> bool:
    """Whether a request may be more than the agent's own business."""
    return request.method in METHODS or is_logged_out(context, connection, request.session_id)


def is_logged_out(context: Context, connection: Connection, session_id: str) -> bool:
    """Whether this is a session of the caller's that lets nothing through until a login."""
    return key_of(connection.caller.name, session_id) in context.logged_out


def emulated(context: Context, connection: Connection, request: AcpSessionRequest) -> Conversation[AcpResponse]:
    """As `session_request`, with whatever the agent of a kept session lacks."""
    params, session_id = session_params(request), request.session_id
    if request.method == CLOSE and (yield from close_at_rest(context, connection, session_id)):
        return AcpSessionRpcResponse(session_id, response_line(None, {"result": {}}).decode())
    if is_logged_out(context, connection, session_id):
        return (yield from while_logged_out(context, connection, request, params))
    if request.method == RESUME:
        session = yield from reopened(context, connection, session_id)
    else:
        session = yield from session_of(context, connection, session_id)
    session.join(connection)
    yield from settled(session)
    session.last_used = context.stage.now
    v1 = session.link.v1
    if session.link.launch.by_state and request.method == RESUME:
        return (yield from resume(context, connection, session, request))
    if session.journal is not None:
        if request.method == LIST and v1 is not None and not v1.attaches("list"):
            return (yield from stored_sessions(context, connection, session, params))
        if (request.method == DELETE and session.link.launch.by_state) or (request.method == CLOSE and v1 is not None):
            return (yield from let_go(context, connection, session, request.method, params))
        if request.method == LOGOUT and v1 is not None and not v1.logs_out:
            return (yield from log_out(context, connection, session, params))
    response = yield from session_request(context, connection, request)
    if request.method == LIST:
        response = yield from without_strangers(context, session, response)
    return response


# ---- list


def stored_sessions(
    context: Context, connection: Connection, session: Session, params: dict[str, msgspec.Raw]
) -> Conversation[AcpResponse]:
    """The caller's sessions of that agent in this protocol, newest first, closed ones too: they can be resumed."""
    from roost.acp import v2

    try:
        wanted = decode(v2.ListSessionsRequest, encode_params(params))
        after = None if wanted.cursor is None else place_of(wanted.cursor)
    except (CodecError, ValueError) as error:
        return refused(session.id, RpcError(INVALID_PARAMS, f"Invalid params: {error}"))
    if wanted.cwd is not None and not is_absolute(wanted.cwd):
        return refused(session.id, RpcError(INVALID_PARAMS, "Invalid params: cwd is not absolute"))  # SES-1
    context.keeper.flush()
    launch = session.link.launch
    rows: list[dict[str, Any]] = []
    result: dict[str, Any] = {"sessions": rows}
    for _ in range(SCANS):
        found = yield from context.load(SessionsQuery(connection.caller.name, after, SCAN))
        if not isinstance(found, list):
            raise SidecarError("io", "the journal could not be read")
        for record in found:
            after = (record.created_at, record.session_id)
            stored = record.launch
            if stored.agent_type == launch.agent_type and stored.dialect is V2 and wanted.cwd in (None, stored.cwd):
                rows.append(row_of(record))
                if len(rows) == ROWS:
                    break
        else:
            if len(found) < SCAN:
                break
            continue
        result["nextCursor"] = cursor_at(after)
        break
    else:
        result["nextCursor"] = cursor_at(after)
    result = noted(result, sessions="journal")
    return AcpSessionRpcResponse(session.id, response_line(None, {"result": result}).decode())


def row_of(record: StoredSession) -> dict[str, Any]:
    """A SessionInfo."""
    row: dict[str, Any] = {"sessionId": record.name, "cwd": record.launch.cwd}
    if record.title is not None:
        row["title"] = record.title
    if record.updated_at:
        row["updatedAt"] = datetime.fromtimestamp(record.updated_at, UTC).isoformat(timespec="milliseconds")  # SES-15
    return row


def cursor_at(place: tuple[float, str] | None) -> str:
    from base64 import urlsafe_b64encode  # of the few that need it

    return urlsafe_b64encode(msgspec.json.encode(place)).decode()


def place_of(cursor: str) -> tuple[float, str]:
    """Raises ValueError for what was no cursor of ours (SES-13)."""
    from base64 import urlsafe_b64decode

    try:
        created_at, session_id = msgspec.json.decode(urlsafe_b64decode(cursor.encode()), type=tuple[float, str])
    except (binascii.Error, msgspec.MsgspecError, UnicodeError) as error:
        raise ValueError("no such cursor") from error
    return created_at, session_id


# ---- resume and close


def reopened(context: Context, connection: Connection, session_id: str) -> Conversation[Session]:
    """`session_of`, and a closed session of protocol 2 is open again (SES-26, SES-27)."""
    if not context.keeper.enabled or not connection.caller.named:
        return (yield from session_of(context, connection, session_id))
    yield from quiet(context, connection, session_id)
    live = connection.caller.sessions.get(session_id)
    if live is not None:
        return live

    def opening() -> Conversation[Session]:
        record = yield from context.load(SessionQuery(key_of(connection.caller.name, session_id)))
        if not isinstance(record, StoredSession) or record.owner != connection.caller.name:
            raise unknown_session(session_id)
        if record.closed and record.launch.dialect is not V2:
            raise unknown_session(session_id)
        session = yield from wake(context, connection, record)
        if record.closed and session.journal is not None:
            session.journal.change(closed=False)
        return session

    return (yield from alone(context, connection, session_id, opening()))


def close_at_rest(context: Context, connection: Connection, session_id: str) -> Conversation[bool]:
    """Closes a session of protocol 2 that sleeps, for which no agent is needed; whether it was one."""
    yield from quiet(context, connection, session_id)
    if session_id in connection.caller.sessions:
        return False
    record = yield from record_of(context, connection, session_id)
    if record.launch.dialect is not V2:
        return False
    yield from close_session(context, connection, AcpCloseSessionRequest(session_id))
    return True


def let_go(
    context: Context, connection: Connection, session: Session, method: str, params: dict[str, msgspec.Raw]
) -> Conversation[AcpResponse]:
    """The agent is told, or its work cancelled; then it ends, for it has no other session.

    What it has deleted is deleted here too: else it would come back with the next request.
    """
    params["sessionId"] = encoded(session.live_id)
    response = yield from exchange(context, session, method, params)
    yield from session.caught_up()
    if has_result(response):
        if method == CLOSE:
            yield from close_session(context, connection, AcpCloseSessionRequest(session.id))
        else:
            yield from quiet(context, connection, session.id)
            yield from alone(context, connection, session.id, delete(context, connection, session.id))
    return response


# ---- logout and login


def log_out(
    context: Context, connection: Connection, session: Session, params: dict[str, msgspec.Raw]
) -> Conversation[AcpResponse]:
    """The agent ends, and with it whatever it knew of a login; the next one is started by a login."""
    params["sessionId"] = encoded(session.live_id)
    if session.attaching or not (session.turns.busy or session.turn_kept):
        return at_work(session)
    session.attaching = True  # a prompt that came now would be lost
    try:
        if session.turns.busy:
            yield from cancel(context, session, encode_params({"sessionId": params["sessionId"]}))
            yield from settled(session)
        response = yield from exchange(context, session, LOGOUT, params)
        yield from session.caught_up()
        v1 = session.link.v1
        if v1 is not None and v1.logged_out and session.owner.sessions.get(session.id) is session:
            context.logged_out.add(session.key)
            yield from put_to_sleep(context, session)
        return response
    finally:
        attached(session)


def while_logged_out(
    context: Context, connection: Connection, request: AcpSessionRequest, params: dict[str, msgspec.Raw]
) -> Conversation[AcpResponse]:
    if request.method != LOGIN:
        if request.method == CANCEL:
            result = {"cancelled": False, "requested": False, "via": "notification"}
            return AcpSessionRpcResponse(request.session_id, response_line(None, {"result": result}).decode())
        return refused(request.session_id, RpcError(AUTH_REQUIRED, "Authentication required"))
    yield from quiet(context, connection, request.session_id)
    if not is_logged_out(context, connection, request.session_id):
        return (yield from session_request(context, connection, request))
    return (yield from log_in(context, connection, request.session_id, params))


class _Refused(RoostError):
    """The agent does not take the login."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.error)
        self.answer = answer


def log_in(
    context: Context, connection: Connection, session_id: str, params: dict[str, msgspec.Raw]
) -> Conversation[AcpResponse]:
    """A new agent that is logged in first, and then has the session. When either fails, nothing has changed."""
    told: list[bytes] = []
    del params["sessionId"]

    def asked(bootstrap: Bootstrap) -> Conversation[None]:
        answer = yield from bootstrap.ask(LOGIN, params, "request_timeout")
        if answer.error is not None:
            raise _Refused(answer)
        told.append(answer.text)

    def waking() -> Conversation[Session]:
        record = yield from record_of(context, connection, session_id)
        return (yield from wake(context, connection, record, first=asked))

    try:
        yield from alone(context, connection, session_id, waking())
    except _Refused as refusal:
        return AcpSessionRpcResponse(session_id, refusal.answer.text.decode())
    context.logged_out.discard(key_of(connection.caller.name, session_id))
    return AcpSessionRpcResponse(session_id, told[-1].decode())


def has_result(response: AcpResponse) -> bool:
    if not isinstance(response, AcpSessionRpcResponse):
        return False
    return isinstance(decoded((members(response.response.encode()) or {}).get("result")), dict)
