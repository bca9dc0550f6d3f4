"""A store in memory: for tests, and for a daemon that was told to go on without durability.

It makes the same promises but one: what it keeps is gone with the process.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Sequence
from typing import Final

import msgspec

from roost.errors import StoreError
from roost.sidecar.journal import (
    AdoptSession,
    Append,
    Change,
    ChangeSession,
    DeleteSession,
    Entry,
    Holder,
    Kind,
    LearnVersion,
    OpenSession,
    Restore,
    StoredPrompt,
    StoredSession,
)
from roost.store.base import (
    DEFAULT_LIMITS,
    IMPORTING,
    Done,
    Place,
    Retention,
    Store,
    StoreLimits,
    StoreStats,
    StoreWatcher,
    place,
)
from roost.store.compaction import TurnCompactor
from roost.store.memory_history import ENTRY_BYTES, History
from roost.store.prompts import call_of, key_and_digest

# A history nobody asked to be kept shall not fill the machine.
MEMORY_RETENTION: Final = Retention(max_bytes=256 * 1024 * 1024)

# Entries compacted in one turn of the loop: about a millisecond.
_AT_ONCE: Final = 256
# As in the SQLite store: a little further than needed.
_SPARE: Final = 0.95
_SAME_AGE: Final = 60.0
_SWEEP_PERIOD: Final = 60.0
_FIRST_PAGE: Final = 64


class MemoryStore(Store):
    """See `Store`."""

    def __init__(
        self,
        *,
        limits: StoreLimits = DEFAULT_LIMITS,
        retention: Retention = MEMORY_RETENTION,
        watcher: StoreWatcher | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._limits = limits
        self._retention = retention
        self._watcher = watcher or StoreWatcher()
        self._clock = clock
        self._histories: dict[str, History] = {}
        self._versions: dict[str, int] = {}
        self._size = 0
        self._written = self._batches = 0
        self._is_open = False
        self._reading: dict[str, int] = {}
        self._upkeep: Iterator[None] | None = None
        self._ended: dict[str, None] = {}  # sessions whose turn has ended since they were compacted
        self._postponed: set[str] = set()  # of those, what was being read
        self._swept_at = 0.0

    async def open(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._is_open = True

    async def close(self) -> None:
        self._is_open = False

    async def recover(self) -> list[str]:
        interrupted = [session_id for session_id, known in self._histories.items() if known.session.turn_open]
        changes: list[Change] = [
            DeleteSession(session_id)
            for session_id, known in self._histories.items()
            if known.session.owner == IMPORTING
        ]
        for session_id in interrupted:
            history = self._histories[session_id]
            prompt = next((entry for entry in reversed(history.entries) if entry.kind is Kind.PROMPT), None)
            body = msgspec.json.encode({"call": None if prompt is None else call_of(prompt.body)})
            changes.append(Append(Entry(session_id, history.last + 1, Kind.INTERRUPTED, body)))
            changes.append(ChangeSession(session_id, {"turn_open": False, "interrupted": True}))
        self.write(changes)
        return interrupted

    # --- writing ---

    def watch(self, watcher: StoreWatcher) -> None:
        self._watcher = watcher

    def write(self, changes: Sequence[Change], done: Done | None = None) -> None:
        fault = self._fault(changes) if self._is_open else StoreError("the store is not open", "closed")
        if fault is None:
            at = self._clock()
            for change in changes:
                self._apply(change, at)
            self._written += len(changes)
            self._batches += 1
            if self._is_untidy(at):
                self._start_upkeep()
        if done is not None:
            asyncio.get_running_loop().call_soon(done, fault)
        elif fault is not None:
            self._watcher.store_complained(fault)

    def _fault(self, changes: Sequence[Change]) -> StoreError | None:
        lasts: dict[str, int | None] = {}

        def last(session_id: str) -> int | None:
            if session_id in lasts:
                return lasts[session_id]
            history = self._histories.get(session_id)
            return None if history is None else history.last

        for change in changes:
            match change:
                case Append(entry):
                    known = last(entry.session_id)
                    if known is None:
                        continue
                    if entry.number != known + 1:
                        return _refused(f"entry {entry.number} of session {entry.session_id} does not follow {known}")
                    lasts[entry.session_id] = entry.number
                case Restore(session_id, entries) if entries:
                    known = last(session_id)
                    if known is None or entries[0].number <= known:
                        return _refused(f"entries of session {session_id} cannot be restored after {known}")
                    if any(later.number <= earlier.number for earlier, later in itertools.pairwise(entries)):
                        return _refused(f"entries of session {session_id} are not in order")
                    lasts[session_id] = entries[-1].number
                case OpenSession(session):
                    if last(session.session_id) is not None:
                        return _refused(f"session {session.session_id} is there already")
                    lasts[session.session_id] = 0
                case DeleteSession(session_id):
                    lasts[session_id] = None
        return None

    def _apply(self, change: Change, at: float) -> None:
        match change:
            case Append(entry):
                self._append(entry, at)
            case ChangeSession(session_id, fields):
                history = self._histories.get(session_id)
                if history is not None:
                    history.session = msgspec.structs.replace(history.session, **fields)
                    history.updated_at = at
                    if fields.get("turn_open") is False:
                        self._ended[session_id] = None
            case OpenSession(session):
                fresh = msgspec.structs.replace(
                    session, created_at=session.created_at or at, updated_at=session.updated_at or at
                )
                self._histories[session.session_id] = History(fresh)
            case DeleteSession(session_id):
                history = self._histories.pop(session_id, None)
                self._size -= 0 if history is None else history.size
            case Restore(_, entries):
                for entry in entries:
                    self._append(entry, at, touch=False)
            case AdoptSession(session_id, owner):
                history = self._histories.get(session_id)
                if history is not None:
                    history.session = msgspec.structs.replace(history.session, owner=owner)
            case LearnVersion(digest, version, bound):
                self._versions.pop(digest, None)
                self._versions[digest] = version
                while len(self._versions) > bound:
                    del self._versions[next(iter(self._versions))]

    def _append(self, entry: Entry, at: float, *, touch: bool = True) -> None:
        history = self._histories.get(entry.session_id)
        if history is None:
            return
        history.entries.append(entry if entry.at else msgspec.structs.replace(entry, at=at))
        history.last = entry.number
        if touch:
            history.updated_at = at
        history.size += len(entry.body) + ENTRY_BYTES
        self._size += len(entry.body) + ENTRY_BYTES
        if entry.kind is Kind.PROMPT:
            found = key_and_digest(entry.body)
            if found is not None:
                history.prompts.setdefault(found[0], StoredPrompt(entry.number, found[1]))
        elif entry.kind in (Kind.TURN, Kind.INTERRUPTED):
            history.settled = entry.number
            self._ended[entry.session_id] = None

    # --- order ---

    def _is_untidy(self, now: float) -> bool:
        retention = self._retention
        if retention.max_bytes is not None and self._size > retention.max_bytes:
            return True
        return bool(self._ended) or (retention.max_age is not None and now - self._swept_at > _SWEEP_PERIOD)

    async def tidy(self) -> None:
        for _ in self._steps():
            pass

    def _start_upkeep(self) -> None:
        if self._upkeep is None and self._is_open:
            self._upkeep = self._steps()
            self._loop.call_soon(self._keep_order)

    def _keep_order(self) -> None:
        """One step, and the next in another turn of the loop."""
        if self._upkeep is None or not self._is_open:
            return
        try:
            next(self._upkeep)
        except StopIteration:
            self._upkeep = None
        else:
            self._loop.call_soon(self._keep_order)

    def _steps(self) -> Iterator[None]:
        while self._ended:
            session_id, _ = self._ended.popitem()
            yield from self._compact(session_id)
        yield from self._let_go()

    def _compact(self, session_id: str) -> Iterator[None]:
        history = self._histories.get(session_id)
        if history is None or history.session.turn_open or history.compacted >= history.settled:
            return
        settled = history.settled
        compactor = TurnCompactor(history.session.launch.dialect, history.subjects.__contains__)
        lines = history.stretch(settled)
        for start in range(0, len(lines), _AT_ONCE):
            for entry in lines[start : start + _AT_ONCE]:
                compactor.feed(entry)
            yield
        outcome = compactor.finish()
        if session_id in self._reading:
            self._postponed.add(session_id)
        elif self._histories.get(session_id) is history:
            self._size += history.replace(lines, settled, outcome)

    def _let_go(self) -> Iterator[None]:
        if self._retention.max_age is not None:
            self._swept_at = self._clock()
            until = self._swept_at - self._retention.max_age
            for history in list(self._histories.values()):
                self._prune(history, until, "age")
                yield
        bound = self._retention.max_bytes
        if bound is None or self._size <= bound:
            return
        spared: set[str] = set()
        while self._size > bound * _SPARE:
            oldest = [
                (at, session_id)
                for session_id, history in self._histories.items()
                if session_id not in spared and (at := history.oldest()) is not None
            ]
            if not oldest:
                return
            at, session_id = min(oldest)
            if not self._prune(self._histories[session_id], at + _SAME_AGE, "size"):
                spared.add(session_id)
            yield

    def _prune(self, history: History, until: float, reason: str) -> bool:
        grown = history.prune(until, reason)
        self._size += grown or 0
        return grown is not None

    # --- reading ---

    async def session(self, session_id: str) -> StoredSession | None:
        history = self._histories.get(session_id)
        return None if history is None else history.stored()

    async def sessions(self, owner: str | None, *, after: Place | None = None, limit: int = 100) -> list[StoredSession]:
        found = [
            history.session
            for history in self._histories.values()
            if (history.session.owner == owner or (owner is None and history.session.owner != IMPORTING))
            and (after is None or place(history.session) < after)
        ]
        found.sort(key=place, reverse=True)
        page = found[: max(0, min(limit, self._limits.sessions_page))]
        return [self._histories[session.session_id].stored() for session in page]

    async def holders(self, names: Collection[str]) -> list[Holder]:
        wanted = frozenset(names)
        return [
            Holder(name, history.session.owner, history.session.launch.agent_type)
            for history in self._histories.values()
            for name in (history.session.name, history.session.live_id)
            if name in wanted
        ]

    async def pages(self, session_id: str, *, after: int = 0, limit: int | None = None) -> AsyncIterator[list[Entry]]:
        self._reading[session_id] = self._reading.get(session_id, 0) + 1
        try:
            count = _FIRST_PAGE
            while (history := self._histories.get(session_id)) is not None:
                count = count if limit is None else min(count, limit)
                start = history.after(after)
                page = list(_fitting(history.entries[start : start + count], self._limits.page_bytes))
                if not page:
                    return
                yield page
                after, count = page[-1].number, self._limits.page_entries
                if limit is not None:
                    limit -= len(page)
        finally:
            self._reading[session_id] -= 1
            if not self._reading[session_id]:
                del self._reading[session_id]
                if session_id in self._postponed:
                    self._postponed.discard(session_id)
                    self._ended[session_id] = None
                    self._start_upkeep()

    async def prompt_by_key(self, session_id: str, key: str) -> StoredPrompt | None:
        history = self._histories.get(session_id)
        return None if history is None else history.prompts.get(key)

    async def versions(self) -> dict[str, int]:
        return dict(self._versions)

    async def last_number(self, session_id: str) -> int:
        history = self._histories.get(session_id)
        return 0 if history is None else history.last

    def stats(self) -> StoreStats:
        return StoreStats(
            queued_entries=0,
            queued_bytes=0,
            commits=self._batches,
            entries=self._written,
            lost=0,
            stored_bytes=self._size,
        )


def _fitting(entries: Sequence[Entry], size: int) -> Iterator[Entry]:
    for entry in entries:
        yield entry
        size -= len(entry.body)
        if size <= 0:
            return


def _refused(text: str) -> StoreError:
    return StoreError(f"refused: {text}", "refused")
