"""SIGKILL at chosen places and at any moment: what was promised is there, numbers have no holes, batches are whole."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from roost.acp.fold import fold
from roost.acp.view import SessionView
from roost.errors import StoreError
from roost.sidecar.journal import Append, Entry, Kind
from roost.store.base import StoreLimits
from roost.store.sqlite import SqliteStore
from tests.acp.views import plain_view, update_of
from tests.store import values
from tests.store.programs.journalist import PLACES, planned
from tests.store.values import PATIENCE, durable, history, numbers, opened

ROOT = Path(__file__).parents[2]
# `make soak` asks for more.
RANDOM_KILLS = int(os.environ.get("ROOST_KILLS", "6"))


def write_until_killed(path: Path, point: str, kill_after: float | None = None) -> tuple[list[str], int]:
    """What a writer was promised, line by line, and how it ended."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.store.programs.journalist", str(path), point],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        told: list[str] = []
        if kill_after is not None:
            told.append(process.stdout.readline().strip())
            try:
                process.wait(kill_after)
            except subprocess.TimeoutExpired:
                process.kill()
        output, _ = process.communicate(timeout=PATIENCE)
        return [*told, *output.split()], process.returncode
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def shown(entries: list[Entry]) -> Any:
    view = SessionView()
    for entry in entries:
        if entry.kind is Kind.UPDATE:
            fold(view, update_of(json.loads(entry.body)["params"]["update"]))
    return plain_view(view)


def written(session_id: str, last: int) -> list[Entry]:
    """What a session was given, up to a number."""
    return [
        change.entry
        for batch in planned()
        for change in batch
        if isinstance(change, Append) and change.entry.session_id == session_id and change.entry.number <= last
    ]


async def check(path: Path, told: list[str]) -> None:
    """Everything that must hold of the journal now, and that it can be gone on with."""
    store = SqliteStore(path, check=True)
    await store.open()
    promised = max([int(line) for line in told if line.isdigit()], default=0)
    found = await store.session("s")
    last = await store.last_number("s")
    assert last >= promised
    if last:
        assert found is not None
        given = written("s", last)
        kept = await history(store)
        assert shown(kept) == shown(given)
        told_apart = [(entry.number, entry.kind, entry.body) for entry in given if entry.kind is not Kind.UPDATE]
        assert [(entry.number, entry.kind, entry.body) for entry in kept if entry.kind is not Kind.UPDATE] == told_apart
        loose = [entry.number for entry in kept if entry.number > (told_apart[-1][0] if found.turn_open else last)]
        assert loose == list(range(last - len(loose) + 1, last + 1))
        assert found.turn_open == (given[-1].kind is not Kind.TURN)
        first = json.loads(given[0].body)
        assert await store.prompt_by_key("s", first["key"]) is not None
    pair = await store.last_number("a")
    assert pair == await store.last_number("b")
    assert await numbers(store, "a") == await numbers(store, "b") == list(range(1, pair + 1))

    assert await store.recover() == (["s"] if found is not None and found.turn_open else [])
    await store.tidy()
    if last:
        assert shown(await history(store)) == shown(written("s", last))
    blobs = await store._call(
        lambda: store._writer.db.execute("SELECT count(*) FROM blobs WHERE uses < 1").fetchone()[0]
    )
    assert blobs == 0
    await store.close()


POINTS = [
    *(f"{place}:1" for place in PLACES if " group" not in place),
    "before a group:40",
    "in a group:41",
    "in a group:200",
    "before a commit:9",
    "in a compaction:3",
]


@pytest.mark.parametrize("point", POINTS)
def test_nothing_promised_is_lost_when_a_writer_is_killed(tmp_path: Path, point: str) -> None:
    path = tmp_path / "journal.db"
    told, status = write_until_killed(path, point)
    assert status == -signal.SIGKILL
    asyncio.run(check(path, told))


@pytest.mark.parametrize("round_", range(RANDOM_KILLS))
def test_nothing_promised_is_lost_when_a_writer_is_killed_at_any_moment(tmp_path: Path, round_: int) -> None:
    path = tmp_path / "journal.db"
    delay = random.Random(round_).uniform(0.0, 0.4) if "ROOST_KILLS" not in os.environ else random.uniform(0.0, 2.0)
    told, status = write_until_killed(path, "nowhere:0", delay)
    assert status in (-signal.SIGKILL, 0)
    asyncio.run(check(path, told))


def test_a_writer_nobody_kills_leaves_everything(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    told, status = write_until_killed(path, "nowhere:0")
    assert status == 0
    assert told[-1] == "closed"
    asyncio.run(check(path, told))


def log_frames(log: bytes) -> list[tuple[int, int]]:
    """Number of the page and where it begins, of each frame of a log: https://www.sqlite.org/fileformat.html#walformat"""
    page_size = int.from_bytes(log[8:12], "big")
    starts = range(32, len(log) - page_size - 23, 24 + page_size)
    return [(int.from_bytes(log[start : start + 4], "big"), start + 24) for start in starts]


async def killed_in_a_checkpoint(folder: Path, copied: int) -> Path:
    """A journal that was killed while its log was worked in: so many pages of it, in their order, are in the file."""
    path = folder / "journal.db"
    store = SqliteStore(folder / "running.db", limits=StoreLimits(idle_grace=1_000.0, checkpoint_bytes=1_000_000_000))
    await store.open()
    await durable(store, opened(), *(values.entry(number, body={"x": "y" * 500}) for number in range(1, 2_001)))
    data, log = bytearray((folder / "running.db").read_bytes()), (folder / "running.db-wal").read_bytes()
    await store.close()
    page_size = int.from_bytes(log[8:12], "big")
    for number, start in sorted(dict(log_frames(log)).items())[:copied]:
        data.extend(bytes(max(0, (number - 1) * page_size - len(data))))
        data[(number - 1) * page_size : number * page_size] = log[start : start + page_size]
    assert len(data) < int.from_bytes(data[28:32], "big") * page_size  # the head tells of pages that are not there yet
    path.write_bytes(data)
    (folder / "journal.db-wal").write_bytes(log)
    return path


@pytest.mark.parametrize("copied", [1, 2, 50])
async def test_a_journal_that_was_killed_in_a_checkpoint_is_whole(tmp_path: Path, copied: int) -> None:
    store = SqliteStore(await killed_in_a_checkpoint(tmp_path, copied))
    await store.open()
    assert await numbers(store) == list(range(1, 2_001))
    await store.close()


@pytest.mark.parametrize("harm", ["no log", "a log of before", "half a log"])
async def test_a_journal_that_lacks_what_its_log_had_is_damaged(tmp_path: Path, harm: str) -> None:
    path = await killed_in_a_checkpoint(tmp_path, 50)
    log = tmp_path / "journal.db-wal"
    data = log.read_bytes()
    if harm == "no log":
        log.unlink()
    elif harm == "a log of before":
        log.write_bytes(data[:16] + bytes(8) + data[24:])  # other salts: its frames count no more
    else:
        log.write_bytes(data[: len(data) // 2])
    with pytest.raises(StoreError, match="is damaged") as caught:
        await SqliteStore(path).open()
    assert caught.value.code == "damaged"
