"""The bridge of a v1 agent with the real services behind it, as a driver connects them (B-15 to B-17)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from roost.acp.bridge.events import ServiceRequest
from roost.errors import RpcError
from roost.process.services import (
    ClientServices,
    TerminalCreated,
    TerminalEvent,
    TerminalExited,
    TerminalWrote,
    allow_all,
)
from tests.acp.bridge.bridge_rig import Json
from tests.acp.bridge.rig import AgentRig


class Served:
    """A driver: carries the bridge's service requests to ClientServices, and what terminals do back."""

    def __init__(self, root: Path) -> None:
        self.services = ClientServices([str(root)], may_write=allow_all, may_run=allow_all, on_terminal=self._terminal)
        self.rig = AgentRig(services=self.services.capabilities)
        self.rig.initialize()
        self.rig.ask("session/new", {"cwd": str(root)})
        self.rig.reply(self.rig.asked()["id"], {"sessionId": "s1"})
        self.rig.north()
        self.rig.events.clear()
        self._ids = 0
        self.updates: list[Json] = []

    def _terminal(self, terminal_id: str, event: TerminalEvent) -> None:
        bridge = self.rig.bridge
        match event:
            case TerminalCreated(command, cwd):
                bridge.terminal_created("s1", terminal_id, command, cwd)
            case TerminalWrote(data):
                bridge.terminal_wrote("s1", terminal_id, data)
            case TerminalExited(exit_code, signal):
                bridge.terminal_exited("s1", terminal_id, exit_code, signal)

    async def request(self, method: str, **params: Any) -> Json:
        """The response the v1 agent gets."""
        self._ids += 1
        self.rig.request(self._ids, method, {"sessionId": "s1", **params})
        self.updates += self.rig.updates()
        (request,) = self.rig.events
        self.rig.events.clear()
        assert isinstance(request, ServiceRequest)
        try:
            result = await asyncio.wait_for(self.services.handle(request.method, request.params), 10)
        except RpcError as error:
            self.rig.bridge.service_failed(request.token, error)
        else:
            self.rig.bridge.service_answered(request.token, result)
        self.updates += self.rig.updates()
        (response,) = self.rig.south()
        assert response["id"] == self._ids
        return response


@pytest.fixture
async def served(tmp_path: Path) -> AsyncIterator[Served]:
    served = Served(tmp_path)
    async with served.services:
        yield served


async def test_b_15_a_command_is_a_display_terminal_that_outlives_its_release(served: Served) -> None:
    """B-15"""
    terminal = (await served.request("terminal/create", command="printf 'one\\ntwo\\n'; exit 3"))["result"]
    waited = await served.request("terminal/wait_for_exit", **terminal)
    assert waited["result"]["exitCode"] == 3
    output = await served.request("terminal/output", **terminal)
    assert output["result"]["output"] == "one\ntwo\n"
    assert (await served.request("terminal/release", **terminal))["result"] == {}
    created, *chunks, exited = served.updates
    assert created["terminalId"] == terminal["terminalId"]
    assert created["command"].startswith("printf")
    assert {chunk["sessionUpdate"] for chunk in chunks} == {"terminal_output_chunk"}
    assert exited["exitStatus"] == {"exitCode": 3}
    assert not any(update.get("output", 0) is None for update in served.updates)  # nothing took it away


async def test_b_16_output_beyond_the_limit_is_cut_at_a_character(served: Served) -> None:
    """B-16"""
    terminal = (await served.request("terminal/create", command="printf 'ééé'; true", outputByteLimit=3))["result"]
    await served.request("terminal/wait_for_exit", **terminal)
    result = (await served.request("terminal/output", **terminal))["result"]
    assert (result["output"], result["truncated"]) == ("é", True)


async def test_b_17_a_file_outside_the_roots_is_an_error(served: Served, tmp_path: Path) -> None:
    """B-17"""
    response = await served.request("fs/read_text_file", path=str(tmp_path.parent / "other"))
    assert "error" in response
    (tmp_path / "f").write_text("one\ntwo\n")
    response = await served.request("fs/read_text_file", path=str(tmp_path / "f"), line=2, limit=1)
    assert response["result"]["content"].startswith("two")
