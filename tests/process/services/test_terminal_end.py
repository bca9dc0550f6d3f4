"""How a terminal's command ends, with everything it has started."""

from __future__ import annotations

import asyncio
import signal

import pytest

from roost.errors import ProcessError
from roost.process.graces import Graces
from roost.process.local import LocalRunner
from roost.process.services import (
    ServiceLimits,
    TerminalExited,
)
from tests.process.services.display import PATIENCE, Display, family, run


async def test_several_wait_for_one_exit_and_late_comers_get_it_too(services):
    made = await services.handle("terminal/create", {"command": "read line; exit 3", "cols": 80})
    waiting = [
        asyncio.create_task(services.handle(method, made))
        for method in ("terminal/wait_for_exit", "terminal/waitForExit", "terminal/wait_for_exit")
    ]
    waiting[2].cancel()
    await asyncio.wait([waiting[2]])
    await services.handle("terminal/write", {**made, "data": "go\n"})
    async with asyncio.timeout(PATIENCE):
        assert await asyncio.gather(*waiting[:2]) == [{"exitCode": 3, "signal": None}] * 2
        assert await services.handle("terminal/wait_for_exit", made) == {"exitCode": 3, "signal": None}


@pytest.mark.parametrize("method", ["terminal/release", "terminal/close"])
async def test_quirk_8_a_release_while_somebody_waits_ends_the_command_and_answers_both(services, method, refusal):
    made = await services.handle("terminal/create", {"command": "sleep 600"})
    waiting = asyncio.create_task(services.handle("terminal/wait_for_exit", made))
    await asyncio.sleep(0)
    async with asyncio.timeout(PATIENCE):
        assert await services.handle(method, made) == {}
        assert await waiting == {"exitCode": None, "signal": "SIGTERM"}
    error = await refusal(services, "terminal/output", made)
    assert (error.code, error.message) == (-32602, "ACP terminal not found: acp-terminal-1")


@pytest.mark.parametrize("how", ["terminal/release", "terminal/kill", "release_terminals", "close"])
async def test_the_whole_tree_ends_whatever_it_does_against_it(make, tools, how):
    display = Display()
    services = make(on_terminal=display, limits=ServiceLimits(kill_grace=0.1))
    made, pids = await family(services, display)
    assert all(map(tools.alive, pids))
    async with asyncio.timeout(PATIENCE):
        if how.startswith("terminal/"):
            await services.handle(how, made)
        else:
            await getattr(services, how)()
    assert not any(map(tools.alive, pids))
    assert display.events[-1] == ("acp-terminal-1", TerminalExited(None, "SIGKILL"))


async def test_what_a_command_leaves_running_ends_with_it(make, tools):
    display = Display()
    services = make(on_terminal=display)
    output = await run(services, "sleep 600 >/dev/null 2>&1 & echo $!")
    await tools.dead(int(output["output"]))


async def test_a_kill_keeps_the_terminal(services, refusal):
    made = await services.handle("terminal/create", {"command": "echo before; sleep 600"})
    async with asyncio.timeout(PATIENCE):
        assert await services.handle("terminal/kill", made) == {}
    output = await services.handle("terminal/output", made)
    assert output["exitStatus"] == {"exitCode": None, "signal": "SIGTERM"}
    assert await services.handle("terminal/kill", made) == {}
    assert await services.handle("terminal/kill", {**made, "signal": 9}) == {}
    assert await services.handle("terminal/release", made) == {}
    assert (await refusal(services, "terminal/kill", made)).code == -32602


async def test_a_signal_is_sent_as_it_is_asked_for(make):
    display = Display()
    services = make(on_terminal=display)
    made = await services.handle(
        "terminal/create", {"command": "trap 'echo heard; exit 5' INT; echo ready; while :; do sleep 0.01; done"}
    )
    await display.until(lambda: "ready" in display.text())
    assert await services.handle("terminal/kill", {**made, "signal": 0}) == {}
    assert "exitStatus" not in await services.handle("terminal/output", made)
    assert await services.handle("terminal/kill", {**made, "signal": int(signal.SIGINT)}) == {}
    async with asyncio.timeout(PATIENCE):
        assert await services.handle("terminal/wait_for_exit", made) == {"exitCode": 5, "signal": None}
    assert "heard" in display.text()


async def test_an_end_that_nobody_waits_for_any_more_still_comes(make, tools):
    display = Display()
    services = make(on_terminal=display, limits=ServiceLimits(kill_grace=0.3, terminals=1))
    made, pids = await family(services, display)
    releasing = asyncio.create_task(services.handle("terminal/release", made))
    await asyncio.sleep(0)
    releasing.cancel()
    await tools.dead(*pids)
    await display.until(lambda: isinstance(display.events[-1][1], TerminalExited))
    # Until then it counted, and now no more.
    await tools.until(lambda: all(terminal.is_gone for terminal in services._terminals._leaving))
    assert await services.handle("terminal/create", {"command": "true"}) == {"terminalId": "acp-terminal-2"}


async def test_an_end_begins_at_once_whatever_grace_the_runner_gives_agents(make):
    runner = LocalRunner(python=None, graces=Graces(leave_grace=20))
    services = make(runner=runner, limits=ServiceLimits(kill_grace=40))
    made = await services.handle("terminal/create", {"command": "sleep 600"})
    async with asyncio.timeout(PATIENCE):
        await services.handle("terminal/kill", made)
    await runner.shutdown()


async def test_who_ends_a_command_that_is_being_ended_does_not_end_it_twice(make):
    signals, closed = [], asyncio.Event()

    class Slow:
        pid = 1
        queued_bytes = 0

        def signal_tree(self, sig):
            signals.append(sig)

        async def close(self, grace=None):
            await closed.wait()

    class SlowRunner:
        def spawn(self, plan, listener):
            return Slow()

    services = make(runner=SlowRunner())
    made = await services.handle("terminal/create", {"command": "true"})
    ends = [asyncio.create_task(services.handle(f"terminal/{how}", made)) for how in ("kill", "kill", "release")]
    for _ in range(3):
        await asyncio.sleep(0)
    closed.set()
    assert await asyncio.gather(*ends) == [{}] * 3
    assert signals == [signal.SIGTERM]


async def test_a_command_that_cannot_be_ended_is_told_and_who_waits_is_answered(make, refusal):
    class Immortal:
        pid = 1
        queued_bytes = 0

        def signal_tree(self, sig):
            pass

        async def close(self, grace=None):
            raise ProcessError("SIGKILL did not end it: 4711")

    class Stubborn:
        def spawn(self, plan, listener):
            return Immortal()

    services = make(runner=Stubborn(), limits=ServiceLimits(terminals=1))
    made = await services.handle("terminal/create", {"command": "true"})
    waiting = asyncio.create_task(services.handle("terminal/wait_for_exit", made))
    await asyncio.sleep(0)
    error = await refusal(services, "terminal/release", made)
    assert error.message == "ACP terminal acp-terminal-1 could not be ended"
    assert await waiting == {"exitCode": None, "signal": None}
    # What may still run still counts.
    assert (await refusal(services, "terminal/create", {"command": "true"})).data["limit"] == "terminals"
