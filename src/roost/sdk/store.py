"""Where an agent keeps its sessions: the interface, and a store that lasts as long as the process.

A session is a record and its history. The history is what a replay sends: one `session/update` payload per message,
tool call, terminal and plan, folded, not the chunks they once came in.
"""

from __future__ import annotations

from typing import Any, Protocol

from msgspec import Struct, field


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


class MemorySessionStore:
    """Sessions that end with the process."""

    def __init__(self) -> None:
        self._sessions: dict[str, StoredSession] = {}

    async def save(self, session: StoredSession) -> None:
        self._sessions[session.record.session_id] = session

    async def load(self, session_id: str) -> StoredSession | None:
        return self._sessions.get(session_id)

    async def delete(self, session_id: str) -> None:
        self._sessions.pop(session_id, None)

    async def records(self) -> list[SessionRecord]:
        return [session.record for session in self._sessions.values()]
