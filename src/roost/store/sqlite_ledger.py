"""How changes become rows: the bookkeeping of the one writer, inside a transaction that somebody else commits."""

from __future__ import annotations

import itertools
import sqlite3
from typing import Any, Final

from roost.errors import StoreError
from roost.sidecar.journal import (
    AdoptSession,
    Append,
    ChangeSession,
    DeleteSession,
    Entry,
    Kind,
    LearnVersion,
    OpenSession,
    Restore,
    gap,
)
from roost.store.base import StoreLimits
from roost.store.batches import Batch, Lost
from roost.store.prompts import key_and_digest
from roost.store.sqlite_rows import (
    KIND_CODES,
    PROGRESS_FIELDS,
    column_of,
    cut,
    entry_id,
    launch_text,
    options_text,
    pack_parts,
    store_blob,
)
from roost.store.sqlite_schema import MAX_NUMBER

# Sessions whose row is remembered between groups.
_REMEMBERED: Final = 8_192

_INSERT: Final = "INSERT INTO entries (id, at, kind, first, body, parts) VALUES (?, ?, ?, ?, ?, ?)"
_FIND: Final = """SELECT key, last_number, oldest_at IS NOT NULL
    FROM sessions JOIN progress USING (key) WHERE session_id = ?"""
_ENDS: Final = (Kind.TURN, Kind.INTERRUPTED)


class _Row:
    """A session as the writer knows it."""

    __slots__ = ("has_entries", "key", "last", "progress", "session")

    def __init__(self, key: int, last: int, has_entries: int) -> None:
        self.key = key
        self.last = last
        self.has_entries = bool(has_entries)
        self.progress: dict[str, Any] = {}  # columns to be written
        self.session: dict[str, Any] = {}


class Ledger:
    """Takes batches one by one; `flush` writes what was put off."""

    def __init__(self, db: sqlite3.Connection, limits: StoreLimits) -> None:
        self._db = db
        self._blob_bytes = limits.blob_bytes
        self._rows: dict[str, _Row | None] = {}
        self._dirty: dict[int, _Row] = {}
        self._inserts: list[tuple[Any, ...]] = []
        self.ignored = 0  # changes of sessions that are not there

    def forget(self) -> None:
        """The transaction was rolled back, or somebody else changed rows."""
        self._rows.clear()
        self._dirty.clear()
        self._inserts.clear()

    # --- what is refused ---

    def fault(self, batch: Batch) -> StoreError | None:
        """What in the batch contradicts what is stored."""
        lasts: dict[str, int | None] = {}  # as they will be
        for change in batch.changes:
            if type(change) is Append:
                session_id = change.entry.session_id
                first = last = change.entry.number
            elif isinstance(change, Lost):
                session_id, first, last = change.session_id, change.first, change.last
            elif isinstance(change, Restore):
                session_id = change.session_id
                numbers = [entry.number for entry in change.entries]
                if not numbers:
                    continue
                known = self._last(session_id, lasts)
                if known is None or numbers[0] <= known or numbers[-1] > MAX_NUMBER:
                    return _refused(f"entries of session {session_id} cannot be restored after {known}")
                if any(later <= earlier for earlier, later in itertools.pairwise(numbers)):
                    return _refused(f"entries of session {session_id} are not in order")
                lasts[session_id] = numbers[-1]
                continue
            elif isinstance(change, OpenSession):
                if self._last(change.session.session_id, lasts) is not None:
                    return _refused(f"session {change.session.session_id} is there already")
                lasts[change.session.session_id] = 0
                continue
            else:
                if isinstance(change, DeleteSession):
                    lasts[change.session_id] = None
                continue
            known = self._last(session_id, lasts)
            if known is None:
                continue
            if first != known + 1 or last > MAX_NUMBER:
                return _refused(f"entry {first} of session {session_id} does not follow {known}")
            lasts[session_id] = last
        return None

    def _last(self, session_id: str, lasts: dict[str, int | None]) -> int | None:
        if session_id in lasts:
            return lasts[session_id]
        row = self._row(session_id)
        return None if row is None else row.last

    # --- what is done ---

    def apply(self, batch: Batch) -> None:
        for change in batch.changes:
            if type(change) is Append:
                self._append(change.entry, batch.at)
            elif isinstance(change, ChangeSession):
                self._change(change, batch.at)
            elif isinstance(change, OpenSession):
                self._open(change, batch.at)
            elif isinstance(change, DeleteSession):
                self._delete(change)
            elif isinstance(change, Restore):
                for entry in change.entries:
                    self._append(entry, batch.at, touch=False)
            elif isinstance(change, AdoptSession):
                row = self._row(change.session_id)
                if row is not None:
                    row.session["owner"] = change.owner
                    self._dirty[row.key] = row
            elif isinstance(change, LearnVersion):
                self._learn(change)
            elif isinstance(change, Lost):
                self._append(gap(change.session_id, change.first, change.last, "lost"), batch.at)

    def flush(self) -> None:
        """Before the commit: everything that was put off, session by session."""
        self._insert()
        for row in self._dirty.values():
            _update(self._db, "progress", row.key, row.progress)
            _update(self._db, "sessions", row.key, row.session)
            row.progress, row.session = {}, {}
        self._dirty.clear()
        if len(self._rows) > _REMEMBERED:
            self._rows.clear()

    def _append(self, entry: Entry, at: float, *, touch: bool = True) -> None:
        row = self._row(entry.session_id)
        if row is None:
            self.ignored += 1
            return
        number, kind, body, parts = entry.number, entry.kind, entry.body, None
        if len(body) > self._blob_bytes:
            payloads, places, body = cut(body, self._blob_bytes)
            parts = pack_parts(places, [store_blob(self._db, payload) for payload in payloads])
        self._inserts.append((entry_id(row.key, number), entry.at or at, KIND_CODES[kind], entry.first, body, parts))
        row.last = number
        row.progress["last_number"] = number
        if touch:
            row.progress["updated_at"] = at
        self._dirty[row.key] = row
        if not row.has_entries and kind is not Kind.GAP:
            row.has_entries = True
            row.progress["oldest_at"] = entry.at or at
        if kind is Kind.PROMPT:
            self._remember_prompt(row, entry)
        elif kind in _ENDS:
            row.progress["settled"] = number

    def _remember_prompt(self, row: _Row, entry: Entry) -> None:
        found = key_and_digest(entry.body)
        if found is not None:
            self._db.execute(
                "INSERT OR IGNORE INTO prompts (session, key, number, digest) VALUES (?, ?, ?, ?)",
                (row.key, found[0], entry.number, found[1]),
            )

    def _change(self, change: ChangeSession, at: float) -> None:
        row = self._row(change.session_id)
        if row is None:
            self.ignored += 1
            return
        for field, value in change.fields.items():
            (row.progress if field in PROGRESS_FIELDS else row.session)[field] = column_of(field, value)
        row.progress["updated_at"] = at
        self._dirty[row.key] = row

    def _open(self, change: OpenSession, at: float) -> None:
        session = change.session
        made = session.created_at or at
        key = self._db.execute(
            "INSERT INTO sessions (session_id, live_id, owner, launch, title, modes, config_options, capabilities,"
            " info, usage, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                session.session_id,
                session.live_id,
                session.owner,
                launch_text(session.launch),
                session.title,
                session.modes,
                options_text(session.config_options),
                session.capabilities,
                session.info,
                session.usage,
                made,
            ),
        ).lastrowid
        assert key is not None
        self._db.execute(
            "INSERT INTO progress (key, last_number, updated_at, turn_open, interrupted, closed, settled, compacted)"
            " VALUES (?, 0, ?, ?, ?, ?, 0, 0)",
            (key, session.updated_at or at, session.turn_open, session.interrupted, session.closed),
        )
        self._rows[session.session_id] = _Row(key, 0, 0)

    def _delete(self, change: DeleteSession) -> None:
        row = self._row(change.session_id)
        if row is None:
            self.ignored += 1
            return
        self._insert()
        self._dirty.pop(row.key, None)
        for table, column in (
            ("sessions", "key"),
            ("progress", "key"),
            ("prompts", "session"),
            ("subjects", "session"),
        ):
            self._db.execute(f"DELETE FROM {table} WHERE {column} = ?", (row.key,))  # noqa: S608  # names of ours
        self._db.execute("INSERT INTO trash (session) VALUES (?)", (row.key,))
        self._rows[change.session_id] = None

    def _learn(self, change: LearnVersion) -> None:
        """A place of its own at the end, and not more places than asked for."""
        self._db.execute("DELETE FROM versions WHERE digest = ?", (change.digest,))
        self._db.execute("INSERT INTO versions (digest, version) VALUES (?, ?)", (change.digest, change.version))
        self._db.execute(
            "DELETE FROM versions WHERE place <= (SELECT place FROM versions ORDER BY place DESC LIMIT 1 OFFSET ?)",
            (change.bound,),
        )

    def _row(self, session_id: str) -> _Row | None:
        try:
            return self._rows[session_id]
        except KeyError:
            found = self._db.execute(_FIND, (session_id,)).fetchone()
            row = self._rows[session_id] = None if found is None else _Row(*found)
            return row

    def _insert(self) -> None:
        if self._inserts:
            self._db.executemany(_INSERT, self._inserts)
            self._inserts = []


def _update(db: sqlite3.Connection, table: str, key: int, columns: dict[str, Any]) -> None:
    if columns:
        names = ", ".join([f"{name} = ?" for name in columns])
        db.execute(f"UPDATE {table} SET {names} WHERE key = ?", (*columns.values(), key))  # noqa: S608  # names of ours


def _refused(text: str) -> StoreError:
    return StoreError(f"refused: {text}", "refused")
