"""Serving clients of version 1: the agent's author does not notice."""

from __future__ import annotations

import asyncio
from typing import Any

from roost.sdk.agent import Agent
from roost.sdk.serve import serve
from roost.sdk.turn import Turn
from roost.transport.messages import MessageChannel, message_pair
from tests.sdk.raw_agent import RawAgent, bounded

HELLO = {"protocolVersion": 1, "clientInfo": {"name": "old", "version": "1"}, "clientCapabilities": {}}


class V1Client(RawAgent):
    """The plain JSON peer, as a client."""

    def __init__(self, channel: MessageChannel) -> None:
        super().__init__(channel)
        self._last = 0

    def ask(self, method: str, params: dict[str, Any]) -> int:
        self._last += 1
        self.send({"jsonrpc": "2.0", "id": self._last, "method": method, "params": params})
        return self._last

    async def result(self, method: str, params: dict[str, Any]) -> Any:
        return (await self.answer_to(self.ask(method, params)))["result"]

    @property
    def kinds(self) -> list[str]:
        return [m["params"]["update"]["sessionUpdate"] for m in self.messages if m.get("method") == "session/update"]


def echo() -> Agent:
    agent = Agent("echo", "1.0")

    @agent.prompt
    async def answer(turn: Turn) -> None:
        if turn.text == "wait":
            await asyncio.Event().wait()
        await turn.say(turn.text)

    return agent


async def started() -> tuple[V1Client, str, asyncio.Task[None]]:
    here, there = message_pair()
    client = V1Client(here)
    serving = asyncio.ensure_future(serve(echo(), there))
    hello = await client.result("initialize", HELLO)
    assert hello["protocolVersion"] == 1
    assert hello["agentInfo"]["name"] == "echo"
    return client, (await client.result("session/new", {"cwd": "/work", "mcpServers": []}))["sessionId"], serving


def prompt(session_id: str, text: str) -> dict[str, Any]:
    return {"sessionId": session_id, "prompt": [{"type": "text", "text": text}]}


async def test_a_prompt_is_answered_after_its_text_and_no_state_leaks() -> None:
    client, session_id, serving = await started()
    assert (await client.result("session/prompt", prompt(session_id, "hi")))["stopReason"] == "end_turn"
    assert "agent_message_chunk" in client.kinds
    assert "state_update" not in client.kinds
    client.close()
    await bounded(serving)


async def test_a_cancel_reaches_the_agent() -> None:
    client, session_id, serving = await started()
    call = client.ask("session/prompt", prompt(session_id, "wait"))
    client.send({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session_id}})
    assert (await client.answer_to(call))["result"]["stopReason"] == "cancelled"
    client.close()
    await bounded(serving)


async def test_a_client_that_leaves_in_the_middle_of_a_turn_is_served_to_its_end() -> None:
    client, session_id, serving = await started()
    client.ask("session/prompt", prompt(session_id, "wait"))
    client.close()
    await bounded(serving)


async def test_a_client_of_version_2_is_served_as_ever() -> None:
    here, there = message_pair()
    client = V1Client(here)
    serving = asyncio.ensure_future(serve(echo(), there))
    params = {"protocolVersion": 2, "info": {"name": "new", "version": "1"}, "capabilities": {}}
    assert (await client.result("initialize", params))["protocolVersion"] == 2
    client.close()
    await bounded(serving)


async def test_without_a_bridge_an_old_client_is_told_the_version_there_is() -> None:
    here, there = message_pair()
    client = V1Client(here)
    serving = asyncio.ensure_future(serve(echo(), there, bridge=None))
    params = {**HELLO, "info": {"name": "old", "version": "1"}, "capabilities": {}}
    assert (await client.result("initialize", params))["protocolVersion"] == 2
    client.close()
    await bounded(serving)
