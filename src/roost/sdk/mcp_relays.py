"""MCP servers of this program for an agent that knows none of the kind: a socket that programs it starts connect to.

The bridge says what is wanted (`acp.bridge.mcp_relays`), the socket is `transport.mcp_relay`; this joins the two.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from roost.acp.bridge.mcp_events import McpRelayCut, McpRelayEnded, McpRelayEvent, McpRelaySaid, McpRelayWanted
from roost.acp.bridge.mcp_relays import McpRelays
from roost.errors import RoostError, TransportError
from roost.transport.mcp_relay import McpRelayServer, RelayChannel

log = logging.getLogger("roost.bridge")


class ConnectedRelays:
    """The relays of one bridge. `happened` is called when the bridge may have something new."""

    def __init__(self, relays: McpRelays, happened: Callable[[], None]) -> None:
        self.bridge = relays
        self.happened = happened
        self._server: McpRelayServer | None = None
        self._tokens: dict[int, str] = {}  # by relay
        self._channels: dict[int, RelayChannel] = {}
        self._last = 0
        self._reading = True

    def take(self, event: McpRelayEvent) -> None:
        """Does what the bridge wants."""
        match event:
            case McpRelayWanted(relay=relay):
                self._offer(relay)
            case McpRelayEnded(relay=relay):
                token = self._tokens.pop(relay, None)
                if token is not None and self._server is not None:
                    self._server.withdraw(token)
            case McpRelaySaid(channel=number, message=message):
                if number in self._channels:
                    self._channels[number].send(message)
            case McpRelayCut(channel=number, why=why):
                channel = self._channels.pop(number, None)
                if channel is not None:
                    log.debug("an MCP server's program is let go: %s", why)
                    channel.close()

    def pause_reading(self) -> None:
        self._reading = False
        for channel in self._channels.values():
            channel.pause_reading()

    def resume_reading(self) -> None:
        self._reading = True
        for channel in self._channels.values():
            channel.resume_reading()

    def close(self) -> None:
        """Ends every connection; nothing is left."""
        self._channels.clear()
        if self._server is not None:
            self._server.close()

    def _offer(self, relay: int) -> None:
        if self._server is None:
            self._server = McpRelayServer()
        try:
            program = self._server.offer(_Programs(self, relay))
        except TransportError as error:
            self.bridge.refused(relay, str(error))
            return
        self._tokens[relay] = program.token
        self.bridge.offered(relay, program.command, program.args, program.env)

    # ---- programs

    def connected(self, relay: int, channel: RelayChannel) -> int:
        self._last += 1
        number = self._last
        self._channels[number] = channel
        if not self._reading:
            channel.pause_reading()
        self.bridge.connected(number, relay)
        self.happened()
        return number

    def received(self, number: int, lines: list[bytes]) -> None:
        for line in lines:
            self.bridge.said(number, line)
        self.happened()

    def closed(self, number: int, fault: RoostError | None) -> None:
        if self._channels.pop(number, None) is not None:
            if fault is not None:
                log.warning("the connection of an MCP server's program was ended: %s", fault)
            self.bridge.closed(number)
            self.happened()


class _Programs:
    """Hears the programs of one relay. The agent may run several at once."""

    def __init__(self, relays: ConnectedRelays, relay: int) -> None:
        self._relays = relays
        self._relay = relay
        self._numbers: dict[RelayChannel, int] = {}

    def connected(self, channel: RelayChannel) -> None:
        self._numbers[channel] = self._relays.connected(self._relay, channel)

    def received(self, channel: RelayChannel, lines: list[bytes]) -> None:
        number = self._numbers.get(channel)
        if number is not None:
            self._relays.received(number, lines)

    def closed(self, channel: RelayChannel, fault: RoostError | None) -> None:
        number = self._numbers.pop(channel, None)
        if number is not None:
            self._relays.closed(number, fault)
