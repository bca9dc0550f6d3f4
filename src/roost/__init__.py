"""Roost: a home for coding agents, and the Python library for the Agent Client Protocol.

Names are loaded when they are first used, so that importing Roost costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from roost import host
    from roost.errors import (
        AgentExited,
        CapabilityError,
        CodecError,
        ConfigError,
        ConnectionClosed,
        LimitError,
        LocalProtocolError,
        ProcessError,
        RemoteProtocolError,
        RoostError,
        RpcError,
        SidecarError,
        StoreError,
        TransportError,
        UnsupportedVersion,
    )
    from roost.sdk.agent import Agent
    from roost.sdk.connect import connect
    from roost.sdk.turn import Turn

__version__ = "0.1.0"

_HOMES = {
    "host": "roost.host",
    "Agent": "roost.sdk.agent",
    "Turn": "roost.sdk.turn",
    "connect": "roost.sdk.connect",
    "RoostError": "roost.errors",
    "AgentExited": "roost.errors",
    "CapabilityError": "roost.errors",
    "CodecError": "roost.errors",
    "LimitError": "roost.errors",
    "LocalProtocolError": "roost.errors",
    "RemoteProtocolError": "roost.errors",
    "RpcError": "roost.errors",
    "SidecarError": "roost.errors",
    "ConfigError": "roost.errors",
    "TransportError": "roost.errors",
    "ConnectionClosed": "roost.errors",
    "ProcessError": "roost.errors",
    "StoreError": "roost.errors",
    "UnsupportedVersion": "roost.errors",
}

__all__ = [
    "Agent",
    "AgentExited",
    "CapabilityError",
    "CodecError",
    "ConfigError",
    "ConnectionClosed",
    "LimitError",
    "LocalProtocolError",
    "ProcessError",
    "RemoteProtocolError",
    "RoostError",
    "RpcError",
    "SidecarError",
    "StoreError",
    "TransportError",
    "Turn",
    "UnsupportedVersion",
    "__version__",
    "connect",
    "host",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'roost' has no attribute {name!r}")
    from importlib import import_module

    module = import_module(home)
    value = module if name == "host" else getattr(module, name)
    globals()[name] = value
    return value
