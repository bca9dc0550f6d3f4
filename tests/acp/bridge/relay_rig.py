"""A v1 agent whose driver has programs that relay a client's own MCP servers."""

from __future__ import annotations

import json
from typing import Any

from roost.acp.bridge.mcp_events import McpRelayEvent, McpRelaySaid, McpRelayWanted
from roost.acp.bridge.mcp_relays import McpRelays

from .bridge_rig import Json, line
from .rig import CWD, AgentRig

CLOCK = {"type": "acp", "name": "clock", "serverId": "srv-1"}


class RelayRig(AgentRig):
    """A rig whose driver has programs for relays; `said` and `heard` as the agent's MCP client behind one of them."""

    def __init__(self, agent: Json | None = None, **options: Any) -> None:
        super().__init__(**{"relays_mcp": True, **options})
        self.told: list[McpRelayEvent] = []
        self.answered = self.initialize({"protocolVersion": 1, "agentCapabilities": agent or {}})

    @property
    def mcp(self) -> McpRelays:
        assert self.bridge.mcp is not None
        return self.bridge.mcp

    def gather(self) -> list[McpRelayEvent]:
        """What the driver is to do with its programs."""
        events = [event for event in (*self.events, *self.bridge.events()) if isinstance(event, McpRelayEvent)]
        self.events.clear()
        return events

    def offer(self) -> list[int]:
        """Offers a program for every relay that is wanted."""
        wanted = [event for event in self.gather() if isinstance(event, McpRelayWanted)]
        for event in wanted:
            self.mcp.offered(event.relay, "/bin/relay", ["-x"], {"KEY": event.name})
        return [event.relay for event in wanted]

    def open_with(self, *servers: Json, session_id: str = "s1") -> list[int]:
        self.ask("session/new", {"cwd": CWD, "mcpServers": list(servers)})
        relays = self.offer()
        self.reply(self.asked()["id"], {"sessionId": session_id})
        self.north()
        return relays

    def connect(self, channel: int = 1, relay: int = 1, connection_id: str = "conn-1") -> None:
        self.mcp.connected(channel, relay)
        (request,) = self.north()
        assert request["method"] == "mcp/connect"
        self.answer(request["id"], {"connectionId": connection_id})

    def say(self, message: Json, channel: int = 1) -> None:
        self.mcp.said(channel, line(message))

    def heard(self, channel: int = 1) -> list[Json]:
        """What the program is to be told."""
        events = self.gather()
        assert all(isinstance(event, McpRelaySaid) and event.channel == channel for event in events), events
        return [json.loads(event.message) for event in events if isinstance(event, McpRelaySaid)]

    def from_client(self) -> Json:
        (message,) = self.north()
        return message


def connected(**options: Any) -> RelayRig:
    rig = RelayRig(**options)
    rig.open_with(CLOCK)
    rig.connect()
    rig.gather()
    return rig
