"""Recorded agents as processes: over real pipes, with our client and with `roost run`."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from roost import connect
from roost.acp import v2
from tests.cli.rig import roost
from tests.replay.compared import texts
from tests.replay.recording import Json, run_named

TIMEOUT = 30
ROOT = Path(__file__).parents[2]


def playback(folder: Path, name: str) -> str:
    """The command line of a program that is that agent; it runs anywhere."""
    program = folder / "recorded.py"
    lines = [f"import sys; sys.path.insert(0, {str(ROOT)!r})", "from tests.replay.programs.playback import main"]
    program.write_text("\n".join([*lines, f"main({name!r}, '1')", ""]))
    return f"{sys.executable} {program}"


def recorded(name: str, *, from_agent: bool) -> list[Json]:
    return [line.message for line in run_named(name).lines if line.from_agent is from_agent and line.message]


def prompts(name: str) -> list[str]:
    found = [each for each in recorded(name, from_agent=False) if each.get("method") == "session/prompt"]
    return ["".join(block["text"] for block in each["params"]["prompt"]) for each in found]


def said(name: str, kind: str) -> str:
    updates = [
        each["params"]["update"] for each in recorded(name, from_agent=True) if each.get("method") == "session/update"
    ]
    return "".join(update["content"]["text"] for update in updates if update["sessionUpdate"] == f"{kind}_chunk")


@pytest.mark.parametrize("name", ["gemini-text", "agentao-text", "vibe-text", "claude-acp-text", "codex-acp2-v2"])
async def test_our_client_holds_a_recorded_conversation_with_a_process(name: str, tmp_path: Path) -> None:
    async with asyncio.timeout(TIMEOUT), connect(playback(tmp_path, name)) as client:
        session = await client.new_session("/workspace")
        for text in prompts(name):
            turn = session.prompt(text)
            updates = [update async for update in turn]
            assert isinstance(updates[-1], v2.IdleStateUpdate)
        assert texts(session.view, "agent_message") == said(name, "agent_message")
        assert texts(session.view, "agent_thought") == said(name, "agent_thought")
        assert texts(session.view, "user_message") == "".join(prompts(name))


def answers(name: str) -> list[str]:
    """What was said to each prompt."""
    found: list[str] = []
    for line in run_named(name).lines:
        message = line.message or {}
        if message.get("method") == "session/prompt":
            found.append("")
        elif found and message.get("params", {}).get("update", {}).get("sessionUpdate") == "agent_message_chunk":
            found[-1] += message["params"]["update"]["content"]["text"]
    return found


@pytest.mark.parametrize("name", ["claude-zed-text", "fastagent-v2"])
def test_roost_run_prints_what_a_recorded_agent_said(name: str, tmp_path: Path) -> None:
    """The second echoes the version it is asked for."""
    result = roost("run", playback(tmp_path, name), prompts(name)[0])
    assert result.exit_code == 0, result.stderr
    assert answers(name)[0] in result.stdout
