"""A small agent written with the library: says what it is told, asks when told to; sessions are in a folder beside.

python small_agent.py SESSIONS
"""

from __future__ import annotations

import sys

from roost import Agent, Turn
from roost.sdk.store_directory import DirectorySessionStore

agent = Agent("small", "1.0", store=DirectorySessionStore(sys.argv[1]))


@agent.prompt
async def answer(turn: Turn) -> None:
    earlier = sum(message.kind == "user_message" for message in turn.session.history.messages) - 1
    if turn.text != "ask":
        await turn.say(f"{turn.text} ({earlier} before)")
        return
    async with turn.tool("Do it", kind="edit", pending=True) as call:
        allowed = await call.permission()
        if allowed:
            await call.text("done")
    await turn.say("allowed" if allowed else "denied")


agent.run()
