"""A session of edit suggestions between a client and a raw agent."""

from __future__ import annotations

import asyncio

from roost.sdk.client import Client
from roost.sdk.documents import OpenDocument
from roost.sdk.nes import NesSession
from tests.sdk.raw_agent import RawAgent, bounded

URI = "file:///project/a.py"


async def started(client: Client, agent: RawAgent, session_id: str = "n1") -> NesSession:
    starting = asyncio.ensure_future(client.start_nes())
    agent.reply(await agent.next("nes/start"), {"sessionId": session_id})
    nes: NesSession = await bounded(starting)
    return nes


async def with_document(client: Client, agent: RawAgent, text: str = "one\ntwo\n") -> tuple[NesSession, OpenDocument]:
    nes = await started(client, agent)
    document = nes.open_document(URI, "python", text)
    await agent.next("document/didOpen")
    return nes, document


def position(line: int, character: int) -> dict[str, int]:
    return {"line": line, "character": character}
