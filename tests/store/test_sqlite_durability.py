"""Groups, promises and failures of the SQLite store: what is durable when, and what it says when it is not."""

# small files, and nobody else waits for this loop

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from roost.errors import LimitError, StoreError
from roost.sidecar.journal import ChangeSession, DeleteSession, Kind
from roost.store.base import StoreLimits
from roost.store.sqlite import SqliteStore
from tests.store.values import Ear, durable, entry, history, numbers, opened, outcome, until

QUICK = StoreLimits(busy_timeout=0.05, retry_grace=0.02)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "journal.db"


@pytest.fixture
def ear() -> Ear:
    return Ear()


@pytest.fixture
async def store(path: Path, ear: Ear) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(path, limits=QUICK, watcher=ear)
    await store.open()
    yield store
    await store.close()


class Intruder:
    """Another program that has the database locked."""

    def __init__(self, path: Path) -> None:
        self._db = sqlite3.connect(path, isolation_level=None)
        self._db.execute("BEGIN IMMEDIATE")

    def leave(self) -> None:
        self._db.execute("ROLLBACK")
        self._db.close()


def rows(path: Path) -> int:
    """Entries that another process would find now."""
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        [count] = db.execute("SELECT count(*) FROM entries").fetchone()
        return int(count)
    finally:
        db.close()


# --- groups ---


async def test_what_a_promise_was_kept_for_is_in_the_file(store: SqliteStore, path: Path) -> None:
    await durable(store, opened(), entry(1))
    assert rows(path) == 1


async def test_a_promise_takes_everything_before_it_along(store: SqliteStore, path: Path) -> None:
    store.write([opened()])
    for number in range(1, 100):
        store.write([entry(number)])
    await durable(store)
    assert rows(path) == 99
    assert store.stats().commits == 1


async def test_a_stream_is_durable_within_its_grace_without_being_asked(path: Path) -> None:
    store = SqliteStore(path, limits=StoreLimits(group_grace=0.001))
    await store.open()
    store.write([opened(), entry(1)])
    await until(lambda: not store.stats().queued_entries)
    assert rows(path) == 1
    await store.close()


async def test_a_full_group_is_committed_without_waiting(path: Path) -> None:
    store = SqliteStore(path, limits=StoreLimits(group_grace=1_000.0, group_entries=10))
    await store.open()
    await durable(store, opened())
    for number in range(1, 11):
        store.write([entry(number)])
    await until(lambda: not store.stats().queued_entries)
    assert rows(path) == 10
    await store.close()


async def test_close_makes_what_is_queued_durable(path: Path) -> None:
    store = SqliteStore(path, limits=StoreLimits(group_grace=1_000.0))
    await store.open()
    store.write([opened(), entry(1)])
    await store.close()
    assert sorted(os.listdir(path.parent)) == ["journal.db", "journal.db.lock"]
    assert rows(path) == 1


async def test_the_file_is_for_its_user_only_and_syncs_every_commit(store: SqliteStore, path: Path) -> None:
    await durable(store, opened())
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    for name in os.listdir(path.parent):
        assert stat.S_IMODE((path.parent / name).stat().st_mode) == 0o600
    pragmas = await asyncio.wrap_future(
        store._writer.call(
            lambda: [
                store._writer.db.execute(f"PRAGMA {name}").fetchone()[0]
                for name in ("journal_mode", "synchronous", "wal_autocheckpoint", "auto_vacuum")
            ]
        )
    )
    assert pragmas == ["wal", 2, 0, 2]


async def test_a_quiet_store_works_its_log_into_the_file(path: Path) -> None:
    store = SqliteStore(path, limits=StoreLimits(idle_grace=0.001, checkpoint_bytes=1))
    await store.open()
    await durable(store, opened(), entry(1, body={"x": "y" * 60_000}))
    await until(lambda: not store.stats().log_bytes)
    assert path.stat().st_size > 60_000
    await store.close()


async def test_a_log_that_is_too_long_is_worked_in_at_once(path: Path) -> None:
    store = SqliteStore(path, limits=StoreLimits(idle_grace=1_000.0, log_bytes=100_000))
    await store.open()
    await durable(store, opened())
    for number in range(1, 31):
        await durable(store, entry(number, body={"x": "y" * 50_000}))
    assert store.stats().log_bytes <= 200_000
    assert Path(f"{path}-wal").stat().st_size < 30 * 50_000
    await store.close()


# --- failures ---


async def test_a_locked_database_fails_the_promise_and_keeps_the_change(
    store: SqliteStore, path: Path, ear: Ear
) -> None:
    await durable(store, opened())
    intruder = Intruder(path)
    error = await outcome(store, [entry(1)])
    assert isinstance(error, StoreError)
    assert error.code == "locked"
    assert str(path) in str(error)
    assert store.stats().failure == error
    assert await history(store) == []  # what was durable
    store.write([entry(2)])
    intruder.leave()
    await ear.until("recovered")
    assert await numbers(store) == [1, 2]
    await durable(store, entry(3))
    assert ear.heard == [error, "recovered"]
    stats = store.stats()
    assert (stats.failure, stats.queued_entries, stats.queued_bytes) == (None, 0, 0)


async def test_the_next_promise_tries_again_at_once(path: Path) -> None:
    store = SqliteStore(path, limits=StoreLimits(busy_timeout=0.05, retry_grace=1_000.0))
    await store.open()
    await durable(store, opened())
    intruder = Intruder(path)
    assert await outcome(store, [entry(1)]) is not None
    intruder.leave()
    await durable(store, entry(2))
    assert await numbers(store) == [1, 2]
    await store.close()


async def test_closing_tries_once_more(path: Path) -> None:
    store = SqliteStore(path, limits=StoreLimits(busy_timeout=0.05, retry_grace=1_000.0))
    await store.open()
    await durable(store, opened())
    intruder = Intruder(path)
    assert await outcome(store, [entry(1)]) is not None
    store.write([entry(2)])
    intruder.leave()
    await store.close()
    assert rows(path) == 2


async def test_every_waiting_promise_is_told_of_a_failure_once(store: SqliteStore, path: Path) -> None:
    await durable(store, opened())
    intruder = Intruder(path)
    told: list[Any] = []
    for number in range(1, 6):
        store.write([entry(number)], lambda error, number=number: told.append((number, error.code)))
    assert await outcome(store, []) is not None
    assert told == [(number, "locked") for number in range(1, 6)]
    intruder.leave()
    await durable(store)
    assert await numbers(store) == [1, 2, 3, 4, 5]
    assert len(told) == 5


async def test_a_full_disk_is_told_and_what_it_left_out_is_written_when_there_is_room(
    store: SqliteStore, path: Path, ear: Ear
) -> None:
    await durable(store, opened())
    await store.bound_file(256 * 1024)
    big = {"x": "y" * 60_000}
    error, number = None, 0
    while error is None and number < 50:
        number += 1
        error = await outcome(store, [entry(number, body=big)])
    assert isinstance(error, StoreError)
    assert error.code == "full"
    assert str(path) in str(error)
    assert await numbers(store) == list(range(1, number))
    await store.bound_file(0)
    await ear.until("recovered")
    assert await numbers(store) == list(range(1, number + 1))


async def test_closing_while_the_disk_is_full_says_so(path: Path) -> None:
    store = SqliteStore(path, limits=QUICK)
    await store.open()
    await durable(store, opened())
    await store.bound_file(1)
    assert await outcome(store, [entry(1, body={"x": "y" * 200_000})]) is not None
    with pytest.raises(StoreError) as caught:
        await store.close()
    assert caught.value.code == "full"
    again = SqliteStore(path)
    await again.open()
    assert await numbers(again) == []
    await again.close()


async def test_a_failing_disk_loses_no_more_than_it_must_and_marks_what_it_lost(path: Path, ear: Ear) -> None:
    limits = StoreLimits(busy_timeout=0.05, retry_grace=0.02, queued_entries=20)
    store = SqliteStore(path, limits=limits, watcher=ear)
    await store.open()
    await durable(store, opened(), opened("t"))
    intruder = Intruder(path)
    assert await outcome(store, [entry(1)]) is not None
    for number in range(2, 60):
        store.write([entry(number)])
    store.write([ChangeSession("s", {"title": "a"}), entry(1, session_id="t")])
    store.write([ChangeSession("s", {"title": "b"})])
    refused = await outcome(store, [entry(60)])
    assert isinstance(refused, LimitError)
    assert refused.limit == "queued_entries"
    assert store.stats().queued_entries <= 20
    intruder.leave()
    await ear.until("recovered")
    await durable(store)
    kept = await history(store)
    assert [one.number for one in kept] == [*range(1, 21), 60]
    assert (kept[-1].kind, kept[-1].first) == (Kind.GAP, 21)
    assert kept[-1].body == b'{"first":21,"last":60,"reason":"lost"}'
    assert [one.kind for one in await history(store, "t")] == [Kind.GAP]
    found = await store.session("s")
    assert found is not None
    assert found.title == "b"
    assert store.stats().lost == 41
    await durable(store, entry(61))
    await store.close()


async def test_a_session_deleted_while_there_was_no_room_stays_deleted(path: Path, ear: Ear) -> None:
    limits = StoreLimits(busy_timeout=0.05, retry_grace=0.02, queued_entries=4)
    store = SqliteStore(path, limits=limits, watcher=ear)
    await store.open()
    await durable(store, opened())
    intruder = Intruder(path)
    for number in range(1, 8):
        store.write([entry(number)])
    assert await outcome(store, [DeleteSession("s")]) is not None
    assert await outcome(store, [opened("late")]) is not None
    intruder.leave()
    await ear.until("recovered")
    await durable(store)
    assert await store.session("s") is None
    assert await store.session("late") is None
    await store.close()


async def test_a_queue_half_full_is_pressure_and_a_quarter_is_relief(path: Path, ear: Ear) -> None:
    limits = StoreLimits(busy_timeout=0.05, retry_grace=0.02, queued_bytes=100_000)
    store = SqliteStore(path, limits=limits, watcher=ear)
    await store.open()
    await durable(store, opened())
    intruder = Intruder(path)
    for number in range(1, 5):
        store.write([entry(number, body={"x": "y" * 20_000})])
    assert ear.heard == ["pressed"]
    intruder.leave()
    await ear.until("relieved")
    assert await numbers(store) == [1, 2, 3, 4]
    await store.close()


async def test_a_value_that_cannot_be_stored_costs_its_own_batch_only(store: SqliteStore, ear: Ear) -> None:
    await durable(store, opened())
    store.write([entry(1)])
    bad = asyncio.get_running_loop().create_future()
    store.write([entry(2), ChangeSession("s", {"title": "\ud800"})], bad.set_result)
    await durable(store, entry(3))
    error = await bad
    assert isinstance(error, StoreError)
    assert error.code == "refused"
    kept = await history(store)
    assert [(one.number, one.kind) for one in kept] == [(1, Kind.UPDATE), (2, Kind.GAP), (3, Kind.UPDATE)]
    assert store.stats().queued_entries == 0


async def test_a_cancelled_question_harms_nobody(store: SqliteStore) -> None:
    store.write([opened()])
    asking = asyncio.ensure_future(store.session("s"))
    await asyncio.sleep(0)
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)
    assert await store.session("s") is not None


async def test_a_question_after_closing_says_so(path: Path) -> None:
    store = SqliteStore(path)
    await store.open()
    await durable(store, opened(), *(entry(number) for number in range(1, 100)))
    pages = store.pages("s")
    await anext(pages)
    await store.close()
    for question in (store.session("s"), store.last_number("s"), anext(pages)):
        with pytest.raises(StoreError) as caught:
            await question
        assert caught.value.code == "closed"
