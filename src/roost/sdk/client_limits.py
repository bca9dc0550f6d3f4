"""The bounds of a client: each has a name and a default, and reaching it is told."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from roost.acp.view import DEFAULT_VIEW_LIMITS, ViewLimits
from roost.sdk.limits import DEFAULT_CONNECTION_LIMITS, ConnectionLimits


class ClientLimits(Struct, frozen=True):
    """What a client keeps for an agent that is fast, silent or hostile, and how long it waits. Ours, all of them."""

    start_timeout: float = 60.0  # seconds until `initialize` must be answered; a first `npx` downloads the agent
    negotiation_timeout: float = 30.0  # as above, the first time: then it is started again and asked for version 1
    exit_grace: float = 1.0  # seconds to learn an exit code, once the agent has closed the connection
    waiting_updates: int = 1024  # not consumed yet by one reader of a session; then reading pauses
    waiting_update_bytes: int = 8 * 1024 * 1024  # as above, in bytes of the messages
    unread_factor: int = 16  # so many times either of the two, and the reader is told LimitError
    early_updates: int = 1024  # for sessions that a call in flight is about to give us (SES-4)
    early_update_bytes: int = 8 * 1024 * 1024  # as above, in bytes of the messages
    list_pages: int = 10_000  # of one listing of sessions
    url_elicitations: int = 1024  # whose completion is awaited; the oldest is forgotten
    mcp_connections: int = 256  # open at once, to servers this client hosts
    document_chars: int = 64 * 1024 * 1024  # texts of the open documents of one suggestion session
    view: ViewLimits = DEFAULT_VIEW_LIMITS
    connection: ConnectionLimits = DEFAULT_CONNECTION_LIMITS


DEFAULT_CLIENT_LIMITS: Final = ClientLimits()
