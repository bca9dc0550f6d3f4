"""Our client with the official TypeScript SDK's v2 agents, its v2 client with ours; it speaks a newer draft."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest

from roost import connect
from roost.acp import v2
from roost.wire.model import Unknown
from tests.interop.installed import npm

SDK = "@agentclientprotocol/sdk"
PEERS = Path(__file__).parent / "peers"
TIMEOUT = 45

ECHO_AGENT = """
from roost import Agent, Turn
agent = Agent("echo", "1.0")
@agent.prompt
async def answer(turn: Turn) -> None:
    await turn.say(turn.text)
agent.run()
"""


@pytest.fixture(scope="module")
def modules() -> Path:
    return npm(SDK, "2.4.0")


@pytest.fixture
def ts_agent(modules: Path) -> list[str]:
    return ["node", str(PEERS / "ts_v2_agent.mjs"), str(modules)]


async def allow(request: v2.RequestPermissionRequest) -> str:
    assert isinstance(request.subject, v2.CommandPermissionSubject)
    return next(option.option_id for option in request.options if option.kind == "allow_once")


async def test_our_client_holds_a_conversation_with_a_typescript_agent(ts_agent: list[str], tmp_path: Path) -> None:
    async with asyncio.timeout(TIMEOUT), connect(ts_agent, on_permission=allow) as client:
        assert client.agent.info.name == "ts-v2"
        session = await client.new_session(cwd=str(tmp_path))
        turn = session.prompt("hello")
        updates = [update async for update in turn]
        assert any(isinstance(update, Unknown) and update.tag == "notice" for update in updates)
        view = session.view
        assert turn.end is not None
        assert turn.end.text == "Grüße aus TypeScript 🦉"
        assert view.tool_calls["c"].status == "completed"
        assert view.terminals["x"].text == "ünïcode\n"
        plan = view.plans["p"].value
        assert isinstance(plan, v2.PlanItems)
        assert plan.entries[0].content == "look"
        listed = [info.session_id async for info in client.list_sessions()]
        assert listed == [session.id]
        await session.close()


async def test_a_denied_permission_reaches_a_typescript_agent_as_a_rejection(
    ts_agent: list[str], tmp_path: Path
) -> None:
    async with asyncio.timeout(TIMEOUT), connect(ts_agent) as client:  # the default denies
        session = await client.new_session(cwd=str(tmp_path))
        end = await session.prompt("hello")
        assert end.stop_reason == "end_turn"
        assert session.view.tool_calls["c"].status == "failed"
        assert session.view.terminals == {}


async def test_cancelling_a_typescript_agents_turn(ts_agent: list[str], tmp_path: Path) -> None:
    async with asyncio.timeout(TIMEOUT), connect(ts_agent) as client:
        session = await client.new_session(cwd=str(tmp_path))
        turn = session.prompt("wait")
        async for update in turn:
            if isinstance(update, v2.RunningStateUpdate):
                await session.cancel()
        assert turn.end is not None
        assert turn.end.stop_reason == "cancelled"


async def test_the_typescript_sdks_own_dual_version_example(tmp_path: Path) -> None:
    example = npm(SDK, "1.9.0") / SDK / "dist" / "examples" / "dual-version-agent.js"
    async with asyncio.timeout(TIMEOUT), connect(["node", str(example)]) as client:
        session = await client.new_session(cwd=str(tmp_path))
        end = await session.prompt("hello")
        assert end.stop_reason == "end_turn"
        assert "v2 implementation" in end.text


async def converse(modules: Path, cwd: Path, prompt: str, policy: str, *command: str) -> dict:
    process = await asyncio.create_subprocess_exec(
        "node",
        str(PEERS / "ts_v2_client.mjs"),
        str(modules),
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
    assert process.returncode == 0, err.decode()
    return json.loads(out)


async def test_a_typescript_client_with_a_small_agent_of_ours(modules: Path, tmp_path: Path) -> None:
    seen = await converse(modules, tmp_path, "grüß dich", "DENY", sys.executable, "-c", ECHO_AGENT)
    assert seen["initialize"]["protocolVersion"] == 2
    assert seen["text"] == "grüß dich"
    assert seen["stopReason"] == "end_turn"
    assert seen["listed"] == 1


@pytest.mark.parametrize(("policy", "written"), [("ALLOW", True), ("DENY", False)])
async def test_a_typescript_client_with_wren(modules: Path, tmp_path: Path, policy: str, written: bool) -> None:
    prompt = "write note.txt\n```\nhello\n```"
    seen = await converse(modules, tmp_path, prompt, policy, sys.executable, "-m", "roost.agents.wren")
    assert seen["stopReason"] == "end_turn"
    assert len(seen["asked"]) == 1
    assert (tmp_path / "note.txt").exists() is written
