"""Writes a journal until it is killed, and says on stdout what was promised to it.

    journalist.py PATH POINT

POINT says where the process kills itself, as `place:count`; `nowhere:0` leaves that to somebody else. What it writes
depends on nothing: `planned` gives it to those who look afterwards.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from roost.sidecar.journal import Append, Change, ChangeSession
from roost.store import sqlite_schema
from roost.store.base import StoreLimits
from roost.store.sqlite import SqliteStore
from roost.store.sqlite_ledger import Ledger
from roost.store.sqlite_upkeep import Upkeep
from roost.store.sqlite_writer import Writer
from tests.store.values import chunk, opened, prompt, turn, update

# Small bounds, so that everything a day brings happens within a second.
LIMITS = StoreLimits(
    group_grace=0.002, idle_grace=0.0, checkpoint_bytes=20_000, log_bytes=200_000, blob_bytes=4_000, turn_bytes=3_000
)
ROUNDS = 50


def planned() -> Iterator[list[Change]]:
    """Batches. Session `s` has turns, `a` and `b` get an entry each in one batch; some payloads are long."""
    number = pair = 0
    yield [opened("s"), opened("a"), opened("b")]
    for turns in range(ROUNDS):
        number += 1
        yield [prompt(number, f"{turns}", f"key-{turns}", turns), ChangeSession("s", {"turn_open": True})]
        for piece in range(15):
            number += 1
            text = "x" * 9_000 if piece == 7 else f"{turns}.{piece} "
            yield [chunk(number, text, f"m{turns}")]
            number += 1
            yield [update(number, sessionUpdate="terminal_output_chunk", terminalId="t", data="eHk=")]
            pair += 1
            yield [chunk(pair, str(pair), session_id="a"), chunk(pair, str(pair), session_id="b")]
        number += 1
        yield [turn(number), ChangeSession("s", {"turn_open": False})]


def is_promise(batch: list[Change]) -> bool:
    """Prompts and ends of turns are promises; the rest is a stream."""
    return any(isinstance(change, ChangeSession) for change in batch) or not isinstance(batch[0], Append)


def kill_at(owner: Any, name: str, count: int, *, after: bool) -> None:
    """Ends this process at the count-th call, before it or after it."""
    original: Callable[..., Any] = getattr(owner, name)
    calls = 0

    def deadly(*arguments: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == count and not after:
            os.kill(os.getpid(), signal.SIGKILL)
        result = original(*arguments, **options)
        if calls == count:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    setattr(owner, name, deadly)


PLACES: dict[str, tuple[Any, str, bool]] = {
    "before a group": (Ledger, "apply", False),
    "in a group": (Ledger, "apply", True),
    "before a commit": (Ledger, "flush", True),
    "after a commit": (SqliteStore, "_report_from_thread", False),
    "after a checkpoint": (Writer, "_checkpoint", True),
    "before a checkpoint": (Writer, "_checkpoint", False),
    "at the end of a compaction": (Upkeep, "_note_compacted", True),
    "in a compaction": (Upkeep, "_change_lines", True),
    "half way through a compaction": (Upkeep, "_rewrite", True),
    "before the file is there": (sqlite_schema.os, "replace", False),
    "when the file is there": (sqlite_schema.os, "replace", True),
    "in a migration": (sqlite_schema, "_migrate", True),
}


async def main() -> None:
    path, point = Path(sys.argv[1]), sys.argv[2]
    place, _, count = point.rpartition(":")
    if place in PLACES:
        owner, name, after = PLACES[place]
        kill_at(owner, name, int(count), after=after)
    store = SqliteStore(path, limits=LIMITS)
    await store.open()
    os.write(1, b"open\n")
    for batch in planned():
        if not is_promise(batch):
            store.write(batch)
            await asyncio.sleep(0)
            continue
        kept: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        store.write(batch, kept.set_result)
        assert await kept is None
        first = batch[0]
        if isinstance(first, Append):
            os.write(1, f"{first.entry.number}\n".encode())
    await store.tidy()
    await store.close()
    os.write(1, b"closed\n")


if __name__ == "__main__":
    asyncio.run(main())
