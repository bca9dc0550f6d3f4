"""What every store promises of an ended turn: fewer entries that show the same."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from roost.acp.fold import fold
from roost.acp.view import SessionView
from roost.sidecar.journal import (
    ChangeSession,
    Entry,
    Kind,
)
from roost.store.base import Store, StoreLimits
from tests.acp.views import plain_view, update_of
from tests.contracts.stores import Make
from tests.store.values import (
    PATIENCE,
    chunk,
    durable,
    history,
    opened,
    prompt,
    turn,
    update,
)


def shown(entries: list[Entry]) -> Any:
    view = SessionView()
    for one in entries:
        if one.kind is Kind.UPDATE:
            fold(view, update_of(json.loads(one.body)["params"]["update"]))
    return plain_view(view)


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
