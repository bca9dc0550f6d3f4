"""What every store promises of a batch: all of it or nothing, told in order."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from roost.errors import StoreError
from roost.sidecar.journal import (
    AdoptSession,
    ChangeSession,
    DeleteSession,
)
from roost.store.base import Store
from tests.contracts.stores import Make
from tests.store.values import (
    Ear,
    durable,
    entry,
    numbers,
    opened,
    outcome,
)


async def test_promises_are_kept_in_order_and_in_the_loop(store: Store) -> None:
    told: list[int] = []
    ready = asyncio.get_running_loop().create_future()
    store.write([opened()])
    for number in range(1, 20):
        store.write([entry(number)], lambda error, number=number: told.append(number))
    store.write([], ready.set_result)
    assert told == []  # never from inside the call
    assert await asyncio.wait_for(ready, 10) is None
    assert told == list(range(1, 20))


@pytest.mark.parametrize("number", [0, 1, 3, -1, 2**40, 2**70])
async def test_an_entry_that_does_not_follow_is_refused_with_its_batch(store: Store, number: int) -> None:
    await durable(store, opened(), entry(1))
    error = await outcome(store, [ChangeSession("s", {"title": "no"}), entry(number)])
    assert isinstance(error, StoreError)
    assert error.code == "refused"
    found = await store.session("s")
    assert found is not None
    assert found.title is None
    assert await numbers(store) == [1]
    await durable(store, entry(2))


async def test_a_refused_batch_nobody_waits_for_is_complained_of(store: Store, ear: Ear) -> None:
    store.write([opened(), entry(2)])
    await store.last_number("s")
    await asyncio.sleep(0)
    [complaint] = ear.heard
    assert complaint.code == "refused"
    assert await store.session("s") is None


async def test_who_watches_can_be_exchanged(store: Store, ear: Ear) -> None:
    later = Ear()
    store.watch(later)
    store.write([opened(), entry(2)])
    await store.last_number("s")
    await asyncio.sleep(0)
    assert [complaint.code for complaint in later.heard] == ["refused"]
    assert ear.heard == []


async def test_a_batch_knows_what_comes_before_in_it(store: Store) -> None:
    assert (
        await outcome(store, [opened(), entry(1), entry(2), DeleteSession("s"), entry(7), opened(), entry(1)]) is None
    )
    assert await numbers(store) == [1]
    error = await outcome(store, [opened("t"), opened("t")])
    assert isinstance(error, StoreError)


async def test_changes_of_an_unknown_session_are_ignored(store: Store) -> None:
    changes = [entry(5, session_id="x"), ChangeSession("x", {"title": "t"}), DeleteSession("x"), AdoptSession("x", "y")]
    assert await outcome(store, changes) is None
    assert await store.session("x") is None


async def test_a_store_that_is_not_open_says_so(make: Make, ear: Ear) -> None:
    store = make()
    error = await outcome(store, [opened()])
    assert isinstance(error, StoreError)
    assert error.code == "closed"
    store.write([opened()])
    assert [complaint.code for complaint in ear.heard] == ["closed"]
    await store.open()
    await store.close()
    error = await outcome(store, [opened()])
    assert isinstance(error, StoreError)
    assert error.code == "closed"
    await store.close()


async def test_a_caller_that_raises_spoils_nothing_for_the_next(store: Store) -> None:
    faults: list[Any] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda loop, context: faults.append(context["exception"]))

    def broken(error: object) -> None:
        raise RuntimeError("mine")

    store.write([opened()], broken)
    await durable(store, entry(1))
    assert [str(fault) for fault in faults] == ["mine"]
