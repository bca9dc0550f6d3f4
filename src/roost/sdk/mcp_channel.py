"""An MCP server that the client hosts, as an agent talks to it: a channel over the ACP connection (MCP-1 to MCP-7)."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any

from roost.acp import v2
from roost.errors import ConnectionClosed, LocalProtocolError, RemoteProtocolError, RpcError
from roost.rpc.messages import METHOD_NOT_FOUND
from roost.sdk.handlers import invalid_params
from roost.sdk.incoming import Incoming
from roost.wire.decode import decode
from roost.wire.model import JsonObject

if TYPE_CHECKING:
    from roost.sdk.agent_link import AgentLink

log = logging.getLogger("roost.agent")


class McpChannel:
    """One open channel. Inner messages have no ids: each request is answered where it was asked (MCP-3).

        async with await session.open_mcp(server) as mcp:
            await mcp.request("initialize", {...})
            await mcp.notify("notifications/initialized")
            tools = await mcp.request("tools/list")

    `on_request(method, params)` answers the server's own requests, `on_notification(method, params)` hears it; both
    may be coroutines. Without the first they are refused -32601.
    """

    def __init__(self, link: AgentLink, connection_id: str) -> None:
        self._link = link
        self.connection_id = connection_id
        self.open = True
        self.on_request: Callable[[str, JsonObject | None], Any] | None = None
        self.on_notification: Callable[[str, JsonObject | None], Any] | None = None
        self.on_closed: Callable[[], None] | None = None

    async def request(self, method: str, params: Mapping[str, Any] | None = None) -> Any:
        """Asks the server. RpcError as the server gave it, code and all; cancelling the wait withdraws (MCP-9)."""
        self._require_open()
        inner = None if params is None else dict(params)
        call = v2.MessageMcpRequest(connection_id=self.connection_id, method=method, params=inner)
        return decode(Any, await self._link.connection.call_raw(call.METHOD, call))

    async def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Tells the server."""
        self._require_open()
        inner = None if params is None else dict(params)
        self._link.connection.notify(
            v2.MessageMcpNotification(connection_id=self.connection_id, method=method, params=inner)
        )
        await self._link.connection.drain()

    async def close(self) -> None:
        """Closes the channel; the client is told, whether or not it still knows of it (MCP-7)."""
        if self.open:
            self.gone()
            with suppress(RpcError, RemoteProtocolError, ConnectionClosed):
                await self._link.connection.call(v2.DisconnectMcpRequest(connection_id=self.connection_id))

    def gone(self) -> None:
        """It is closed: nothing is sent or heard any more."""
        if self.open:
            self.open = False
            self._link.mcp.pop(self.connection_id, None)
            if self.on_closed is not None:
                self.on_closed()

    async def __aenter__(self) -> McpChannel:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _require_open(self) -> None:
        if not self.open:
            raise LocalProtocolError("this MCP channel is closed")


async def connect_mcp(link: AgentLink, server_id: str) -> McpChannel:
    """Opens a channel. RpcError: the client has no such server."""
    answer = await link.connection.call(v2.ConnectMcpRequest(server_id=server_id))
    if answer.connection_id in link.mcp:
        raise RemoteProtocolError("the client gave two MCP channels one id (MCP-2)")
    channel = link.mcp[answer.connection_id] = McpChannel(link, answer.connection_id)
    return channel


def serve_mcp_messages(link: AgentLink) -> None:
    """Messages of the servers themselves find their channel (MCP-4)."""

    def asked(request: v2.MessageMcpRequest, incoming: Incoming) -> Any:
        channel = link.mcp.get(request.connection_id)
        if channel is None:  # MCP-6
            raise invalid_params("no such MCP connection", "connectionId")
        if channel.on_request is None:
            raise RpcError(METHOD_NOT_FOUND, "Method not found", {"method": request.method})
        return channel.on_request(request.method, request.params)

    async def told(notification: v2.MessageMcpNotification) -> None:
        channel = link.mcp.get(notification.connection_id)
        if channel is not None and channel.on_notification is not None:
            result = channel.on_notification(notification.method, notification.params)
            if inspect.isawaitable(result):
                await result

    link.connection.on_request("mcp/message", asked)
    link.connection.on_notification("mcp/message", told)
