"""Asks an agent one thing and prints the answer: `python client.py [AGENT [ARGUMENT ...]]`; Wren without arguments."""

import asyncio
import os
import sys

from roost import connect


async def main() -> None:
    async with connect(sys.argv[1:] or [sys.executable, "-m", "roost.agents.wren"]) as client:
        session = await client.new_session(os.getcwd())
        end = await session.prompt("say hello")
        print(end.text)


asyncio.run(main())
