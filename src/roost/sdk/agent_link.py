"""One connection of an agent: negotiation, and what is known because of it. Nothing here outlives the connection.

The gate answers by the method table: before `initialize` everything else is refused, after it whatever the agent has
not advertised on this connection does not exist (INI-1, INI-18, ERR-4).
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import msgspec

from roost.acp import v2
from roost.acp.dialect import V1, V2, negotiate
from roost.acp.paths import is_absolute
from roost.acp.v2.gen.methods import NOTIFICATIONS, REQUESTS
from roost.errors import CodecError, LocalProtocolError, RpcError, format_path
from roost.rpc.messages import AUTH_REQUIRED, INVALID_REQUEST, METHOD_NOT_FOUND
from roost.sdk.connection import Connection
from roost.sdk.first_words import RequestedVersion
from roost.sdk.handlers import invalid_params, undecodable
from roost.sdk.incoming import Incoming
from roost.wire.decode import decode

if TYPE_CHECKING:
    from roost.sdk.agent import Agent
    from roost.sdk.agent_nes import AgentNesSession
    from roost.sdk.agent_providers import ProviderTable
    from roost.sdk.limits import AgentLimits
    from roost.sdk.mcp_channel import McpChannel

log = logging.getLogger("roost.agent")


class _V1Client(msgspec.Struct):
    """What the body of an older client says about it."""

    info: msgspec.Raw | None = msgspec.field(name="clientInfo", default=None)


class AgentLink:
    """An agent and one client. `capabilities` and `info` are the client's; None before `initialize`, and for v1."""

    def __init__(self, agent: Agent, connection: Connection, limits: AgentLimits, principal: str | None) -> None:
        self.agent = agent
        self.connection = connection
        self.limits = limits
        self.principal = principal
        """Who the client is, where one agent serves several users; sessions are told apart by it (SEC-6)."""
        self.capabilities = v2.ClientCapabilities()
        self.info: v2.Implementation | None = None
        self.advertised: v2.InitializeResponse | None = None
        """What this client was told at `initialize`."""
        self.logged_in = False
        self.position_encoding: v2.PositionEncodingKind = "utf-16"
        self.mcp: dict[str, McpChannel] = {}
        self.nes: dict[str, AgentNesSession] = {}
        self.providers: ProviderTable | None = None
        self._elicitations = 0
        connection.gate = self._gate
        connection.on_request("initialize", self._initialize, raw=True)

    @property
    def initialized(self) -> bool:
        return self.advertised is not None

    def new_elicitation_id(self) -> str:
        """Unique on this connection (ELI-13)."""
        self._elicitations += 1
        return f"elicit-{self._elicitations}"

    def require_login(self) -> None:
        """RpcError -32000: the agent wants its user known first, and offers a way (AUTH-8, ERR-2)."""
        if self.agent.auth.required and not self.logged_in and self.advertised and self.advertised.auth_methods:
            raise RpcError(AUTH_REQUIRED, "Authentication required")

    # ---- beyond the protocol

    async def call_extension(self, method: str, params: Any = None) -> Any:
        """Asks the client by a request of your own, `_vendor/name` (EXT-3). Plain JSON data both ways."""
        require_extension(method)
        return decode(Any, await self.connection.call_raw(method, params))

    def notify_extension(self, method: str, params: Any = None) -> None:
        """Tells the client by a notification of your own."""
        require_extension(method)
        self.connection.notify_raw(method, params)

    # ---- negotiation

    def _gate(self, method: str) -> RpcError | None:
        if self.advertised is None:
            if method == "initialize":
                return None
            return RpcError(INVALID_REQUEST, "Invalid request: initialize comes first")  # INI-1
        row = REQUESTS.get(method) or NOTIFICATIONS.get(method)
        if row is None or row.gate is None or row.gate.side != "agent" or row.gate.is_open(self.advertised):
            return None
        return RpcError(METHOD_NOT_FOUND, "Method not found", {"method": method})

    def _initialize(self, params: msgspec.Raw, incoming: Incoming) -> v2.InitializeResponse:
        if self.advertised is not None:  # INI-10
            raise RpcError(INVALID_REQUEST, "Invalid request: initialize was answered already")
        try:
            # INI-5: the version first; only then is it known what shape the rest has.
            requested = decode(RequestedVersion, params).version
            if requested <= V1.version:
                info, capabilities = _v1_info(params), v2.ClientCapabilities()
            else:
                request = decode(v2.InitializeRequest, params, on_loss=_log_loss)
                info, capabilities = request.info, request.capabilities
        except CodecError as error:
            raise undecodable(error) from None
        self.info = info
        self.capabilities = capabilities
        self.position_encoding = self.agent.choose_encoding(capabilities)
        self.advertised = self.agent.advertise(negotiate(requested, (V2,)).version, capabilities, self)
        return self.advertised


def require_extension(method: str) -> None:
    """LocalProtocolError: that is no name of an extension."""
    if not method.startswith("_"):
        raise LocalProtocolError(f"the name of an extension starts with _, not {method!r} (EXT-3)")


def check_absolute(path: str, *where: str | int) -> None:
    """RpcError -32602 for a relative or empty path (SES-1)."""
    if not is_absolute(path):
        raise invalid_params("not an absolute path", *where)


def _v1_info(params: msgspec.Raw) -> v2.Implementation | None:
    try:
        info = decode(_V1Client, params).info
        return None if info is None else decode(v2.Implementation, info)
    except CodecError:
        return None


def _log_loss(path: tuple[str | int, ...], what: str) -> None:
    log.warning("initialize: %s: %s", format_path(path), what)
