"""MCP servers given to a session, and MCP messages carried over ACP.

Generated from schema/acp.v2.json by tools/gen_acp. Run `make gen`; do not edit.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, TYPE_CHECKING, TypeAlias

from roost.acp.calls import Notification, Request
from roost.acp.v2.gen.ids import AbsolutePath, McpConnectionId, McpServerAcpId
from roost.wire.model import JsonObject, Lenient, Model, OpenUnion, Unknown


class EnvVariable(Model, frozen=True, kw_only=True):
    """A variable of a program's environment; its value may be a secret (SEC-2).

    Stable. Schema: #/$defs/EnvVariable.
    """

    name: str
    value: str
    meta: Lenient[JsonObject | None] = None


class HttpHeader(Model, frozen=True, kw_only=True):
    """A header of an HTTP request; its value may be a secret (SEC-2).

    Stable. Schema: #/$defs/HttpHeader.
    """

    name: str
    value: str
    meta: Lenient[JsonObject | None] = None


class McpServerHttp(Model, frozen=True, kw_only=True, tag_field="type", tag="http"):
    """An MCP server reached over HTTP.

    Stable. Schema: #/$defs/McpServerHttp.
    """

    name: str
    url: str
    headers: list[HttpHeader] = []
    meta: Lenient[JsonObject | None] = None


class McpServerStdio(Model, frozen=True, kw_only=True, tag_field="type", tag="stdio"):
    """An MCP server the agent starts and talks to over stdio.

    Stable. Schema: #/$defs/McpServerStdio.
    """

    name: str
    command: AbsolutePath
    args: list[str] = []
    env: list[EnvVariable] = []
    meta: Lenient[JsonObject | None] = None


class McpServerAcp(Model, frozen=True, kw_only=True, tag_field="type", tag="acp"):
    """An MCP server the client hosts, reached over this connection.

    Unstable. Schema: #/$defs/McpServerAcp.
    """

    name: str
    server_id: McpServerAcpId
    meta: Lenient[JsonObject | None] = None


if TYPE_CHECKING:
    McpServer: TypeAlias = McpServerHttp | McpServerAcp | McpServerStdio | Unknown
else:
    McpServer = Annotated[
        McpServerHttp | McpServerAcp | McpServerStdio,
        OpenUnion("type", {"http": McpServerHttp, "acp": McpServerAcp, "stdio": McpServerStdio}),
    ]
"""An MCP server a session may use.

Told apart by `type`. Stable. Schema: #/$defs/McpServer.
"""


class ConnectMcpRequest(Request["ConnectMcpResponse"], frozen=True, kw_only=True):
    """Opens a channel to an MCP server the client hosts.

    To the client: request `mcp/connect`. Unstable. Schema: #/$defs/ConnectMcpRequest.
    """

    METHOD: ClassVar[str] = "mcp/connect"

    server_id: McpServerAcpId
    meta: Lenient[JsonObject | None] = None


class ConnectMcpResponse(Model, frozen=True, kw_only=True):
    """The channel that was opened.

    Unstable. Schema: #/$defs/ConnectMcpResponse.
    """

    connection_id: McpConnectionId
    meta: Lenient[JsonObject | None] = None


class DisconnectMcpRequest(Request["DisconnectMcpResponse"], frozen=True, kw_only=True):
    """Closes a channel.

    To the client: request `mcp/disconnect`. Unstable. Schema: #/$defs/DisconnectMcpRequest.
    """

    METHOD: ClassVar[str] = "mcp/disconnect"

    connection_id: McpConnectionId
    meta: Lenient[JsonObject | None] = None


class DisconnectMcpResponse(Model, frozen=True, kw_only=True):
    """The channel is closed.

    Unstable. Schema: #/$defs/DisconnectMcpResponse.
    """

    meta: Lenient[JsonObject | None] = None


class MessageMcpRequest(Request["MessageMcpResponse"], frozen=True, kw_only=True):
    """An MCP request inside an ACP request.

    Either way: request `mcp/message`. Unstable. Schema: #/$defs/MessageMcpRequest.
    """

    METHOD: ClassVar[str] = "mcp/message"

    connection_id: McpConnectionId
    method: str
    params: JsonObject | None = None
    meta: Lenient[JsonObject | None] = None

MessageMcpResponse: TypeAlias = Any
"""The result of the inner MCP request, any JSON.

Unstable. Schema: #/$defs/MessageMcpResponse.
"""


class MessageMcpNotification(Notification, frozen=True, kw_only=True):
    """An MCP notification inside an ACP notification.

    Either way: notification `mcp/message`. Unstable. Schema: #/$defs/MessageMcpNotification.
    """

    METHOD: ClassVar[str] = "mcp/message"

    connection_id: McpConnectionId
    method: str
    params: Lenient[JsonObject | None] = None
    meta: Lenient[JsonObject | None] = None
