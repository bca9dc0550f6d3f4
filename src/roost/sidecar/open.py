"""Starting an agent and opening a session on it: spawn, initialize, session/new (section 3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from roost.acp.dialect import V2
from roost.errors import RemoteProtocolError, RpcError, SidecarError
from roost.sidecar.callbacks import Asks
from roost.sidecar.callers import Caller, Connection
from roost.sidecar.closing import end_agent
from roost.sidecar.commands import AgentQuery, SpawnAgent
from roost.sidecar.context import Context
from roost.sidecar.conversation import Conversation, TimedOut
from roost.sidecar.facts import Facts, Json
from roost.sidecar.gen.messages import AcpCreateSessionRequest, AcpResponse
from roost.sidecar.instructions import instruct, instruction_text
from roost.sidecar.launch import Launch, launch_of, unknown_agent
from roost.sidecar.link import AgentGone, Answer, Inbound, LineTooLong, Link
from roost.sidecar.sessions import Session, publish_stderr


class Outcome(msgspec.Struct):
    """An answer, and what is to happen right after it was sent."""

    response: AcpResponse
    then: Callable[[], None] | None = None


class Bootstrap:
    """The Sink of an agent that has no session yet: keeps what it tells, serves what it asks, passes stderr on."""

    def __init__(self, context: Context, launch: Launch, session_id: str, audience: list[Connection]) -> None:
        self._context = context
        self._bytes = 0
        self._overfull = False
        self.process = context.next_process()
        self.link = Link(context, self.process, launch, self)
        self.asks = Asks(context, self.link, session_id, audience)
        self.notifications: list[bytes] = []
        self.initialized: Json = {}

    # ---- Sink

    def noticed(self, line: bytes, method: str, update: str | None) -> None:
        limits = self._context.limits
        self._bytes += len(line)
        if len(self.notifications) >= limits.bootstrap_notifications or self._bytes > limits.bootstrap_bytes:
            if not self._overfull:
                self._overfull = True
                self._context.note("warning", f"{self.process}: more notifications before the session than are kept")
            return
        self.notifications.append(line)

    def asked(self, inbound: Inbound) -> None:
        self.asks.put(inbound)

    def withdrawn(self, token: int) -> None:
        self.asks.withdrawn(token)

    def wrote_stderr(self, chunk: bytes) -> None:
        publish_stderr(self._context, self.asks.audience, self.asks.session_id, self.link, chunk)

    def overflowed(self) -> None:
        """The calls fail, and with them the start."""

    def exited(self, exit_code: int | None) -> None:
        self.asks.close()

    # ---- steps

    def request(self, method: str, params: dict[str, Any], timeout: float) -> Conversation[Json]:
        """One handshake request: the members of its result. Raises SidecarError with the text that says what failed."""
        answer = yield from self.ask(method, params, timeout)
        if answer.error is not None:
            raise handshake_failed(method, answer.error)
        return result_members(method, answer.result)

    def ask(self, method: str, params: dict[str, Any], timeout: float) -> Conversation[Answer]:
        """The same, with the agent's error left to the caller."""
        call, wait = self.link.call(method, msgspec.json.encode(params))
        try:
            answer: Answer = yield self._context.stage.within(timeout, wait)
        except TimedOut:
            activity = self.link.activity
            text = (
                f"timed out waiting for ACP response id={call}; no session/cancel notification for bootstrap request; "
                f"{method} unanswered after {timeout:g} s; {activity.diagnosis()}"
            )
            raise SidecarError("timeout", text) from None
        except AgentGone as gone:
            raise SidecarError("execution", exit_text(self.link, gone.exit_code, call)) from None
        except LineTooLong as fault:
            raise SidecarError("limit_exceeded", str(fault)) from None
        except RemoteProtocolError as fault:
            raise SidecarError("invalid_state", f"ACP {method} failed: {fault}") from None
        return answer


def spawn(context: Context, launch: Launch, session_id: str, audience: list[Connection]) -> Bootstrap:
    """Starts an agent's program. Every Bootstrap ends in `adopt`, or in `give_up`."""
    context.processes.admit(len(context.links) + 1, "no further agent can be started")
    bootstrap = Bootstrap(context, launch, session_id, audience)
    context.links[bootstrap.process] = bootstrap.link
    context.emit(SpawnAgent(bootstrap.process, launch))
    return bootstrap


def initialize(context: Context, bootstrap: Bootstrap) -> Conversation[None]:
    """`initialize`, in the shape of the version asked for, and the check of what comes back."""
    link = bootstrap.link
    version = link.launch.protocol_version
    link.pid = yield link.started
    capabilities = msgspec.Raw(link.launch.client_capabilities.encode())
    params: dict[str, Any]
    if version == V2.version:
        info = {"name": "roost", "title": "Roost", "version": context.version}
        params = {"protocolVersion": version, "info": info, "capabilities": capabilities}
    else:
        params = {"protocolVersion": version, "clientCapabilities": capabilities}
    bootstrap.initialized = yield from bootstrap.request("initialize", params, context.limits.initialize_timeout)
    check_version(version, bootstrap.initialized)


def give_up(context: Context, bootstrap: Bootstrap) -> Conversation[None]:
    """Ends an agent whose session could not be opened; its process is gone before the error is told."""
    bootstrap.asks.close()
    yield from end_agent(context, bootstrap.link, failed=True)


def create_session(context: Context, connection: Connection, request: AcpCreateSessionRequest) -> Conversation[Outcome]:
    """AcpCreateSessionRequest (2.1)."""
    caller = connection.caller
    wanted = len(caller.sessions) + caller.opening + 1
    caller.session_count.admit(wanted, f"caller {caller.name} cannot open another session")
    caller.opening += 1
    try:
        program = yield context.load(AgentQuery(request.agent_type))
        if program is None:
            raise unknown_agent(request.agent_type)
        text = instruction_text(skip_base=request.skip_os_instructions, additional=request.additional_instructions)
        launch = instruct(launch_of(program, request), text, context.folder)
        bootstrap = spawn(context, launch, "", [connection])
        connection.starting.add(bootstrap.link)
        try:
            yield from initialize(context, bootstrap)
            opened = yield from open_new(context, bootstrap)
            session = adopt(context, bootstrap, caller, session_id_of(opened, bootstrap), opened)
        except Exception:
            yield from give_up(context, bootstrap)
            raise
        finally:
            connection.starting.discard(bootstrap.link)
    finally:
        caller.opening -= 1
        context.callers.tidy(caller)
    response = session.facts.created(session.id, session.link.pid)
    return Outcome(response, lambda: deliver(session, bootstrap))


def open_new(context: Context, bootstrap: Bootstrap) -> Conversation[Json]:
    """`session/new`, whose members come back."""
    launch = bootstrap.link.launch
    params = {"cwd": launch.cwd, "mcpServers": msgspec.Raw(launch.mcp_servers.encode())}
    return (yield from bootstrap.request("session/new", params, context.limits.session_open_timeout))


def adopt(context: Context, bootstrap: Bootstrap, caller: Caller, session_id: str, opened: Json) -> Session:
    """Makes a session of a bootstrapped agent. Raises SidecarError `conflict` when the id is taken."""
    if context.sessions.find(session_id) is not None:
        raise SidecarError("conflict", f"session id collision: {session_id}")
    launch = bootstrap.link.launch
    facts = Facts(launch.agent_type, opened, bootstrap.initialized, version=launch.protocol_version)
    bootstrap.asks.session_id = session_id
    session = Session(context, session_id, caller, bootstrap.link, bootstrap.asks, facts)
    bootstrap.link.sink = session
    for connection in session.audience:
        connection.hears[session_id] = session
        if connection.blocked:
            session.link.pause_for(connection.number)
    context.sessions.add(session)
    return session


def deliver(session: Session, bootstrap: Bootstrap) -> None:
    """What the agent told before its session was open, in order, right after the answer."""
    for line in bootstrap.notifications:
        session.noticed(line, "session/update", update_tag(line))


class _Tagged(msgspec.Struct):
    class Params(msgspec.Struct):
        class Update(msgspec.Struct):
            session_update: str = msgspec.field(name="sessionUpdate")

        update: Update

    params: Params


def update_tag(line: bytes) -> str | None:
    try:
        return msgspec.json.decode(line, type=_Tagged).params.update.session_update
    except msgspec.MsgspecError:
        return None


def session_id_of(opened: Json, bootstrap: Bootstrap) -> str:
    """The agent's own id when it is a non-empty string, else the process's name."""
    raw = opened.get("sessionId")
    value = None if raw is None else msgspec.json.decode(raw)
    return value if isinstance(value, str) and value else bootstrap.process


def check_version(wanted: int, initialized: Json) -> None:
    raw = initialized.get("protocolVersion")
    told = None if raw is None else msgspec.json.decode(raw)
    if not isinstance(told, int) or isinstance(told, bool):
        raise SidecarError("invalid_state", "ACP initialize response missing protocolVersion")
    if told != wanted:
        text = f"ACP initialize protocolVersion mismatch: requested {wanted}, agent reported {told}"
        raise SidecarError("protocol_version_mismatch", text)


def result_members(method: str, result: bytes | None) -> Json:
    """The members of a result that has to be an object."""
    if result is not None and result[:1] == b"{":
        members: Json = msgspec.json.decode(result, type=dict[str, msgspec.Raw])
        return members
    raise SidecarError("invalid_state", f"ACP {method} response missing result")


def handshake_failed(method: str, error: RpcError) -> SidecarError:
    text = f"ACP {method} failed: {error.message or 'unknown ACP error'}"
    if error.data is not None:
        text += f" (data: {msgspec.json.encode(error.data).decode()})"
    return SidecarError("invalid_state", text)


def exit_text(link: Link, exit_code: int | None, call: int) -> str:
    """`ACP adapter process <p> exited with code <c> before response id=<n>; …`, with what it said last."""
    how = "exited" if exit_code is None else f"exited with code {exit_code}"
    return f"ACP adapter process {link.process} {how} before response id={call}; {link.activity.diagnosis()}"
