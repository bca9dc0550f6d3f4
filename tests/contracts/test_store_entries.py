"""What every store promises of entries and prompts: kept as they were, in order, read in pages."""

from __future__ import annotations

import hashlib
import json

import pytest

from roost.sidecar.journal import (
    ChangeSession,
    Kind,
    StoredPrompt,
)
from roost.store.base import Store, StoreLimits
from tests.contracts.stores import Make
from tests.store.values import (
    Clock,
    durable,
    entry,
    history,
    numbers,
    opened,
    prompt,
)


async def test_entries_read_back_in_order_with_the_time_they_were_written(store: Store, clock: Clock) -> None:
    store.write([opened()])
    store.write([entry(1, Kind.PROMPT), entry(2)])
    clock.now += 7
    store.write([entry(3, Kind.TURN)])
    found = await history(store)
    assert [(one.number, one.kind, one.at - clock.now) for one in found] == [
        (1, Kind.PROMPT, -7),
        (2, Kind.UPDATE, -7),
        (3, Kind.TURN, 0),
    ]
    assert await store.last_number("s") == 3


async def test_every_kind_and_every_byte_of_a_body_is_kept(store: Store) -> None:
    bodies = [b'{"a":"\xc3\xa9\\u0000"}', b"{}", b"\xff not json \x00\n", b""]
    changes = [entry(number, kind, bodies[number % 4]) for number, kind in enumerate(Kind, 1)]
    await durable(store, opened(), *changes)
    assert [(one.kind, one.body) for one in await history(store)] == [(c.entry.kind, c.entry.body) for c in changes]


async def test_a_reader_starts_after_a_number_and_stops_at_a_limit(store: Store) -> None:
    await durable(store, opened(), *(entry(number) for number in range(1, 1_200)))
    assert [one.number for one in await history(store, after=1_100)] == list(range(1_101, 1_200))
    assert [one.number for one in await history(store, after=3, limit=700)] == list(range(4, 704))
    assert await history(store, limit=0) == []
    assert await history(store, after=9_999) == []


async def test_pages_are_bounded_in_entries_and_in_bytes(make: Make) -> None:
    store = make(limits=StoreLimits(page_entries=100, page_bytes=5_000))
    await store.open()
    small = [entry(number) for number in range(1, 301)]
    large = [entry(number, body={"x": "y" * 2_000}) for number in range(301, 331)]
    await durable(store, opened(), *small, *large, entry(331, body={"x": "z" * 50_000}))
    pages = [page async for page in store.pages("s")]
    assert [one.number for page in pages for one in page] == list(range(1, 332))
    assert max(len(page) for page in pages) <= 100
    assert max(sum(len(one.body) for one in page[:-1]) for page in pages) < 5_000
    await store.close()


async def test_reads_see_every_write_before_them(store: Store) -> None:
    store.write([opened()])
    for number in range(1, 50):
        store.write([entry(number)])
        assert await store.last_number("s") == number
    store.write([ChangeSession("s", {"title": "seen"})])
    found = await store.session("s")
    assert found is not None
    assert found.title == "seen"


async def test_sessions_do_not_mix(store: Store) -> None:
    store.write([opened("a"), opened("b")])
    for number in range(1, 100):
        store.write([entry(number, session_id="a", body={"of": "a"}), entry(number, session_id="b", body={"of": "b"})])
    assert {one.body for one in await history(store, "a")} == {b'{"of": "a"}'}
    assert await numbers(store, "b") == list(range(1, 100))


async def test_a_long_history_being_read_may_grow(store: Store) -> None:
    store.write([opened(), *(entry(number) for number in range(1, 200))])
    seen = []
    async for page in store.pages("s"):
        if not seen:
            await durable(store, entry(200))
        seen += [one.number for one in page]
    assert seen == list(range(1, 201))


# --- prompts ---


async def test_a_prompt_is_found_by_its_key(store: Store) -> None:
    await durable(store, opened(), prompt(1, "a"), prompt(2, "b", key="k"), prompt(3, "c", key="k"))
    params = json.loads((await history(store))[1].body)["params"]
    found = await store.prompt_by_key("s", "k")
    assert found == StoredPrompt(2, hashlib.sha256(json.dumps(params).encode()).digest())
    assert await store.prompt_by_key("s", "other") is None


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"key":5}', b"\xff", b'{"key":null}', b'{"params":{}}'])
async def test_a_prompt_without_a_key_is_only_an_entry(store: Store, body: bytes) -> None:
    await durable(store, opened(), entry(1, Kind.PROMPT, body))
    assert [one.body for one in await history(store)] == [body]
