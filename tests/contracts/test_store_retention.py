"""What every store promises of old entries: let go with a gap in their place."""

from __future__ import annotations

import json

from roost.sidecar.journal import (
    ChangeSession,
    Kind,
)
from roost.store.base import Retention
from tests.contracts.stores import Make
from tests.store.values import (
    Clock,
    durable,
    entry,
    history,
    numbers,
    opened,
    prompt,
    turn,
)


async def test_old_entries_are_let_go_and_a_gap_is_where_they_were(make: Make, clock: Clock) -> None:
    store = make(retention=Retention(max_age=100.0))
    await store.open()
    await durable(store, opened(), entry(1), prompt(2, key="k"), entry(3))
    clock.now += 90
    await durable(store, entry(4), entry(5))
    clock.now += 20
    await store.tidy()
    mark, *rest = await history(store)
    assert (mark.kind, mark.number, mark.first) == (Kind.GAP, 3, 1)
    assert json.loads(mark.body) == {"first": 1, "last": 3, "reason": "age"}
    assert [one.number for one in rest] == [4, 5]
    assert await store.last_number("s") == 5
    assert await store.prompt_by_key("s", "k") is not None  # no prompt is sent twice
    clock.now += 200
    await store.tidy()
    [mark] = await history(store)
    assert json.loads(mark.body) == {"first": 1, "last": 5, "reason": "age"}
    await durable(store, entry(6))
    assert await numbers(store) == [5, 6]
    clock.now += 200
    await store.tidy()
    assert [json.loads(one.body)["last"] for one in await history(store)] == [6]
    await store.close()


async def test_nothing_of_an_open_turn_is_let_go(make: Make, clock: Clock) -> None:
    store = make(retention=Retention(max_age=100.0, max_bytes=1))
    await store.open()
    await durable(store, opened(), entry(1), turn(2), prompt(3), entry(4), ChangeSession("s", {"turn_open": True}))
    clock.now += 1_000
    await store.tidy()
    assert await numbers(store) == [2, 3, 4]
    await store.close()


async def test_the_oldest_entries_of_all_sessions_go_first_when_there_are_too_many(make: Make, clock: Clock) -> None:
    store = make(retention=Retention(max_bytes=3_000_000))
    await store.open()
    payload = {"x": "y" * 50_000}
    await durable(store, opened("new"), opened("old"), opened("odd"))
    for name, start in (("old", 0), ("odd", 1_000), ("new", 2_000)):
        clock.now = 1_700_000_000.0 + start
        for number in range(1, 41):
            store.write([entry(number, session_id=name, body=payload, at=clock.now + number * 10.0)])
    await store.tidy()
    left = {name: await history(store, name) for name in ("old", "odd", "new")}
    assert [one.kind for one in left["old"]] == [Kind.GAP]
    assert left["odd"][0].kind is Kind.GAP
    assert json.loads(left["odd"][0].body)["reason"] == "size"
    assert len(left["odd"]) > 2
    assert [one.number for one in left["new"]] == list(range(1, 41))
    assert store.stats().stored_bytes <= 3_000_000
    await store.close()
