"""The bridge inside the agent link: a v1 agent's stream through the daemon at protocol 2, beside a v2 agent's.

python -m bench bridge_relay
"""

from __future__ import annotations

import asyncio
import sys

from bench.measure import Report, cpu_seconds, median
from bench.relay import AGENT, HERE, daemon
from roost.host import Host, connect

V1_AGENT = f"{sys.executable} -I -S {HERE / 'peers' / 'v1_stream_agent.py'}"
FEW, MANY = 20_000, 100_000
SIZE = 200
ROUNDS = 5
AIM = 6.0  # µs of CPU per chunk update
LINEAR = 1.3  # how much more a chunk may cost in a turn that is five times as long


async def streamed(host: Host, pid: int, agent: str, count: int) -> float:
    """µs of the daemon's CPU per chunk, reading of the agent and writing to the caller included."""
    session = await host.create_session(agent, cwd="/")
    turn = session.prompt(f"{count} {SIZE}")
    seen, before = 0, cpu_seconds(pid)
    async for _ in turn:
        seen += 1
    spent = cpu_seconds(pid) - before
    assert turn.stop_reason == "end_turn"
    assert seen >= count + 2, seen  # running and idle, and what the bridge tells of the prompt
    await session.close()
    return spent / count * 1e6


async def run() -> Report:
    report = Report(f"bridge in the link: chunks of {SIZE} bytes, daemon CPU each")
    async with daemon() as (pid, path), connect(path) as host:
        for agent in (AGENT, V1_AGENT):  # what each speaks is known from now on
            await streamed(host, pid, agent, FEW)
        plain, bridged, long = [], [], []
        for _ in range(ROUNDS):
            plain.append(await streamed(host, pid, AGENT, FEW))
            bridged.append(await streamed(host, pid, V1_AGENT, FEW))
            long.append(await streamed(host, pid, V1_AGENT, MANY))
    cost = median(bridged) - median(plain)
    growth = median(long) / median(bridged)
    report.row("v2 agent", f"{median(plain):.2f} µs")
    report.row("v1 agent", f"{median(bridged):.2f} µs")
    report.row("v1 agent / v2 agent", f"{median(bridged) / median(plain):.2f} x")
    report.row("the bridge, on top", f"{cost:.2f} µs", f"≤ {AIM:g} µs", met=cost <= AIM)
    report.row(
        f"v1 agent, {MANY:,} chunks beside {FEW:,}", f"{growth:.2f} x", f"linear (≤ {LINEAR:g} x)", met=growth <= LINEAR
    )
    return report


def main() -> Report:
    return asyncio.run(run())


if __name__ == "__main__":
    main().show()
