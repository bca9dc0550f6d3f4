"""Starting an agent and opening a session on it: spawn, initialize, session/new (section 3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from roost.acp.dialect import V2
from roost.errors import ProcessError, RemoteProtocolError, SidecarError
from roost.sidecar.callbacks import Asks
from roost.sidecar.callers import Connection
from roost.sidecar.closing import end_agent, end_session
from roost.sidecar.commands import AgentQuery, SessionQuery, SpawnAgent
from roost.sidecar.context import Context
from roost.sidecar.conversation import Conversation, TimedOut
from roost.sidecar.facts import Facts
from roost.sidecar.gen.messages import AcpCreateSessionRequest, AcpResponse
from roost.sidecar.instructions import instruct, instruction_text
from roost.sidecar.journal import StoredSession
from roost.sidecar.launch import Launch, check_launch, launch_of, unknown_agent
from roost.sidecar.limits import Gauge, limit_exceeded
from roost.sidecar.link import AgentGone, Answer, Inbound, LineTooLong, Link
from roost.sidecar.payloads import Json, compacted, decoded, members, string
from roost.sidecar.rest import keep
from roost.sidecar.sessions import Session, publish_stderr

T = TypeVar("T")


class Outcome(msgspec.Struct):
    """An answer, and what is to happen right after it was sent."""

    response: AcpResponse
    then: Callable[[], None] | None = None


class Bootstrap:
    """The Sink of an agent that has no session yet: keeps what it tells, serves what it asks, passes stderr on.

    `replays` is for a restart, where what the agent tells meanwhile was heard before and is not kept.
    """

    def __init__(
        self, context: Context, launch: Launch, session_id: str, audience: list[Connection], *, replays: bool = False
    ) -> None:
        limits = context.limits
        self._context = context
        self._replays = replays
        self._count = Gauge("bootstrap_notifications", limits.bootstrap_notifications, context.warn)
        self._size = Gauge("bootstrap_bytes", limits.bootstrap_bytes, context.warn)
        self._bytes = 0
        self._full: SidecarError | None = None
        self.process = context.next_process()
        self.link = Link(context, self.process, launch, self)
        self.asks = Asks(context, self.link, session_id, audience)
        self.notifications: list[tuple[bytes, str, str | None]] = []
        self.initialized: Json = {}

    # ---- Sink

    def noticed(self, line: bytes, method: str, update: str | None) -> None:
        if self._replays or self._full is not None or self.link.ending is not None:
            return
        self._bytes += len(line)
        try:
            subject = f"{self.process} tells too much before its session is open"
            self._count.admit(len(self.notifications) + 1, subject)
            self._size.admit(self._bytes, subject)
        except SidecarError as error:
            self.forget()
            self._full = error
            self.link.fail_calls(error)
        else:
            self.notifications.append((line, method, update))

    def forget(self) -> None:
        """What was told so far is not passed on."""
        self.notifications.clear()
        self._bytes = 0

    def asked(self, inbound: Inbound) -> None:
        self.asks.put(inbound)

    def withdrawn(self, token: int) -> None:
        self.asks.withdrawn(token)

    def wrote_stderr(self, chunk: bytes) -> None:
        publish_stderr(self._context, self.asks.audience, self.asks.session_id, self.link, chunk)

    def exited(self, exit_code: int | None) -> None:
        self.asks.close("the agent is gone")

    # ---- steps

    def request(self, method: str, params: dict[str, Any], setting: str) -> Conversation[Json]:
        """One handshake request: the members of its result. Raises SidecarError with the text that says what failed."""
        answer = yield from self.ask(method, params, setting)
        if answer.error is not None:
            raise handshake_failed(method, answer)
        return result_members(method, answer.result)

    def ask(self, method: str, params: dict[str, Any], setting: str) -> Conversation[Answer]:
        """The same, with the agent's error left to the caller. `setting` names the time-out."""
        timeout: float = getattr(self._context.limits, setting)
        if self._full is not None:
            raise self._full
        call, wait = self.link.call(method, msgspec.json.encode(params))
        try:
            answer: Answer = yield self._context.stage.within(timeout, wait)
        except TimedOut:
            text = (
                f"timed out waiting for ACP response id={call}; no session/cancel notification for bootstrap request; "
                f"{method} unanswered after {timeout:g} s ({setting}); {self.link.activity.diagnosis()}"
            )
            raise SidecarError("timeout", text) from None
        except AgentGone as gone:
            raise gone.failure or SidecarError("execution", exit_text(self.link, gone.exit_code, call)) from None
        except LineTooLong as fault:
            raise SidecarError("limit_exceeded", str(fault)) from None
        except RemoteProtocolError as fault:
            raise SidecarError("invalid_state", f"ACP {method} failed: {fault}") from None
        return answer


def spawn(
    context: Context, launch: Launch, session_id: str, audience: list[Connection], *, replays: bool = False
) -> Bootstrap:
    """Starts an agent's program. Every Bootstrap ends in `adopt`, in a restart's take-over, or in `give_up`."""
    context.processes.admit(len(context.links) + 1, "no further agent can be started")
    bootstrap = Bootstrap(context, launch, session_id, audience, replays=replays)
    context.links[bootstrap.process] = bootstrap.link
    context.emit(SpawnAgent(bootstrap.process, launch))
    return bootstrap


def initialize(context: Context, bootstrap: Bootstrap) -> Conversation[None]:
    """`initialize`, in the shape of the version asked for, and the check of what comes back."""
    link = bootstrap.link
    version = link.launch.protocol_version
    timeout = context.limits.initialize_timeout
    try:
        link.pid = yield context.stage.within(timeout, link.started)
    except TimedOut:
        text = f"{link.process} was not started within {timeout:g} s (initialize_timeout)"
        raise SidecarError("timeout", text) from None
    except ProcessError as error:
        raise SidecarError("execution", f"{error.message}; {link.activity.diagnosis()}") from None
    capabilities = msgspec.Raw(link.launch.client_capabilities.encode())
    params: dict[str, Any] = {"protocolVersion": version, "clientCapabilities": capabilities}
    if link.launch.dialect is V2:
        info = {"name": "roost", "title": "Roost", "version": context.version}
        params = {"protocolVersion": version, "info": info, "capabilities": capabilities}
    bootstrap.initialized = yield from bootstrap.request("initialize", params, "initialize_timeout")
    check_version(version, bootstrap.initialized)


def give_up(context: Context, bootstrap: Bootstrap) -> Conversation[None]:
    """Ends an agent whose session could not be opened; its process is gone before the error is told."""
    bootstrap.asks.close("the session could not be opened")
    yield from end_agent(context, bootstrap.link, failed=True)


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
        connection.require_presence()
        if context.shutting_down:
            raise shutting_down()
        bootstrap = spawn(context, launch, session_id, [connection])
        connection.starting[bootstrap.link] = bootstrap.asks
        try:
            yield from initialize(context, bootstrap)
            return (yield from opened(bootstrap))
        except Exception:
            yield from give_up(context, bootstrap)
            raise
        finally:
            connection.starting.pop(bootstrap.link, None)
    finally:
        caller.opening -= 1
        caller.session_count.watch(len(caller.sessions) + caller.opening)
        context.callers.tidy(caller)


def shutting_down() -> SidecarError:
    return SidecarError("invalid_state", "the daemon is shutting down")


def open_new(context: Context, bootstrap: Bootstrap, connection: Connection) -> Conversation[Session]:
    """`session/new`, and the session it makes."""
    launch = bootstrap.link.launch
    params = {"cwd": launch.cwd, "mcpServers": msgspec.Raw(launch.mcp_servers.encode())}
    opened = yield from bootstrap.request("session/new", params, "session_open_timeout")
    live_id = string(opened.get("sessionId")) or bootstrap.process
    session_id = yield from free_id(context, connection, live_id)
    return adopt(context, bootstrap, connection, session_id, opened, live_id=live_id)


def free_id(context: Context, connection: Connection, live_id: str) -> Conversation[str]:
    """The id a kept session goes by: its agent's, or a further one where the journal has a session of that id already.

    Agents that count their sessions begin again at each start; a live session of the same id is a collision still.
    """
    if not context.keeper.enabled or not connection.caller.named or context.sessions.find(live_id) is not None:
        return live_id
    session_id, number = live_id, 1
    while isinstance((yield from context.load(SessionQuery(session_id))), StoredSession):
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
    size = Gauge("session_id_bytes", limits.session_id_bytes, context.warn)
    size.admit(len(session_id.encode()), f"the session id {link.process} has chosen is too long")
    if context.sessions.find(session_id) is not None:
        raise SidecarError("conflict", f"session id collision: {session_id}")
    facts = Facts(link.launch.agent_type, opened, bootstrap.initialized, by_state=link.launch.by_state)
    if facts.size > limits.max_frame_bytes:
        subject = f"what {link.process} tells of its session does not fit in an answer"
        raise limit_exceeded("max_frame_bytes", limits.max_frame_bytes, subject)
    bootstrap.asks.session_id = session_id
    session = Session(context, session_id, connection.caller, link, bootstrap.asks, facts)
    session.live_id = live_id or session_id
    link.sink = session
    for hearer in session.audience:
        hearer.hears[session] = None
        if hearer.blocked:
            link.pause_for(hearer.number)
    context.sessions.add(session)
    keep(context, session, record)
    return session


def kept(context: Context, session: Session, bootstrap: Bootstrap) -> Conversation[None]:
    """A session is in the journal before anybody hears of it. What its agent tells meanwhile waits with the rest."""
    if session.journal is None:
        return
    link = bootstrap.link
    link.sink = bootstrap
    try:
        yield from session.journal.promise()
    except SidecarError:
        yield from end_session(context, session)
        raise
    link.sink = session
    if link.gone:
        session.exited(link.exit.value)


def deliver(session: Session, bootstrap: Bootstrap, *, heard_before: bool = False) -> None:
    """What the agent told before its session was open, in order, right after the answer. A replay is not kept again."""
    for line, method, update in bootstrap.notifications:
        if heard_before:
            session.publish(line)
        else:
            session.noticed(line, method, update)


def check_version(wanted: int, initialized: Json) -> None:
    told = decoded(initialized.get("protocolVersion"))
    if not isinstance(told, int) or isinstance(told, bool) or abs(told) >= 2**31:
        raise SidecarError("invalid_state", "ACP initialize response missing protocolVersion")
    if told != wanted:
        text = f"ACP initialize protocolVersion mismatch: requested {wanted}, agent reported {told}"
        raise SidecarError("protocol_version_mismatch", text)


def result_members(method: str, result: bytes | None) -> Json:
    """The members of a result that has to be an object."""
    found = members(result)
    if found is None:
        raise SidecarError("invalid_state", f"ACP {method} response missing result")
    return found


def handshake_failed(method: str, answer: Answer) -> SidecarError:
    """The agent's own words, and its `data` as it wrote it."""
    message = "" if answer.error is None else answer.error.message
    text = f"ACP {method} failed: {message or 'unknown ACP error'}"
    data = (members((members(answer.text) or {}).get("error")) or {}).get("data")
    if data is not None and bytes(data) != b"null":
        text += f" (data: {compacted(data)})"
    return SidecarError("invalid_state", text)


def exit_text(link: Link, exit_code: int | None, call: int) -> str:
    """`ACP adapter process <p> exited with code <c> before response id=<n>; …`, with what it said last."""
    how = "exited" if exit_code is None else f"exited with code {exit_code}"
    return f"ACP adapter process {link.process} {how} before response id={call}; {link.activity.diagnosis()}"
