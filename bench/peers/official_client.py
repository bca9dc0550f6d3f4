"""The official Python SDK's client reading the bench agent's stream; prints its CPU µs per update.

    python official_client.py COUNT SIZE        exits 3 when the SDK is not installed

The SDK speaks ACP v1, where the prompt's answer ends the turn: a few lines between turn the v2 agent's stream into it.
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

try:
    import acp
except ImportError:
    sys.exit(3)

COUNT, SIZE = int(sys.argv[1]), int(sys.argv[2])
AGENT = str(Path(__file__).parent / "v1_stream_agent.py")


class Client(acp.Client):
    seen = 0

    async def session_update(self, session_id, update, **kwargs):
        self.seen += 1

    async def request_permission(self, options, session_id, tool_call, **kwargs):
        return {"outcome": {"outcome": "cancelled"}}


async def main() -> None:
    client = Client()
    async with acp.spawn_agent_process(client, sys.executable, "-I", "-S", AGENT, str(COUNT), str(SIZE)) as (agent, _):
        await agent.initialize(protocol_version=1)
        session = await agent.new_session(cwd="/", mcp_servers=[])
        start = time.process_time()
        await agent.prompt(session_id=session.session_id, prompt=[acp.text_block("go")])
        while client.seen < COUNT:
            await asyncio.sleep(0)
        print((time.process_time() - start) / COUNT * 1e6)


asyncio.run(main())
