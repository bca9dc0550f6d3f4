"""A journal without a file, for the rig."""

from __future__ import annotations

import json
from typing import Any

from msgspec.structs import replace

from roost.sidecar.journal import (
    Append,
    Change,
    ChangeSession,
    DeleteSession,
    Entry,
    Kind,
    LearnVersion,
    OpenSession,
    StoredPrompt,
    StoredSession,
)
from roost.sidecar.naming import id_in


class Keyed(dict[str, Any]):
    """By key; a session can be found by its id alone, too, which does for tests of one caller."""

    def _key(self, key: object) -> str:
        return next((known for known in self if key in (known, id_in(known))), "")

    def __getitem__(self, key: str) -> Any:
        return super().__getitem__(self._key(key))

    def __setitem__(self, key: str, value: Any) -> None:
        super().__setitem__(self._key(key) or key, value)

    def __contains__(self, key: object) -> bool:
        return bool(self._key(key))


class Shelf:
    """A journal as plain as can be; outlives the rig, as a file outlives a daemon."""

    def __init__(self) -> None:
        self.sessions: dict[str, StoredSession] = Keyed()
        self.entries: dict[str, list[Entry]] = Keyed()
        self.keys: dict[tuple[str, str], StoredPrompt] = {}
        self.versions: dict[str, int] = {}
        self.opened = 0.0  # its clock
        self.failure: str | None = None
        self.stuck = False
        self.waiting: list[int] = []

    def take(self, changes: tuple[Change, ...]) -> None:
        for change in changes:
            match change:
                case OpenSession(session=session):
                    assert session.session_id not in self.sessions
                    self.opened += 1.0
                    self.sessions[session.session_id] = replace(session, created_at=self.opened, updated_at=self.opened)
                    self.entries[session.session_id] = []
                case ChangeSession(session_id=session_id, fields=fields) if session_id in self.sessions:
                    self.sessions[session_id] = replace(self.sessions[session_id], **fields)
                case Append(entry=entry) if entry.session_id in self.sessions:
                    session = self.sessions[entry.session_id]
                    assert entry.number == session.last_number + 1, "numbers have no holes"
                    self.sessions[entry.session_id] = replace(session, last_number=entry.number)
                    self.entries[entry.session_id].append(entry)
                    if entry.kind is Kind.PROMPT and (key := json.loads(entry.body)["key"]) is not None:
                        self.keys.setdefault((entry.session_id, key), StoredPrompt(entry.number, b""))
                case LearnVersion(digest=digest, version=version):
                    self.versions.pop(digest, None)
                    self.versions[digest] = version
                case DeleteSession(session_id=session_id):
                    self.sessions.pop(session_id, None)
                    self.entries.pop(session_id, None)

    def kinds(self, session_id: str) -> list[str]:
        return [entry.kind.value for entry in self.entries[session_id]]
