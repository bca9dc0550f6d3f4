"""The first exchange of a connection.

Generated from schema/acp.v2.json by tools/gen_acp. Run `make gen`; do not edit.
"""

from __future__ import annotations

from typing import ClassVar

from msgspec import field

from roost.acp.calls import Request
from roost.acp.v2.gen.auth import AuthMethod
from roost.acp.v2.gen.capabilities import AgentCapabilities, ClientCapabilities
from roost.acp.v2.gen.ids import ProtocolVersion
from roost.wire.model import Items, JsonObject, Lenient, Model


class Implementation(Model, frozen=True, kw_only=True):
    """The name and version of a program that speaks the protocol.

    Stable. Schema: #/$defs/Implementation.
    """

    name: str
    title: Lenient[str | None] = None
    version: str
    meta: Lenient[JsonObject | None] = None


class InitializeRequest(Request["InitializeResponse"], frozen=True, kw_only=True):
    """Opens a connection: version, who is calling, what it can do.

    To the agent: request `initialize`. Stable. Schema: #/$defs/InitializeRequest.
    """

    METHOD: ClassVar[str] = "initialize"

    protocol_version: ProtocolVersion
    info: Implementation
    capabilities: Lenient[ClientCapabilities] = field(default_factory=ClientCapabilities)
    meta: Lenient[JsonObject | None] = None


class InitializeResponse(Model, frozen=True, kw_only=True):
    """The version to speak, who answers, what it can do.

    Stable. Schema: #/$defs/InitializeResponse.
    """

    protocol_version: ProtocolVersion
    info: Implementation
    capabilities: Lenient[AgentCapabilities] = field(default_factory=AgentCapabilities)
    auth_methods: Lenient[Items[AuthMethod]] = []
    meta: Lenient[JsonObject | None] = None
