"""The client role: sessions of one agent, what the agent asks the user, logging in, and everything beside."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Raw

from roost.acp import v2
from roost.acp.calls import Notification, Request
from roost.errors import ConnectionClosed, LimitError, LocalProtocolError, RemoteProtocolError, RpcError
from roost.rpc.messages import AUTH_REQUIRED
from roost.sdk.client_gates import check_workspace
from roost.sdk.client_limits import ClientLimits
from roost.sdk.client_link import ClientLink
from roost.sdk.client_openers import Opener
from roost.sdk.client_options import ClientOptions
from roost.sdk.client_providers import Providers
from roost.sdk.client_questioner import Questioner
from roost.sdk.client_sessions import SessionTable
from roost.sdk.negotiation import shake_hands
from roost.sdk.session import Session
from roost.transport.child import Launch
from roost.wire.decode import decode
from roost.wire.model import JsonObject

if TYPE_CHECKING:
    from roost.acp.bridge.negotiation import Version
    from roost.sdk.mcp import McpHost
    from roost.sdk.nes import NesSession

R = TypeVar("R")


class Client:
    """One client of one agent. Made by `connect`.

        async with connect("my-agent --acp") as client:
            session = await client.new_session("/work")
            end = await session.prompt("fix the tests")
            print(end.text)

    Every call may raise CapabilityError or LocalProtocolError (nothing was sent), RpcError (the agent refused),
    RemoteProtocolError (its answer is malformed), AgentExited or ConnectionClosed (it is gone).
    """

    def __init__(self, opener: Opener, options: ClientOptions, speaks: Version | None = None) -> None:
        for method in (*options.requests, *options.notifications):
            _require_extension(method)
        self._opener = opener
        self.options = options
        self._mcp: McpHost | None = None
        self._link: ClientLink | None = None
        self._version = speaks  # what the agent spoke the last time
        self._table = SessionTable(self)
        self._questioner = Questioner(self)
        self._nes: dict[str, NesSession] = {}

    # ---- the connection

    async def open(self) -> Client:
        """Starts or reaches the agent and shakes hands. `async with` and `await` on what `connect` returns do this."""
        if self._link is not None:
            raise LocalProtocolError("the client is connected already")
        self._link, self._version = await shake_hands(self._opener, self.options, self._take, self._version)
        return self

    def __await__(self) -> Generator[Any, None, Client]:
        return self.open().__await__()

    async def close(self) -> None:
        """Ends the connection, and the agent's process where it is ours. Once is enough."""
        if self._link is not None:
            link, self._link = self._link, None
            await link.close()
            if self._mcp is not None:
                await self._mcp.settled()

    async def reopen(self, launch: Launch | None = None) -> None:
        """Ends the connection and starts anew, for `launch` if given; sessions have to be resumed."""
        await self.close()
        if launch is not None:
            self._opener = self._opener.with_launch(launch)
        await self.open()

    async def __aenter__(self) -> Client:
        return self if self._link is not None else await self.open()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def link(self) -> ClientLink:
        """The connection as it is. LocalProtocolError: there is none."""
        if self._link is None:
            raise LocalProtocolError("the client is not connected")
        return self._link

    @property
    def is_open(self) -> bool:
        """Whether there is a connection, and the agent at its other end."""
        return self._link is not None and not self._link.connection.is_over

    @property
    def limits(self) -> ClientLimits:
        """The bounds and durations it was made with."""
        return self.options.limits

    @property
    def launch(self) -> Launch | None:
        """How the agent was started, if it was here."""
        return self._opener.launch

    @property
    def mcp(self) -> McpHost:
        """The MCP servers of this program that agents may use."""
        if self._mcp is None:
            from roost.sdk.mcp import McpHost

            self._mcp = McpHost(self.limits)
        return self._mcp

    @property
    def agent(self) -> v2.InitializeResponse:
        """What the agent said of itself: `info`, `capabilities`, `auth_methods`."""
        return self.link.agent

    @property
    def agent_title(self) -> str:
        """What to call the agent when talking to people; its `info.name` is for programs (INI-17)."""
        return self.agent.info.title or self.agent.info.name

    def _take(self, link: ClientLink) -> None:
        connection = link.connection
        connection.on_stream("session/update", self._table.update)
        self._questioner.serve(link)
        connection.on_request("mcp/connect", lambda request, incoming: self.mcp.connect(link, request))
        connection.on_request("mcp/message", lambda request, incoming: self.mcp.asked(request))
        connection.on_request("mcp/disconnect", lambda request, incoming: self.mcp.disconnect(request))
        connection.on_notification("mcp/message", lambda notification: self.mcp.told(notification))
        for method, handler in self.options.requests.items():
            connection.on_request(method, _without_incoming(handler))
        for method, handler in self.options.notifications.items():
            connection.on_notification(method, handler)
        connection.on_end = lambda: self._ended(link)

    def _ended(self, link: ClientLink) -> Awaitable[None] | None:
        """The connection is over, or will be in a moment: what may still be said is said now (PER-10)."""
        self._questioner.cancel(lambda session_id: True)
        if self._mcp is not None:
            self._mcp.close_all()
        self._nes.clear()
        if link.is_closing:
            self._table.end_all(link, ConnectionClosed("the connection was closed here"))
            return None
        return self._bury(link)

    async def _bury(self, link: ClientLink) -> None:
        error = await link.explain(ConnectionClosed(f"{link.peer} has ended the connection"))
        self._table.end_all(link, error)

    # ---- any message

    async def call(self, request: Request[R]) -> R:
        """Any request of the protocol, checked, typed both ways."""
        return await self.link.call(request)

    def notify(self, notification: Notification) -> None:
        """Any notification of the protocol."""
        self.link.notify(notification)

    async def call_extension(self, method: str, params: Any = None) -> Any:
        """A request outside the protocol, `_…` (EXT-3). Plain JSON data both ways."""
        _require_extension(method)
        return decode(Any, await self.link.call_raw(method, params))

    def notify_extension(self, method: str, params: Any = None) -> None:
        """A notification outside the protocol, `_…`."""
        _require_extension(method)
        self.link.connection.notify_raw(method, params)

    async def call_gated(self, request: Request[R], *, answered: Callable[[Raw], None] | None = None) -> R:
        """A request that may need a login first: then `on_login` is asked, and it is tried once more (AUTH-8)."""
        try:
            return await self.link.call(request, answered=answered)
        except RpcError as error:
            if not await self.has_logged_in(error):
                raise
        return await self.link.call(request, answered=answered)

    async def has_logged_in(self, error: RpcError) -> bool:
        """Whether the error was for want of a login, and there is one now; the connection may be a new one."""
        if error.code != AUTH_REQUIRED or self.options.on_login is None or not self.agent.auth_methods:
            return False
        from roost.sdk.client_auth import offer_login

        return await offer_login(self)

    # ---- sessions

    @property
    def sessions(self) -> dict[str, Session]:
        """The sessions that are open here, by id."""
        return self._table.sessions

    async def new_session(
        self,
        cwd: str,
        *,
        mcp_servers: Sequence[v2.McpServer] = (),
        additional_directories: Sequence[str] = (),
        meta: JsonObject | None = None,
    ) -> Session:
        """A new session, working in `cwd`, an absolute path on the agent's machine."""
        workspace = self._workspace(cwd, additional_directories, mcp_servers)
        request = v2.NewSessionRequest(**workspace, meta=meta)
        return await self._table.open(request, cwd, mcp_servers)

    async def fork_session(
        self,
        session_id: str,
        cwd: str,
        *,
        mcp_servers: Sequence[v2.McpServer] = (),
        additional_directories: Sequence[str] = (),
        meta: JsonObject | None = None,
    ) -> Session:
        """A new session that starts with what another one knows; directories and servers are only those given here."""
        workspace = self._workspace(cwd, additional_directories, mcp_servers)
        request = v2.ForkSessionRequest(session_id=session_id, **workspace, meta=meta)
        return await self._table.open(request, cwd, mcp_servers)

    async def resume_session(
        self,
        session_id: str,
        cwd: str,
        *,
        replay: bool | v2.ReplayFrom = False,
        mcp_servers: Sequence[v2.McpServer] = (),
        additional_directories: Sequence[str] = (),
        meta: JsonObject | None = None,
    ) -> Session:
        """Attaches to a session that exists. With `replay` its view shows the whole conversation when this returns.

        A session that is open here already is brought in step again; the handle stays the same.
        """
        workspace = self._workspace(cwd, additional_directories, mcp_servers)
        start: v2.ReplayFrom | None = v2.ReplayFromStart() if replay is True else (replay or None)
        request = v2.ResumeSessionRequest(session_id=session_id, **workspace, replay_from=start, meta=meta)
        return await self._table.resume(request, mcp_servers)

    def _workspace(self, cwd: str, directories: Sequence[str], servers: Sequence[v2.McpServer]) -> dict[str, Any]:
        check_workspace(self.agent, cwd, directories, servers)
        return {"cwd": cwd, "additional_directories": list(directories), "mcp_servers": list(servers)}

    async def list_sessions(self, cwd: str | None = None) -> AsyncIterator[v2.SessionInfo]:
        """The sessions the agent knows, page after page; with `cwd` only those that work there.

        RemoteProtocolError: it gives one page again and again. LimitError (`list_pages`): it never comes to an end.
        """
        cursor: str | None = None
        for _ in range(self.limits.list_pages):
            page = await self.list_page(cwd, cursor)
            for info in page.sessions:
                yield info
            if page.next_cursor is None:
                return
            if page.next_cursor == cursor:
                raise RemoteProtocolError("session/list gives the same cursor again")
            cursor = page.next_cursor
        raise LimitError("list_pages", self.limits.list_pages)

    async def list_page(self, cwd: str | None = None, cursor: str | None = None) -> v2.ListSessionsResponse:
        """One page of the sessions; `next_cursor` is None on the last. Cursors are not to be kept (SES-13, SES-16)."""
        return await self.call_gated(v2.ListSessionsRequest(cwd=cwd, cursor=cursor))

    async def delete_session(self, session_id: str, *, meta: JsonObject | None = None) -> None:
        """Removes a session from the agent's list; one that is not there is no error (SES-28)."""
        self.cancel_questions(session_id)

        def deleted(result: Raw) -> None:
            session = self.sessions.get(session_id)
            if session is not None:
                self.forget(session)

        await self.link.call(v2.DeleteSessionRequest(session_id=session_id, meta=meta), answered=deleted)

    def forget(self, session: Session) -> None:
        """The session is over here: its turns end, its MCP connections close (MCP-7)."""
        self.cancel_questions(session.id)
        self._table.forget(session)

    @contextmanager
    def waiting(self, *, for_all: bool = False) -> Iterator[None]:
        """Reads on while something is waited for, however full the queues of this task's own readers are.

        A task that awaits the end of a turn while it iterates over updates would else wait for itself.
        """
        task = asyncio.current_task()
        queues = [q for session in self.sessions.values() for q in session.queues if for_all or q.reader is task]
        for queue in queues:
            queue.free()
        try:
            yield
        finally:
            for queue in queues:
                queue.bind()

    def close_mcp(self, server_ids: set[str]) -> None:
        """Closes the connections to servers of this program that no session uses any more."""
        if server_ids and self._mcp is not None:
            self._mcp.close_connections(server_ids)

    def cancel_questions(self, session_id: str) -> None:
        """Whatever the agent asks on behalf of that session is answered `cancelled` (PER-10, ELI-17)."""
        self._questioner.cancel(lambda of: of == session_id)

    # ---- logging in

    @property
    def auth_methods(self) -> list[v2.AuthMethod]:
        """The ways to log in; none means there is no login (AUTH-1)."""
        return self.agent.auth_methods

    async def login(self, method_id: str) -> None:
        """Logs in by one of `auth_methods`: over the protocol, in a terminal, or with variables for the agent.

        The latter two start the agent anew, see `client_auth`. ProcessError: a terminal login failed.
        LocalProtocolError: there is no such method, or nobody here to do what it needs.
        """
        from roost.sdk.client_auth import login

        await login(self, method_id)

    async def logout(self) -> None:
        """Drops the login; sessions may fail from here on (AUTH-10)."""
        await self.link.call(v2.LogoutAuthRequest())

    # ---- providers, suggestions

    @property
    def providers(self) -> Providers:
        """The agent's model endpoints."""
        return Providers(self.link)

    async def start_nes(
        self,
        *,
        workspace_uri: str | None = None,
        workspace_folders: Sequence[v2.WorkspaceFolder] | None = None,
        repository: v2.NesRepository | None = None,
        meta: JsonObject | None = None,
    ) -> NesSession:
        """Begins to ask for edit suggestions. CapabilityError: the agent makes none."""
        from roost.sdk.nes import NesSession

        request = v2.StartNesRequest(
            workspace_uri=workspace_uri,
            workspace_folders=None if workspace_folders is None else list(workspace_folders),
            repository=repository,
            meta=meta,
        )
        response = await self.call_gated(request)
        if response.session_id in self._nes:
            raise RemoteProtocolError("nes/start gave an id that is in use")
        session = self._nes[response.session_id] = NesSession(self, self.link, response.session_id)
        return session

    def forget_nes(self, session_id: str) -> None:
        """A suggestion session is closed."""
        self._nes.pop(session_id, None)

    # ---- for finding out

    @property
    def noise(self) -> int:
        """How many lines of the agent were no messages (STD-4)."""
        return self.link.noise

    @property
    def stderr(self) -> str:
        """The last lines the agent's process wrote there; it may hold secrets."""
        return str(getattr(self.link.channel, "last_words", ""))


def _without_incoming(handler: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda params, incoming: handler(params)


def _require_extension(method: str) -> None:
    if not method.startswith("_"):
        raise LocalProtocolError(f"{method} is no extension: those start with _ (EXT-3)")
