"""`session/resume` of protocol 2 on a session that lives: its past is told again, and not kept a second time.

Who replays is the agent, where it can; else the journal, whose updates are in v2 whatever the agent speaks.
"""

from __future__ import annotations

import msgspec

from roost.acp.bridge.payload import noted
from roost.errors import CodecError, RpcError, SidecarError
from roost.rpc.messages import INVALID_PARAMS, INVALID_REQUEST
from roost.sidecar.callers import Connection
from roost.sidecar.closing import response_line
from roost.sidecar.commands import HistoryQuery
from roost.sidecar.context import Context
from roost.sidecar.conversation import Conversation
from roost.sidecar.gen.messages import AcpResponse, AcpSessionRequest, AcpSessionRpcResponse
from roost.sidecar.journal import Kind
from roost.sidecar.life import Life
from roost.sidecar.link import UPDATE, Link
from roost.sidecar.payloads import decoded, encoded, member, members, renamed, string
from roost.sidecar.prompt import encode_params, exchange, session_params, session_request
from roost.sidecar.sessions import Session, publish_notice, unknown_session
from roost.wire.decode import decode

RESUME = "session/resume"

REPLAY = -1  # who an agent waits for while a caller is told the past; connections count from 1
PAGE = 200  # entries looked up at once

# What an update says of the present is said again at any time, and kept; the rest is the past.
_PRESENT = frozenset(
    (
        "state_update",
        "available_commands_update",
        "config_option_update",
        "current_mode_update",
        "session_info_update",
        "usage_update",
    )
)
_NOT_TOLD_AGAIN = frozenset(("state_update", "notice"))  # SES-19


def resume(
    context: Context, connection: Connection, session: Session, request: AcpSessionRequest
) -> Conversation[AcpResponse]:
    """For a session of protocol 2 that is the caller's. Only a replay is more than a request like any other."""
    from roost.acp import v2  # takes a while to import

    params = session_params(request)
    try:
        wanted = decode(v2.ResumeSessionRequest, encode_params(params))
    except CodecError:
        return (
            yield from session_request(context, connection, request)
        )  # the agent, or its bridge, says what is wrong
    if wanted.replay_from is None or session.journal is None:
        return (yield from session_request(context, connection, request))
    if session.turns.busy or not session.turn_kept or session.attaching:
        return at_work(session)
    v1 = session.link.v1
    from_journal = v1 is not None and not v1.attaches("load")
    if from_journal and not isinstance(wanted.replay_from, v2.ReplayFromStart):
        return refused(session.id, _invalid("replay from there is not possible", "replayFrom"))
    if from_journal and wanted.cwd != session.link.launch.cwd:  # SES-21
        return refused(session.id, _invalid("the session has another cwd", "cwd"))
    session.attaching = True
    try:
        if from_journal:
            return (yield from _journal_replays(context, connection, session, params))
        return (yield from _agent_replays(context, session, params))
    finally:
        session.last_used = context.stage.now
        attached(session)


def refused(session_id: str, error: RpcError) -> AcpSessionRpcResponse:
    """An answer of the sidecar's own."""
    told = {"code": error.code, "message": error.message}
    if error.data is not None:
        told["data"] = error.data
    return AcpSessionRpcResponse(session_id, response_line(None, {"error": told}).decode())


def at_work(session: Session) -> AcpSessionRpcResponse:
    return refused(session.id, RpcError(INVALID_REQUEST, "Invalid request: the session is at work"))


def attached(session: Session) -> None:
    """The end of `Session.attaching`: prompts that waited go on, unless the session is over."""
    session.attaching = False
    if not session.cancelling:
        session.call_up(session.life is Life.LIVE)


def _invalid(text: str, field: str) -> RpcError:
    return RpcError(INVALID_PARAMS, f"Invalid params: {text}", {"path": field})


# ---- by the agent


class _Ear:
    """Hears an agent that replays: its past was heard before, and is passed on without being kept."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self.asked = session.asked
        self.withdrawn = session.withdrawn
        self.wrote_stderr = session.wrote_stderr
        self.exited = session.exited

    def noticed(self, line: bytes, method: str, update: str | None) -> None:
        session = self._session
        if method != UPDATE or update in _PRESENT:
            session.noticed(line, method, update)
        else:
            session.pass_on(renamed(line, session.live_id, session.id))


def _agent_replays(context: Context, session: Session, params: dict[str, msgspec.Raw]) -> Conversation[AcpResponse]:
    link = session.link
    ear = link.sink = _Ear(session)
    try:
        params["sessionId"] = encoded(session.live_id)
        response = yield from exchange(context, session, RESUME, params)
    finally:
        if link.sink is ear:
            link.sink = session
    yield from session.caught_up()
    return response


# ---- by the journal


class _Held:
    """Hears an agent while the past is told, and passes on behind that what it says. It is not read meanwhile."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._lines: list[tuple[bytes, str, str | None]] = []
        self.asked = session.asked
        self.withdrawn = session.withdrawn
        self.wrote_stderr = session.wrote_stderr

    def noticed(self, line: bytes, method: str, update: str | None) -> None:
        self._lines.append((line, method, update))

    def exited(self, exit_code: int | None) -> None:
        self.release()
        self._session.exited(exit_code)

    def release(self) -> None:
        lines, self._lines = self._lines, []
        for line, method, update in lines:
            self._session.noticed(line, method, update)


def _journal_replays(
    context: Context, connection: Connection, session: Session, params: dict[str, msgspec.Raw]
) -> Conversation[AcpResponse]:
    """The agent attaches as well as it can, without a replay; then the past is told, then its answer."""
    del params["replayFrom"]
    params["sessionId"] = encoded(session.live_id)
    response = yield from exchange(context, session, RESUME, params)
    yield from session.caught_up()
    if not isinstance(response, AcpSessionRpcResponse):
        return response
    answer = members(response.response.encode()) or {}
    if "result" not in answer:
        return response
    link = session.link
    held = link.sink = _Held(session)
    link.brake.wait_for(REPLAY)
    try:
        is_whole = yield from _tell_past(context, connection, session)
    finally:
        if link.sink is held:
            link.sink = session
        held.release()
        link.brake.go_on_for(REPLAY)
    note = {"replay": "journal"} if is_whole else {"replay": "journal", "incomplete": True}
    result = noted(decoded(answer["result"]) or {}, **note)
    return AcpSessionRpcResponse(session.id, response_line(None, {"result": result}).decode())


def _tell_past(context: Context, connection: Connection, session: Session) -> Conversation[bool]:
    """Everything that was told of the session, to this connection alone. False: something is no longer stored.

    A turn that has just ended may be folded meanwhile. Folded or not, it is told as it stands when it is read.
    """
    assert session.journal is not None
    context.keeper.flush()  # or what was told last would be missing
    link, number, last, is_whole = session.link, 0, session.journal.last, True
    while number < last:
        entries = yield from context.load(HistoryQuery(session.key, number, PAGE))
        _require_both(connection, session, link)
        if not isinstance(entries, list):
            raise SidecarError("io", f"session {session.id}: the journal could not be read")
        if not entries:
            break
        for entry in entries:
            if entry.number > last:
                break
            if entry.kind is Kind.GAP:
                is_whole = False
            line = _told_again(entry.body, session.id) if entry.kind is Kind.UPDATE else None
            if line is not None:
                publish_notice(context, [connection], session.id, line)
        number = entries[-1].number
        yield from connection.reads(context.stage)
        _require_both(connection, session, link)
    return is_whole


def _require_both(connection: Connection, session: Session, link: Link) -> None:
    """Whoever is told the past may leave meanwhile, and so may the session."""
    connection.require_presence()
    if session.life in (Life.CLOSING, Life.ENDED):
        raise unknown_session(session.id)
    if session.link is not link or session.life is not Life.LIVE:
        raise SidecarError("invalid_state", f"session {session.id}: its agent exited while its past was told")


def _told_again(line: bytes, session_id: str) -> bytes | None:
    """A stored notification as part of a replay; None for what has no place in one."""
    message = members(line) or {}
    params = members(message.get("params"))
    kind = member(None if params is None else params.get("update"), "sessionUpdate")
    if params is None or string(message.get("method")) != UPDATE or kind in _NOT_TOLD_AGAIN:
        return None
    if string(params.get("sessionId")) == session_id:
        return line
    params["sessionId"] = encoded(session_id)  # as it was called before it was imported
    message["params"] = encoded(params)
    return msgspec.json.encode(message)
