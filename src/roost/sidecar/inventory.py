"""What the schema has no message for: a caller's kept sessions, listed, read, put to sleep and deleted.

Extension methods of AcpSessionRequest, answered by the sidecar itself. `sessionId` names the session, or is "" for
a listing.

    _roost/sessions  {"after": [time, id]?, "limit": n?}   {"sessions": […], "next": [time, id] or null}
    _roost/history   {"after": n?, "limit": n?}            {"entries": […], "last": n}; if live, heard from now on
    _roost/record    {}                                    {"record": StoredSession as JSON, without its owner}
    _roost/sleep     {}                                    {"asleep": true}
    _roost/delete    {}                                    {"deleted": true}; its agent is ended first

A history may be cut short of `limit` by its size; it is at its end when it has no entries.
"""

from __future__ import annotations

from typing import Any

import msgspec

from roost.errors import SidecarError
from roost.sidecar.callers import Connection
from roost.sidecar.closing import end_session, response_line
from roost.sidecar.commands import HistoryQuery, SessionQuery, SessionsQuery
from roost.sidecar.context import Context
from roost.sidecar.conversation import Conversation
from roost.sidecar.gen.messages import AcpSessionRequest, AcpSessionRpcResponse
from roost.sidecar.journal import DeleteSession, Entry, StoredSession
from roost.sidecar.naming import key_of
from roost.sidecar.rest import alone, describe, put_to_sleep, quiet
from roost.sidecar.sessions import unknown_session

INVENTORY = "_roost/"
PAGE = 100
LARGEST_PAGE = 1000


class _Page(msgspec.Struct):
    after: Any = None
    limit: int = PAGE


def inventory(
    context: Context, connection: Connection, request: AcpSessionRequest
) -> Conversation[AcpSessionRpcResponse]:
    if not context.keeper.enabled:
        raise SidecarError("unsupported", f"{request.method}: this daemon keeps no journal")
    try:
        page = msgspec.json.decode(request.params or "{}", type=_Page)
    except msgspec.MsgspecError as error:
        raise SidecarError("invalid_state", f"invalid session request params JSON: {error}") from None
    page.limit = max(1, min(page.limit, LARGEST_PAGE))
    match request.method:
        case "_roost/sessions":
            result = yield from sessions(context, connection, page)
        case "_roost/history":
            result = yield from history(context, connection, request.session_id, page)
        case "_roost/record":
            record = yield from own_record(context, connection, request.session_id)
            result = {"record": msgspec.structs.replace(record, session_id=record.name, owner="")}
        case "_roost/sleep":
            session = context.sessions.owned(request.session_id, connection.caller)
            if session.is_busy:
                raise SidecarError("conflict", f"session {session.id} is busy; cancel its turn first")
            yield from put_to_sleep(context, session)
            result = {"asleep": True}
        case "_roost/delete":
            yield from quiet(context, connection, request.session_id)
            deletion = delete(context, connection, request.session_id)
            result = yield from alone(context, connection, request.session_id, deletion)
        case _:
            raise SidecarError("unsupported", f"{request.method} is not known")
    return AcpSessionRpcResponse(request.session_id, response_line(None, {"result": result}).decode())


def sessions(context: Context, connection: Connection, page: _Page) -> Conversation[dict[str, Any]]:
    """Newest first."""
    match page.after:
        case None:
            after = None
        case [float() | int() as time, str() as session_id]:
            after = (float(time), key_of(connection.caller.name, session_id))
        case _:
            raise SidecarError("invalid_state", "`after` is the `next` of an earlier answer, or absent")
    found: list[StoredSession] = yield from context.load(SessionsQuery(connection.caller.name, after, page.limit))
    rows = [describe(record, connection.caller.sessions.get(record.name)) for record in found]
    last = [found[-1].created_at, found[-1].name] if len(found) == page.limit else None
    return {"sessions": rows, "next": last}


def own_record(context: Context, connection: Connection, session_id: str) -> Conversation[StoredSession]:
    """A kept session of the caller, closed or not; missing and foreign ones raise the same error."""
    record = yield from context.load(SessionQuery(key_of(connection.caller.name, session_id)))
    if not isinstance(record, StoredSession) or record.owner != connection.caller.name or not connection.caller.named:
        raise unknown_session(session_id)
    return record


def history(context: Context, connection: Connection, session_id: str, page: _Page) -> Conversation[dict[str, Any]]:
    record = yield from own_record(context, connection, session_id)
    after = page.after if isinstance(page.after, int) else 0
    live = connection.caller.sessions.get(session_id)
    if live is not None:
        live.join(connection)
    entries: list[Entry] = yield from context.load(HistoryQuery(record.session_id, after, page.limit))
    rows = [
        {
            "number": entry.number,
            "first": entry.first or entry.number,
            "at": entry.at,
            "kind": entry.kind.value,
            "body": msgspec.Raw(entry.body),
        }
        for entry in entries
    ]
    last = record.last_number if live is None or live.journal is None else live.journal.last
    return {"entries": rows, "last": last}


def delete(context: Context, connection: Connection, session_id: str) -> Conversation[dict[str, Any]]:
    record = yield from own_record(context, connection, session_id)
    live = connection.caller.sessions.get(session_id)
    if live is not None:
        yield from end_session(context, live)
    context.secrets.pop(record.session_id, None)
    context.logged_out.discard(record.session_id)
    context.keeper.tell(DeleteSession(record.session_id))
    yield from context.keeper.promise()
    return {"deleted": True}
