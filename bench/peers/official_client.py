"""The official Python SDK's client: reads an agent's stream, then asks for its sessions; prints what that cost as JSON.

    python official_client.py COUNT SIZE KIND TRIPS -- AGENT ARGUMENT...        exits 3 when the SDK is not installed

The SDK speaks ACP v1, where the prompt's answer ends the turn.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time

try:
    import acp
except ImportError:
    sys.exit(3)

COUNT, SIZE, KIND, TRIPS = int(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])
AGENT = sys.argv[sys.argv.index("--") + 1 :]
WARM_UP = 1000


class Client(acp.Client):
    seen = wanted = 0
    arrived: asyncio.Event

    async def session_update(self, session_id, update, **kwargs):
        self.seen += 1
        if self.seen == self.wanted:
            self.arrived.set()

    async def request_permission(self, options, session_id, tool_call, **kwargs):
        return {"outcome": {"outcome": "cancelled"}}


async def main() -> None:
    client = Client()
    async with acp.spawn_agent_process(client, *AGENT, transport_kwargs={"limit": 64 * 1024 * 1024}) as (agent, _):
        await agent.initialize(protocol_version=1)
        session = await agent.new_session(cwd="/", mcp_servers=[])

        async def stream(count: int) -> None:
            client.seen, client.wanted, client.arrived = 0, count, asyncio.Event()
            text = acp.text_block(f"{count} {SIZE} {KIND}")
            await agent.prompt(session_id=session.session_id, prompt=[text])
            if count:
                await client.arrived.wait()

        if COUNT:
            await stream(min(COUNT, WARM_UP))
        wall, cpu = time.perf_counter(), time.process_time()
        await stream(COUNT)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        trips = []
        for _ in range(TRIPS):
            start = time.perf_counter()
            await agent.list_sessions()
            trips.append((time.perf_counter() - start) * 1e6)
    told = max(COUNT, 1)
    print(json.dumps({"cpu": cpu / told * 1e6, "rate": told / wall, "trip": statistics.median(trips or [0])}))


asyncio.run(main())
