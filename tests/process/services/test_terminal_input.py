"""Input for a terminal's command."""

from __future__ import annotations

import pytest

from roost.process.services import (
    ServiceLimits,
)
from tests.process.services.display import Display, python, run


async def test_input_reaches_a_command_that_has_a_window(make):
    display = Display()
    services = make(on_terminal=display)
    made = await services.handle("terminal/create", {"command": "cat", "cols": 80, "rows": 24})
    await services.handle("terminal/write", {**made, "data": "zwölf\n"})
    await services.handle("terminal/write", {**made, "data": "/wA=", "encoding": "base64"})
    assert await services.handle("terminal/resize", {**made, "cols": 100, "rows": 30}) == {}
    await display.until(lambda: display.bytes().endswith(b"\xff\0"))
    assert (await services.handle("terminal/output", made))["output"] == "zwölf\n\ufffd\0"


@pytest.mark.parametrize("size", [{"cols": 80}, {"rows": 24}])
async def test_half_a_window_is_one(services, size):
    made = await services.handle("terminal/create", {"command": "cat", **size})
    assert await services.handle("terminal/write", {**made, "data": "x"}) == {}


async def test_a_window_is_told_to_the_command(services):
    assert (await run(services, "echo $COLUMNS $LINES", cols=100, rows=30))["output"] == "100 30\n"
    env = {"COLUMNS": "7"}
    assert (await run(services, "echo $COLUMNS $LINES", cols=100, rows=30, env=env))["output"] == "7 30\n"


@pytest.mark.parametrize("size", [{"cols": 0}, {"rows": 0}, {"cols": -1}, {"rows": 1.5}, {"cols": "80"}])
@pytest.mark.parametrize("method", ["terminal/create", "terminal/resize"])
async def test_a_window_has_at_least_one_column_and_one_row(services, refusal, method, size):
    made = {"command": "true"}
    if method == "terminal/resize":
        made = await services.handle("terminal/create", made)
    assert (await refusal(services, method, {**made, **size})).code == -32602
    assert await services.handle(method, {**made, "cols": 1, "rows": 1}) is not None


async def test_without_a_window_a_command_finds_no_input_and_does_not_wait_for_any(services, refusal):
    code = "import os, stat; print(stat.S_ISCHR(os.fstat(0).st_mode), os.read(0, 1))"
    request = python(code)
    assert (await run(services, request["command"], *request["args"]))["output"] == "True b''\n"
    made = await services.handle("terminal/create", {"command": "sleep 600"})
    error = await refusal(services, "terminal/write", {**made, "data": "x"})
    assert (error.code, error.message) == (-32602, "ACP terminal acp-terminal-2 takes no input")


async def test_the_host_may_say_that_all_commands_take_input_or_none(make, refusal):
    made = await (taking := make(terminal_input=True)).handle("terminal/create", {"command": "cat"})
    assert await taking.handle("terminal/write", {**made, "data": "x"}) == {}
    made = await (refusing := make(terminal_input=False)).handle("terminal/create", {"command": "cat", "cols": 80})
    assert (await refusal(refusing, "terminal/write", {**made, "data": "x"})).code == -32602


async def test_input_that_nobody_reads_is_bounded(make, refusal):
    services = make(limits=ServiceLimits(input_bytes=1000))
    made = await services.handle("terminal/create", {"command": "sleep 600", "cols": 80})
    error = await refusal(services, "terminal/write", {**made, "data": "x" * 1001})
    assert error.data == {"limit": "input_bytes", "bound": 1000}


async def test_input_for_a_command_that_has_ended_is_refused(services, refusal):
    made = await services.handle("terminal/create", {"command": "true", "cols": 80})
    await services.handle("terminal/wait_for_exit", made)
    error = await refusal(services, "terminal/write", {**made, "data": "x"})
    assert (error.code, error.message) == (-32602, "ACP terminal acp-terminal-1 has exited")
