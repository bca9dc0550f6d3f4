"""The one thread that writes the journal: groups in, durable groups out, and order in quiet moments.

Whatever is queued when the thread looks becomes one transaction. After a failure the batches are held, in order, and
tried again: when somebody waits for one, and from time to time.
"""

from __future__ import annotations

import contextlib
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Final, TypeVar

from roost.errors import StoreError
from roost.store.base import Retention, StoreLimits
from roost.store.batches import Batch, Overflow, Report
from roost.store.location import FileLock
from roost.store.sqlite_errors import explain, is_storage_fault
from roost.store.sqlite_ledger import Ledger
from roost.store.sqlite_schema import open_journal
from roost.store.sqlite_upkeep import Upkeep

T = TypeVar("T")

# One transaction takes no more groups than come to this many changes, so that a commit has an end.
_AT_ONCE: Final = 4_096

# What a commit writes beside its changes: the pages its rows are on. Only to guess when the log is long.
_COMMIT_BYTES: Final = 16 * 1024

# When the store is busy all the time, order is kept in steps between its commits after this long.
_UPKEEP_PATIENCE: Final = 2.0
# Without any write for so long the log is worked into the file, however short it is.
_REST: Final = 5.0
# Old entries are looked for at least this often.
_RETENTION_PERIOD: Final = 600.0
_LONGEST_RETRY: Final = 60.0

_Group = list[Batch]


class _Call:
    """Something to be done by the thread, in its turn."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self.work = work
        self.future: Future[Any] = Future()


class Writer:
    """Owns the lock, the connection and the thread. All methods but those marked are for the loop's thread."""

    def __init__(
        self,
        path: Path,
        limits: StoreLimits,
        retention: Retention,
        clock: Callable[[], float],
        pins: Mapping[str, int],
        report: Callable[[Report], None],
        *,
        check: bool,
    ) -> None:
        self._path = path
        self._limits = limits
        self._retention = retention
        self._clock = clock
        self._pins = pins
        self._report = report  # called by the thread
        self._check = check
        self._queue: queue.SimpleQueue[_Group | _Call | None] = queue.SimpleQueue()
        self._opened = _Call(self._open)
        self._thread = threading.Thread(target=self._run, name="roost-journal", daemon=True)
        self._held: list[Batch] = []
        self._failure: StoreError | None = None
        self._retry_grace = limits.retry_grace
        self._retry_at = 0.0
        self.log_bytes = 0  # about
        self.stored_bytes = 0  # when order was kept last
        self._page_bytes = 0
        self._steps: Iterator[None] | None = None  # of the pass over everything that is under way
        self._due_since = time.monotonic()  # when something to be put in order was left; 0.0: nothing was
        self.commits = 0

    def start(self) -> Future[None]:
        """The thread, and with it the file. The future says whether it could be opened; if not, the thread is over."""
        self._thread.start()
        return self._opened.future

    def submit(self, group: _Group) -> None:
        self._queue.put(group)

    def call(self, work: Callable[[], T]) -> Future[T]:
        """Has something done by the thread, after everything submitted before."""
        call = _Call(work)
        self._queue.put(call)
        return call.future

    def stop(self) -> Future[None]:
        """Writes what is queued, closes the file and ends the thread."""
        future = self.call(self._close)
        self._queue.put(None)
        return future

    @property
    def compacting(self) -> str | None:
        """The session whose entries are being replaced at this moment."""
        return self._upkeep.compacting

    # --- the thread ---

    def _run(self) -> None:
        self._answer(self._opened)
        if self._opened.future.exception() is not None:
            return
        waiting: _Group | _Call | None = None
        while True:
            try:
                item = waiting or self._queue.get(timeout=self._patience())
            except queue.Empty:
                self._rest()
                continue
            waiting = None
            if item is None:
                return
            if isinstance(item, _Call):
                self._answer(item)
                continue
            batches, waiting = self._gather(item)
            self._write(batches)
            self._keep_pace()

    def _patience(self) -> float:
        """How long to wait for something to write before something else is done."""
        if self._failure is not None:
            return max(0.0, self._retry_at - time.monotonic())
        if self._due_since:
            return self._limits.idle_grace
        if self._upkeep.postponed:
            return 10 * self._limits.idle_grace
        return _REST if self.log_bytes else _RETENTION_PERIOD

    def _rest(self) -> None:
        """Nothing is to be written for the moment."""
        if self._failure is not None:
            self._write([])
        elif self._due_since:
            self._steps = self._step(self._steps or self._upkeep.steps())
            while self._steps is not None and self._queue.empty():
                self._steps = self._step(self._steps)
            if self._steps is None:
                self._due_since = 0.0
                if self.log_bytes > self._limits.checkpoint_bytes:
                    self._checkpoint("PASSIVE")
        elif self.log_bytes and not self._upkeep.postponed:
            self._checkpoint("PASSIVE")
        else:
            self._due_since = time.monotonic()

    def _keep_pace(self) -> None:
        """After a commit: order is kept a little at a time when there are no quiet moments."""
        now = time.monotonic()
        if not self._due_since:
            self._due_since = now
        elif now - self._due_since > _UPKEEP_PATIENCE and self._failure is None:
            self._steps = self._step(self._steps or self._upkeep.steps())
            if self._steps is None:
                self._due_since = now
        if self.log_bytes > self._limits.log_bytes and self._failure is None:
            self._checkpoint("PASSIVE")

    def _gather(self, first: _Group) -> tuple[list[Batch], _Group | _Call | None]:
        """Everything that is queued, up to a call; and that call."""
        batches = first
        count = sum(len(batch.changes) for batch in first)
        while count < _AT_ONCE:
            try:
                item = self._queue.get_nowait()
            except queue.Empty:
                break
            if not isinstance(item, list):
                if item is None:
                    self._queue.put(None)
                    break
                return batches, item
            batches += item
            count += sum(len(batch.changes) for batch in item)
        return batches, None

    def _answer(self, call: _Call) -> None:
        if not call.future.set_running_or_notify_cancel():
            return
        try:
            call.future.set_result(call.work())
        except StoreError as error:
            call.future.set_exception(error)
        except (sqlite3.Error, OSError) as error:
            call.future.set_exception(explain(self._path, error))
        except BaseException as error:
            call.future.set_exception(error)

    # --- the file, on the thread ---

    def _open(self) -> None:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock = FileLock(self._path)
        try:
            self.db = open_journal(self._path, self._limits.busy_timeout, check=self._check)
        except BaseException:
            self._lock.release()
            raise
        try:
            [self._page_bytes] = self.db.execute("PRAGMA page_size").fetchone()
            self.bound_file(self._limits.file_bytes)
            self.db.execute(f"PRAGMA journal_size_limit = {self._limits.checkpoint_bytes}")
            self.ledger = Ledger(self.db, self._limits)
            self._upkeep = Upkeep(self.db, self.ledger, self._limits, self._retention, self._clock, self._pins)
        except BaseException:
            self.db.close()
            self._lock.release()
            raise

    def _close(self) -> None:
        try:
            if self._held:
                self._retry_at = 0.0
                self._write([])
            if self._failure is not None:
                raise self._failure
            self._checkpoint("TRUNCATE")
        finally:
            self.db.close()
            self._lock.release()

    def bound_file(self, file_bytes: int) -> None:
        """On the thread: how large the file may be from now on; 0: as large as the disk."""
        # 0xFFFFFFFE pages is all that SQLite can address; its default is fewer on old versions.
        pages = max(1, file_bytes // self._page_bytes) if file_bytes else 0xFFFFFFFE
        self.db.execute(f"PRAGMA max_page_count = {pages}")

    def tidy(self) -> None:
        """On the thread: all upkeep, to its end."""
        self._steps = None  # a pass under way would go on with what it knew before this one
        for _ in self._upkeep.steps():
            pass
        self.stored_bytes = self._upkeep.stored_bytes()
        self._checkpoint("PASSIVE")

    def _step(self, steps: Iterator[None]) -> Iterator[None] | None:
        """One step of upkeep; None when that was the last, or it failed: another time."""
        try:
            next(steps)
        except StopIteration:
            self.stored_bytes = self._upkeep.stored_bytes()
            return None
        except Exception as error:
            if self.db.in_transaction:
                self.db.execute("ROLLBACK")
            self.ledger.forget()
            fault = explain(self._path, error)
            self._report(Report(complaints=[StoreError(f"the journal could not be put in order: {fault}", fault.code)]))
            return None
        return steps

    def _checkpoint(self, mode: str) -> None:
        """Works the log into the file. Nothing is lost when that cannot be done now."""
        try:
            _, pages, done = self.db.execute(f"PRAGMA wal_checkpoint({mode})").fetchone()
        except sqlite3.Error:
            return
        self.log_bytes = max(0, pages - done) * self._page_bytes

    # --- writing, on the thread ---

    def _write(self, batches: list[Batch]) -> None:
        """Makes everything durable that is held or new, or holds it."""
        if self._failure is not None and time.monotonic() < self._retry_at and not any(b.done for b in batches):
            self._held += batches
            return
        report = Report(told=[], complaints=[])
        kept: list[Batch] = []
        rest = self._held + batches
        try:
            try:
                kept = self._commit(rest, report)
            except Exception as error:
                if is_storage_fault(error):
                    raise
                self._commit_each(rest, kept, report)
        except Exception as error:
            self._fail(error, rest, report)
        else:
            self._held, self._failure, self._retry_grace = [], None, self._limits.retry_grace
        report.durable += sum(len(batch.changes) for batch in kept)
        report.durable_bytes += sum(batch.size for batch in kept)
        report.told += [(batch.done, None) for batch in kept if batch.done is not None]
        report.failure = self._failure
        self.log_bytes += report.durable_bytes + _COMMIT_BYTES
        self.commits += 1
        self._report(report)

    def _commit(self, batches: Sequence[Batch], report: Report) -> list[Batch]:
        """One transaction with everything in it that is not refused; what was kept."""
        db, ledger = self.db, self.ledger
        kept: list[Batch] = []
        refused: list[tuple[Batch, StoreError]] = []
        try:
            db.execute("BEGIN IMMEDIATE")
            for batch in batches:
                fault = ledger.fault(batch)
                if fault is None:
                    ledger.apply(batch)
                    kept.append(batch)
                else:
                    refused.append((batch, fault))
            ledger.flush()
            db.execute("COMMIT")
        except BaseException:
            ledger.forget()
            if db.in_transaction:
                with contextlib.suppress(sqlite3.Error):  # what made the commit fail; nothing was written
                    db.execute("ROLLBACK")
            raise
        for batch, fault in refused:
            _refuse(batch, fault, report)
        return kept

    def _commit_each(self, batches: list[Batch], kept: list[Batch], report: Report) -> None:
        """The same one by one, because something in them cannot be stored; a gap takes its place.

        Takes them from `batches`, so that after a failure there is what is left.
        """
        while batches:
            batch = batches[0]
            try:
                kept += self._commit([batch], report)
            except Exception as error:
                if is_storage_fault(error):
                    raise
                lost = Overflow()
                lost.add(batch.changes)
                self._commit([Batch(lost.lost(), None, batch.at, 0)], report)
                _refuse(batch, StoreError(f"refused: {error!r}", "refused"), report)
            del batches[0]

    def _fail(self, error: Exception, batches: list[Batch], report: Report) -> None:
        self._failure = explain(self._path, error)
        for batch in batches:
            if batch.done is not None:
                report.told.append((batch.done, self._failure))
                batch.done = None
        self._held = batches
        self._retry_at = time.monotonic() + self._retry_grace
        self._retry_grace = min(2 * self._retry_grace, _LONGEST_RETRY)


def _refuse(batch: Batch, fault: StoreError, report: Report) -> None:
    report.refused += len(batch.changes)
    report.refused_bytes += batch.size
    if batch.done is not None:
        report.told.append((batch.done, fault))
    else:
        report.complaints.append(fault)
