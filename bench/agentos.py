"""The same work on Rivet's agentos and on Roost: `ROOST_AGENTOS=…/node_modules python -m bench agentos`.

Only on request: `npm install @rivet-dev/agentos-core` is 1.2 GB. The agent is one small node program for both; agentos
keeps its sessions in SQLite, so Roost does too.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

from bench.measure import Report, median
from roost.host import embedded

AGENT = Path(__file__).parent / "peers" / "agentos_agent"
PEER = Path(__file__).parent / "peers" / "agentos.mjs"
COUNT, SIZE, ROUNDS = 2_000, 200, 5
PATIENCE = 300


def agentos(modules: str, folder: str) -> dict[str, list[float]]:
    command = ["node", str(PEER), modules, str(AGENT), f"{folder}/agentos.db", str(COUNT), str(SIZE), str(ROUNDS)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True)
    lines = [line for line in result.stdout.splitlines() if line.startswith('{"opened"')]
    found: dict[str, list[float]] = json.loads(lines[-1])
    return found


async def timed(work: Awaitable[Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    value = await work
    return (time.perf_counter() - start) * 1e3, value


async def roost(folder: str) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {"opened": [], "streamed": [], "answered": []}
    async with embedded(caller="bench", journal=f"{folder}/roost.db") as host:
        sessions = []
        for _ in range(ROUNDS):
            took, session = await timed(
                host.create_session(f"node {AGENT / 'agent.mjs'}", cwd=folder, protocol_version=1)
            )
            times["opened"].append(took)
            sessions.append(session)
            await session.close()  # the agent calls each of its sessions the same
        session = await host.create_session(f"node {AGENT / 'agent.mjs'}", cwd=folder, protocol_version=1)
        await session.prompt("10 10")
        for _ in range(ROUNDS):
            times["streamed"].append((await timed(session.prompt(f"{COUNT} {SIZE}")))[0])
            times["answered"].append((await timed(session.prompt("0 0")))[0])
    return times


def main() -> Report:
    report = Report(f"beside Rivet's agentos: {COUNT} updates of {SIZE} bytes, {ROUNDS} rounds, medians")
    modules = os.environ.get("ROOST_AGENTOS", "")
    if not modules:
        report.row("agentos", "not there", "npm install @rivet-dev/agentos-core, then ROOST_AGENTOS=…/node_modules")
        return report
    with tempfile.TemporaryDirectory() as folder:
        theirs, ours = agentos(os.path.abspath(modules), folder), asyncio.run(roost(folder))
    for what, key in (("open a session", "opened"), ("a turn of updates", "streamed"), ("an empty turn", "answered")):
        their, our = median(theirs[key]), median(ours[key])
        report.row(what, f"{their:.1f} / {our:.1f} ms", f"agentos / roost: {their / our:.1f} x")
    return report
