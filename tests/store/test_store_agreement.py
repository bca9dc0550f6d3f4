"""The two stores against each other: any sequence of changes, the same answers, also after reopening."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from roost.sidecar.journal import (
    AdoptSession,
    Append,
    Change,
    ChangeSession,
    DeleteSession,
    Entry,
    Kind,
    Restore,
)
from roost.store.base import Retention, Store, StoreLimits
from roost.store.memory import MemoryStore
from roost.store.sqlite import SqliteStore
from tests.store.values import Clock, chunk, history, opened, outcome, prompt, turn, update

ids = st.sampled_from(["a", "b"])
steps = st.one_of(
    st.tuples(st.just("open"), ids),
    st.tuples(st.just("delete"), ids),
    st.tuples(st.just("title"), ids),
    st.tuples(st.just("busy"), ids),
    st.tuples(st.just("calm"), ids),
    st.tuples(st.just("adopt"), ids),
    st.tuples(st.just("chunk"), ids),
    st.tuples(st.just("chunk"), ids),
    st.tuples(st.just("output"), ids),
    st.tuples(st.just("prompt"), ids),
    st.tuples(st.just("turn"), ids),
    st.tuples(st.just("wrong"), ids),
    st.tuples(st.just("restore"), ids),
    st.tuples(st.just("long"), ids),
    st.tuples(st.just("wait"), ids),
    st.tuples(st.just("tidy"), ids),
    st.tuples(st.just("recover"), ids),
    st.tuples(st.just("reopen"), ids),
)


class Script:
    """Turns steps into changes; the same for both stores."""

    def __init__(self) -> None:
        self.last = {"a": 0, "b": 0}
        self.made: set[str] = set()
        self.count = 0

    def changes(self, step: str, id_: str) -> list[Change]:
        self.count += 1
        number = self.last[id_] + 1
        match step:
            case "open":
                if id_ not in self.made:
                    self.made.add(id_)
                    self.last[id_] = 0
                return [opened(id_)]
            case "delete":
                self.made.discard(id_)
                self.last[id_] = 0
                return [DeleteSession(id_)]
            case "title":
                return [ChangeSession(id_, {"title": f"t{self.count}", "config_options": (str(self.count),)})]
            case "busy" | "calm":
                return [ChangeSession(id_, {"turn_open": step == "busy"})]
            case "adopt":
                return [AdoptSession(id_, "you" if self.count % 2 else "me")]
            case "wrong":
                return [ChangeSession(id_, {"title": "never"}), chunk(number + 1, "x", session_id=id_)]
            case "restore":
                entries = (
                    Entry(id_, number + 1, Kind.UPDATE, b"{}", 5.0, number),
                    Entry(id_, number + 3, Kind.EXIT, b"{}", 6.0),
                )
                if id_ in self.made:
                    self.last[id_] = number + 3
                return [Restore(id_, entries)]
        made: Append
        match step:
            case "chunk":
                made = chunk(number, f"{self.count}", f"m{self.count % 2}", id_)
            case "output":
                made = update(number, id_, sessionUpdate="terminal_output_chunk", terminalId="t", data="eHk=")
            case "prompt":
                made = prompt(number, str(self.count), f"k{self.count % 3}", self.count, id_)
            case "long":
                made = chunk(number, "x" * 300, "long", id_)
            case _:
                made = turn(number, id_)
        if id_ in self.made:
            self.last[id_] = number
        return [made]


async def answers(store: Store) -> dict[str, Any]:
    return {
        "histories": [await history(store, id_) for id_ in "ab"],
        "sessions": [await store.session(id_) for id_ in "ab"],
        "listed": [await store.sessions(owner) for owner in ("me", "you", None)],
        "keys": [await store.prompt_by_key(id_, key) for id_ in "ab" for key in ("k0", "k1", "k2")],
        "last": [await store.last_number(id_) for id_ in "ab"],
    }


async def compare(script: list[tuple[str, str]], folder: str) -> None:
    clock = Clock()
    limits = StoreLimits(blob_bytes=200, idle_grace=1_000.0)
    options: dict[str, Any] = {"clock": clock, "limits": limits, "retention": Retention(max_age=50.0)}
    path = Path(folder, "journal.db")
    memory = MemoryStore(**options)
    sqlite = SqliteStore(path, **options)
    await memory.open()
    await sqlite.open()
    maker = Script()
    for step, id_ in script:
        clock.now += 1
        if step == "wait":
            clock.now += 30
        elif step == "tidy":
            await memory.tidy()
            await sqlite.tidy()
        elif step == "recover":
            interrupted = await memory.recover()
            assert sorted(await sqlite.recover()) == sorted(interrupted)
            for each in interrupted:
                maker.last[each] += 1
        elif step == "reopen":
            await sqlite.close()
            sqlite = SqliteStore(path, **options)
            await sqlite.open()
        else:
            changes = maker.changes(step, id_)
            first, second = await outcome(memory, changes), await outcome(sqlite, changes)
            assert getattr(first, "code", None) == getattr(second, "code", None), (step, first, second)
        if step in ("turn", "calm", "recover", "wait"):  # so that both compact and let go of the same stretches
            await memory.tidy()
            await sqlite.tidy()
    await memory.tidy()
    await sqlite.tidy()
    assert await answers(sqlite) == await answers(memory)
    await memory.close()
    await sqlite.close()


@given(st.lists(steps, max_size=40))
@settings(max_examples=20, deadline=None)
def test_both_stores_give_the_same_answers_whatever_happens(script: list[tuple[str, str]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(compare([("open", "a"), *script], folder))
