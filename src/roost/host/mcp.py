"""MCP servers of this program for agents of its sessions, offered through the sidecar (MCP-1 to MCP-9).

    clock = host.mcp.offer("clock", server)
    session = await host.create_session("an-agent", cwd=cwd, mcp_servers=[clock])

The servers are those of `roost.sdk.mcp`, one written with the official package included. An agent that knows nothing of
such servers gets a program that connects it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from roost.acp import v2
from roost.errors import CodecError, LocalProtocolError, RpcError
from roost.host.events import HostRequest, Notification
from roost.rpc.messages import INVALID_PARAMS
from roost.sdk.client_limits import DEFAULT_CLIENT_LIMITS, ClientLimits
from roost.sdk.mcp import McpHost, McpServer
from roost.wire.decode import decode, encode

if TYPE_CHECKING:
    from roost.host.session import RequestHandler, Session


METHODS: Final = frozenset({"mcp/connect", "mcp/message", "mcp/disconnect"})


class HostMcp:
    """The servers of one Host. Offer one for each session that is to have it: so it is known whose agent is asked."""

    def __init__(self, limits: ClientLimits = DEFAULT_CLIENT_LIMITS) -> None:
        self._servers = McpHost(limits)
        self._links: dict[str, _SessionLink] = {}  # by serverId
        self._declared: dict[str, v2.McpServerAcp] = {}

    def offer(self, name: str, server: McpServer) -> dict[str, Any]:
        """Makes a server available; what comes back goes into `mcp_servers` of a session."""
        declared = self._servers.offer(name, server)
        self._declared[declared.server_id] = declared
        self._links[declared.server_id] = _SessionLink()
        return {"type": "acp", "name": name, "serverId": declared.server_id}

    def withdraw(self, server: Mapping[str, Any]) -> None:
        """Takes a server back and closes the connections to it."""
        declared = self._declared.pop(str(server.get("serverId")), None)
        if declared is not None:
            self._links.pop(declared.server_id, None)
            self._servers.withdraw([declared])

    async def close(self) -> None:
        """Ends every connection, and returns when the servers have heard of it."""
        self._servers.close_all()
        await self._servers.settled()

    # ---- for the host

    def opened(self, session: Session, servers: Iterable[Mapping[str, Any]]) -> None:
        """These are used by this session from now on."""
        for server in servers:
            link = self._links.get(str(server.get("serverId")))
            if link is not None:
                link.session = session

    def resumed(self, session: Session) -> None:
        """The daemon gives the agent of a resumed session the servers it had."""
        for link in self._links.values():
            if link.session is not None and link.session.id == session.id:
                link.session = session

    def ended(self, session: Session) -> None:
        """A session is closed, and its connections with it (MCP-7)."""
        ids = [server_id for server_id, link in self._links.items() if link.session is session]
        self._servers.close_connections(ids)

    def before(self, handler: RequestHandler | None) -> RequestHandler:
        """The same handler, but for what is asked of these servers."""

        async def handle(request: HostRequest) -> Any:
            if request.method in METHODS:
                return await self.answer(request)
            return None if handler is None else await handler(request)

        return handle

    async def answer(self, request: HostRequest) -> Any:
        """What an agent asks of a server. RpcError as the server, or the rules, have it."""
        try:
            data = encode(request.params)
            if request.method == "mcp/connect":
                connect = decode(v2.ConnectMcpRequest, data)
                link = self._links.get(connect.server_id) or _SessionLink()
                answer = await self._servers.connect(link, connect)
                return {"connectionId": answer.connection_id}
            if request.method == "mcp/disconnect":
                await self._servers.disconnect(decode(v2.DisconnectMcpRequest, data))
                return {}
            result = await self._servers.asked(decode(v2.MessageMcpRequest, data))
        except CodecError as error:
            raise RpcError(INVALID_PARAMS, f"Invalid params: {error}") from None
        return {} if result is None else result  # a host's None would say that nobody serves it

    def heard(self, notification: Notification) -> bool:
        """Whether what an agent tells is for one of these servers."""
        if "mcp/message" not in notification.text or notification.method != "mcp/message":
            return False
        try:
            told = decode(v2.MessageMcpNotification, encode(notification.message.get("params")))
        except CodecError:
            return False
        self._servers.told(told)  # of no connection: of no interest (MCP-6)
        return True


class _SessionLink:
    """Reaches the agent of a session, once that is open: before, it has no name to be asked by."""

    def __init__(self) -> None:
        self.session: Session | None = None

    async def call(self, request: v2.MessageMcpRequest) -> Any:
        return await self._open().request("mcp/message", _params(request))

    async def tell(self, notification: v2.MessageMcpNotification) -> None:
        await self._open().request("mcp/message", _params(notification))

    def _open(self) -> Session:
        if self.session is None:
            raise LocalProtocolError("the session is not open yet: its agent cannot be asked")
        return self.session


def _params(message: v2.MessageMcpRequest | v2.MessageMcpNotification) -> dict[str, Any]:
    inner = {} if message.params is None else {"params": message.params}
    return {"connectionId": message.connection_id, "method": message.method, **inner}
