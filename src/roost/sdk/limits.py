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


class AgentLimits(Struct, frozen=True):
    """What one connection of an agent keeps and waits for. The defaults are ours."""

    sessions: int = 256  # attached at once; the next `session/new` is refused
    queued_prompts: int = 16  # waiting in one session behind the one that runs; the next is refused (PRM-14)
    page_sessions: int = 50  # sessions in one answer to `session/list`
    nes_sessions: int = 64  # open at once; the next `nes/start` is refused
    documents: int = 1024  # open in one NES session
    document_bytes: int = 64 * 1024 * 1024  # of one NES session, all documents together
    mcp_connections: int = 64  # of one session
    cancel_grace: float = 1.0  # seconds a cancelled turn gets before the session goes on without it (PRM-16)


DEFAULT_AGENT_LIMITS: Final = AgentLimits()
