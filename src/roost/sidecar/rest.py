"""Keeping sessions: their place in the journal, what is told of them at rest, and falling asleep."""

from __future__ import annotations

from typing import Any, TypeVar

from roost.errors import SidecarError
from roost.sidecar.callers import Connection
from roost.sidecar.closing import end_session
from roost.sidecar.commands import SessionQuery
from roost.sidecar.context import Context
from roost.sidecar.conversation import Conversation, TimedOut
from roost.sidecar.gen.messages import (
    AcpCloseSessionRequest,
    AcpGetSessionStateRequest,
    AcpSessionClosedResponse,
    AcpSessionStateResponse,
)
from roost.sidecar.journal import ChangeSession, OpenSession, StoredSession
from roost.sidecar.keeper import Journal
from roost.sidecar.life import Life
from roost.sidecar.naming import key_of
from roost.sidecar.redaction import stored_launch
from roost.sidecar.sessions import Session, unknown_session

T = TypeVar("T")


def keep(context: Context, session: Session, record: StoredSession | None) -> None:
    """Begins, or goes on with, the journal of a session; sessions of unnamed callers end with them and are not kept."""
    if not context.keeper.enabled or not session.owner.named:
        return
    facts, launch = session.facts, session.link.launch
    if record is None:
        stored = StoredSession(
            session_id=session.key,
            live_id=session.live_id,
            owner=session.owner.name,
            launch=stored_launch(launch),
            modes=facts.modes,
            config_options=tuple(facts.option_texts),
            capabilities=facts.capabilities,
            info=facts.info,
        )
        context.keeper.tell(OpenSession(stored))
    session.journal = Journal(context.keeper, session.key, 0 if record is None else record.last_number)
    session.asks.journal = session.journal
    session.journal.slow_down(session.link)
    context.secrets[session.key] = launch
    if record is not None:
        session.journal.change(capabilities=facts.capabilities, info=facts.info)
        session.keep_facts()
    if context.limits.sleep_after > 0:
        context.stage.start(doze(context, session))


def quiet(
    context: Context, connection: Connection, session_id: str, *, timeout: float | None = None
) -> Conversation[bool]:
    """Waits while a kept session is being woken, ended, closed or deleted; whether it was. TimedOut, if so asked for:
    who has an id to himself already may be waited for.
    """
    waited = False
    while context.keeper.enabled and connection.caller.named:
        wait = connection.caller.waking.get(session_id) or connection.caller.ending.get(session_id)
        if wait is None:
            break
        waited = True
        yield wait if timeout is None else context.stage.within(timeout, wait)
    return waited


def alone(context: Context, connection: Connection, session_id: str, conversation: Conversation[T]) -> Conversation[T]:
    """What is done to a kept session at rest, after `quiet`: nobody wakes it meanwhile."""
    waking = connection.caller.waking if context.keeper.enabled and connection.caller.named else {}
    over = waking[session_id] = context.stage.wait()
    try:
        return (yield from conversation)
    finally:
        del waking[session_id]
        over.resolve()
        context.callers.tidy(connection.caller)


def record_of(context: Context, connection: Connection, session_id: str) -> Conversation[StoredSession]:
    """The stored session, when it is the caller's and not closed."""
    if context.keeper.enabled and connection.caller.named:
        record = yield from context.load(SessionQuery(key_of(connection.caller.name, session_id)))
        if isinstance(record, StoredSession) and record.owner == connection.caller.name and not record.closed:
            return record
    raise unknown_session(session_id)


def close_session(
    context: Context, connection: Connection, request: AcpCloseSessionRequest
) -> Conversation[AcpSessionClosedResponse]:
    """AcpCloseSessionRequest (2.4): the record goes first, then the agent. What is kept stays, closed."""
    yield from quiet(context, connection, request.session_id)
    session = connection.caller.sessions.get(request.session_id)
    if session is None:
        found = record_of(context, connection, request.session_id)
        record = yield from alone(context, connection, request.session_id, found)
        context.keeper.tell(ChangeSession(record.session_id, {"closed": True}))
    else:
        if session.journal is not None:
            session.journal.change(closed=True)
            if session.turns.busy and session.link.launch.by_state:  # no answer to its prompt will tell that it is over
                session.turn_ended("cancelled")
        yield from end_session(context, session)
    key = key_of(connection.caller.name, request.session_id)
    context.secrets.pop(key, None)
    context.logged_out.discard(key)
    if session is None or session.journal is not None:  # nobody resumes it before its end is kept, and told
        yield from alone(context, connection, request.session_id, context.keeper.promise())
    return AcpSessionClosedResponse(session_id=request.session_id)


def get_session_state(
    context: Context, connection: Connection, request: AcpGetSessionStateRequest
) -> Conversation[AcpSessionStateResponse]:
    """AcpGetSessionStateRequest (2.3): read only; a sleeping session goes on sleeping."""
    session = connection.caller.sessions.get(request.session_id)
    if session is None:
        return state_at_rest((yield from record_of(context, connection, request.session_id)))
    session.join(connection)
    return session.state()


def state_at_rest(record: StoredSession) -> AcpSessionStateResponse:
    """What GetSessionState tells of a session that sleeps: no process."""
    return AcpSessionStateResponse(
        session_id=record.name,
        agent_type=record.launch.agent_type,
        process_id="",
        pid=None,
        closed=False,
        exit_code=None,
        modes=record.modes,
        config_options=list(record.config_options),
        agent_capabilities=record.capabilities,
        agent_info=record.info,
    )


# ---- sleep


def doze(context: Context, session: Session) -> Conversation[None]:
    """Puts a session to sleep when nothing was under way in it for a while."""
    patience = context.limits.sleep_after
    while session.life in (Life.LIVE, Life.RECOVERING):
        rest = max(session.last_used, session.last_sign_of_life(session.link)) + patience - context.stage.now
        if rest <= 0 and not session.is_busy:
            context.note("info", f"session {session.id}: asleep after {patience:g} s (sleep_after)")
            yield from put_to_sleep(context, session)
            return
        try:
            yield context.stage.within(max(rest, 1.0), session.ending)
        except TimedOut:
            continue


def put_to_sleep(context: Context, session: Session) -> Conversation[None]:
    """Ends the agent of a session that is kept; the next request wakes it."""
    if session.journal is None:
        raise SidecarError("unsupported", f"session {session.id} is not kept, so it cannot sleep")
    yield from end_session(context, session)


def describe(record: StoredSession, live: Session | None) -> dict[str, Any]:
    """One row of a listing, as JSON."""
    return {
        "sessionId": record.name,
        "agent": record.launch.agent_type,
        "state": state_word(record, live),
        "title": record.title,
        "cwd": record.launch.cwd,
        "createdAt": record.created_at,
        "updatedAt": record.updated_at,
        "entries": record.last_number,
        "pid": None if live is None else live.link.pid,
        "envNames": list(record.launch.env_names),
        "protocolVersion": record.launch.protocol_version,
    }


def state_word(record: StoredSession, live: Session | None) -> str:
    """running, idle, waiting (for a person), restarting; asleep, interrupted, closed."""
    if live is None:
        return "closed" if record.closed else "interrupted" if record.interrupted else "asleep"
    if live.life is not Life.LIVE:
        return "restarting"
    return "waiting" if len(live.asks) else "running" if live.turns.busy else "idle"
