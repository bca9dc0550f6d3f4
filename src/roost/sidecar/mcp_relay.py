"""MCP servers of callers for bridged agents that know none of the kind: what engine and driver tell each other.

The engine says which program is wanted and what it is told, the driver has the socket it connects to. A `relay` is one
server of one session, a `channel` one running program, numbered by the driver; both belong to a process.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, get_args

import msgspec
from msgspec import Raw

from roost.acp.bridge.mcp_events import McpRelayCut, McpRelayEnded, McpRelayEvent, McpRelaySaid, McpRelayWanted
from roost.sidecar.payloads import Json, items, members, string

if TYPE_CHECKING:
    from roost.acp.bridge.mcp_relays import McpRelays

MESSAGE = "mcp/message"
NOTICE = "notifications/"  # how the name of every notification of MCP begins, and of nothing else


class OfferRelay(msgspec.Struct, frozen=True, gc=False):
    """A program is wanted for the server `name`; answered by RelayOffered or RelayRefused."""

    process: str
    relay: int
    name: str


class WithdrawRelay(msgspec.Struct, frozen=True, gc=False):
    """Nobody may connect for it any more; who is connected stays. Relays of a forgotten process need none."""

    process: str
    relay: int


class TellRelay(msgspec.Struct, frozen=True, gc=False):
    """One message for the program on a channel."""

    process: str
    channel: int
    message: bytes


class CutRelay(msgspec.Struct, frozen=True, gc=False):
    """End a channel, after what it was told. Needs no RelayClosed."""

    process: str
    channel: int
    why: str


RelayCommand = OfferRelay | WithdrawRelay | TellRelay | CutRelay


class RelayOffered(msgspec.Struct, frozen=True, gc=False):
    """How an agent starts the program of a relay."""

    process: str
    relay: int
    command: str
    args: tuple[str, ...]
    env: Mapping[str, str]


class RelayRefused(msgspec.Struct, frozen=True, gc=False):
    process: str
    relay: int
    message: str


class RelayConnected(msgspec.Struct, frozen=True, gc=False):
    """A program of that relay runs, and has shown that it is one."""

    process: str
    relay: int
    channel: int


class RelayHeard(msgspec.Struct, frozen=True, gc=False):
    process: str
    channel: int
    lines: tuple[bytes, ...]


class RelayClosed(msgspec.Struct, frozen=True, gc=False):
    """A program has ended, or its connection has. `fault`: what was wrong with it, for the log."""

    process: str
    channel: int
    fault: str | None


RelayEvent = RelayOffered | RelayRefused | RelayConnected | RelayHeard | RelayClosed
RELAY_EVENTS: Final[tuple[type, ...]] = get_args(RelayEvent)


def relay_command(process: str, event: McpRelayEvent) -> RelayCommand:
    """What the driver is to do about what a bridge says."""
    match event:
        case McpRelayWanted(relay=relay, name=name):
            return OfferRelay(process, relay, name)
        case McpRelayEnded(relay=relay):
            return WithdrawRelay(process, relay)
        case McpRelaySaid(channel=channel, message=message):
            return TellRelay(process, channel, message)
        case McpRelayCut(channel=channel, why=why):
            return CutRelay(process, channel, why)


def tell_relays(relays: McpRelays, event: RelayEvent) -> None:
    """What the driver says, for the bridge."""
    match event:
        case RelayOffered(relay=relay, command=command, args=args, env=env):
            relays.offered(relay, command, args, env)
        case RelayRefused(relay=relay, message=message):
            relays.refused(relay, message)
        case RelayConnected(relay=relay, channel=channel):
            relays.connected(channel, relay)
        case RelayHeard(channel=channel, lines=lines):
            for line in lines:
                relays.said(channel, line)
        case RelayClosed(channel=channel):
            relays.closed(channel)


def names_acp_server(mcp_servers: str) -> bool:
    """Whether a session is to have servers of its caller's own; `mcp_servers` is a launch's compact JSON."""
    if '"acp"' not in mcp_servers:
        return False
    servers = items(Raw(mcp_servers.encode()))
    return any(string((members(server) or {}).get("type")) == "acp" for server in servers or [])


def is_mcp_notice(method: str, params: Json) -> bool:
    """Whether a caller's `mcp/message`, which the sidecar protocol always sends as a request, is a notification."""
    return method == MESSAGE and (string(params.get("method")) or "").startswith(NOTICE)
