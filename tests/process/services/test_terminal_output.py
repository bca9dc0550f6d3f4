"""What a terminal keeps of its output, and who waits for whom."""

from __future__ import annotations

import asyncio

import pytest

from roost.process.services import (
    ServiceLimits,
)
from tests.process.services.display import PATIENCE, Display, run


@pytest.mark.parametrize(
    ("limit", "expected"),
    [(4, ("ölf", True)), (3, ("lf", True)), (2, ("lf", True)), (6, ("zwölf", False)), (0, ("", True))],
)
async def test_b16_output_is_cut_at_a_character(services, limit, expected):
    output = await run(services, "printf", "%s", "zwölf", outputByteLimit=limit)
    assert (output["output"], output["truncated"]) == expected


async def test_output_is_bounded_by_default_and_whatever_is_asked(make):
    services = make(limits=ServiceLimits(output_bytes=10, max_output_bytes=20))
    line = "seq -w 1 1000 | tr -d '\\n'"
    assert (await run(services, line))["output"] == "9809991000"[-10:]
    assert len((await run(services, line, outputByteLimit=1_000_000))["output"]) == 20
    assert len((await run(services, line, outputByteLimit=5))["output"]) == 5


async def test_output_can_be_read_while_the_command_runs(make):
    display = Display()
    services = make(on_terminal=display)
    made = await services.handle("terminal/create", {"command": "echo ready; sleep 600"})
    await display.until(lambda: display.text() == "ready\n")
    for method in ("terminal/output", "terminal/read"):
        assert await services.handle(method, made) == {"output": "ready\n", "truncated": False}


async def test_a_flood_stops_nobody_else_and_keeps_only_its_end(services):
    async with asyncio.timeout(PATIENCE):
        flood = await services.handle("terminal/create", {"command": "yes", "outputByteLimit": 100})
        assert (await run(services, "echo", "still here"))["output"] == "still here\n"
        while not (await services.handle("terminal/output", flood))["truncated"]:
            assert (await run(services, "echo", "again"))["output"] == "again\n"  # it may be slow to begin
        await services.handle("terminal/kill", flood)
        output = await services.handle("terminal/output", flood)
    assert len(output["output"]) <= 100
    assert output["truncated"]


async def test_a_display_that_is_slow_can_have_a_terminal_wait(make):
    display = Display()
    services = make(on_terminal=display)
    made = await services.handle("terminal/create", {"command": "yes"})
    await display.until(lambda: bool(display.text()))
    services.pause_terminal("acp-terminal-1")
    before = len(display.bytes())
    assert (await run(services, "echo", "meanwhile"))["output"] == "meanwhile\n"
    assert len(display.bytes()) == before
    services.resume_terminal("acp-terminal-1")
    await display.until(lambda: len(display.bytes()) > before)
    services.pause_terminal("nobody")
    services.resume_terminal("nobody")
    await services.handle("terminal/release", made)


async def test_a_display_that_fails_stops_nothing(make, caplog):
    def fail(terminal_id, event):
        raise ValueError("no screen")

    assert (await run(make(on_terminal=fail), "echo", "x"))["output"] == "x\n"
    assert "observer of terminal" in caplog.text
