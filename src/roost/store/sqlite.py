"""The journal in one SQLite file: the store of a daemon.

The loop's side: batches are gathered into groups and handed to the writer's thread, questions go to the readers' (see
`sqlite_writer`, `sqlite_reader`). Nothing here touches the disk.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import TypeVar

import msgspec

from roost.errors import LimitError, StoreError
from roost.sidecar.journal import (
    Append,
    Change,
    ChangeSession,
    DeleteSession,
    Entry,
    Holder,
    Kind,
    StoredPrompt,
    StoredSession,
)
from roost.store.base import (
    DEFAULT_LIMITS,
    IMPORTING,
    KEEP_ALL,
    Done,
    Place,
    Retention,
    Store,
    StoreLimits,
    StoreStats,
    StoreWatcher,
    written,
)
from roost.store.batches import Batch, Overflow, Report, size_of
from roost.store.prompts import call_of
from roost.store.sqlite_reader import Reader
from roost.store.sqlite_rows import KIND_CODES, body_of, key_range
from roost.store.sqlite_writer import Writer

T = TypeVar("T")


class SqliteStore(Store):
    """See `Store`. `clock` tells wall-clock seconds; `check` reads the whole file when it is opened."""

    def __init__(
        self,
        path: str | Path,
        *,
        limits: StoreLimits = DEFAULT_LIMITS,
        retention: Retention = KEEP_ALL,
        watcher: StoreWatcher | None = None,
        clock: Callable[[], float] = time.time,
        check: bool = False,
    ) -> None:
        self.path = Path(path)
        self._limits = limits
        self._watcher = watcher or StoreWatcher()
        self._clock = clock
        self._pins: dict[str, int] = {}
        self._writer = Writer(self.path, limits, retention, clock, self._pins, self._report_from_thread, check=check)
        self._reader = Reader(self.path, limits)
        self._is_open = False
        self._group: list[Batch] = []
        self._group_count = 0
        self._timer: asyncio.TimerHandle | None = None
        self._queued = self._queued_bytes = 0
        self._pressed = False
        self._overflow: Overflow | None = None  # what there was no room for, while there is none
        self._failure: StoreError | None = None
        self._written = self._lost = 0

    # --- life ---

    async def open(self) -> None:
        self._loop = asyncio.get_running_loop()
        await asyncio.wrap_future(self._writer.start())
        self._is_open = True

    async def close(self) -> None:
        if not self._is_open:
            return
        self._is_open = False
        self._hand_over()
        await asyncio.get_running_loop().run_in_executor(None, self._reader.close)
        try:
            await asyncio.wait_for(asyncio.wrap_future(self._writer.stop()), self._limits.close_timeout)
        except TimeoutError:
            raise StoreError(
                f"{self.path}: the disk has not taken what was queued within close_timeout"
                f" ({self._limits.close_timeout} s)"
            ) from None

    async def recover(self) -> list[str]:
        interrupted, unfinished = await self._call(self._find_unfinished)
        changes: list[Change] = [DeleteSession(session_id) for session_id in unfinished]
        for session_id, last, call in interrupted:
            body = msgspec.json.encode({"call": call})
            changes.append(Append(Entry(session_id, last + 1, Kind.INTERRUPTED, body)))
            changes.append(ChangeSession(session_id, {"turn_open": False, "interrupted": True}))
        if changes:
            await written(self, changes)
        return [session_id for session_id, _, _ in interrupted]

    def _find_unfinished(self) -> tuple[list[tuple[str, int, object]], list[str]]:
        """On the writer's thread: sessions in mid-turn with their last number and the call that was open; imports."""
        db = self._writer.db
        interrupted: list[tuple[str, int, object]] = []
        rows = db.execute(
            "SELECT key, session_id, last_number FROM progress JOIN sessions USING (key) WHERE turn_open = 1"
        )
        for key, session_id, last in rows.fetchall():
            low, high = key_range(key)
            prompt = db.execute(
                "SELECT body, parts FROM entries WHERE id BETWEEN ? AND ? AND kind = ? ORDER BY id DESC LIMIT 1",
                (low, high, KIND_CODES[Kind.PROMPT]),
            ).fetchone()
            interrupted.append((session_id, last, None if prompt is None else call_of(body_of(db, *prompt))))
        imports = db.execute("SELECT session_id FROM sessions WHERE owner = ?", (IMPORTING,)).fetchall()
        return interrupted, [session_id for (session_id,) in imports]

    async def tidy(self) -> None:
        await self._call(self._writer.tidy)

    async def bound_file(self, file_bytes: int) -> None:
        """Lets the file grow to so many bytes from now on; 0: as far as the disk goes. See StoreLimits.file_bytes."""
        await self._call(lambda: self._writer.bound_file(file_bytes))

    def stats(self) -> StoreStats:
        return StoreStats(
            queued_entries=self._queued,
            queued_bytes=self._queued_bytes,
            commits=self._writer.commits,
            entries=self._written,
            lost=self._lost,
            stored_bytes=self._writer.stored_bytes,
            log_bytes=self._writer.log_bytes,
            failure=self._failure,
        )

    # --- writing ---

    def watch(self, watcher: StoreWatcher) -> None:
        self._watcher = watcher

    def write(self, changes: Sequence[Change], done: Done | None = None) -> None:
        if not self._is_open:
            closed = StoreError(f"{self.path} is not open", "closed")
            if done is not None:
                asyncio.get_running_loop().call_soon(done, closed)
            else:
                self._watcher.store_complained(closed)
            return
        size = size_of(changes)
        if (
            self._overflow is not None
            or self._queued + len(changes) > self._limits.queued_entries
            or self._queued_bytes + size > self._limits.queued_bytes
        ):
            self._shed(changes, done)
            return
        self._take(Batch(changes, done, self._clock(), size))
        if done is not None or self._group_count >= self._limits.group_entries:
            self._hand_over()
        elif self._timer is None:
            self._timer = self._loop.call_later(self._limits.group_grace, self._hand_over)

    def _take(self, batch: Batch) -> None:
        self._group.append(batch)
        self._group_count += len(batch.changes)
        self._queued += len(batch.changes)
        self._queued_bytes += batch.size
        if not self._pressed and self._fullness() > 0.5:
            self._pressed = True
            self._watcher.store_pressed(True)

    def _hand_over(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._group:
            group, self._group, self._group_count = self._group, [], 0
            self._writer.submit(group)

    def _fullness(self) -> float:
        return max(self._queued / self._limits.queued_entries, self._queued_bytes / self._limits.queued_bytes)

    def _shed(self, changes: Sequence[Change], done: Done | None) -> None:
        """There is no room. Only what is lost is remembered, so that it can be told."""
        limit, bound = ("queued_entries", self._limits.queued_entries)
        if self._queued + len(changes) <= bound:
            limit, bound = "queued_bytes", self._limits.queued_bytes
        text = f"{self.path}: the disk does not keep up; limit {limit} of {bound} reached, entries are lost"
        if self._overflow is None:
            self._overflow = Overflow()
            self._watcher.store_failed(LimitError(limit, bound, text))
        before = self._overflow.entries
        self._overflow.add(changes)
        self._lost += self._overflow.entries - before
        if done is not None:
            self._loop.call_soon(done, LimitError(limit, bound, text))

    # --- what the writer says ---

    def _report_from_thread(self, report: Report) -> None:
        try:
            self._loop.call_soon_threadsafe(self._take_note, report)
        except RuntimeError:  # the loop is gone, and with it whoever waited
            pass

    def _take_note(self, report: Report) -> None:
        self._written += report.durable
        self._queued -= report.durable + report.refused
        self._queued_bytes -= report.durable_bytes + report.refused_bytes
        for done, error in report.told:
            try:
                done(error)
            except Exception as fault:
                self._loop.call_exception_handler({"message": "a store's caller failed", "exception": fault})
        for complaint in report.complaints:
            self._watcher.store_complained(complaint)
        if report.failure is not None and self._failure is None:
            self._failure = report.failure
            self._watcher.store_failed(report.failure)
        elif report.failure is None and self._failure is not None:
            self._failure = None
            if self._overflow is None:
                self._watcher.store_recovered()
        fullness = self._fullness()
        if self._overflow is not None and fullness < 0.5 and self._failure is None:
            overflow, self._overflow = self._overflow, None
            changes = overflow.changes()
            if changes:
                self._take(Batch(changes, None, self._clock(), size_of(changes)))
                self._hand_over()
            self._watcher.store_recovered()
        if self._pressed and fullness < 0.25:
            self._pressed = False
            self._watcher.store_pressed(False)

    # --- reading ---

    async def session(self, session_id: str) -> StoredSession | None:
        await self._settle()
        return await self._reader.session(session_id)

    async def sessions(self, owner: str | None, *, after: Place | None = None, limit: int = 100) -> list[StoredSession]:
        await self._settle()
        return await self._reader.sessions(owner, after, limit)

    async def holders(self, names: Collection[str]) -> list[Holder]:
        await self._settle()
        return await self._reader.holders(names)

    async def pages(self, session_id: str, *, after: int = 0, limit: int | None = None) -> AsyncIterator[list[Entry]]:
        self._pins[session_id] = self._pins.get(session_id, 0) + 1
        try:
            await self._settle(through=self._writer.compacting == session_id)
            is_first = True
            while limit is None or limit > 0:
                page = await self._reader.page(session_id, after, limit, is_first=is_first)
                if not page:
                    return
                yield page
                after, is_first = page[-1].number, False
                if limit is not None:
                    limit -= len(page)
        finally:
            self._pins[session_id] -= 1
            if not self._pins[session_id]:
                del self._pins[session_id]

    async def prompt_by_key(self, session_id: str, key: str) -> StoredPrompt | None:
        await self._settle()
        return await self._reader.prompt_by_key(session_id, key)

    async def versions(self) -> dict[str, int]:
        await self._settle()
        return await self._reader.versions()

    async def last_number(self, session_id: str) -> int:
        await self._settle()
        return await self._reader.last_number(session_id)

    async def _settle(self, *, through: bool = False) -> None:
        """Waits until what was written so far can be read; `through`: and the writer has done what it is doing."""
        if self._queued or through:
            await self._call(lambda: None)

    async def _call(self, work: Callable[[], T]) -> T:
        """Has something done on the writer's thread, after everything written so far."""
        if not self._is_open:
            raise StoreError(f"{self.path} is not open", "closed")
        self._hand_over()
        future: Future[T] = self._writer.call(work)
        return await asyncio.wrap_future(future)
