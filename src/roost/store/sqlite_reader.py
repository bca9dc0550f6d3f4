"""Reading the journal, beside the writer and off the loop: a few threads, each with a connection of its own."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, TypeVar

from roost.errors import StoreError
from roost.sidecar.journal import Entry, Holder, StoredPrompt, StoredSession
from roost.store.base import IMPORTING, Place, StoreLimits
from roost.store.sqlite_errors import explain
from roost.store.sqlite_rows import ENTRY_COLUMNS, SESSION_COLUMNS, entry_id, entry_of, key_range, launch_of, session_of
from roost.store.sqlite_schema import NAME, connect

T = TypeVar("T")

# One long history being read must not keep a short question waiting; more threads only wait for the interpreter.
_THREADS: Final = 2
# The first page of a history is small, so that its reader has something at once.
_FIRST_PAGE: Final = 64
# Older versions of SQLite take no more than 999 parameters.
_NAMES_AT_ONCE: Final = 500

_SESSIONS: Final = f"SELECT {SESSION_COLUMNS} FROM sessions JOIN progress USING (key)"  # noqa: S608  # names of ours
_ENTRIES: Final = f"SELECT {ENTRY_COLUMNS} FROM entries WHERE id > ? AND id <= ? ORDER BY id LIMIT ?"  # noqa: S608


class Reader:
    """Questions, each a coroutine; StoreError names the file."""

    def __init__(self, path: Path, limits: StoreLimits) -> None:
        self._path = path
        self._limits = limits
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="roost-journal-read")
        self._local = threading.local()
        self._connections: list[sqlite3.Connection] = []
        self._is_closed = False

    def close(self) -> None:
        """Waits for the questions that were asked, at most a page each."""
        self._is_closed = True
        self._pool.shutdown(wait=True)
        for connection in self._connections:
            connection.close()

    async def _ask(self, question: Callable[[sqlite3.Connection], T]) -> T:
        if self._is_closed:
            raise StoreError(f"{self._path} is closed", "closed")
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, self._answer, question)
        except (sqlite3.Error, OSError) as error:
            raise explain(self._path, error) from error

    def _answer(self, question: Callable[[sqlite3.Connection], T]) -> T:
        db: sqlite3.Connection | None = getattr(self._local, "db", None)
        if db is None:
            db = self._local.db = connect(self._path, "ro", self._limits.busy_timeout)
            self._connections.append(db)
        try:
            return question(db)
        finally:
            if db.in_transaction:
                db.execute("COMMIT")

    # --- sessions ---

    async def session(self, session_id: str) -> StoredSession | None:
        found = await self._sessions(f"{_SESSIONS} WHERE session_id = ?", session_id)
        return found[0] if found else None

    async def sessions(self, owner: str | None, after: Place | None, limit: int) -> list[StoredSession]:
        conditions = ["owner <> ?" if owner is None else "owner = ?"]
        values: list[Any] = [IMPORTING if owner is None else owner]
        if after is not None:
            conditions.append("(created_at, session_id) < (?, ?)")
            values += after
        where = f" WHERE {' AND '.join(conditions)}"
        order = " ORDER BY created_at DESC, session_id DESC LIMIT ?"
        return await self._sessions(_SESSIONS + where + order, *values, max(0, min(limit, self._limits.sessions_page)))

    async def holders(self, names: Collection[str]) -> list[Holder]:
        return await self._ask(lambda db: _holders(db, [name for name in names if _is_storable(name)]))

    async def _sessions(self, query: str, *values: Any) -> list[StoredSession]:
        try:
            rows = await self._ask(lambda db: db.execute(query, values).fetchall())
        except UnicodeEncodeError:
            return []  # a lone surrogate: nothing stored has one
        return [session_of(row) for row in rows]

    async def last_number(self, session_id: str) -> int:
        query = "SELECT last_number FROM progress JOIN sessions USING (key) WHERE session_id = ?"
        rows = await self._rows(query, session_id)
        return int(rows[0][0]) if rows else 0

    async def prompt_by_key(self, session_id: str, key: str) -> StoredPrompt | None:
        query = """SELECT number, digest FROM prompts JOIN sessions ON sessions.key = prompts.session
            WHERE session_id = ? AND prompts.key = ?"""
        rows = await self._rows(query, session_id, key)
        return StoredPrompt(*rows[0]) if rows else None

    async def versions(self) -> dict[str, int]:
        return dict(await self._rows("SELECT digest, version FROM versions ORDER BY place"))

    async def _rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        try:
            return await self._ask(lambda db: db.execute(query, values).fetchall())
        except UnicodeEncodeError:
            return []

    # --- entries ---

    async def page(self, session_id: str, after: int, limit: int | None, *, is_first: bool) -> list[Entry]:
        """Some entries after a number; an empty list is the end."""
        count = _FIRST_PAGE if is_first else self._limits.page_entries
        if limit is not None:
            count = min(count, limit)

        def question(db: sqlite3.Connection) -> list[Entry]:
            db.execute("BEGIN")  # one view of entries and blobs
            found = db.execute("SELECT key FROM sessions WHERE session_id = ?", (session_id,)).fetchone()
            if found is None:
                return []
            entries: list[Entry] = []
            size = 0
            for row in db.execute(_ENTRIES, (entry_id(found[0], max(after, 0)), key_range(found[0])[1], count)):
                entry = entry_of(db, session_id, row)
                entries.append(entry)
                size += len(entry.body)
                if size >= self._limits.page_bytes:
                    break
            return entries

        try:
            return await self._ask(question)
        except UnicodeEncodeError:
            return []


def _holders(db: sqlite3.Connection, names: list[str]) -> list[Holder]:
    found = []
    for start in range(0, len(names), _NAMES_AT_ONCE):
        part = names[start : start + _NAMES_AT_ONCE]
        places = ",".join("?" * len(part))
        for column in ("live_id", NAME):  # each has an index
            query = f"SELECT {column}, owner, launch FROM sessions WHERE {column} IN ({places})"  # noqa: S608
            found += [
                Holder(name, owner, launch_of(launch).agent_type) for name, owner, launch in db.execute(query, part)
            ]
    return found


def _is_storable(name: str) -> bool:
    """Whether it has no lone surrogate: nothing stored has one."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
