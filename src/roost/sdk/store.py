"""Where an agent keeps its sessions: the interface, and a store that lasts as long as the process.

A session is a record and its history. The history is what a replay sends: one `session/update` payload per message,
tool call, terminal and plan, folded, not the chunks they once came in.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from typing import Any, Final, Protocol

from msgspec import Struct, field

log = logging.getLogger("roost.store")


class SessionRecord(Struct, kw_only=True, omit_defaults=True):
    """What is known about a session without its history."""

    session_id: str
    cwd: str
    additional_directories: list[str] = field(default_factory=list)
    """The roots of its latest attachment, as a list tells them; resuming does not bring them back (SES-21)."""
    owner: str | None = None
    """Who may see it, where one agent serves several users."""
    created_at: str = ""
    updated_at: str = ""
    """RFC 3339, UTC, of one length, so that order of time is order of text (SES-15)."""
    title: str | None = None
    epoch: int = 0
    """How often it was attached: makes ids that are never used again (TRM-2)."""
    config: dict[str, Any] = field(default_factory=dict)
    """Values of config options by id."""
    data: dict[str, Any] = field(default_factory=dict)
    """The author's own, any JSON."""


class StoredSession(Struct, kw_only=True):
    """A whole session. `history` holds JSON texts of session updates."""

    record: SessionRecord
    history: list[bytes] = field(default_factory=list)


class SessionStore(Protocol):
    """Keeps sessions. Each call is one step: done, or failed with StoreError and nothing changed."""

    async def save(self, session: StoredSession) -> None:
        """Keeps it, in place of what was kept under its id. Calls for one session come one at a time."""

    async def load(self, session_id: str) -> StoredSession | None:
        """The session; None when there is none of that id."""

    async def delete(self, session_id: str) -> None:
        """Forgets it. Does nothing when there is none of that id (SES-28)."""

    async def records(self) -> list[SessionRecord]:
        """All of them, in any order."""


DEFAULT_MAX_SESSIONS: Final = 1000
DEFAULT_MAX_BYTES: Final = 256 * 1024 * 1024  # of all histories together


class MemorySessionStore:
    """Sessions that end with the process. Beyond a bound the ones that were not saved for longest are forgotten."""

    def __init__(self, *, max_sessions: int = DEFAULT_MAX_SESSIONS, max_bytes: int = DEFAULT_MAX_BYTES) -> None:
        self._max_sessions = max_sessions
        self._max_bytes = max_bytes
        self._bytes = 0
        self._sessions: OrderedDict[str, StoredSession] = OrderedDict()

    async def save(self, session: StoredSession) -> None:
        self._drop(session.record.session_id)
        self._sessions[session.record.session_id] = session
        self._bytes += _size(session)
        while len(self._sessions) > self._max_sessions or (self._bytes > self._max_bytes and len(self._sessions) > 1):
            oldest = next(iter(self._sessions))
            self._drop(oldest)
            log.warning("session %s is forgotten: there are more than this store keeps", oldest)

    async def load(self, session_id: str) -> StoredSession | None:
        return self._sessions.get(session_id)

    async def delete(self, session_id: str) -> None:
        self._drop(session_id)

    async def records(self) -> list[SessionRecord]:
        return [session.record for session in self._sessions.values()]

    def _drop(self, session_id: str) -> None:
        session = self._sessions.pop(session_id, None)
        if session is not None:
            self._bytes -= _size(session)


def _size(session: StoredSession) -> int:
    return sum(map(len, session.history))
