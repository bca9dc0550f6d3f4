"""The sidecar's rules, whole: one event in, commands out.

`handle` takes one event at a time and never raises on outside input; `expire` fires deadlines; `commands` is drained
by the driver and carried out in order. Time is monotonic seconds from outside. Exactly one Reply is emitted for each
RequestArrived, ever. The parts: `open` (create), `prompt` and `cancel` (requests), `callbacks` (questions of agents),
`restart` (crashes), `resume`, `closing`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from roost.errors import ProcessError, SidecarError
from roost.sidecar import events
from roost.sidecar.callers import Callers, Connection
from roost.sidecar.cancel import watch_turn
from roost.sidecar.closing import end_agent, end_session, kill_agent
from roost.sidecar.commands import AgentsQuery, Command, Disconnect, Publish, Reply
from roost.sidecar.context import Context
from roost.sidecar.conversation import Conversation
from roost.sidecar.emulation import concerns, emulated, is_logged_out
from roost.sidecar.gen.messages import (
    AcpAgentStderrEvent,
    AcpCloseSessionRequest,
    AcpCreateSessionRequest,
    AcpDeliverAgentOutputRequest,
    AcpErrorResponse,
    AcpGetSessionStateRequest,
    AcpListAgentsRequest,
    AcpListAgentsResponse,
    AcpRequest,
    AcpResponse,
    AcpResumeSessionRequest,
    AcpSessionRequest,
    encode_acp_event,
)
from roost.sidecar.inventory import INVENTORY, inventory
from roost.sidecar.keeper import STORE
from roost.sidecar.launch import Launch
from roost.sidecar.limits import Limits
from roost.sidecar.link import Link
from roost.sidecar.mcp_relay import RELAY_EVENTS, RelayEvent
from roost.sidecar.open import Outcome, create_session, shutting_down
from roost.sidecar.prompt import session_request
from roost.sidecar.rest import close_session, get_session_state
from roost.sidecar.restart import recover
from roost.sidecar.resume import resume_session
from roost.sidecar.sessions import Session, Sessions

DELIVER_REFUSED = (
    "AcpDeliverAgentOutputRequest is dispatched by the engine/browser resumable path, not the native ACP extension"
)


class Engine:
    """One daemon's rules. `version` is Roost's; `folder` is where files for agents may be written.

    `journal`: there is a store behind the driver, and sessions of named callers are kept in it. `services`: the `fs`
    and `terminal` of a v1 client's capabilities that the driver serves to bridged agents; none, if nothing is said.
    """

    def __init__(
        self,
        limits: Limits | None = None,
        *,
        version: str = "0",
        folder: str = "/tmp",  # noqa: S108
        journal: bool = False,
        services: Mapping[str, Any] | None = None,
    ) -> None:
        self._context = context = Context(limits or Limits(), version, folder, journal=journal)
        context.services = dict(services or {})
        context.callers = Callers(context)
        context.sessions = Sessions(context)
        context.sessions.crashed = self._crashed
        context.sessions.began = self._began
        context.kill = self._kill
        self._stage = context.stage
        self._handlers: dict[type, Any] = {
            events.AgentWrote: self._agent_wrote,
            events.AgentWroteStderr: self._agent_wrote_stderr,
            events.RequestArrived: self._request_arrived,
            events.CallerAnswered: self._caller_answered,
            events.CallerArrived: self._caller_arrived,
            events.CallerLeft: self._caller_left,
            events.CallerBlocked: self._caller_blocked,
            events.CallerUnblocked: self._caller_unblocked,
            events.AgentStarted: self._agent_started,
            events.AgentFailedToStart: self._agent_failed_to_start,
            events.AgentInputQueued: self._agent_input_queued,
            events.AgentExited: self._agent_exited,
            **dict.fromkeys(get_args(events.ServiceEvent), self._agent_served),
            **dict.fromkeys(RELAY_EVENTS, self._mcp_relayed),
            events.RecordLoaded: self._record_loaded,
            events.VersionsRecalled: self._versions_recalled,
            events.ChangesStored: self._changes_stored,
            events.JournalPressed: self._journal_pressed,
            events.JournalEased: self._journal_eased,
            events.ShutdownRequested: self._shutdown_requested,
        }

    def handle(self, event: events.Event, now: float) -> None:
        self._stage.now = now
        try:
            self._handlers[type(event)](event)
            self._stage.run()
        except Exception as error:  # only a mistake of ours comes here, and it must not take everybody down
            self._context.broken(error)
            if isinstance(event, events.AgentWrote) and event.process in self._context.links:
                self._kill(self._context.links[event.process])  # what it said is half understood

    def expire(self, now: float) -> None:
        self._stage.expire(now)

    def next_deadline(self) -> float | None:
        return self._stage.next_deadline()

    def commands(self) -> list[Command]:
        return self._context.drain()

    @property
    def idle(self) -> bool:
        """Nothing lives here any more: no session, no agent, no conversation."""
        context = self._context
        return not context.links and not len(context.sessions) and not self._stage.running

    @property
    def session_count(self) -> int:
        return len(self._context.sessions)

    def relay_mcp(self) -> None:
        """The driver carries out RelayCommands: bridged agents started from now on can use MCP servers of callers."""
        self._context.relays_mcp = True

    # ---- what an adapter may ask (resumable.py)

    def _session_of(self, session_id: str, caller: str) -> Session | None:
        found = self._context.callers.find(caller)
        return None if found is None else found.sessions.get(session_id)

    def caller_of(self, connection: int) -> str | None:
        """The owner a connection speaks for."""
        found = self._context.callers.connections.get(connection)
        return None if found is None else found.caller.name

    def launch_of(self, session_id: str, caller: str) -> Launch | None:
        """How the agent of this caller's live session was started; None for a missing and for a foreign one alike."""
        session = self._session_of(session_id, caller)
        return None if session is None else session.link.launch

    def process_of(self, session_id: str, caller: str) -> str | None:
        """The agent a session runs on, or is about to: after a crash, or while it is woken or resumed."""
        session = self._session_of(session_id, caller)
        if session is not None:
            return session.link.process if session.starting is None else session.starting.process
        found = self._context.callers.find(caller)
        if found is not None and session_id:
            for connection in found.connections.values():
                for link, asks in connection.starting.items():
                    if asks.session_id == session_id:
                        return link.process
        return None

    # ---- callers

    def _caller_arrived(self, event: events.CallerArrived) -> None:
        self._context.callers.arrived(event.connection, event.caller, event.named)

    def _caller_left(self, event: events.CallerLeft) -> None:
        connection = self._context.callers.connections.get(event.connection)
        if connection is None:
            return
        for session in list(connection.hears):
            session.leave(connection)
        for ask in list(connection.asks.values()):
            ask.owner.drop_connection(connection.number)
        self._context.callers.left(event.connection)
        for link, asks in list(connection.starting.items()):  # nobody would know the session
            asks.audience.remove(connection)
            self._stage.start(end_agent(self._context, link, failed=True))
        if not connection.caller.named:
            for session in list(connection.caller.sessions.values()):
                self._stage.start(end_session(self._context, session))

    def _caller_blocked(self, event: events.CallerBlocked) -> None:
        connection = self._context.callers.connections.get(event.connection)
        if connection is None or connection.blocked:
            return
        connection.blocked = True
        limits = self._context.limits
        if not connection.blocked_before:
            connection.blocked_before = True
            text = f"more than caller_output_bytes ({limits.caller_output_bytes}) wait for it; its agents are paused"
            self._context.note("warning", f"caller {connection.caller.name}: {text}")
        text = f"nothing was read for {limits.stuck_caller_timeout:g} s (stuck_caller_timeout)"
        command = Disconnect(connection.number, "timeout", text)
        connection.stuck = self._stage.after(limits.stuck_caller_timeout, lambda: self._context.emit(command))
        for session in connection.hears:
            session.link.brake.wait_for(connection.number)

    def _caller_unblocked(self, event: events.CallerUnblocked) -> None:
        connection = self._context.callers.connections.get(event.connection)
        if connection is None or not connection.blocked:
            return
        connection.unblock()
        if connection.stuck is not None:
            connection.stuck.cancel()
            connection.stuck = None
        if connection.dropped_stderr:
            text = (
                f"[roost] {connection.dropped_stderr} bytes of stderr were dropped while this connection was not read\n"
            )
            connection.dropped_stderr = 0
            payload = encode_acp_event(AcpAgentStderrEvent("", "", "", text.encode()))
            self._context.emit(Publish(connection.number, payload))
        for session in connection.hears:
            session.link.brake.go_on_for(connection.number)

    def _caller_answered(self, event: events.CallerAnswered) -> None:
        connection = self._context.callers.connections.get(event.connection)
        ask = None if connection is None else connection.asks.get(event.callback)
        if ask is not None:  # else: late, second or invented
            ask.owner.answered(ask, event.payload)

    # ---- requests

    def _request_arrived(self, event: events.RequestArrived) -> None:
        connection = self._context.callers.connections.get(event.connection)
        if connection is None:
            self._context.emit(Reply(event.connection, event.request, error_response("invalid_state", "not connected")))
            return

        def ended(outcome: Any, error: Exception | None) -> None:
            connection.open_requests -= 1
            connection.request_count.watch(connection.open_requests)
            if error is not None:
                outcome = Outcome(self._failed(error))
            elif not isinstance(outcome, Outcome):
                outcome = Outcome(outcome)
            self._context.emit(Reply(event.connection, event.request, outcome.response))
            if outcome.then is not None:
                outcome.then()

        connection.open_requests += 1
        try:
            connection.request_count.admit(connection.open_requests, "this connection has too many requests open")
            conversation = self._dispatch(connection, event.payload)
        except SidecarError as error:
            ended(None, error)
            return
        self._stage.start(conversation, ended)

    def _dispatch(self, connection: Connection, request: AcpRequest) -> Conversation[Any]:
        context = self._context
        match request:
            case AcpSessionRequest(method=method) if method.startswith(INVENTORY):
                return inventory(context, connection, request)
            case AcpSessionRequest() if concerns(context, connection, request):
                return emulated(context, connection, request)
            case AcpSessionRequest():
                return session_request(context, connection, request)
            case AcpResumeSessionRequest() if is_logged_out(context, connection, request.session_id):
                text = f"session {request.session_id} is logged out; it waits for an auth/login"
                raise SidecarError("invalid_state", text)
            case AcpCreateSessionRequest() | AcpResumeSessionRequest() if context.shutting_down:
                raise shutting_down()
            case AcpCreateSessionRequest():
                return create_session(context, connection, request)
            case AcpResumeSessionRequest():
                return resume_session(context, connection, request)
            case AcpGetSessionStateRequest():
                return get_session_state(context, connection, request)
            case AcpCloseSessionRequest():
                return close_session(context, connection, request)
            case AcpListAgentsRequest():
                return list_agents(context)
            case AcpDeliverAgentOutputRequest():
                raise SidecarError("invalid_state", DELIVER_REFUSED)

    def _failed(self, error: Exception) -> AcpResponse:
        if isinstance(error, SidecarError):
            return error_response(error.code, error.message)
        self._context.broken(error)
        return error_response("execution", "internal error; the daemon's log has the details")

    # ---- agents

    def _agent_started(self, event: events.AgentStarted) -> None:
        link = self._context.links.get(event.process)
        if link is not None:
            link.started.resolve(event.pid)

    def _agent_failed_to_start(self, event: events.AgentFailedToStart) -> None:
        link = self._context.links.get(event.process)
        if link is not None:
            failure = SidecarError(event.code, event.message)
            link.started.fail(failure)
            link.exited(None, failure)

    def _agent_wrote(self, event: events.AgentWrote) -> None:
        link = self._context.links.get(event.process)
        if link is not None:
            link.receive(event.chunk)

    def _agent_wrote_stderr(self, event: events.AgentWroteStderr) -> None:
        link = self._context.links.get(event.process)
        if link is not None:
            link.receive_stderr(event.chunk)

    def _agent_input_queued(self, event: events.AgentInputQueued) -> None:
        link = self._context.links.get(event.process)
        if link is not None:
            link.input_queued(event.queued)

    def _agent_exited(self, event: events.AgentExited) -> None:
        link = self._context.links.get(event.process)
        if link is not None:
            code = event.exit_code
            if code is not None:
                code = (code + 2**31) % 2**32 - 2**31  # the wire has 32 bits; other systems count without a sign
            link.started.fail(ProcessError("the agent exited before it was started", code))
            link.exited(code)

    def _agent_served(self, event: events.ServiceEvent) -> None:
        link = self._context.links.get(event.process)
        if link is not None:
            link.served(event)

    def _mcp_relayed(self, event: RelayEvent) -> None:
        link = self._context.links.get(event.process)
        if link is not None and link.side is not None:
            link.side.relayed(event)

    def _kill(self, link: Link) -> None:
        self._stage.start(kill_agent(self._context, link))

    def _crashed(self, session: Session, exit_code: int | None) -> None:
        self._stage.start(recover(self._context, session, exit_code))

    def _began(self, session: Session) -> None:
        if session.link.launch.by_state:
            self._stage.start(watch_turn(self._context, session, session.link))

    def _record_loaded(self, event: events.RecordLoaded) -> None:
        self._context.loaded(event.ticket, event.value)

    def _versions_recalled(self, event: events.VersionsRecalled) -> None:
        self._context.spoken.recall(event.versions)

    def _changes_stored(self, event: events.ChangesStored) -> None:
        self._context.keeper.stored(event.ticket, event.failure)

    def _journal_pressed(self, event: events.JournalPressed) -> None:
        self._context.keeper.pressed = True
        for session in (*self._context.sessions, *self._context.sessions.leaving):
            if session.journal is not None:
                session.journal.slow_down(session.link)

    def _journal_eased(self, event: events.JournalEased) -> None:
        self._context.keeper.pressed = False
        for session in (*self._context.sessions, *self._context.sessions.leaving):
            session.link.brake.go_on_for(STORE)

    def _shutdown_requested(self, event: events.ShutdownRequested) -> None:
        context = self._context
        context.shutting_down = True
        for connection in list(context.callers.connections.values()):
            for link in list(connection.starting):
                self._stage.start(end_agent(context, link, failed=True))
        for session in context.sessions:
            self._stage.start(end_session(context, session))


def list_agents(context: Context) -> Conversation[AcpListAgentsResponse]:
    """AcpListAgentsRequest (2.7); an unreadable catalogue is an empty list."""
    try:
        agents = yield from context.load(AgentsQuery())
    except SidecarError as error:
        context.note("warning", f"the agents cannot be listed: {error}")
        agents = None
    return AcpListAgentsResponse(agents=sorted(agents or [], key=lambda entry: entry.id))


def error_response(code: str, message: str) -> AcpErrorResponse:
    return AcpErrorResponse(code=code, message=message)
