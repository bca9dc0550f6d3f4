"""The sidecar under load: opening sessions, many idle ones, many streaming at once, one very long turn.

    python -m bench sidecar

On a machine that does other work too, compare a row with the bare program's beside it, and openings under `chrt -r 1`.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

from bench import bare
from bench.measure import Report, cpu_seconds, median, percentile, rss_bytes, scheduled
from bench.relay import AGENT, daemon
from roost.host import Host, connect
from roost.host.session import Session

OPENINGS = 30
SETTLING_SECONDS = 0.05  # until nobody does anything about the last one's end any more
LIVE_SESSIONS = 200
IDLE_SECONDS = 5.0
STREAMING = 50
PER_STREAM = 2_000
SIZE = 200
ROUNDS = 3
PROBE_SECONDS = 3.0
LONG_TURNS = (50_000, 200_000)


async def opened_in(host: Host, pid: int) -> tuple[float, float]:
    """ms from asking for a session to having it, and of the daemon's CPU."""
    start, cpu = time.perf_counter(), cpu_seconds(pid)
    session = await host.create_session(AGENT, cwd="/")
    took, spent = time.perf_counter() - start, cpu_seconds(pid) - cpu
    await session.close()
    return took * 1e3, spent * 1e3


async def turn(session: Session, count: int) -> float:
    """Seconds a turn of so many updates takes, read to its end."""
    start = time.perf_counter()
    seen = 0
    async for _ in session.prompt(f"{count} {SIZE}"):
        seen += 1
    assert seen == count + 2, seen
    return time.perf_counter() - start


class Answers(NamedTuple):
    """µs that answers took: of the daemon to a request that does nothing, and of a bare program to an echo."""

    no_op: float
    echo: float

    def __str__(self) -> str:
        return f"{self.no_op:,.0f} / {self.echo:,.0f} µs"


class Round(NamedTuple):
    """One session, then nothing, then STREAMING sessions at once."""

    alone: float  # updates/s
    together: float
    idle: Answers  # p99
    loaded: Answers  # p99
    usual: Answers  # p50, under the same load
    ran: float  # share of the load's time
    waited: float


async def answer_times(path: str) -> list[Answers]:
    """From a program that does nothing else than ask both in turns."""
    command = (sys.executable, "-m", "bench.no_op", path, str(PROBE_SECONDS))
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    output, _ = await process.communicate()
    assert process.returncode == 0
    return [Answers(*map(float, line.split())) for line in output.splitlines()]


def at(share: float, times: list[Answers]) -> Answers:
    return Answers(percentile([time.no_op for time in times], share), percentile([time.echo for time in times], share))


async def one_round(pid: int, path: str, sessions: list[Session]) -> Round:
    alone = PER_STREAM * STREAMING / await turn(sessions[0], PER_STREAM * STREAMING)
    idle = at(0.99, await answer_times(path))
    watching = asyncio.get_running_loop().create_task(answer_times(path))
    start, (ran, waited) = time.perf_counter(), scheduled(pid)
    rounds = 0
    while not watching.done():
        await asyncio.gather(*(turn(session, PER_STREAM) for session in sessions[:STREAMING]))
        rounds += 1
    took, (now_ran, now_waited) = time.perf_counter() - start, scheduled(pid)
    times = await watching
    together = rounds * PER_STREAM * STREAMING / took
    return Round(
        alone, together, idle, at(0.99, times), at(0.5, times), (now_ran - ran) / took, (now_waited - waited) / took
    )


async def open_sessions(report: Report, host: Host, pid: int) -> None:
    openings, starts, through, spent = [], [], [], []
    with bare.middleman() as middleman:
        for number in range(1 + OPENINGS):
            took, cpu = await opened_in(host, pid)
            await asyncio.sleep(SETTLING_SECONDS)
            alone = bare.start()
            await asyncio.sleep(SETTLING_SECONDS)
            between = middleman.start()
            await asyncio.sleep(SETTLING_SECONDS)
            if number:  # the first of each loads what it needs
                openings.append(took)
                spent.append(cpu)
                starts.append(alone)
                through.append(between)
    over = median([opening - start for opening, start in zip(openings, starts, strict=True)])
    plain = median([one - start for one, start in zip(through, starts, strict=True)])
    report.row("open a session, p50 (of it the bare program)", f"{median(openings):.1f} ({median(starts):.1f}) ms")
    report.row("on top of the bare program, p50 of the pairs", f"{over:.2f} ms", "≤ 5 ms", met=over <= 5)
    report.row("with a plain program in the daemon's place", f"{plain:.2f} ms")
    report.row("CPU of the daemon for it", f"{median(spent):.2f} ms")


async def live_sessions(report: Report, host: Host, pid: int) -> list[Session]:
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
    return sessions


def streaming(report: Report, rounds: list[Round]) -> None:
    def middle(what: Callable[[Round], float]) -> float:
        return median([what(one) for one in rounds])

    share = middle(lambda one: one.together / one.alone)
    report.row("updates/s, one session", f"{middle(lambda one: one.alone):,.0f}")
    report.row(f"updates/s, {STREAMING} sessions at once", f"{middle(lambda one: one.together):,.0f}")
    report.row("at once / one, p50 of the rounds", f"{share:.0%}", "≥ 80 %", met=share >= 0.8)
    for name, times in (("idle", [one.idle for one in rounds]), ("under that load", [one.loaded for one in rounds])):
        report.row(f"p99 of a no-op / of a bare echo, {name}", str(at(0.5, times)))
    ratio = middle(lambda one: one.loaded.no_op / one.idle.no_op)
    report.row("no-op p99, under load / idle", f"{ratio:.1f} x", "≤ 10 x", met=ratio <= 10)
    report.row("bare echo p99, under load / idle", f"{middle(lambda one: one.loaded.echo / one.idle.echo):.1f} x")
    report.row("no-op / bare echo under load, p50", f"{middle(lambda one: one.usual.no_op / one.usual.echo):.1f} x")
    report.row("no-op / bare echo under load, p99", f"{middle(lambda one: one.loaded.no_op / one.loaded.echo):.1f} x")
    ran, waited = middle(lambda one: one.ran), middle(lambda one: one.waited)
    report.row("the daemon under that load: ran / waited for a core", f"{ran:.0%} / {waited:.0%}")


async def long_turns(report: Report, session: Session) -> None:
    short, long = [await turn(session, count) for count in LONG_TURNS]
    growth = (long / LONG_TURNS[1]) / (short / LONG_TURNS[0])
    report.row(f"turn of {LONG_TURNS[1]:,} chunks (40 MB)", f"{long:.2f} s")
    report.row(
        f"per chunk, beside a turn of {LONG_TURNS[0]:,}", f"{growth:.2f} x", "linear (≤ 1.3 x)", met=growth <= 1.3
    )


async def run() -> Report:
    report = Report("sidecar")
    async with daemon() as (pid, path), connect(path) as host:
        await open_sessions(report, host, pid)
        sessions = await live_sessions(report, host, pid)
        streaming(report, [await one_round(pid, path, sessions) for _ in range(ROUNDS)])
        await long_turns(report, sessions[0])
        for session in sessions:
            await session.close()
    return report


def main() -> Report:
    return asyncio.run(run())
