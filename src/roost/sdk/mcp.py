"""MCP servers that live in this program, offered to an agent over the ACP connection (MCP-1 to MCP-9).

A server is anything that takes MCP messages: for each connection an agent opens, `server(connection)` gives an endpoint
with `request`, `notify` and `close`. `mcp_package.packaged` makes one of a server written with the official package.

    class Clock:
        async def request(self, method, params): ...
        async def notify(self, method, params): ...
        async def close(self): ...

    server = client.mcp.offer("clock", lambda connection: Clock())
    session = await client.new_session("/work", mcp_servers=[server])
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import secrets
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from roost.acp import v2
from roost.errors import LocalProtocolError, RpcError
from roost.rpc.messages import INVALID_PARAMS, LIMIT_EXCEEDED
from roost.wire.model import JsonObject

if TYPE_CHECKING:
    from roost.sdk.client_limits import ClientLimits

log = logging.getLogger("roost.client")

_WAITING = 256  # notifications of one connection that its endpoint has not taken; beyond that it is closed


class McpEndpoint(Protocol):
    """What serves one connection."""

    async def request(self, method: str, params: JsonObject | None) -> Any:
        """Answers with any JSON. RpcError is what the agent gets, code and all; cancelled when the agent gives up."""

    async def notify(self, method: str, params: JsonObject | None) -> None:
        """Hears a notification of the agent. Calls begin in the order of the messages, and run beside each other."""

    async def close(self) -> None:
        """The connection is over."""


class McpLink(Protocol):
    """How the agent that has opened a connection is reached."""

    async def call(self, request: v2.MessageMcpRequest) -> Any:
        """Asks the agent. Raises as `Connection.call` does."""

    async def tell(self, notification: v2.MessageMcpNotification) -> None:
        """Tells the agent."""


class McpConnection:
    """One connection an agent has opened. An endpoint asks and tells the agent through it (MCP-4)."""

    def __init__(self, link: McpLink, connection_id: str, server: v2.McpServerAcp) -> None:
        self._link = link
        self.connection_id = connection_id
        self.server = server
        self.is_open = True
        self.work: set[asyncio.Task[Any]] = set()
        self.endpoint: McpEndpoint | None = None  # until the server has made it

    async def request(self, method: str, params: JsonObject | None = None) -> Any:
        """Asks the agent, by an MCP request of the server's own, such as `sampling/createMessage`."""
        self._require_open()
        request = v2.MessageMcpRequest(connection_id=self.connection_id, method=method, params=params)
        return await self._link.call(request)

    async def notify(self, method: str, params: JsonObject | None = None) -> None:
        """Tells the agent."""
        self._require_open()
        await self._link.tell(v2.MessageMcpNotification(connection_id=self.connection_id, method=method, params=params))

    def _require_open(self) -> None:
        if not self.is_open:
            raise LocalProtocolError("this MCP connection is closed")


McpServer: TypeAlias = Callable[[McpConnection], McpEndpoint | Awaitable[McpEndpoint]]


class McpHost:
    """The servers this client offers, and the connections agents have opened to them."""

    def __init__(self, limits: ClientLimits) -> None:
        self._limits = limits
        self._servers: dict[str, tuple[v2.McpServerAcp, McpServer]] = {}
        self._connections: dict[str, McpConnection] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._is_over = False

    @property
    def connections(self) -> list[McpConnection]:
        """The connections that are open now, of all sessions."""
        return list(self._connections.values())

    def offer(self, name: str, server: McpServer, *, meta: JsonObject | None = None) -> v2.McpServerAcp:
        """Makes a server available; what comes back goes into the `mcp_servers` of a session (MCP-1)."""
        declared = v2.McpServerAcp(name=name, server_id=secrets.token_hex(16), meta=meta)
        self._servers[declared.server_id] = (declared, server)
        return declared

    def withdraw(self, servers: Iterable[v2.McpServer]) -> None:
        """Takes servers back and closes the connections to them."""
        ids = {server.server_id for server in servers if isinstance(server, v2.McpServerAcp)}
        for server_id in ids:
            self._servers.pop(server_id, None)
        self.close_connections(ids)

    def close_connections(self, server_ids: Iterable[str]) -> None:
        """Closes the connections to these servers, which stay available (MCP-7)."""
        ids = set(server_ids)
        for connection in self.connections:
            if connection.server.server_id in ids:
                self._close(connection)

    def close_all(self) -> None:
        """The transport is gone, and the connections with it; there will be no further ones (MCP-7)."""
        self._is_over = True
        for connection in self.connections:
            self._close(connection)

    async def settled(self) -> None:
        """Returns when the endpoints of closed connections have been closed."""
        while self._closing:
            await asyncio.wait(set(self._closing))

    # ---- what the agent does

    async def connect(self, link: McpLink, request: v2.ConnectMcpRequest) -> v2.ConnectMcpResponse:
        """Opens the connection an agent asks for (MCP-2)."""
        known = None if self._is_over else self._servers.get(request.server_id)
        if known is None:  # MCP-2
            raise RpcError(INVALID_PARAMS, "Invalid params: no such MCP server", {"path": "serverId"})
        if len(self._connections) >= self._limits.mcp_connections:
            data = {"limit": "mcp_connections", "bound": self._limits.mcp_connections}
            raise RpcError(LIMIT_EXCEEDED, "Limit exceeded: mcp_connections", data)
        declared, server = known
        connection = McpConnection(link, secrets.token_hex(16), declared)
        self._connections[connection.connection_id] = connection
        try:
            endpoint = server(connection)
            connection.endpoint = await endpoint if inspect.isawaitable(endpoint) else endpoint
        except BaseException:
            self._connections.pop(connection.connection_id, None)
            connection.is_open = False
            raise
        if not connection.is_open:  # closed while its server was being made
            await asyncio.shield(self._close(connection))
            raise RpcError(INVALID_PARAMS, "Invalid params: no such MCP server", {"path": "serverId"})
        return v2.ConnectMcpResponse(connection_id=connection.connection_id)

    def asked(self, request: v2.MessageMcpRequest) -> asyncio.Task[Any]:
        """Has the endpoint of a connection answer; the task is that answer."""
        connection, endpoint = self._require(request.connection_id)
        work = asyncio.ensure_future(endpoint.request(request.method, request.params))
        connection.work.add(work)
        work.add_done_callback(connection.work.discard)
        return work

    def told(self, notification: v2.MessageMcpNotification) -> None:
        """Has the endpoint of a connection hear a notification."""
        # A task each, started in the order of the messages, as requests are: `initialized` is there before what
        # follows it, whatever else this client is busy with.
        connection = self._connections.get(notification.connection_id)
        if connection is None or connection.endpoint is None:
            return  # MCP-6
        if len(connection.work) >= _WAITING:
            log.error("the MCP server %s takes no notifications any more: closed", connection.server.name)
            self._close(connection)
            return
        work = asyncio.ensure_future(connection.endpoint.notify(notification.method, notification.params))
        connection.work.add(work)
        work.add_done_callback(connection.work.discard)
        work.add_done_callback(_log_failure)

    async def disconnect(self, request: v2.DisconnectMcpRequest) -> None:
        """The agent closes a connection."""
        connection, _ = self._require(request.connection_id)
        await asyncio.shield(self._close(connection))  # who asked may be gone before it is done

    def _require(self, connection_id: str) -> tuple[McpConnection, McpEndpoint]:
        connection = self._connections.get(connection_id)
        if connection is None or connection.endpoint is None:  # MCP-6
            raise RpcError(INVALID_PARAMS, "Invalid params: no such MCP connection", {"path": "connectionId"})
        return connection, connection.endpoint

    def _close(self, connection: McpConnection) -> asyncio.Task[None]:
        """From here on its id is dead; the rest takes a moment."""
        self._connections.pop(connection.connection_id, None)
        connection.is_open = False
        closing = asyncio.ensure_future(self._end(connection))
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)
        return closing

    async def _end(self, connection: McpConnection) -> None:
        work = set(connection.work)
        for task in work:
            task.cancel()
        if work:
            await asyncio.wait(work)
        if connection.endpoint is not None:
            try:
                await connection.endpoint.close()
            except Exception:
                log.exception("closing the MCP server %s failed", connection.server.name)


def _log_failure(work: asyncio.Task[Any]) -> None:
    if not work.cancelled() and (error := work.exception()) is not None:
        log.error("an MCP server failed on a notification", exc_info=error)
