"""Scripted agents that are opened one after the other, for clients that try one version after the other."""

from __future__ import annotations

import asyncio
from typing import Any

from roost.errors import RpcError
from roost.transport.messages import MessageChannel, message_pair
from tests.sdk.raw_agent import RawAgent

SILENCE, END = object(), object()


class Fresh:
    """Opens a new scripted agent each time; the so-manyth does the so-manyth thing at `initialize`.

    A deed is SILENCE, END, an error to refuse with, or the result to answer with.
    """

    def __init__(self, *deeds: Any) -> None:
        self.deeds = deeds
        self.agents: list[RawAgent] = []
        self.tasks: list[asyncio.Task[None]] = []

    def __call__(self) -> MessageChannel:
        ours, theirs = message_pair()
        agent = RawAgent(theirs)
        self.agents.append(agent)
        self.tasks.append(asyncio.ensure_future(self._act(agent, self.deeds[len(self.agents) - 1])))
        return ours

    async def _act(self, agent: RawAgent, deed: Any) -> None:
        request = await agent.next("initialize")
        if deed is END:
            agent.close()
        elif isinstance(deed, RpcError):
            agent.refuse(request, deed.code, deed.message)
        elif deed is not SILENCE:
            agent.send({"jsonrpc": "2.0", "id": request["id"], "result": deed})

    @property
    def asked(self) -> list[int]:
        return [agent.messages[0]["params"]["protocolVersion"] for agent in self.agents]
