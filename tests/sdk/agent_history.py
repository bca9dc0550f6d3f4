"""A session of an agent with something of everything in it, and the stores it is kept in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from roost.sdk.store import SessionStore
from roost.sdk.turn import Turn

from .raw_client import Json, RawClient

NewStore = Callable[[], SessionStore]


async def work(turn: Turn) -> None:
    """Something of everything that a replay has to bring back."""
    await turn.session_info(title=f"About {turn.text}")
    await turn.think("hm ")
    await turn.think("well")
    await turn.say("Hello, ")
    await turn.say("you")
    plan = await turn.plan(["first", "second"], plan_id="plan")
    await plan.complete(0)
    async with turn.tool("Run make", kind="execute", locations=["/w/Makefile"], raw_input={"x": 1}) as call:
        terminal = await call.terminal("make")
        await terminal.write("out")
        await terminal.write("put")
        await terminal.exit(0)
        await call.text("fine")
    await turn.usage(7, 100)


def resume_params(session: str, **more: Any) -> Json:
    return {"sessionId": session, "cwd": "/w", **more}


FROM_START = {"replayFrom": {"type": "start"}}


async def history(client: RawClient) -> str:
    session = await client.new_session()
    for n in range(3):
        client.prompt(session, f"prompt {n}")
    await client.idle(3)
    return session
