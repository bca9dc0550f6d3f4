"""What every store promises of turns that were open when it ended, and of histories given back to it."""

from __future__ import annotations

import json

import pytest

from roost.errors import StoreError
from roost.sidecar.journal import (
    ChangeSession,
    Entry,
    Kind,
    Restore,
    gap,
)
from roost.store.base import Store
from tests.store.values import (
    durable,
    entry,
    history,
    numbers,
    opened,
    outcome,
    prompt,
)


async def test_a_turn_that_was_open_is_marked_interrupted(store: Store) -> None:
    await durable(store, opened("done"), opened("open"), opened("bare"))
    await durable(store, prompt(1, session_id="open", call="c7"), ChangeSession("open", {"turn_open": True}))
    await durable(store, ChangeSession("bare", {"turn_open": True}))
    assert sorted(await store.recover()) == ["bare", "open"]
    for session_id, last, call in (("open", 2, "c7"), ("bare", 1, None)):
        found = await store.session(session_id)
        assert found is not None
        assert (found.turn_open, found.interrupted, found.last_number) == (False, True, last)
        end = (await history(store, session_id))[-1]
        assert (end.kind, json.loads(end.body)) == (Kind.INTERRUPTED, {"call": call})
    other = await store.session("done")
    assert other is not None
    assert not other.interrupted
    assert await store.recover() == []


async def test_the_call_of_a_prompt_with_a_long_payload_is_found(store: Store) -> None:
    await durable(store, opened(), prompt(1, "x" * 200_000, call=9), ChangeSession("s", {"turn_open": True}))
    await store.recover()
    assert json.loads((await history(store))[-1].body) == {"call": 9}


# --- restoring ---


async def test_restored_entries_keep_their_numbers_times_and_holes(store: Store) -> None:
    restored = [
        gap("s", 1, 3, "age", 5.0),
        Entry("s", 7, Kind.UPDATE, b"{}", 6.0, 6),
        Entry("s", 9, Kind.TURN, b"{}", 7.0),
    ]
    await durable(store, opened(created_at=4.0, updated_at=7.0), Restore("s", tuple(restored)))
    assert await history(store) == restored
    await durable(store, entry(10))
    found = await store.session("s")
    assert found is not None
    assert (found.created_at, found.last_number) == (4.0, 10)


@pytest.mark.parametrize("order", [(1,), (3, 3), (4, 3)])
async def test_entries_out_of_order_are_not_restored(store: Store, order: tuple[int, ...]) -> None:
    await durable(store, opened(), entry(1), entry(2))
    entries = tuple(Entry("s", number, Kind.UPDATE, b"{}") for number in order)
    error = await outcome(store, [Restore("s", entries)])
    assert isinstance(error, StoreError)
    assert error.code == "refused"
    assert await numbers(store) == [1, 2]
