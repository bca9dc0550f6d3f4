"""The official Python SDK, which speaks v1: its example agents with our client, its client with our agents."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

import roost
from roost import connect
from roost.acp import v2
from roost.host import Notification
from tests.cli.rig import roost as run_command
from tests.interop.installed import absent, python_sdk_examples

TIMEOUT = 45
CLIENT = Path(__file__).parent / "peers" / "py_v1_client.py"

ECHO_AGENT = """
from roost import Agent, Turn
agent = Agent("echo", "1.0")
@agent.prompt
async def answer(turn: Turn) -> None:
    await turn.say(turn.text)
agent.run()
"""


@pytest.fixture(scope="module")
def examples() -> Path:
    return python_sdk_examples()


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
async def test_our_client_holds_a_conversation_in_v2_with_an_example_agent(
    examples: Path, tmp_path: Path, name: str
) -> None:
    """One example answers 1, the other echoes the 2 it was asked for and answers in v1 shape (INI-4, INI-16)."""
    async with asyncio.timeout(TIMEOUT), connect([sys.executable, str(examples / name)]) as client:
        session = await client.new_session(str(tmp_path))
        for words in ("good morning", "good night"):
            turn = session.prompt(words)
            kinds = [type(update) async for update in turn]
            assert kinds[0] is v2.UserMessage
            assert kinds[-1] is v2.IdleStateUpdate
            assert turn.end is not None
            assert turn.end.stop_reason == "end_turn"
            assert words in turn.end.text
        await session.close()


@pytest.mark.parametrize("name", ["echo_agent.py", "agent.py"])
async def test_the_sidecar_shows_an_example_agent_in_v2(examples: Path, tmp_path: Path, name: str) -> None:
    async with asyncio.timeout(TIMEOUT), roost.host.embedded() as host:
        session = await host.create_session(f"{sys.executable} {examples / name}", cwd=str(tmp_path))
        turn = session.prompt("good morning")
        updates = [event.raw_update async for event in turn if isinstance(event, Notification)]
        assert turn.stop_reason == "end_turn"
        assert [update["sessionUpdate"] for update in updates][:2] == ["user_message", "state_update"]
        assert "good morning" in str(updates)
        await session.close()


def test_roost_run_runs_an_example_agent(examples: Path) -> None:
    result = run_command("run", f"{sys.executable} {examples / 'echo_agent.py'}", "good morning")
    assert result.exit_code == 0, result.stderr
    assert "good morning" in result.stdout


async def converse(cwd: Path, prompt: str, policy: str, *command: str) -> dict[str, Any]:
    """What the SDK's client saw of one prompt."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        str(CLIENT),
        str(cwd),
        prompt,
        policy,
        "--",
        *command,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(TIMEOUT):
            out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode == 3:
        absent("the official Python SDK (pip install agent-client-protocol)")
    assert process.returncode == 0, err.decode()
    seen: dict[str, Any] = json.loads(out)
    return seen


WREN = (sys.executable, "-m", "roost.agents.wren")


async def test_the_python_sdks_client_with_a_small_agent_of_ours(tmp_path: Path) -> None:
    seen = await converse(tmp_path, "grüß dich", "deny", sys.executable, "-c", ECHO_AGENT)
    assert seen["protocolVersion"] == 1
    assert seen["text"] == "grüß dich"
    assert seen["stopReason"] == "end_turn"


@pytest.mark.parametrize(("policy", "written"), [("allow", True), ("deny", False)])
async def test_the_python_sdks_client_with_wren(tmp_path: Path, policy: str, written: bool) -> None:
    seen = await converse(tmp_path, "write note.txt\n```\nhello\n```", policy, *WREN)
    assert seen["stopReason"] == "end_turn"
    assert seen["asked"] == 1
    assert seen["tools"]
    assert seen["updates"][0] != "tool_call_update"
    assert (tmp_path / "note.txt").exists() is written


async def test_the_python_sdks_client_cancels_wren_while_a_permission_is_open(tmp_path: Path) -> None:
    seen = await converse(tmp_path, "write note.txt\n```\nhello\n```", "cancel", *WREN)
    assert seen["stopReason"] == "cancelled"
    assert not (tmp_path / "note.txt").exists()
