"""Stateful, pure translators between ACP v1 and v2. v1 lives here and nowhere further in.

    from roost.acp import bridge
    bridge.V1AgentBridge()     # a v1 agent seen as v2
    bridge.V1ClientBridge()    # a v2 agent seen by a v1 client
    bridge.V2AgentBridge()     # a v2 agent with the client's own MCP servers
    bridge.first_trial()       # which of the two versions an agent speaks

Each name is imported when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from roost.acp.bridge.events import (
        BridgeEvent,
        CommandRun,
        FileWrite,
        LoggedOut,
        Note,
        ServiceDecided,
        ServiceRequest,
        ServiceWithdrawn,
        SessionClosed,
        SessionOpened,
    )
    from roost.acp.bridge.limits import BridgeLimits
    from roost.acp.bridge.losses import LOSSES, Loss, Losses
    from roost.acp.bridge.mcp_events import McpRelayCut, McpRelayEnded, McpRelaySaid, McpRelayWanted
    from roost.acp.bridge.negotiation import GiveUp, Speak, Trial, answered_version, first_trial
    from roost.acp.bridge.v1_agent import V1AgentBridge
    from roost.acp.bridge.v1_client import V1ClientBridge
    from roost.acp.bridge.v2_agent import V2AgentBridge

_HOMES = {
    "BridgeEvent": "events",
    "CommandRun": "events",
    "FileWrite": "events",
    "LoggedOut": "events",
    "McpRelayCut": "mcp_events",
    "McpRelayEnded": "mcp_events",
    "McpRelaySaid": "mcp_events",
    "McpRelayWanted": "mcp_events",
    "Note": "events",
    "ServiceDecided": "events",
    "ServiceRequest": "events",
    "ServiceWithdrawn": "events",
    "SessionClosed": "events",
    "SessionOpened": "events",
    "BridgeLimits": "limits",
    "LOSSES": "losses",
    "Loss": "losses",
    "Losses": "losses",
    "GiveUp": "negotiation",
    "Speak": "negotiation",
    "Trial": "negotiation",
    "answered_version": "negotiation",
    "first_trial": "negotiation",
    "V1AgentBridge": "v1_agent",
    "V1ClientBridge": "v1_client",
    "V2AgentBridge": "v2_agent",
}

__all__ = [
    "LOSSES",
    "BridgeEvent",
    "BridgeLimits",
    "CommandRun",
    "FileWrite",
    "GiveUp",
    "LoggedOut",
    "Loss",
    "Losses",
    "McpRelayCut",
    "McpRelayEnded",
    "McpRelaySaid",
    "McpRelayWanted",
    "Note",
    "ServiceDecided",
    "ServiceRequest",
    "ServiceWithdrawn",
    "SessionClosed",
    "SessionOpened",
    "Speak",
    "Trial",
    "V1AgentBridge",
    "V1ClientBridge",
    "V2AgentBridge",
    "answered_version",
    "first_trial",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = globals()[name] = getattr(import_module(f"{__name__}.{home}"), name)
    return value
