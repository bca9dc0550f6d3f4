"""How many terminals there are, and who allows what runs in them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from roost.process.services import (
    ServiceLimits,
)
from tests.process.services.display import run


async def test_the_number_of_terminals_is_bounded_and_a_release_makes_room(make, refusal):
    services = make(limits=ServiceLimits(terminals=2))
    first = await services.handle("terminal/create", {"command": "true"})
    await services.handle("terminal/wait_for_exit", first)
    await services.handle("terminal/create", {"command": "sleep 600"})
    error = await refusal(services, "terminal/create", {"command": "true"})
    assert (error.code, error.data) == (-32603, {"limit": "terminals", "bound": 2})
    await services.handle("terminal/release", first)
    # An id is never used twice (TRM-2).
    assert await services.handle("terminal/create", {"command": "true"}) == {"terminalId": "acp-terminal-3"}


async def test_terminals_that_wait_for_permission_count_as_well(make, refusal):
    answer = asyncio.get_running_loop().create_future()

    async def ask(command):
        return await answer

    services = make(may_run=ask, limits=ServiceLimits(terminals=1))
    creating = asyncio.create_task(services.handle("terminal/create", {"command": "true"}))
    await asyncio.sleep(0)
    assert (await refusal(services, "terminal/create", {"command": "true"})).data["limit"] == "terminals"
    answer.set_result(False)
    with pytest.raises(Exception, match="not allowed: true"):
        await creating
    made = asyncio.create_task(services.handle("terminal/create", {"command": "true"}))
    with pytest.raises(Exception, match="not allowed: true"):
        await made


async def test_nothing_runs_that_the_host_did_not_allow(make, workspace, refusal, runner):
    asked = []

    async def ask(command):
        asked.append(command)
        return command.line == "echo yes"

    services = make(may_run=ask)
    error = await refusal(services, "terminal/create", {"command": "rm -rf /", "env": {"A": "1"}})
    assert (error.code, error.message) == (-32603, "not allowed: rm -rf /")
    assert runner.processes == []
    assert asked[0].program == "/bin/sh"
    assert (asked[0].args, asked[0].cwd, asked[0].env) == (("-c", "rm -rf /"), str(workspace), {"A": "1"})
    assert (await run(services, "echo", "yes"))["output"] == "yes\n"
    assert Path(asked[1].program).name == "echo"
    assert asked[1].args == ("yes",)


async def test_by_default_nothing_runs(make, refusal, runner):
    error = await refusal(make(may_run=None), "terminal/create", {"command": "true"})
    assert error.message == "not allowed: true"
    assert runner.processes == []


async def test_a_permission_that_comes_after_the_end_starts_nothing(make, refusal, runner):
    asked, answer = asyncio.Event(), asyncio.get_running_loop().create_future()

    async def ask(command):
        asked.set()
        return await answer

    services = make(may_run=ask)
    creating = asyncio.create_task(services.handle("terminal/create", {"command": "true"}))
    await asked.wait()
    await services.close()
    answer.set_result(True)
    with pytest.raises(Exception, match="closed"):
        await creating
    assert runner.processes == []


async def test_an_end_between_the_last_look_at_the_disk_and_the_start_starts_nothing(make, runner, monkeypatch):
    services = make()
    terminals = services._terminals
    loop = asyncio.get_running_loop()
    looks: list[str] = []
    closing: list[asyncio.Task] = []
    look = terminals._directory

    def look_and_close(path):
        looks.append(path)
        if len(looks) == 2:
            loop.call_soon_threadsafe(lambda: closing.append(loop.create_task(services.close())))
        return look(path)

    monkeypatch.setattr(terminals, "_directory", look_and_close)
    with pytest.raises(Exception, match="closed"):
        await services.handle("terminal/create", {"command": "true"})
    await closing[0]
    assert runner.processes == []


@pytest.mark.parametrize(
    "method",
    ["output", "read", "wait_for_exit", "waitForExit", "kill", "release", "close", "write", "resize"],
)
async def test_a_terminal_has_to_be_named_and_to_exist(services, refusal, method):
    error = await refusal(services, f"terminal/{method}", {"data": ""})
    assert (error.code, error.message) == (-32602, f"terminal/{method} requires a string terminalId")
    error = await refusal(services, f"terminal/{method}", {"terminalId": "X", "data": ""})
    assert (error.code, error.message) == (-32602, "ACP terminal not found: X")
