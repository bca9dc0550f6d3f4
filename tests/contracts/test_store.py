"""What every store promises, whatever it keeps things in."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from roost.acp.fold import fold
from roost.acp.view import SessionView
from roost.errors import StoreError
from roost.sidecar.journal import (
    AdoptSession,
    ChangeSession,
    DeleteSession,
    Entry,
    Kind,
    LearnVersion,
    Restore,
    StoredPrompt,
    gap,
)
from roost.store.base import Retention, Store, StoreLimits, place
from roost.store.memory import MemoryStore
from roost.store.sqlite import SqliteStore
from tests.acp.views import plain_view, update_of
from tests.store.values import (
    PATIENCE,
    Clock,
    Ear,
    chunk,
    durable,
    entry,
    history,
    launch,
    numbers,
    opened,
    outcome,
    prompt,
    session,
    turn,
    update,
)

Make = Callable[..., Store]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ear() -> Ear:
    return Ear()


@pytest.fixture(params=["memory", "sqlite"])
def make(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock, ear: Ear) -> Make:
    """Makes the store under test; it is not open yet."""

    def make(**options: Any) -> Store:
        options = {"clock": clock, "watcher": ear, **options}
        if request.param == "memory":
            return MemoryStore(**options)
        return SqliteStore(tmp_path / "data" / "journal.db", **options)

    return make


@pytest.fixture
async def store(make: Make) -> AsyncIterator[Store]:
    store = make()
    await store.open()
    yield store
    await store.close()


def shown(entries: list[Entry]) -> Any:
    view = SessionView()
    for one in entries:
        if one.kind is Kind.UPDATE:
            fold(view, update_of(json.loads(one.body)["params"]["update"]))
    return plain_view(view)


# --- sessions ---


async def test_a_session_reads_back_as_it_was_opened(store: Store, clock: Clock) -> None:
    given = session(title="t", modes="{}", config_options=("{}", "[]"), capabilities="{}", info="{}", usage="{}")
    await durable(
        store, opened(title="t", modes="{}", config_options=("{}", "[]"), capabilities="{}", info="{}", usage="{}")
    )
    found = await store.session("s")
    assert found is not None
    assert (found.created_at, found.updated_at, found.last_number) == (clock.now, clock.now, 0)
    assert found.launch == launch()
    assert (found.title, found.config_options, found.live_id) == (given.title, given.config_options, given.live_id)


async def test_an_unknown_session_is_none_and_has_nothing(store: Store) -> None:
    assert await store.session("nobody") is None
    assert await store.session("\ud800") is None
    assert await history(store, "nobody") == []
    assert await store.last_number("nobody") == 0
    assert await store.prompt_by_key("nobody", "k") is None


async def test_every_changeable_field_changes(store: Store, clock: Clock) -> None:
    await durable(store, opened())
    clock.now += 5
    fields: dict[str, object] = {
        "live_id": "other",
        "launch": launch(1),
        "title": "new",
        "modes": "{}",
        "config_options": ("{}",),
        "capabilities": "{}",
        "info": "{}",
        "usage": "{}",
        "turn_open": True,
        "interrupted": True,
    }
    await durable(store, ChangeSession("s", fields))
    found = await store.session("s")
    assert {name: getattr(found, name) for name in fields} == fields
    assert found is not None
    assert found.updated_at == clock.now


async def test_a_field_that_is_not_changeable_is_refused_where_the_change_is_made() -> None:
    with pytest.raises(ValueError, match="owner"):
        ChangeSession("s", {"owner": "somebody"})


async def test_a_session_that_is_there_is_not_opened_again(store: Store) -> None:
    await durable(store, opened(title="first"))
    error = await outcome(store, [opened(title="second")])
    assert isinstance(error, StoreError)
    assert error.code == "refused"
    found = await store.session("s")
    assert found is not None
    assert found.title == "first"


async def test_a_deleted_session_is_gone_and_its_id_can_be_used_again(store: Store) -> None:
    await durable(store, opened(), entry(1), prompt(2, key="k"))
    await durable(store, DeleteSession("s"))
    assert await store.session("s") is None
    assert await history(store) == []
    await durable(store, opened(), entry(1))
    await store.tidy()
    assert await numbers(store) == [1]
    assert await store.prompt_by_key("s", "k") is None


async def test_a_session_can_be_deleted_and_opened_anew_in_one_batch(store: Store) -> None:
    await durable(store, opened(), entry(1), entry(2))
    await durable(store, DeleteSession("s"), opened(), entry(1, body={"new": True}))
    assert [one.body for one in await history(store)] == [b'{"new": true}']


async def test_a_session_given_to_another_owner_is_his(store: Store) -> None:
    await durable(store, opened(), AdoptSession("s", "you"))
    assert await store.sessions("me") == []
    assert [found.owner for found in await store.sessions("you")] == ["you"]


# --- listings ---


async def test_a_listing_is_newest_first_and_pages_do_not_overlap(store: Store, clock: Clock) -> None:
    for number in range(25):
        clock.now += number % 3  # some are made at the same time
        store.write([opened(f"s{number:02}"), opened(f"x{number}", owner="you")])
    expected = sorted(await store.sessions("me", limit=1000), key=place, reverse=True)
    assert len(expected) == 25
    seen, after = [], None
    while page := await store.sessions("me", after=after, limit=4):
        assert len(page) <= 4
        seen += page
        after = place(page[-1])
    assert seen == expected
    assert len(await store.sessions(None, limit=1000)) == 50


async def test_a_listing_has_no_more_than_its_bound(make: Make) -> None:
    store = make(limits=StoreLimits(sessions_page=3))
    await store.open()
    store.write([opened(f"s{number}") for number in range(5)])
    assert len(await store.sessions("me", limit=1000)) == 3
    assert await store.sessions("me", limit=-1) == []
    await store.close()


async def test_an_id_of_somebody_else_is_told_from_ones_own(store: Store) -> None:
    store.write([opened("me/a"), opened("you/b/c", owner="you")])

    async def strange(owner: str) -> list[str]:
        return [
            name
            for name in ("a", "live-me/a", "b/c", "live-you/b/c", "you/b/c", "c", "")
            if await store.is_strangers(owner, name)
        ]

    assert await strange("me") == ["b/c", "live-you/b/c"]
    assert await strange("you") == ["a", "live-me/a"]
    assert await strange("nobody") == ["a", "live-me/a", "b/c", "live-you/b/c"]
    assert not await store.is_strangers("me", "\ud800")


async def test_a_prefix_finds_own_sessions_only(store: Store) -> None:
    store.write([opened("abc"), opened("abd"), opened("ab"), opened("b%"), opened("abx", owner="you")])

    async def found(prefix: str, limit: int = 10) -> list[str]:
        return [one.session_id for one in await store.find("me", prefix, limit=limit)]

    assert await found("abc") == ["abc"]
    assert await found("ab") == ["ab"]
    assert await found("a") == ["ab", "abc", "abd"]
    assert await found("a", 2) == ["ab", "abc"]
    assert await found("abx") == []
    assert await found("%") == []
    assert await found("\ud800") == []
    assert len(await found("")) == 4


# --- entries ---


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


# --- batches ---


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


# --- recovery ---


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


# --- compaction ---


def streamed(start: int, count: int = 50) -> list[Any]:
    """A turn in pieces."""
    pieces = [chunk(start + number, f"{number} ", f"m{start}") for number in range(count)]
    call = update(start + count, sessionUpdate="tool_call_update", toolCallId=f"t{start}", title="Run")
    output = [
        update(start + count + 1 + number, sessionUpdate="terminal_output_chunk", terminalId="t", data="eHk=")
        for number in range(count)
    ]
    return [*pieces, call, *output]


async def test_an_ended_turn_is_compacted_and_shows_the_same(store: Store) -> None:
    await durable(store, opened(), prompt(1), *streamed(2))
    before = shown(await history(store))
    await durable(store, turn(103))
    await store.tidy()
    after = await history(store)
    assert shown(after) == before
    assert [one.kind for one in after] == [Kind.PROMPT, Kind.UPDATE, Kind.UPDATE, Kind.UPDATE, Kind.TURN]
    assert await store.last_number("s") == 103
    await durable(store, prompt(104))


async def test_a_second_turn_knows_what_the_first_began(store: Store) -> None:
    await durable(store, opened(), *streamed(1), turn(102))
    await store.tidy()
    await durable(store, *streamed(103), chunk(204, "late", "m1"), turn(205))
    before = shown(await history(store))
    await store.tidy()
    after = await history(store)
    assert shown(after) == before
    assert len(after) == 4 + 5
    [joined] = [one for one in after if one.first]  # the terminal goes on
    assert (joined.first, joined.number) == (154, 203)


async def test_an_open_turn_is_not_compacted(store: Store) -> None:
    await durable(store, opened(), *streamed(1), turn(102), ChangeSession("s", {"turn_open": True}))
    await store.tidy()
    assert len(await history(store)) == 102
    await durable(store, ChangeSession("s", {"turn_open": False}))
    await store.tidy()
    assert len(await history(store)) == 4


async def test_an_ended_turn_is_compacted_by_itself(make: Make) -> None:
    store = make(limits=StoreLimits(idle_grace=0.01))
    await store.open()
    await durable(store, opened(), *streamed(1), turn(102))
    async with asyncio.timeout(PATIENCE):
        while len(await history(store)) > 4:  # noqa: ASYNC110
            await asyncio.sleep(0.005)  # while it is read it is left alone
    assert len(await history(store)) == 4
    await store.close()


async def test_a_history_that_is_being_read_is_left_alone(store: Store) -> None:
    await durable(store, opened(), *streamed(1, 300), turn(602))
    seen: list[int] = []
    pages = store.pages("s")
    async for page in pages:
        await store.tidy()
        seen += [one.number for one in page]
    assert seen == list(range(1, 603))
    await durable(store, turn(603))
    await store.tidy()
    assert len(await history(store)) == 5


async def test_a_v1_session_is_compacted_by_its_own_rules(store: Store) -> None:
    text = [
        update(number, sessionUpdate="agent_message_chunk", content={"type": "text", "text": "x"})
        for number in range(1, 11)
    ]
    await durable(store, opened(version=1), *text, turn(11))
    await store.tidy()
    merged, end = await history(store)
    assert (merged.first, merged.number, end.number) == (1, 10, 11)
    assert json.loads(merged.body)["params"]["update"]["content"]["text"] == "x" * 10


# --- retention ---


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


async def test_stats_tell_what_there_is(store: Store) -> None:
    await durable(store, opened(), entry(1))
    await store.tidy()
    stats = store.stats()
    assert (stats.queued_entries, stats.queued_bytes, stats.lost, stats.failure) == (0, 0, 0, None)
    assert stats.entries == 2
    assert stats.commits >= 1
    assert stats.stored_bytes > 0


async def test_what_programs_speak_is_kept_in_the_order_it_was_learned(store: Store) -> None:
    assert await store.versions() == {}
    await durable(store, LearnVersion("a", 1, 3), LearnVersion("b", 2, 3), LearnVersion("a", 2, 3))
    assert list((await store.versions()).items()) == [("b", 2), ("a", 2)]
    assert await outcome(store, [LearnVersion("c", 1, 3), LearnVersion("d", 1, 3)]) is None
    assert list((await store.versions()).items()) == [("a", 2), ("c", 1), ("d", 1)]
    await durable(store, LearnVersion("e", 1, 1))
    assert await store.versions() == {"e": 1}
