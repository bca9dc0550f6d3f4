"""What the journal costs a daemon: its relay, its prompts, its start; and how soon a sleeping session is awake.

    python -m bench journal_relay

Two daemons, processes of their own, one with a journal and one without, take turns at the same work.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

from bench.journal import SESSIONS, chunk, durable, journal, opened, syncs
from bench.measure import Report, cpu_seconds, median, percentile, plain_environment
from bench.relay import AGENT, COUNT, SIZE
from roost.host import Host, connect
from roost.sidecar.gen.messages import AcpSessionRequest, AcpSessionRpcResponse
from roost.sidecar.journal import Change

ROUNDS = 9
PROMPTS = 200
WAKES = 15
STARTS = 7
LONG = 200_000  # updates in one prompt: more than the store takes in before it asks for a pause
PATIENCE = 30.0
QUIET = 0.3  # seconds of no CPU at all: the journal has been put in order


class House(NamedTuple):
    pid: int
    host: Host
    started: float  # seconds from the start of the process until it listened


@contextlib.asynccontextmanager
async def house(folder: str, file: str | None) -> AsyncIterator[House]:
    """A daemon process and a named caller of it."""
    socket = os.path.join(folder, f"s{time.monotonic_ns()}")
    words = [socket] if file is None else [socket, os.path.join(folder, file)]
    start = time.perf_counter()
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.journal_daemon", *words, stdout=asyncio.subprocess.PIPE, env=plain_environment()
    )
    assert process.stdout is not None
    try:
        line = await asyncio.wait_for(process.stdout.readline(), PATIENCE)
        started = time.perf_counter() - start
        assert line == b"ready\n", line
        async with connect(socket, caller="bench") as host:
            yield House(process.pid, host, started)
    finally:
        process.terminate()
        await process.wait()


async def quiet(pid: int) -> None:
    """Returns when a daemon has nothing more to do: what was compacted would be measured with something else."""
    before = -1.0
    while (now := cpu_seconds(pid)) - before > 0.002:
        before = now
        await asyncio.sleep(QUIET)


async def stream(house: House, count: int) -> tuple[float, float]:
    """Updates/s, and the daemon's CPU µs per update."""
    session = await house.host.create_session(AGENT, cwd="/")
    turn = session.prompt(f"{count} {SIZE}")
    seen = 0
    wall, cpu = time.perf_counter(), cpu_seconds(house.pid)
    async for _ in turn:
        seen += 1
    wall, cpu = time.perf_counter() - wall, cpu_seconds(house.pid) - cpu
    assert seen == count + 2, seen
    await session.close()
    return count / wall, cpu / count * 1e6


async def prompts(house: House) -> list[float]:
    """Milliseconds from each prompt to its acceptance; the turn, which is empty, ends before the next."""
    session = await house.host.create_session(AGENT, cwd="/")
    times = []
    for _ in range(PROMPTS):
        turn = session.prompt("go")
        start = time.perf_counter()
        await asyncio.wait([turn._answer])
        times.append((time.perf_counter() - start) * 1e3)
        await turn
    await session.close()
    return times


async def call(host: Host, session_id: str, method: str) -> Any:
    response = await host.request(AcpSessionRequest(session_id, method, None))
    assert isinstance(response, AcpSessionRpcResponse)
    answer = json.loads(response.response)
    assert "error" not in answer, answer
    return answer["result"]


async def own_start() -> float:
    """Milliseconds that the agent takes by itself, asked over its pipe for what a wake asks."""
    start = time.perf_counter()
    process = await asyncio.create_subprocess_exec(
        *AGENT.split(), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    for number, method in enumerate(("initialize", "session/resume", "session/list")):
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": {}}
        process.stdin.write(json.dumps(message).encode() + b"\n")
        await process.stdout.readline()
    took = (time.perf_counter() - start) * 1e3
    process.stdin.close()
    await process.wait()
    return took


async def wakes(house: House) -> tuple[list[float], list[float]]:
    """Milliseconds from a request to a sleeping session to its answer; and of the agent alone, in turns."""
    session = await house.host.create_session(AGENT, cwd="/")
    await session.prompt("go")
    woken, alone = [], []
    for _ in range(WAKES):
        assert await call(house.host, session.id, "_roost/sleep") == {"asleep": True}
        await quiet(house.pid)
        start = time.perf_counter()
        await call(house.host, session.id, "session/list")
        woken.append((time.perf_counter() - start) * 1e3)
        alone.append(await own_start())
    await session.close()
    return woken, alone


async def fill(folder: str, name: str) -> None:
    async with journal(folder, name) as store:
        for start in range(0, SESSIONS, 500):
            changes: list[Change] = []
            for number in range(start, start + 500):
                changes += [opened(f"s{number:05}"), chunk(f"s{number:05}", 1)]
            await durable(store, changes)


async def starts(folder: str) -> tuple[float, float]:
    """Milliseconds until a daemon listens: with an empty journal, and with SESSIONS in it. The best of a few each."""
    async with journal(folder, "empty.db"):
        pass
    await fill(folder, "many.db")
    times: dict[str, list[float]] = {"empty.db": [], "many.db": []}
    for _ in range(STARTS):
        for name, found in times.items():
            async with house(folder, name) as started:
                found.append(started.started * 1e3)
    return min(times["empty.db"]), min(times["many.db"])


async def run() -> Report:
    report = Report(f"the journal in the daemon: {COUNT:,} updates of {SIZE} bytes in one prompt")
    with tempfile.TemporaryDirectory() as folder:
        bare = percentile(syncs(folder), 0.5) * 1e3
        report.row("one fdatasync of this disk, p50", f"{bare:.1f} ms")
        async with house(folder, None) as plain, house(folder, "relay.db") as kept:
            rates: list[tuple[float, float]] = []
            costs: list[tuple[float, float]] = []
            for house_ in (plain, kept):
                await stream(house_, COUNT)
            for _ in range(ROUNDS):
                await quiet(kept.pid)
                without, without_cpu = await stream(plain, COUNT)
                with_, with_cpu = await stream(kept, COUNT)
                rates.append((without, with_))
                costs.append((without_cpu, with_cpu))
            await quiet(kept.pid)
            ratio = median([with_ / without for without, with_ in rates])
            report.row("updates/s without the journal", f"{median([rate for rate, _ in rates]):,.0f}")
            report.row("updates/s with it", f"{median([rate for _, rate in rates]):,.0f}")
            report.row("with / without, median of the rounds", f"{ratio:.0%}", "≥ 60 %", met=ratio >= 0.6)
            report.row("daemon CPU per update without", f"{median([cost for cost, _ in costs]):.2f} µs")
            report.row("daemon CPU per update with", f"{median([cost for _, cost in costs]):.2f} µs")
            long_plain, _ = await stream(plain, LONG)
            long_kept, _ = await stream(kept, LONG)
            report.row(f"with / without, {LONG:,} in one prompt", f"{long_kept / long_plain:.0%}")
            await quiet(kept.pid)
            for name, house_ in (("without", plain), ("with", kept)):
                times = await prompts(house_)
                shown = f"{percentile(times, 0.5):.2f} / {percentile(times, 0.99):.2f} ms"
                report.row(f"prompt to acceptance {name} the journal, p50 / p99", shown)
            woken, alone = await wakes(kept)
            extra = median(woken) - median(alone)
            report.row("the agent's own start", f"{median(alone):.1f} ms")
            report.row("wake of a sleeping session, on top", f"{extra:.1f} ms", "under 30 ms", met=extra < 30)
        empty, many = await starts(folder)
        report.row("daemon start with an empty journal", f"{empty:.0f} ms")
        report.row(
            f"and with {SESSIONS:,} sessions, on top", f"{many - empty:.1f} ms", "< 200 ms", met=many - empty < 200
        )
    return report


def main() -> Report:
    return asyncio.run(run())
