"""The sidecar under load: opening sessions, many idle ones, many streaming at once, one very long turn.

python -m bench sidecar
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time

from bench.measure import Report, cpu_seconds, median, percentile, rss_bytes
from bench.relay import AGENT, HERE, daemon
from roost.host import Host, connect
from roost.host.session import Session

OPENINGS = 30
LIVE_SESSIONS = 200
IDLE_SECONDS = 5.0
STREAMING = 50
PER_STREAM = 2_000
SIZE = 200
PROBE_SECONDS = 3.0
LONG_TURNS = (50_000, 200_000)


async def opened_in(host: Host) -> float:
    """ms from asking for a session to having it."""
    start = time.perf_counter()
    session = await host.create_session(AGENT, cwd="/")
    took = (time.perf_counter() - start) * 1e3
    await session.close()
    return took


def bare_spawn() -> float:
    """ms from starting the same program to its answer to the same two requests."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", str(HERE / "stream_agent.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    for number, method in ((1, "initialize"), (2, "session/new")):
        process.stdin.write(b'{"jsonrpc":"2.0","id":%d,"method":"%s","params":{}}\n' % (number, method.encode()))
        process.stdin.flush()
        process.stdout.readline()
    took = (time.perf_counter() - start) * 1e3
    process.stdin.close()
    process.wait()
    process.stdout.close()
    return took


async def turn(session: Session, count: int) -> float:
    """Seconds a turn of so many updates takes, read to its end."""
    start = time.perf_counter()
    seen = 0
    async for _ in session.prompt(f"{count} {SIZE}"):
        seen += 1
    assert seen == count + 2, seen
    return time.perf_counter() - start


async def no_op_times(path: str, seconds: float) -> list[float]:
    """µs of a request that does nothing, again and again, from a program that does nothing else."""
    command = (sys.executable, "-m", "bench.no_op", path, str(seconds))
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    output, _ = await process.communicate()
    return [float(number) for number in output.split()]


async def run() -> Report:
    report = Report("sidecar")
    async with daemon() as (pid, path), connect(path) as host:
        await opened_in(host)
        openings, spawns = [], []
        for _ in range(OPENINGS):
            openings.append(await opened_in(host))
            spawns.append(bare_spawn())
        over = median(openings) - median(spawns)
        report.row("open a session, p50 (of it the bare program)", f"{median(openings):.1f} ({median(spawns):.1f}) ms")
        report.row("on top of the bare program", f"{over:.2f} ms", "≤ 5 ms", met=over <= 5)

        before = rss_bytes(pid)
        sessions = [await host.create_session(AGENT, cwd="/") for _ in range(LIVE_SESSIONS)]
        each = (rss_bytes(pid) - before) / LIVE_SESSIONS
        cpu = cpu_seconds(pid)
        await asyncio.sleep(IDLE_SECONDS)
        share = (cpu_seconds(pid) - cpu) / IDLE_SECONDS
        report.row(
            f"{LIVE_SESSIONS} live sessions, each in the daemon", f"{each / 1e3:.0f} kB", "≤ 100 kB", met=each <= 1e5
        )
        report.row("and idle CPU of the daemon, in all", f"{share:.3%}", "< 0.1 %", met=share < 0.001)

        alone = PER_STREAM * STREAMING / await turn(sessions[0], PER_STREAM * STREAMING)
        idle_p99 = percentile(await no_op_times(path, PROBE_SECONDS), 0.99)
        watching = asyncio.get_running_loop().create_task(no_op_times(path, PROBE_SECONDS))
        start = time.perf_counter()
        rounds = 0
        while not watching.done():
            await asyncio.gather(*(turn(session, PER_STREAM) for session in sessions[:STREAMING]))
            rounds += 1
        together = rounds * PER_STREAM * STREAMING / (time.perf_counter() - start)
        loaded_p99 = percentile(await watching, 0.99)
        report.row("updates/s, one session", f"{alone:,.0f}")
        share_of_one = together / alone
        report.row(
            f"updates/s, {STREAMING} sessions at once", f"{together:,.0f}", "≥ 80 % of one", met=share_of_one >= 0.8
        )
        ratio = loaded_p99 / idle_p99
        report.row("no-op p99, idle / under that load", f"{idle_p99:.0f} / {loaded_p99:.0f} µs")
        report.row("under load / idle", f"{ratio:.1f} x", "≤ 10 x", met=ratio <= 10)

        short, long = [await turn(sessions[0], count) for count in LONG_TURNS]
        growth = (long / LONG_TURNS[1]) / (short / LONG_TURNS[0])
        report.row(f"turn of {LONG_TURNS[1]:,} chunks (40 MB)", f"{long:.2f} s")
        report.row(
            f"per chunk, beside a turn of {LONG_TURNS[0]:,}", f"{growth:.2f} x", "linear (≤ 1.3 x)", met=growth <= 1.3
        )
        for session in sessions:
            await session.close()
    return report


def main() -> Report:
    return asyncio.run(run())
