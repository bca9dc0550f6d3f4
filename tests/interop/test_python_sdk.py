"""The official Python SDK's example agents. They speak v1: untouched through the sidecar, honestly refused in v2."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

import roost
from roost import connect
from roost.errors import RemoteProtocolError
from roost.host import Notification
from tests.interop.installed import python_sdk_examples

TIMEOUT = 45


@pytest.fixture(scope="module")
def examples() -> Path:
    return python_sdk_examples("0.12.1")


@pytest.mark.parametrize("name", ["echo_agent.py", "agent.py"])
async def test_an_example_agent_of_the_python_sdk_holds_a_v1_conversation(
    examples: Path, tmp_path: Path, name: str
) -> None:
    async with asyncio.timeout(TIMEOUT), roost.host.embedded() as host:
        command = f"{sys.executable} {examples / name}"
        session = await host.create_session(command, cwd=str(tmp_path), protocol_version=1)
        text = ""
        turn = session.prompt("good morning")
        async for event in turn:
            if isinstance(event, Notification):
                text += str(event.raw_update.get("content"))
        assert turn.stop_reason == "end_turn"
        assert "good morning" in text
        await session.close()


@pytest.mark.parametrize("name", ["echo_agent.py", "agent.py"])
async def test_our_v2_client_says_honestly_that_it_cannot_speak_to_a_v1_agent(examples: Path, name: str) -> None:
    """One example answers 1, the other echoes the 2 it was asked for and answers in v1 shape (INI-4, INI-16)."""
    async with asyncio.timeout(TIMEOUT):
        with pytest.raises(RemoteProtocolError):
            async with connect([sys.executable, str(examples / name)]):
                pass
