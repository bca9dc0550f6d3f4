"""The official TypeScript SDK's v1 client with our agents; its v2 client is in test_typescript_v2."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.interop.installed import installed
from tools.interop.clients import SDK

PEERS = Path(__file__).parent / "peers"
TIMEOUT = 45
# Where each release has its v1.
ENTRIES = {"1.9.0": "dist/acp.js", "2.4.0": "dist/v1/acp.js"}
WREN = (sys.executable, "-m", "roost.agents.wren")


@pytest.fixture(scope="module", params=ENTRIES)
def entry(request: pytest.FixtureRequest) -> Path:
    pin = SDK[request.param]
    installed(pin)
    return pin.program(ENTRIES[request.param])


async def converse(entry: Path, cwd: Path, prompt: str, policy: str, *command: str) -> dict[str, Any]:
    """What the client saw of one prompt."""
    peer = str(PEERS / "ts_v1_client.mjs")
    process = await asyncio.create_subprocess_exec(
        *("node", peer, str(entry), str(cwd), prompt, policy, "--", *command),
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
    seen: dict[str, Any] = json.loads(out)
    assert seen["initialize"]["protocolVersion"] == 1
    assert seen["exitCode"] == 0
    return seen


@pytest.mark.parametrize(("policy", "said"), [("ALLOW", "allowed"), ("DENY", "denied")])
async def test_a_typescript_v1_client_with_a_small_agent_of_ours(
    entry: Path, tmp_path: Path, policy: str, said: str
) -> None:
    small = (sys.executable, str(PEERS / "small_agent.py"), str(tmp_path / "sessions"))
    seen = await converse(entry, tmp_path, "grüß dich 🦉", policy, *small)
    assert seen["text"] == "grüß dich 🦉 (0 before)"
    assert seen["stopReason"] == "end_turn"
    assert seen["listed"] == 1
    seen = await converse(entry, tmp_path, "ask", policy, *small)
    assert seen["text"] == said
    assert seen["listed"] == 2
    assert seen["asked"] == ["Do it"]
    assert list(seen["tools"].values()) == ["completed" if policy == "ALLOW" else "failed"]


@pytest.mark.parametrize(("policy", "written"), [("ALLOW", True), ("DENY", False), ("CANCEL", False)])
async def test_a_typescript_v1_client_with_wren(entry: Path, tmp_path: Path, policy: str, written: bool) -> None:
    seen = await converse(entry, tmp_path, "write note.txt\n```\nhello\n```", policy, *WREN)
    assert seen["stopReason"] == ("cancelled" if policy == "CANCEL" else "end_turn")
    assert len(seen["asked"]) == 1
    assert (tmp_path / "note.txt").exists() is written
