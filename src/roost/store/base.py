"""What a store is: it keeps the journal of every session, and gives it back.

One engine in one event loop writes and never waits; everything that waits is a coroutine. A write without `done` is a
stream, a write with `done` is a promise.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from typing import Final, Protocol, TypeAlias

import msgspec

from roost.errors import LimitError, StoreError
from roost.sidecar.journal import Change, Entry, Holder, StoredPrompt, StoredSession

Done: TypeAlias = Callable[[StoreError | LimitError | None], None]
Place: TypeAlias = tuple[float, str]


class StoreLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The store's settings. Durations are seconds, sizes bytes."""

    group_grace: float = 0.005  # a streamed entry waits for others, so that with the disk it is 10 ms behind
    group_entries: int = 256  # as many are committed without waiting
    queued_entries: int = 65_536  # not durable yet; beyond, entries are dropped and marked as lost
    queued_bytes: int = 64 * 1024 * 1024  # the same in bytes
    page_entries: int = 512  # read at once
    page_bytes: int = 1024 * 1024  # the same in bytes; a larger entry is a page of its own
    sessions_page: int = 1_000  # sessions listed at once
    blob_bytes: int = 64 * 1024  # a longer payload is stored once, however often it comes
    turn_bytes: int = 64 * 1024 * 1024  # held while a turn is compacted; a longer one in several parts
    busy_timeout: float = 2.0  # another program that holds the database for the moment
    retry_grace: float = 1.0  # between attempts to write again after a failure; doubled up to a minute
    idle_grace: float = 0.2  # without a write, before the file is put in order
    checkpoint_bytes: int = 4 * 1024 * 1024  # of write-ahead log, then it is worked into the file in a quiet moment
    log_bytes: int = 16 * 1024 * 1024  # of write-ahead log, then it is worked into the file at once
    file_bytes: int = 0  # of the whole file; 0: as much as the disk has
    close_timeout: float = 10.0  # for what is queued when the store is closed


DEFAULT_LIMITS: Final = StoreLimits()


class Retention(msgspec.Struct, frozen=True, kw_only=True):
    """What is let go, oldest first and never of an open turn; None: nothing."""

    max_age: float | None = None  # seconds since an entry was written
    max_bytes: int | None = None  # of everything stored


KEEP_ALL: Final = Retention()

IMPORTING: Final = "\0importing"
"""The owner of sessions whose import has not ended; not a name a caller can have."""


class StoreStats(msgspec.Struct, frozen=True, kw_only=True):
    queued_entries: int  # not durable yet
    queued_bytes: int
    commits: int
    entries: int  # written by this process
    lost: int  # entries that could not be kept
    stored_bytes: int
    log_bytes: int = 0
    failure: StoreError | None = None


class StoreWatcher:
    """Is told, in the event loop's thread, what a store cannot tell by an answer. Subclass what you need."""

    def store_pressed(self, pressed: bool) -> None:
        """Half of what may be queued is queued, so stop producing; or, with False, a quarter: go on."""

    def store_failed(self, error: StoreError | LimitError) -> None:
        """Nothing is durable any more. The store holds what comes, as far as it may, and tries again."""

    def store_recovered(self) -> None:
        """Everything that was held is durable."""

    def store_complained(self, error: StoreError) -> None:
        """For the log: a batch without `done` contradicted what is stored, or the file could not be put in order."""


class Store(Protocol):
    """The journal of many sessions. All methods are for one event loop's thread.

    Reads see every write made before them; after a failure what was durable then.
    """

    async def open(self) -> None:
        """To be called once, before anything else. StoreError, which leaves the file as it was."""

    async def close(self) -> None:
        """Makes what is queued durable and lets go of the file. StoreError when that failed; the store is closed then
        too."""

    async def recover(self) -> list[str]:
        """To be called after `open`: the ids of the sessions that were in mid-turn, each with an INTERRUPTED entry now.

        Drops what an import that did not end has left.
        """

    def watch(self, watcher: StoreWatcher) -> None:
        """From now on this one is told, and no other."""

    def write(self, changes: Sequence[Change], done: Done | None = None) -> None:
        """Takes one batch, kept whole or not at all, in the order of the calls. Never blocks, never raises.

        Without `done` it becomes durable with its group. With `done` the group is committed at once, and `done` is
        called in the loop's thread: None when the batch and all before it that was taken are durable (what was not
        taken for want of room is told to the watcher, and a gap in the history). StoreError when they are not
        by now: they are held and will be, as soon as the disk allows, so who gives up on them says so in a later
        change. StoreError `refused` and LimitError: the batch is not kept, and will not be.
        """

    async def session(self, session_id: str) -> StoredSession | None: ...

    async def sessions(self, owner: str | None, *, after: Place | None = None, limit: int = 100) -> list[StoredSession]:
        """Newest first, of one owner, or of all with None. For the next page, `after=place(page[-1])`.

        By when they were opened, which does not change, so that no session is missed between two pages.
        """

    async def holders(self, names: Collection[str]) -> list[Holder]:
        """Whose sessions have these ids, with their owners or with their agents; in no order, once or twice."""

    def pages(self, session_id: str, *, after: int = 0, limit: int | None = None) -> AsyncIterator[list[Entry]]:
        """The entries with larger numbers, in order, at most `limit`, in lists of bounded size; none of an unknown
        session. Entries written meanwhile may be included."""

    def entries(self, session_id: str, *, after: int = 0, limit: int | None = None) -> AsyncIterator[Entry]:
        """`pages`, one by one."""
        return _one_by_one(self.pages(session_id, after=after, limit=limit))

    async def prompt_by_key(self, session_id: str, key: str) -> StoredPrompt | None:
        """The first prompt that had this idempotency key."""

    async def versions(self) -> dict[str, int]:
        """What programs were found to speak, by their digests, in the order it was learned (LearnVersion)."""

    async def last_number(self, session_id: str) -> int:
        """0 when there is no entry or no session."""

    async def tidy(self) -> None:
        """Does all that is otherwise done in quiet moments: compaction, retention, clearing away."""

    def stats(self) -> StoreStats: ...


def place(session: StoredSession) -> Place:
    """Where a listing goes on after this session."""
    return (session.created_at, session.session_id)


async def written(store: Store, changes: Sequence[Change]) -> None:
    """`write`, durable when it returns. StoreError and LimitError as its `done` is given them."""
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def done(error: StoreError | LimitError | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)

    store.write(changes, done)
    await future


async def _one_by_one(pages: AsyncIterator[list[Entry]]) -> AsyncIterator[Entry]:
    async for page in pages:
        for entry in page:
            yield entry
