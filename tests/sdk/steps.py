"""Leading an agent of a test through its work, step by step."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from roost.sdk.agent import Agent
from roost.sdk.turn import Turn

Handler = Callable[[Turn], Awaitable[str | None]]


class Steps:
    """The agent waits at a name until the test passes it."""

    def __init__(self) -> None:
        self._reached: dict[str, asyncio.Event] = {}
        self._passed: dict[str, asyncio.Event] = {}

    async def wait(self, name: str) -> None:
        self._reached.setdefault(name, asyncio.Event()).set()
        await self._passed.setdefault(name, asyncio.Event()).wait()

    async def reached(self, name: str) -> None:
        async with asyncio.timeout(10):
            await self._reached.setdefault(name, asyncio.Event()).wait()

    def go(self, name: str) -> None:
        self._passed.setdefault(name, asyncio.Event()).set()


def agent_of(handler: Handler, **more: Any) -> Agent:
    """An agent with this prompt handler, and what `RawClient.settle` asks."""
    agent = Agent("test", "1.0", **more)
    agent.prompt(handler)

    @agent.extension("_settle/ping")
    def ping(params: Any, link: Any) -> None: ...

    return agent


async def echo(turn: Turn) -> None:
    await turn.say(turn.text)
