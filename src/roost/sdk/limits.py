"""The bounds of the library: each has a name, a default, and a typed error when it is reached."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from roost.rpc.limits import DEFAULT_LIMITS, PeerLimits


class ConnectionLimits(Struct, frozen=True):
    """What a connection keeps for a peer that is slow, silent or hostile. The defaults are ours."""

    outgoing_bytes: int = (
        64 * 1024 * 1024
    )  # waiting for a peer that does not read: `notify` raises, at 2 times the connection ends
    waiting_notifications: int = 1024  # for `async def` handlers: reading pauses; at 16 times it the connection ends
    close_grace: float = 2.0  # seconds that handlers get to answer, and what is queued to be read, at the end
    peer: PeerLimits = DEFAULT_LIMITS


DEFAULT_CONNECTION_LIMITS: Final = ConnectionLimits()
