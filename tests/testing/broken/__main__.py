"""An ACP v2 agent in plain Python, without Roost: right as it stands, and wrong in one way for each name it is given.

    python tests/testing/broken [FAULT ...]

The prompts: `tool`, `ask FILE`, `slow`, `terminal`, `plan`, `config`, `think`; anything else is said back.
"""

from __future__ import annotations

import asyncio
import sys

from agent import Agent
from faults import faulty


async def main() -> None:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=64 * 1024 if faulty("short-lines") else 64 * 1024 * 1024)
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, sys.stdout)
    agent = Agent(asyncio.StreamWriter(transport, protocol, reader, loop))
    if faulty("banner"):
        agent.out.write(b"Welcome to the agent!\n")
    if faulty("log-on-stdout"):
        agent.out.write(b'{"level":"info","msg":"started"}\n')
    while line := await reader.readline():
        agent.take(line)
        await agent.out.drain()
    if faulty("survives-eof"):
        await asyncio.sleep(60)
    if faulty("exit-code"):
        sys.exit(3)


if __name__ == "__main__":
    asyncio.run(main())
