"""The journal: how soon events are durable, how many there can be, and how long histories and listings take to read.

    python -m bench journal

SQLite with synchronous=FULL on the disk that holds the temporary directory; every figure is one process.
"""

# it measures from outside, alone in its loop

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from bench.measure import Report, median, percentile
from roost.sidecar.gen.messages import AcpRuntimeKind
from roost.sidecar.journal import Append, Change, Entry, Kind, OpenSession, StoredLaunch, StoredSession
from roost.store.base import place
from roost.store.sqlite import SqliteStore

RATE = 2_000
SECONDS = 5
HISTORY = 100_000
SESSIONS = 10_000
PAGE = 50
CHUNKS = 20_000
TEXT = "x" * 200
LAUNCH = StoredLaunch(
    agent_type="wren",
    runtime=AcpRuntimeKind.PYTHON,
    cwd="/work",
    args=(),
    env_names=(),
    protocol_version=2,
    client_capabilities="{}",
    mcp_servers="[]",
)
LINE = (
    b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":'
    b'"agent_message_chunk","messageId":"m%d","content":{"type":"text","text":"%b"}}}}'
)


def opened(session_id: str) -> OpenSession:
    return OpenSession(StoredSession(session_id=session_id, live_id=session_id, owner="me", launch=LAUNCH))


def chunk(session_id: str, number: int, message: int = 0) -> Append:
    return Append(Entry(session_id, number, Kind.UPDATE, LINE % (message, TEXT.encode())))


@contextlib.asynccontextmanager
async def journal(folder: str, name: str = "journal.db") -> AsyncIterator[SqliteStore]:
    store = SqliteStore(Path(folder, name))
    await store.open()
    try:
        yield store
    finally:
        await store.close()


async def durable(store: SqliteStore, changes: Sequence[Change]) -> None:
    future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    store.write(changes, future.set_result)
    assert await future is None


async def latencies(store: SqliteStore, session_id: str) -> tuple[list[float], list[float]]:
    """Seconds from event to durable, at RATE: of streamed events, and of promises, one in fifty."""
    written: list[float] = []
    streamed: list[float] = []
    promised: list[float] = []
    durable_so_far = 0
    note = store._take_note

    def take_note(report: Any) -> None:
        nonlocal durable_so_far
        now = time.perf_counter()
        streamed.extend([now - at for at in written[durable_so_far : durable_so_far + report.durable]])
        durable_so_far += report.durable
        note(report)

    await durable(store, [opened(session_id)])
    store._take_note = take_note  # type: ignore[method-assign]
    start = time.perf_counter()
    number = 0
    while number < RATE * SECONDS:
        await asyncio.sleep(max(0.0, start + number / RATE - time.perf_counter()))
        for _ in range(max(1, min(RATE * SECONDS, int((time.perf_counter() - start) * RATE)) - number)):
            number += 1
            now = time.perf_counter()
            written.append(now)
            done = None
            if number % 50 == 0:

                def done(error: object, now: float = now) -> None:
                    promised.append(time.perf_counter() - now)

            store.write((chunk(session_id, number, number // 1_000),), done)
    while durable_so_far < number:
        await asyncio.sleep(0.001)
    store._take_note = note  # type: ignore[method-assign]
    return streamed, promised


def syncs(folder: str) -> list[float]:
    """Seconds that the disk takes for two pages written and made durable, as a commit does."""
    times = []
    file = os.open(Path(folder, "sync"), os.O_CREAT | os.O_WRONLY)
    try:
        for number in range(200):
            os.pwrite(file, b"x" * 8192, number * 8192)
            start = time.perf_counter()
            os.fdatasync(file)
            times.append(time.perf_counter() - start)
            time.sleep(0.005)
    finally:
        os.close(file)
    return times


async def throughput(store: SqliteStore, session_id: str, count: int) -> tuple[float, float, float]:
    """Events/s, CPU µs per event of the whole process, and µs of the loop's own thread in `write`."""
    await durable(store, [opened(session_id)])
    changes = [(chunk(session_id, number, number // 1_000),) for number in range(1, count + 1)]
    wall, cpu, own = time.perf_counter(), time.process_time(), 0.0
    for start in range(0, count, 512):
        before = time.thread_time()
        for change in changes[start : start + 512]:
            store.write(change)
        own += time.thread_time() - before
        while store.stats().queued_entries > 16_384:
            await asyncio.sleep(0.001)
        await asyncio.sleep(0)
    await durable(store, [])
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return count / wall, cpu / count * 1e6, own / count * 1e6


async def read_back(store: SqliteStore, session_id: str, count: int) -> tuple[float, float]:
    """Seconds to the first page and to the last."""
    seen, first, start = 0, 0.0, time.perf_counter()
    async for page in store.pages(session_id):
        if not seen:
            first = time.perf_counter() - start
        seen += len(page)
    assert seen == count, seen
    return first, time.perf_counter() - start


async def paging(store: SqliteStore) -> list[float]:
    """Seconds for each page of a listing of all sessions."""
    times, after, seen = [], None, 0
    while True:
        start = time.perf_counter()
        page = await store.sessions("me", after=after, limit=PAGE)
        times.append(time.perf_counter() - start)
        if not page:
            break
        seen += len(page)
        after = place(page[-1])
    assert seen >= SESSIONS
    return times[:-1]


async def opening(folder: str, name: str) -> float:
    """Seconds to open, recover and list the first page; the best of five, for the disk's sake."""
    times = []
    for _ in range(5):
        start = time.perf_counter()
        async with journal(folder, name) as store:
            await store.recover()
            await store.sessions("me", limit=PAGE)
            times.append(time.perf_counter() - start)
    return min(times)


async def compaction(store: SqliteStore) -> tuple[float, int, float]:
    """Seconds to compact a turn of CHUNKS chunks, what is left of it, and the longest promise of another session."""
    await durable(store, [opened("turn"), opened("other")])
    await durable(store, [chunk("turn", number, number // 100) for number in range(1, CHUNKS + 1)])
    end = Entry("turn", CHUNKS + 1, Kind.TURN, b"{}")
    await durable(store, [Append(end)])
    start = time.perf_counter()
    longest, number = 0.0, 0
    while await compacted(store) < CHUNKS:
        number += 1
        before = time.perf_counter()
        await durable(store, [chunk("other", number)])
        longest = max(longest, time.perf_counter() - before)
        await asyncio.sleep(store._limits.idle_grace * 1.5)
    took = time.perf_counter() - start
    left = 0
    async for page in store.pages("turn"):
        left += len(page)
    return took, left, longest


async def compacted(store: SqliteStore) -> int:
    rows = await store._reader._rows(
        "SELECT compacted FROM progress JOIN sessions USING (key) WHERE session_id = 'turn'"
    )
    return int(rows[0][0])


async def run() -> Report:
    report = Report("journal: SQLite, synchronous=FULL")
    with tempfile.TemporaryDirectory() as folder:
        bare = syncs(folder)
        report.row("one fdatasync of this disk, p50", f"{percentile(bare, 0.5) * 1e3:.1f} ms")
        report.row("one fdatasync of this disk, p99", f"{percentile(bare, 0.99) * 1e3:.1f} ms")
        async with journal(folder) as store:
            streamed, promised = await latencies(store, "rate")
            p50, p99 = percentile(streamed, 0.5) * 1e3, percentile(streamed, 0.99) * 1e3
            report.row(f"event to durable at {RATE}/s, p50", f"{p50:.1f} ms")
            report.row(f"event to durable at {RATE}/s, p99", f"{p99:.1f} ms", "at most 25 ms", met=p99 <= 25)
            report.row("promise to durable meanwhile, p50", f"{percentile(promised, 0.5) * 1e3:.1f} ms")
            report.row("promise to durable meanwhile, p99", f"{percentile(promised, 0.99) * 1e3:.1f} ms")

            rate, cpu, own = await throughput(store, "long", HISTORY)
            report.row("appended and durable", f"{rate:,.0f} /s")
            report.row("CPU per event, whole process", f"{cpu:.1f} µs")
            report.row("CPU per event, in write()", f"{own:.2f} µs")

            await throughput(store, "short", HISTORY // 10)
            await read_back(store, "short", HISTORY // 10)
            first, whole = await read_back(store, "long", HISTORY)
            _, tenth = await read_back(store, "short", HISTORY // 10)
            ratio = whole / tenth
            report.row(f"first page of {HISTORY:,} events", f"{first * 1e3:.1f} ms", "under 50 ms", met=first < 0.05)
            report.row(f"all of {HISTORY:,} events", f"{whole * 1e3:.0f} ms")
            report.row("the same by a tenth of them", f"{ratio:.1f} times", "10: linear", met=ratio < 15)

            took, left, longest = await compaction(store)
            report.row(f"a turn of {CHUNKS:,} chunks compacted", f"{took * 1e3:.0f} ms", "with pauses for others")
            report.row("entries that are left of it", f"{left}", "a few hundred", met=left < 500)
            report.row("longest promise of another session meanwhile", f"{longest * 1e3:.1f} ms")

        async with journal(folder, "many.db") as store:
            for start in range(0, SESSIONS, 500):
                changes: list[Change] = []
                for number in range(start, start + 500):
                    changes += [opened(f"s{number:05}"), chunk(f"s{number:05}", 1)]
                await durable(store, changes)
            times = await paging(store)
            early, late = median(times[:20]) * 1e3, median(times[-20:]) * 1e3
            met = late < 2 * early + 1
            report.row(f"a page of {PAGE} of {SESSIONS:,} sessions, at the start", f"{early:.2f} ms")
            report.row("the same at the end", f"{late:.2f} ms", "the same", met=met)
        async with journal(folder, "empty.db"):
            pass
        many, empty = await opening(folder, "many.db"), await opening(folder, "empty.db")
        report.row("opening an empty journal", f"{empty * 1e3:.1f} ms")
        extra = (many - empty) * 1e3
        report.row(f"opening one of {SESSIONS:,} sessions, on top", f"{extra:.1f} ms", "under 200 ms", met=extra < 200)
        report.row("files on disk", f"{sum(os.path.getsize(e) for e in os.scandir(folder)) / 1e6:.0f} MB")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    report.row("peak memory of all this", f"{peak:.0f} MiB")
    return report


def main() -> Report:
    return asyncio.run(run())
