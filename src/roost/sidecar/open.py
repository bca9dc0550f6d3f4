"""Starting an agent and opening a session on it: spawn, initialize, session/new (section 3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import msgspec

from roost.errors import SidecarError
from roost.sidecar.bootstrap import Bootstrap, give_up, spawn
from roost.sidecar.callers import Connection
from roost.sidecar.closing import end_session
from roost.sidecar.commands import AgentQuery, SessionQuery
from roost.sidecar.context import Context
from roost.sidecar.conversation import Conversation, TimedOut
from roost.sidecar.facts import Facts
from roost.sidecar.gen.messages import AcpCreateSessionRequest, AcpResponse
from roost.sidecar.instructions import instruct, instruction_text
from roost.sidecar.journal import StoredSession
from roost.sidecar.launch import Launch, check_launch, launch_of, shown, unknown_agent
from roost.sidecar.life import Life
from roost.sidecar.limits import Gauge, limit_exceeded
from roost.sidecar.login import logged_in
from roost.sidecar.naming import key_of
from roost.sidecar.payloads import Json, string
from roost.sidecar.rest import keep, quiet
from roost.sidecar.sessions import Session

T = TypeVar("T")


class Outcome(msgspec.Struct):
    """An answer, and what is to happen right after it was sent."""

    response: AcpResponse
    then: Callable[[], None] | None = None


def create_session(context: Context, connection: Connection, request: AcpCreateSessionRequest) -> Conversation[Outcome]:
    """AcpCreateSessionRequest (2.1)."""

    def launched() -> Conversation[Launch]:
        program = yield from context.load(AgentQuery(request.agent_type))
        if program is None:
            raise unknown_agent(request.agent_type)
        text = instruction_text(skip_base=request.skip_os_instructions, additional=request.additional_instructions)
        return instruct(launch_of(program, request), text, context.folder)

    def opened(bootstrap: Bootstrap) -> Conversation[Outcome]:
        session = yield from open_new(context, bootstrap, connection)
        yield from kept(context, session, bootstrap)
        response = session.facts.created(session.id, session.link.pid)
        return Outcome(response, lambda: deliver(session, bootstrap))

    return (yield from open_session(context, connection, "", launched(), opened))


def open_session(
    context: Context,
    connection: Connection,
    session_id: str,
    launched: Conversation[Launch],
    opened: Callable[[Bootstrap], Conversation[T]],
) -> Conversation[T]:
    """What create and resume share: places are counted, and an agent that comes to nothing is ended."""
    caller = connection.caller
    wanted = len(caller.sessions) + caller.opening + 1
    caller.session_count.admit(wanted, f"caller {caller.name} cannot open another session")
    caller.opening += 1
    try:
        launch = check_launch((yield from launched))
        met: list[Bootstrap] = []

        def meet() -> Bootstrap:
            connection.require_presence()
            if context.shutting_down:
                raise shutting_down()
            bootstrap = spawn(context, launch, session_id, [connection])
            connection.starting[bootstrap.link] = bootstrap.asks
            met.append(bootstrap)
            return bootstrap

        try:
            bootstrap = yield from logged_in(context, meet)
            return (yield from opened(bootstrap))
        except Exception:
            if met:
                yield from give_up(context, met[-1])
            raise
        finally:
            for bootstrap in met:
                connection.starting.pop(bootstrap.link, None)
    finally:
        caller.opening -= 1
        caller.session_count.watch(len(caller.sessions) + caller.opening)
        context.callers.tidy(caller)


def shutting_down() -> SidecarError:
    return SidecarError("invalid_state", "the daemon is shutting down")


def open_new(
    context: Context, bootstrap: Bootstrap, connection: Connection, *, alone_with: str | None = None
) -> Conversation[Session]:
    """`session/new`, and the session it makes. `alone_with`: the id that nobody else does something to (see `rest`)."""
    launch = bootstrap.link.launch
    params = {"cwd": launch.cwd, "mcpServers": msgspec.Raw(launch.mcp_servers.encode())}
    opened = yield from bootstrap.request("session/new", params, "session_open_timeout")
    live_id = string(opened.get("sessionId")) or bootstrap.process
    session_id = yield from free_id(context, connection, live_id)
    timeout = context.limits.session_open_timeout
    try:
        while session_id != alone_with and (yield from quiet(context, connection, session_id, timeout=timeout)):
            session_id = yield from free_id(context, connection, live_id)
    except TimedOut:
        text = f"{bootstrap.process} opened session {shown(live_id)}, which was busy for {timeout:g} s"
        raise SidecarError("timeout", f"{text} (session_open_timeout)") from None
    return adopt(context, bootstrap, connection, session_id, opened, live_id=live_id)


def free_id(context: Context, connection: Connection, live_id: str) -> Conversation[str]:
    """The id a kept session goes by: its agent's, or a further one where the journal has one of the caller's with that.

    Agents that count their sessions begin again at each start; a live session of the same id is a collision still.
    """
    caller = connection.caller
    if not context.keeper.enabled or not caller.named or live_id in caller.sessions:
        return live_id
    session_id, number = live_id, 1
    while isinstance((yield from context.load(SessionQuery(key_of(caller.name, session_id)))), StoredSession):
        number += 1
        session_id = f"{live_id}~{number}"
    return session_id


def adopt(
    context: Context,
    bootstrap: Bootstrap,
    connection: Connection,
    session_id: str,
    opened: Json,
    *,
    live_id: str | None = None,
    record: StoredSession | None = None,
) -> Session:
    """Makes a session of a bootstrapped agent, which calls it `live_id` if not the same; `record` is what the journal
    has of it already.

    Raises SidecarError when that cannot be.
    """
    limits, link = context.limits, bootstrap.link
    connection.require_presence()
    if link.ending is not None:
        raise shutting_down()
    if bootstrap.full is not None:
        raise bootstrap.full
    size = Gauge("session_id_bytes", limits.session_id_bytes, context.warn)
    size.admit(len(session_id.encode()), f"the session id {link.process} has chosen is too long")
    if session_id in connection.caller.sessions:
        raise SidecarError("conflict", f"session id collision: {session_id}")
    facts = Facts(link.launch.agent_type, opened, bootstrap.initialized, by_state=link.launch.by_state)
    if facts.size > limits.max_frame_bytes:
        subject = f"what {link.process} tells of its session does not fit in an answer"
        raise limit_exceeded("max_frame_bytes", limits.max_frame_bytes, subject)
    session = Session(context, session_id, connection.caller, link, bootstrap.asks, facts)
    session.goes_by(live_id or session_id)
    link.sink = session
    connection.starting.pop(link, None)  # from now on it is the session's agent, whoever leaves
    for hearer in session.audience:
        hearer.hears[session] = None
        if hearer.blocked:
            link.brake.wait_for(hearer.number)
    context.sessions.add(session)
    keep(context, session, record)
    if session.journal is None:
        session.asks.session_id = session_id
    return session


def kept(context: Context, session: Session, bootstrap: Bootstrap) -> Conversation[None]:
    """A session is in the journal before anybody hears of it. What its agent tells meanwhile waits with the rest."""
    if session.journal is None:
        return
    link = bootstrap.link
    link.sink = bootstrap
    opening = session.opening = context.stage.wait()
    try:
        yield from session.journal.promise()
        if bootstrap.full is not None:
            raise bootstrap.full
    except SidecarError:
        if session.life is Life.LIVE:
            yield from end_session(context, session)
        raise
    finally:
        session.opening = None
        opening.resolve()
    if session.life is not Life.LIVE:
        raise SidecarError("invalid_state", "the session was closed before it was open")
    link.sink = session
    session.asks.session_id = session.id


def deliver(session: Session, bootstrap: Bootstrap, *, heard_before: int = 0) -> None:
    """What the agent told before its session was open, in order, right after the answer.

    The first `heard_before` are a replay, and are not kept again.
    """
    for place, (line, method, update) in enumerate(bootstrap.notifications):
        if place < heard_before:
            session.publish(line)
        else:
            session.noticed(line, method, update)
    if session.link.gone and session.life is Life.LIVE:  # while the journal took it
        session.exited(session.link.exit.value)
