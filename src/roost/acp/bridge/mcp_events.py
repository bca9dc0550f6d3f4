"""What a bridge wants its driver to do for the client's MCP servers that are relayed (see `mcp_relays`)."""

from __future__ import annotations

from msgspec import Struct


class McpRelayWanted(Struct, frozen=True):
    """A server of the client is to be reached through a program the agent starts.

    Answer through `mcp.offered` or `mcp.refused`. What connects back as that program is told through `mcp.connected`,
    `mcp.said` and `mcp.closed`, under a number of the driver's own, its channel.
    """

    relay: int
    name: str


class McpRelayEnded(Struct, frozen=True):
    """Nobody may connect for that server any more."""

    relay: int


class McpRelaySaid(Struct, frozen=True):
    """One MCP message for the program, without its newline."""

    channel: int
    message: bytes


class McpRelayCut(Struct, frozen=True):
    """The program's connection is to be ended, after what it is to be told. Not for one that has ended by itself."""

    channel: int
    why: str


McpRelayEvent = McpRelayWanted | McpRelayEnded | McpRelaySaid | McpRelayCut
