"""The host: a caller's connection to the sidecar, and its sessions."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

import msgspec

from roost.errors import RemoteProtocolError
from roost.host.events import HostEvent, HostRequest, Notification, PermissionRequest, host_event
from roost.host.link import HostLink
from roost.host.session import PermissionHandler, RequestHandler, Session
from roost.host.subscription import QUEUE_BYTES, Subscription, weight
from roost.sidecar.gen.messages import (
    AcpAgentEntry,
    AcpCallback,
    AcpCallbackResponse,
    AcpCreateSessionRequest,
    AcpEvent,
    AcpHostRequestCallback,
    AcpHostRequestCallbackResponse,
    AcpListAgentsRequest,
    AcpListAgentsResponse,
    AcpPermissionCallbackResponse,
    AcpRequest,
    AcpResponse,
    AcpResumeSessionRequest,
    AcpRuntimeKind,
    AcpSessionClosedResponse,
    AcpSessionCreatedResponse,
    AcpSessionRequest,
    AcpSessionResumedResponse,
)

if TYPE_CHECKING:
    from roost.host.mcp import HostMcp

log = logging.getLogger("roost.host")

REJECT = "reject"
CAPABILITIES: dict[int, dict[str, Any]] = {1: {}, 2: {}}


class Host:
    """Made by `connect` and `embedded`; an async context manager. `caller` is the name its sessions belong to.

    Every call may raise SidecarError (the daemon refused), LimitError (`requests_per_connection`: too many at once),
    RemoteProtocolError (its answer is malformed), and what ended the connection: ConnectionClosed, TransportError.
    """

    def __init__(self, choose_runtime: Callable[[AcpAgentEntry], AcpRuntimeKind]) -> None:
        self._choose_runtime = choose_runtime
        self._sessions: dict[str, Session] = {}
        self._early: dict[str, list[HostEvent]] = {}
        self._early_bytes = 0
        self._opening = 0
        self._takes_part: set[str] = set()  # sessions this program has opened, or sent a prompt to
        self._slow: set[Subscription] = set()
        self.link = HostLink(self._heard, self._asked)
        self.link.ended.add_done_callback(self._lost)
        self.caller = ""
        self.server = ""
        self.on_permission: PermissionHandler | None = None
        self.on_request: RequestHandler | None = None
        self._mcp: HostMcp | None = None

    async def __aenter__(self) -> Host:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def mcp(self) -> HostMcp:
        """The MCP servers of this program, for the agents of its sessions."""
        if self._mcp is None:
            from roost.host.mcp import HostMcp  # few hosts have any

            self._mcp = HostMcp()
        return self._mcp

    # ---- requests

    async def request(self, payload: AcpRequest, arrived: Callable[[], None] | None = None) -> AcpResponse:
        """One request of the sidecar protocol, raw. SidecarError for an AcpErrorResponse.

        `arrived` is called when the answer comes in, before what came after it.
        """
        match payload:
            case AcpResumeSessionRequest(session_id) | AcpSessionRequest(session_id, "session/prompt"):
                self._takes_part.add(session_id)
        response = await self.link.request(payload, arrived)
        match response:
            case AcpSessionCreatedResponse(session_id=session_id) | AcpSessionResumedResponse(session_id=session_id):
                self._takes_part.add(session_id)
            case AcpSessionClosedResponse(session_id=session_id):
                self._takes_part.discard(session_id)
        return response

    async def list_agents(self) -> list[AcpAgentEntry]:
        """The agents the daemon can run, sorted by id."""
        response = await self.request(AcpListAgentsRequest(False))
        if not isinstance(response, AcpListAgentsResponse):
            raise _unexpected("list agents", response)
        return list(response.agents)

    async def create_session(
        self,
        agent: str,
        *,
        cwd: str,
        runtime: AcpRuntimeKind | None = None,
        args: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        protocol_version: int = 2,
        client_capabilities: Mapping[str, Any] | None = None,
        mcp_servers: Sequence[Mapping[str, Any]] = (),
        instructions: bool = False,
        additional_instructions: str | None = None,
        on_permission: PermissionHandler | None = None,
        on_request: RequestHandler | None = None,
    ) -> Session:
        """Starts an agent (a package's name, or a command line) and opens a session in `cwd` (absolute).

        Without `on_permission` every permission is rejected; without `on_request` every other question of the agent
        is answered "method not found". `runtime` None: what the agent's file asks for.
        """
        if runtime is None:
            runtime = await self._runtime_of(agent)
        request = AcpCreateSessionRequest(
            agent_type=agent,
            runtime=runtime,
            cwd=cwd,
            args=list(args),
            env=dict(env or {}),
            protocol_version=protocol_version,
            client_capabilities=_json(client_capabilities or CAPABILITIES.get(protocol_version, {})),
            mcp_servers=_json(list(mcp_servers)),
            skip_os_instructions=not instructions,
            additional_instructions=additional_instructions,
        )
        self._opening += 1
        try:
            response = await self.request(request)
            if not isinstance(response, AcpSessionCreatedResponse):
                raise _unexpected("create session", response)
            session = Session(self, response.session_id, protocol_version, on_permission, on_request)
            session.take(response)
            self._add(session)
            if self._mcp is not None:
                self._mcp.opened(session, mcp_servers)
            return session
        finally:
            self._opened()

    async def resume_session(
        self,
        session_id: str,
        agent: str,
        *,
        cwd: str,
        transcript_path: str | None = None,
        env: Mapping[str, str] | None = None,
        on_permission: PermissionHandler | None = None,
        on_request: RequestHandler | None = None,
    ) -> Session:
        """Brings a session back that is not live; `resume_mode` of what comes back says how.

        `cwd` is absolute. `transcript_path`: where a new agent can read what was said, when none can load the session.
        `env`: variables for the agent. Handlers as for `create_session`.
        """
        request = AcpResumeSessionRequest(session_id, agent, transcript_path, cwd, dict(env or {}))
        self._opening += 1
        try:
            response = await self.request(request)
            if not isinstance(response, AcpSessionResumedResponse):
                raise _unexpected("resume session", response)
            session = self._sessions.get(response.session_id)
            if session is None:
                session = Session(self, response.session_id, 1, on_permission, on_request)
                self._add(session)
            session.resume_mode = response.mode
            if self._mcp is not None:
                self._mcp.resumed(session)
            state = await session.state()
            session.take(state)
            session.protocol_version = 2 if _speaks_v2(session.capabilities) else 1
            return session
        finally:
            self._opened()

    def known_session(self, session_id: str, protocol_version: int) -> Session:
        """A session that the daemon keeps for this caller; nothing is asked, so a prompt is what wakes it."""
        session = self._sessions.get(session_id)
        if session is None:
            session = Session(self, session_id, protocol_version, None, None)
            self._add(session)
        return session

    async def _runtime_of(self, agent: str) -> AcpRuntimeKind:
        if "/" in agent or " " in agent:
            return AcpRuntimeKind.JAVA_SCRIPT  # a command line runs by itself under any
        for entry in await self.list_agents():
            if entry.id == agent:
                return self._choose_runtime(entry)
        return AcpRuntimeKind.JAVA_SCRIPT

    def _add(self, session: Session) -> None:
        self._sessions[session.id] = session
        for event in self._early.pop(session.id, ()):
            session.put(event)

    def _opened(self) -> None:
        self._opening -= 1
        if not self._opening:
            self._early.clear()
            self._early_bytes = 0

    def forget(self, session: Session) -> None:
        """The session is over: nothing of it is expected any more."""
        if self._sessions.get(session.id) is session:
            del self._sessions[session.id]
            self._takes_part.discard(session.id)
            if self._mcp is not None:
                self._mcp.ended(session)

    # ---- what comes in

    def _heard(self, event: AcpEvent) -> None:
        heard = host_event(event)
        if self._mcp is not None and isinstance(heard, Notification) and self._mcp.heard(heard):
            return
        session = self._sessions.get(heard.session_id)
        if session is not None:
            session.put(heard)
        elif self._opening:
            size = weight(heard)
            if self._early_bytes + size <= QUEUE_BYTES:
                self._early_bytes += size
                self._early.setdefault(heard.session_id, []).append(heard)
            else:
                log.warning("an event of session %s came before the session and was too much to keep", heard.session_id)

    async def _asked(self, callback: AcpCallback) -> AcpCallbackResponse | None:
        """None: who only watches a session has no say in it, for the first answer counts and may be somebody else's."""
        session = self._sessions.get(callback.session_id)
        watches = bool(callback.session_id) and callback.session_id not in self._takes_part
        if isinstance(callback, AcpHostRequestCallback):
            handler = session.on_request if session is not None and session.on_request else self.on_request
            watches = watches and handler is None
            if self._mcp is not None:
                handler = self._mcp.before(handler)
            answer = await _answer_request(handler, callback)
            return None if watches and answer is None else AcpHostRequestCallbackResponse(answer)
        decide = session.on_permission if session is not None and session.on_permission else self.on_permission
        reply = REJECT
        if decide is None and watches:
            return None
        if decide is not None:
            try:
                reply = await decide(PermissionRequest(callback.session_id, callback.permission_id, callback.params))
            except Exception:
                log.exception("the permission handler failed; the permission is rejected")
        return AcpPermissionCallbackResponse(callback.permission_id, reply)

    def slow(self, subscription: Subscription) -> None:
        """A reader is behind: the daemon is not read until `fast` was called for every such reader."""
        self._slow.add(subscription)
        self.link.pause()

    def fast(self, subscription: Subscription) -> None:
        """A reader has caught up, or is gone."""
        self._slow.discard(subscription)
        if not self._slow:
            self.link.resume()

    def _lost(self, ended: asyncio.Future[Exception | None]) -> None:
        error = ended.result()
        for session in list(self._sessions.values()):
            session.ended(error)

    # ---- the end

    async def close(self) -> None:
        """Ends the connection; sessions of an unnamed caller end with it."""
        await self.link.close()
        if self._mcp is not None:
            await self._mcp.close()


async def _answer_request(handler: RequestHandler | None, callback: AcpHostRequestCallback) -> str | None:
    """The JSON-RPC response for a host request, or None: not served here."""
    if handler is None:
        return None
    request = HostRequest(callback.session_id, callback.request)
    try:
        result = await handler(request)
    except Exception as error:
        from roost.errors import RpcError

        if isinstance(error, RpcError):
            body: dict[str, Any] = {"code": error.code, "message": error.message}
            if error.data is not None:
                body["data"] = error.data
        else:
            log.exception("the handler of %s failed", request.method)
            body = {"code": -32603, "message": "internal error"}
        return _json({"jsonrpc": "2.0", "id": request.message.get("id"), "error": body})
    if result is None:
        return None
    return _json({"jsonrpc": "2.0", "id": request.message.get("id"), "result": result})


def _speaks_v2(capabilities: Mapping[str, Any]) -> bool:
    return "session" in capabilities


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _unexpected(what: str, response: AcpResponse) -> RemoteProtocolError:
    return RemoteProtocolError(f"the daemon answered {what} with {type(response).__name__}")
