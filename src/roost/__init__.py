"""Roost: a home for coding agents, and the Python library for the Agent Client Protocol.

Names are loaded when they are first used, so that importing Roost costs next to nothing.
"""

from __future__ import annotations

from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "host": "roost.host",
    "RoostError": "roost.errors",
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
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'roost' has no attribute {name!r}")
    from importlib import import_module

    module = import_module(home)
    value = module if home.rpartition(".")[2] == name else getattr(module, name)
    globals()[name] = value
    return value
