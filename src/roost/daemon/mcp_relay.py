"""The programs that connect bridged agents to MCP servers of callers: what the engine wants of them, done.

One socket for the whole daemon, made with the first program; a secret for each server of each session.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from roost.errors import RoostError, TransportError
from roost.sidecar import commands
from roost.sidecar.mcp_relay import (
    CutRelay,
    OfferRelay,
    RelayClosed,
    RelayConnected,
    RelayEvent,
    RelayHeard,
    RelayOffered,
    RelayRefused,
    TellRelay,
    WithdrawRelay,
)

if TYPE_CHECKING:
    from roost.daemon.driver import Driver
    from roost.sidecar.engine import Engine
    from roost.sidecar.limits import Limits
    from roost.transport.mcp_relay import McpRelayServer, RelayChannel

log = logging.getLogger("roost.daemon")


class McpRelays:
    """Carries out RelayCommands of one engine, from the moment it is made."""

    def __init__(self, engine: Engine, driver: Driver, limits: Limits, environment: Mapping[str, str]) -> None:
        self._limits = limits
        self._environment = environment
        self._server: McpRelayServer | None = None
        self._tokens: dict[tuple[str, int], str] = {}  # by process and relay
        self._channels: dict[int, tuple[str, RelayChannel]] = {}  # by number: its process, and the connection
        self._last_channel = 0
        self._paused: set[str] = set()
        self.feed: Callable[[RelayEvent], None] = driver.feed
        engine.relay_mcp()
        mine: dict[type, Callable[[Any], None]] = {
            OfferRelay: self._offer,
            WithdrawRelay: self._withdraw,
            TellRelay: self._tell,
            CutRelay: self._cut,
            commands.PauseAgent: self._pause,
            commands.ResumeAgent: self._resume,
            commands.ForgetAgent: self._forget,
        }
        for kind, do in mine.items():
            driver.also(kind, do)

    def close(self) -> None:
        """Ends every connection; nothing is left."""
        if self._server is not None:
            self._server.close()

    # ---- commands

    def _offer(self, command: OfferRelay) -> None:
        process, relay = command.process, command.relay
        try:
            program = self._opened().offer(_Programs(self, process, relay))
        except TransportError as error:
            self.feed(RelayRefused(process, relay, str(error)))
            return
        self._tokens[process, relay] = program.token
        self.feed(RelayOffered(process, relay, program.command, program.args, program.env))

    def _opened(self) -> McpRelayServer:
        if self._server is None:
            from roost.transport.mcp_relay import McpRelayServer, RelayLimits  # few daemons need it

            limits = self._limits
            bounds = RelayLimits(
                line_bytes=limits.line_bytes, queued_bytes=limits.agent_input_bytes, hello_timeout=limits.hello_timeout
            )
            self._server = McpRelayServer(limits=bounds, environment=self._environment)
        return self._server

    def _withdraw(self, command: WithdrawRelay) -> None:
        self._take_back(command.process, command.relay)

    def _take_back(self, process: str, relay: int) -> None:
        token = self._tokens.pop((process, relay), None)
        if token is not None and self._server is not None:
            self._server.withdraw(token)

    def _tell(self, command: TellRelay) -> None:
        found = self._channels.get(command.channel)
        if found is not None:
            found[1].send(command.message)

    def _cut(self, command: CutRelay) -> None:
        found = self._channels.pop(command.channel, None)
        if found is not None:
            log.debug("%s: an MCP server's program is let go: %s", command.process, command.why)
            found[1].close()

    def _pause(self, command: commands.PauseAgent) -> None:
        self._paused.add(command.process)
        for channel in self._of(command.process):
            channel.pause_reading()

    def _resume(self, command: commands.ResumeAgent) -> None:
        self._paused.discard(command.process)
        for channel in self._of(command.process):
            channel.resume_reading()

    def _forget(self, command: commands.ForgetAgent) -> None:
        self._paused.discard(command.process)
        for process, relay in list(self._tokens):
            if process == command.process:
                self._take_back(process, relay)
        for number, (process, channel) in list(self._channels.items()):
            if process == command.process:
                del self._channels[number]
                channel.close()

    def _of(self, process: str) -> list[RelayChannel]:
        return [channel for owner, channel in self._channels.values() if owner == process]

    # ---- programs

    def connected(self, process: str, relay: int, channel: RelayChannel) -> int:
        self._last_channel += 1
        number = self._last_channel
        self._channels[number] = (process, channel)
        if process in self._paused:
            channel.pause_reading()
        log.debug("%s: an MCP server's program has connected as process %s", process, channel.pid)
        self.feed(RelayConnected(process, relay, number))
        return number

    def closed(self, process: str, number: int, fault: RoostError | None) -> None:
        if self._channels.pop(number, None) is not None:
            if fault is not None:
                log.warning("%s: the connection of an MCP server's program was ended: %s", process, fault)
            self.feed(RelayClosed(process, number, None if fault is None else str(fault)))


class _Programs:
    """Hears the programs of one relay. The agent may run several at once."""

    def __init__(self, relays: McpRelays, process: str, relay: int) -> None:
        self._relays = relays
        self._process = process
        self._relay = relay
        self._numbers: dict[RelayChannel, int] = {}

    def connected(self, channel: RelayChannel) -> None:
        self._numbers[channel] = self._relays.connected(self._process, self._relay, channel)

    def received(self, channel: RelayChannel, lines: list[bytes]) -> None:
        number = self._numbers.get(channel)
        if number is not None:
            self._relays.feed(RelayHeard(self._process, number, tuple(lines)))

    def closed(self, channel: RelayChannel, fault: RoostError | None) -> None:
        number = self._numbers.pop(channel, None)
        if number is not None:
            self._relays.closed(self._process, number, fault)
