"""What every store promises of sessions: opened, changed, listed, deleted."""

from __future__ import annotations

import pytest

from roost.errors import StoreError
from roost.sidecar.journal import (
    AdoptSession,
    ChangeSession,
    DeleteSession,
    LearnVersion,
)
from roost.store.base import Store, StoreLimits, place
from tests.contracts.stores import Make
from tests.store.values import (
    Clock,
    durable,
    entry,
    history,
    launch,
    numbers,
    opened,
    outcome,
    prompt,
    session,
)


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

    async def held(*names: str) -> set[tuple[str, str, str]]:
        return {(holder.name, holder.owner, holder.agent_type) for holder in await store.holders(names)}

    agent = launch().agent_type
    mine = {("a", "me", agent), ("live-me/a", "me", agent)}
    yours = {("b/c", "you", agent), ("live-you/b/c", "you", agent)}
    assert await held("a", "live-me/a", "b/c", "live-you/b/c", "you/b/c", "c", "") == mine | yours
    assert await held("a", "live-me/a") == mine
    assert await held("\ud800", "b/c") == {("b/c", "you", agent)}
    assert await held("\ud800") == await held() == set()
    assert await held(*[f"x{number}" for number in range(2000)], "a", *[f"y{number}" for number in range(2000)]) == {
        ("a", "me", agent)
    }


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
