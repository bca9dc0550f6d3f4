"""What the writer does in quiet moments: compaction of ended turns, clearing away, retention, giving back space.

Everything is cut into steps of a few milliseconds, so that a commit never waits long. Each step is a transaction of its
own and leaves the journal whole.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec

from roost.acp.compact import Compacted
from roost.sidecar.journal import Kind, StoredLaunch, gap
from roost.store.base import Retention, StoreLimits
from roost.store.compaction import TurnCompactor, subject_digest
from roost.store.sqlite_ledger import Ledger
from roost.store.sqlite_rows import (
    ENTRY_COLUMNS,
    KIND_CODES,
    cut,
    entry_id,
    entry_of,
    key_range,
    number_of,
    pack_parts,
    release_blobs,
    store_blob,
)
from roost.store.sqlite_schema import MAX_NUMBER

# Rows per step: two to three milliseconds of work each, measured on two shared cores.
_ROWS: Final = 256
_REMOVED_ROWS: Final = 2_048
_PAGES: Final = 256

# Retention by size lets go of what is within a minute at once: the order of sessions need not be finer than that.
_SAME_AGE: Final = 60.0
# It goes a little further than it has to, so that it is not back with the next entry.
_SPARE: Final = 0.95

# Free pages are given back to the disk when they are a quarter of the file, and worth it.
_FREE_SHARE: Final = 4
_FREE_BYTES: Final = 16 * 1024 * 1024

_GAP: Final = KIND_CODES[Kind.GAP]
_launch_of: Final = msgspec.json.Decoder(StoredLaunch).decode


class Upkeep:
    """Works on the writer's own connection, between its transactions."""

    def __init__(
        self,
        db: sqlite3.Connection,
        ledger: Ledger,
        limits: StoreLimits,
        retention: Retention,
        clock: Callable[[], float],
        pins: Mapping[str, int],
    ) -> None:
        self._db = db
        self._ledger = ledger
        self._limits = limits
        self._retention = retention
        self._clock = clock
        self._pins = pins  # sessions that are being read: what was read of them must not change its place
        self._unfit: set[int] = set()  # sessions whose compaction failed; they stay as they are
        self.compacting: str | None = None  # the session whose entries are being replaced right now
        self.postponed = False  # something was left alone because it is being read

    def steps(self) -> Iterator[None]:
        """One pass over everything."""
        self.postponed = False
        yield from self._compact()
        yield from self._clear_trash()
        yield from self._let_go()
        yield from self._shrink()

    def stored_bytes(self) -> int:
        [page], [count], [free] = (
            self._db.execute(f"PRAGMA {name}").fetchone() for name in ("page_size", "page_count", "freelist_count")
        )
        return int(page * (count - free))

    def _change(self, work: Callable[..., bool], *arguments: Any) -> bool:
        """One transaction."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            result = work(*arguments)
            self._db.execute("COMMIT")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
            raise
        finally:
            self._ledger.forget()
        return result

    # --- compaction ---

    def _compact(self) -> Iterator[None]:
        key = -1
        while True:
            row = self._db.execute(
                "SELECT progress.key, session_id, launch, compacted, settled FROM progress JOIN sessions USING (key)"
                " WHERE turn_open = 0 AND compacted < settled AND progress.key > ? ORDER BY progress.key LIMIT 1",
                (key,),
            ).fetchone()
            if row is None:
                return
            key = row[0]
            if row[1] in self._pins:
                self.postponed = True
            elif key not in self._unfit:
                try:
                    yield from self._compact_session(*row)
                except (ValueError, TypeError, LookupError, RecursionError):
                    self._unfit.add(key)
                    raise

    def _compact_session(self, key: int, session_id: str, launch: str, compacted: int, settled: int) -> Iterator[None]:
        dialect = _launch_of(launch).dialect
        while compacted < settled:
            compactor = TurnCompactor(dialect, lambda digest: self._is_known(key, digest))
            last, has_parts = compacted, False
            while last < settled and compactor.size < self._limits.turn_bytes:
                rows = self._db.execute(
                    f"SELECT {ENTRY_COLUMNS} FROM entries WHERE id > ? AND id <= ? ORDER BY id LIMIT ?",  # noqa: S608
                    (entry_id(key, last), entry_id(key, settled), _ROWS),
                )
                size = compactor.size
                last_row = None
                for row in rows:
                    compactor.feed(entry_of(self._db, session_id, row))
                    has_parts = has_parts or row[5] is not None
                    last_row = row
                    if compactor.size - size > self._limits.page_bytes:
                        break
                rows.close()
                last = settled if last_row is None else number_of(last_row[0])
                yield
            outcome = compactor.finish()
            yield
            if not self._rewrite(key, session_id, outcome, has_parts):
                return
            # What is left to be removed says nothing that is not said again by now, so it may go bit by bit.
            for slice_ in _slices(outcome.removed):
                yield
                self._change(self._remove, key, slice_, has_parts)
            self._change(self._note_compacted, key, last, outcome)
            compacted = last
            yield

    def _is_known(self, key: int, digest: bytes) -> bool:
        found = self._db.execute("SELECT 1 FROM subjects WHERE session = ? AND subject = ?", (key, digest))
        return found.fetchone() is not None

    def _rewrite(self, key: int, session_id: str, outcome: Compacted, has_parts: bool) -> bool:
        """Puts the merged lines in their places; False when the session is gone, or being read."""
        self.compacting = session_id
        try:
            if session_id in self._pins:
                self.postponed = True
                return False
            return self._change(self._change_lines, key, outcome, has_parts)
        finally:
            self.compacting = None

    def _change_lines(self, key: int, outcome: Compacted, has_parts: bool) -> bool:
        if self._db.execute("SELECT 1 FROM progress WHERE key = ?", (key,)).fetchone() is None:
            return False
        for line in outcome.changed:
            id_ = entry_id(key, line.number)
            if line.first:  # it repeats what came before: that has to go in the same moment
                repeated = [run for run in outcome.removed if run[0] < line.number and run[1] >= line.first]
                self._remove(key, repeated, has_parts)
            if has_parts:
                release_blobs(self._db, id_, id_)
            body, parts = line.body, None
            if len(body) > self._limits.blob_bytes:
                payloads, places, body = cut(body, self._limits.blob_bytes)
                parts = pack_parts(places, [store_blob(self._db, payload) for payload in payloads])
            self._db.execute(
                "UPDATE entries SET first = ?, body = ?, parts = ? WHERE id = ?", (line.first, body, parts, id_)
            )
        return True

    def _remove(self, key: int, runs: Sequence[tuple[int, int]], has_parts: bool) -> bool:
        ids = [(entry_id(key, first), entry_id(key, last)) for first, last in runs]
        if has_parts:
            for run in ids:
                release_blobs(self._db, *run)
        self._db.executemany("DELETE FROM entries WHERE id BETWEEN ? AND ?", ids)
        return True

    def _note_compacted(self, key: int, last: int, outcome: Compacted) -> bool:
        if self._db.execute("UPDATE progress SET compacted = ? WHERE key = ?", (last, key)).rowcount:
            self._db.executemany(
                "INSERT OR IGNORE INTO subjects (session, subject) VALUES (?, ?)",
                [(key, subject_digest(subject)) for subject in outcome.subjects],
            )
        return True

    # --- deleted sessions ---

    def _clear_trash(self) -> Iterator[None]:
        while (row := self._db.execute("SELECT session FROM trash LIMIT 1").fetchone()) is not None:
            self._change(self._clear_some, row[0])
            yield

    def _clear_some(self, key: int) -> bool:
        low, high = key_range(key)
        some = self._some(low, high)
        last = some[-1][0] if some else high
        release_blobs(self._db, low, last)
        self._db.execute("DELETE FROM entries WHERE id BETWEEN ? AND ?", (low, last))
        if not some:
            self._db.execute("DELETE FROM trash WHERE session = ?", (key,))
        return bool(some)

    def _some(self, low: int, high: int) -> list[tuple[int, float, int]]:
        """The first entries in a range, no more than a step should take away."""
        some: list[tuple[int, float, int]] = []
        size = 0
        rows = self._db.execute(
            "SELECT id, at, kind, length(body) FROM entries WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?",
            (low, high, _ROWS),
        )
        for id_, at, kind, length in rows:
            some.append((id_, at, kind))
            size += length
            if size > self._limits.page_bytes:
                break
        rows.close()
        return some

    # --- retention ---

    def _let_go(self) -> Iterator[None]:
        if self._retention.max_age is not None:
            until = self._clock() - self._retention.max_age
            due = self._db.execute("SELECT key FROM progress WHERE oldest_at <= ? ORDER BY oldest_at", (until,))
            for (key,) in due.fetchall():
                while self._change(self._prune, key, until, "age"):
                    yield
        bound = self._retention.max_bytes
        if bound is None or self.stored_bytes() <= bound:
            return
        spared: set[int] = set()  # sessions of which nothing may go
        while self.stored_bytes() > bound * _SPARE:
            oldest = self._db.execute(
                "SELECT key, oldest_at FROM progress WHERE oldest_at IS NOT NULL ORDER BY oldest_at LIMIT ?",
                (len(spared) + 1,),
            ).fetchall()
            oldest = [row for row in oldest if row[0] not in spared]
            if not oldest:
                return
            key, at = oldest[0]
            if not self._change(self._prune, key, at + _SAME_AGE, "size"):
                spared.add(key)
            yield

    def _prune(self, key: int, until: float, reason: str) -> bool:
        """Lets go of the oldest entries of one session, some at a time, as far as they are that old; whether it did."""
        low, high = key_range(key)
        row = self._db.execute("SELECT turn_open, settled FROM progress WHERE key = ?", (key,)).fetchone()
        if row is None:
            return False
        is_open, settled = row
        last: tuple[int, float, int] | None = None
        for some in self._some(low, entry_id(key, settled) if is_open else high):
            if some[2] != _GAP:
                if some[1] > until:
                    break
                last = some
        if last is None:
            return False
        number = number_of(last[0])
        mark = gap("", 1, number, reason)
        release_blobs(self._db, low, last[0])
        self._db.execute("DELETE FROM entries WHERE id BETWEEN ? AND ?", (low, last[0]))
        self._db.execute(
            "INSERT INTO entries (id, at, kind, first, body) VALUES (?, ?, ?, ?, ?)",
            (last[0], last[1], _GAP, mark.first, mark.body),
        )
        self._db.execute(
            "UPDATE progress SET oldest_at = (SELECT at FROM entries WHERE id > ? AND id <= ? ORDER BY id LIMIT 1)"
            " WHERE key = ?",
            (last[0], entry_id(key, MAX_NUMBER), key),
        )
        return True

    # --- space ---

    def _shrink(self) -> Iterator[None]:
        [page] = self._db.execute("PRAGMA page_size").fetchone()
        while True:
            [count] = self._db.execute("PRAGMA page_count").fetchone()
            [free] = self._db.execute("PRAGMA freelist_count").fetchone()
            if free * page < _FREE_BYTES or free * _FREE_SHARE < count:
                return
            # As a script: `execute` stops after the first page or two, because the pragma has rows without columns.
            self._db.executescript(f"PRAGMA incremental_vacuum({_PAGES})")
            yield


def _slices(runs: Sequence[tuple[int, int]]) -> Iterator[list[tuple[int, int]]]:
    """The same numbers in lists of a step's length."""
    slice_: list[tuple[int, int]] = []
    count = 0
    for first, last in runs:
        for start in range(first, last + 1, _REMOVED_ROWS):
            end = min(last, start + _REMOVED_ROWS - 1)
            slice_.append((start, end))
            count += end - start + 1
            if count >= _REMOVED_ROWS:
                yield slice_
                slice_, count = [], 0
    if slice_:
        yield slice_
