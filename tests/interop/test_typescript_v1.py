"""Our client with the official TypeScript SDK's v1 example agent, through the bridge."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from roost import connect
from roost.acp import v2
from tests.interop.installed import npm

SDK = "@agentclientprotocol/sdk"
TIMEOUT = 45


@pytest.fixture
def agent() -> list[str]:
    return ["node", str(npm(SDK, "1.9.0") / SDK / "dist" / "examples" / "agent.js")]


@pytest.mark.parametrize(
    ("kind", "status", "words"), [("allow_once", "completed", "successfully"), ("reject_once", "pending", "skip")]
)
async def test_text_tool_calls_and_a_permission(
    agent: list[str], tmp_path: Path, kind: str, status: str, words: str
) -> None:
    asked: list[v2.RequestPermissionRequest] = []

    async def decide(request: v2.RequestPermissionRequest) -> str:
        asked.append(request)
        return next(option.option_id for option in request.options if option.kind == kind)

    async with asyncio.timeout(TIMEOUT), connect(agent, on_permission=decide) as client:
        session = await client.new_session(str(tmp_path))
        end = await session.prompt("hello")
        assert end.stop_reason == "end_turn"
        assert words in end.text
        [request] = asked
        assert request.title == "Modifying critical configuration file"
        assert isinstance(request.subject, v2.ToolCallPermissionSubject)
        calls = session.view.tool_calls
        assert calls["call_1"].status == "completed"
        assert calls["call_2"].status == status


async def test_a_turn_that_is_cancelled_ends_so(agent: list[str], tmp_path: Path) -> None:
    async with asyncio.timeout(TIMEOUT), connect(agent) as client:
        session = await client.new_session(str(tmp_path))
        turn = session.prompt("hello")
        async for update in turn:
            if isinstance(update, v2.AgentMessageChunk):
                await session.cancel()
        assert turn.end is not None
        assert turn.end.stop_reason == "cancelled"
