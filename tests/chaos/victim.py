"""A caller as a process of its own, to be killed, stopped, or to misbehave: `python -m tests.chaos.victim …`."""

from __future__ import annotations

import asyncio
import random
import sys
from pathlib import Path

from tests.chaos.caller import Caller, ConnectionLost

# What it does once its session is open.
WAYS = ("prompts", "floods and does not read", "half a frame", "garbage", "leaves in mid-turn")


async def main(socket: str, way: str, mark: str, value: str) -> None:
    caller = await Caller.connect(Path(socket))
    session_id = await caller.create({mark: value}, child=random.random() < 0.3)
    match way:
        case "floods and does not read":
            caller.read_no_more()
            await caller.prompt(session_id, "200000 0")
        case "half a frame":
            caller.send_raw(b"\x00\x00\x10\x00half a frame")
            await asyncio.sleep(600)
        case "garbage":
            caller.send_raw(random.randbytes(2000))
            await caller.until_lost()
        case "leaves in mid-turn":
            asyncio.ensure_future(caller.prompt(session_id, "1000 5"))  # noqa: RUF006
            await asyncio.sleep(random.random())
        case _:
            while True:
                await caller.prompt(session_id, f"{random.randrange(1, 40)} 1 ask")


if __name__ == "__main__":
    try:
        asyncio.run(main(*sys.argv[1:]))
    except (ConnectionLost, OSError, TimeoutError, AssertionError):
        sys.exit(1)
