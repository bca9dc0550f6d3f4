"""Asks for the same state again and again: `python -m bench.no_op SOCKET SECONDS` prints the µs, one a line."""

from __future__ import annotations

import asyncio
import sys
import time

from bench.relay import AGENT
from roost.host import connect
from roost.sidecar.gen.messages import AcpGetSessionStateRequest

PAUSE = 0.002


async def main(path: str, seconds: float) -> None:
    async with connect(path) as host:
        session = await host.create_session(AGENT, cwd="/")
        request = AcpGetSessionStateRequest(session.id)
        times = []
        end = time.perf_counter() + seconds
        while (start := time.perf_counter()) < end:
            await host.request(request)
            times.append((time.perf_counter() - start) * 1e6)
            await asyncio.sleep(PAUSE)
        print("\n".join(f"{number:.1f}" for number in times))


asyncio.run(main(sys.argv[1], float(sys.argv[2])))
