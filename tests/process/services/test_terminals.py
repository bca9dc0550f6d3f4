"""Terminals as real agents use them."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import pytest

from roost.errors import ProcessError
from roost.process.graces import Graces
from roost.process.local import LocalRunner
from roost.process.services import (
    ClientServices,
    ServiceLimits,
    TerminalCreated,
    TerminalExited,
    TerminalWrote,
    allow_all,
)

PATIENCE = 15
# Writes its pid and its child's, each of a session of its own and deaf to SIGTERM, and stays.
FAMILY = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = os.fork()
if child == 0:
    os.setsid()
    os.close(1)
    os.close(2)
    time.sleep(600)
print(os.getpid(), child, flush=True)
time.sleep(600)
"""


async def run(services: ClientServices, command: str, *args: str, **more) -> dict:
    """A terminal's output and exit status when it has ended."""
    async with asyncio.timeout(PATIENCE):
        made = await services.handle("terminal/create", {"command": command, "args": list(args), **more})
        await services.handle("terminal/wait_for_exit", made)
        output = await services.handle("terminal/output", made)
        assert await services.handle("terminal/release", made) == {}
    return output


def python(code: str) -> dict:
    return {"command": sys.executable, "args": ["-I", "-S", "-c", code]}


class Display:
    """Hears what terminals do and lets a test wait for it."""

    def __init__(self) -> None:
        self.events: list = []
        self._changed = asyncio.Event()

    def __call__(self, terminal_id, event) -> None:
        self.events.append((terminal_id, event))
        self._changed.set()

    def bytes(self, terminal_id: str = "acp-terminal-1") -> bytes:
        return b"".join(e.data for at, e in self.events if at == terminal_id and isinstance(e, TerminalWrote))

    def text(self, terminal_id: str = "acp-terminal-1") -> str:
        return self.bytes(terminal_id).decode()

    async def until(self, true) -> None:
        async with asyncio.timeout(PATIENCE):
            while not true():
                self._changed.clear()
                await self._changed.wait()


async def family(services: ClientServices, display: Display) -> tuple[dict, list[int]]:
    made = await services.handle("terminal/create", python(FAMILY))
    await display.until(lambda: "\n" in display.text(made["terminalId"]))
    return made, [int(word) for word in display.text(made["terminalId"]).split()]


async def test_b15_a_terminal_from_its_creation_to_its_release(make, workspace):
    display = Display()
    services = make(on_terminal=display)
    made = await services.handle("terminal/create", {"command": "printf", "args": ["%s", "zwölf"]})
    assert made == {"terminalId": "acp-terminal-1"}
    assert await services.handle("terminal/wait_for_exit", made) == {"exitCode": 0, "signal": None}
    assert await services.handle("terminal/output", made) == {
        "output": "zwölf",
        "truncated": False,
        "exitStatus": {"exitCode": 0, "signal": None},
    }
    assert await services.handle("terminal/release", made) == {}
    assert display.events[0] == ("acp-terminal-1", TerminalCreated("printf %s 'zwölf'", str(workspace)))
    assert display.text() == "zwölf"
    assert display.events[-1] == ("acp-terminal-1", TerminalExited(0, None))


async def test_quirk_8_a_shell_line_as_a_real_agent_sends_it(services, workspace):
    output = await run(
        services,
        f"echo hi > {workspace}/f && cat {workspace}/f",
        env=[{"name": "CLAUDECODE", "value": "1"}],
        outputByteLimit=32000,
        sessionId="s",
    )
    assert output == {"output": "hi\n", "truncated": False, "exitStatus": {"exitCode": 0, "signal": None}}


@pytest.mark.parametrize("env", [{"A": "1 2"}, [{"name": "A", "value": "1 2"}]])
async def test_the_environment_comes_in_both_spellings_over_the_services_own(make, env):
    services = make(env={"PATH": os.environ["PATH"], "A": "base", "B": "base"})
    assert (await run(services, 'echo "$A" "$B"', env=env))["output"] == "1 2 base\n"


async def test_by_default_commands_get_no_secret_of_this_program(make, monkeypatch):
    monkeypatch.setenv("SECRET_OF_THE_HOST", "x")
    output = (await run(make(), "env"))["output"]
    assert "SECRET_OF_THE_HOST" not in output
    assert "AGENTOS_KEEP_STDIN_OPEN" not in output
    assert "PATH=" in output


async def test_both_kinds_of_output_come_in_order(services):
    lines = "; ".join(f"echo {at}; echo {at}e >&2" for at in range(20))
    expected = "".join(f"{at}\n{at}e\n" for at in range(20))
    assert (await run(services, lines))["output"] == expected


async def test_a_command_runs_in_the_first_root_or_where_it_says(services, workspace):
    (workspace / "sub dir").mkdir()
    (workspace / "link").symlink_to("sub dir")
    assert (await run(services, "pwd"))["output"] == f"{workspace}\n"
    for cwd in (f"{workspace}/sub dir", f"{workspace}/link/"):
        assert (await run(services, "pwd; echo $PWD", cwd=cwd))["output"] == f"{workspace}/sub dir\n" * 2


async def test_a_working_directory_has_to_be_one_and_in_the_roots(services, workspace, outside, refusal):
    (workspace / "file").write_text("")
    (workspace / "link").symlink_to(outside)
    for cwd, code in ((str(outside), -32602), (f"{workspace}/link", -32602), ("relative", -32602)):
        assert (await refusal(services, "terminal/create", {"command": "ls", "cwd": cwd})).code == code
    for cwd in (f"{workspace}/file", f"{workspace}/none"):
        assert (await refusal(services, "terminal/create", {"command": "ls", "cwd": cwd})).code == -32002


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("exit 0", {"exitCode": 0, "signal": None}),
        ("exit 7", {"exitCode": 7, "signal": None}),
        ("kill -9 $$", {"exitCode": None, "signal": "SIGKILL"}),
        ("kill -TERM $$", {"exitCode": None, "signal": "SIGTERM"}),
        ("no-such-program-at-all x", {"exitCode": 127, "signal": None}),
    ],
)
async def test_how_a_command_ended_is_told(services, line, status):
    assert (await run(services, line))["exitStatus"] == status


async def test_a_program_that_is_not_there_is_an_error_and_no_terminal(services, refusal, runner):
    error = await refusal(services, "terminal/create", {"command": "no-such-program", "args": ["x"]})
    assert (error.code, error.message) == (-32603, "program not found: no-such-program")
    assert runner.processes == []
    assert await services.handle("terminal/create", {"command": "true"}) == {"terminalId": "acp-terminal-1"}


async def test_what_the_system_refuses_to_start_is_told_without_how_it_was_tried(services, refusal, runner, caplog):
    error = await refusal(services, "terminal/create", {"command": "echo", "args": ["SECRET" * 40_000]})
    assert "could not be started: [Errno 7]" in caplog.text
    assert "SECRET" not in caplog.text
    assert (error.code, error.message, error.data) == (-32603, "the command could not be started", None)
    assert runner.processes == []


# ---- output


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
    before = len(display.events)
    for _ in range(5):
        await asyncio.sleep(0)
    assert len(display.events) == before
    services.resume_terminal("acp-terminal-1")
    await display.until(lambda: len(display.events) > before)
    services.pause_terminal("nobody")
    services.resume_terminal("nobody")
    await services.handle("terminal/release", made)


async def test_a_display_that_fails_stops_nothing(make, caplog):
    def fail(terminal_id, event):
        raise ValueError("no screen")

    assert (await run(make(on_terminal=fail), "echo", "x"))["output"] == "x\n"
    assert "observer of terminal" in caplog.text


# ---- the end


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


# ---- input


async def test_input_reaches_a_command_that_has_a_window(make):
    display = Display()
    services = make(on_terminal=display)
    made = await services.handle("terminal/create", {"command": "cat", "cols": 80, "rows": 24})
    await services.handle("terminal/write", {**made, "data": "zwölf\n"})
    await services.handle("terminal/write", {**made, "data": "/wA=", "encoding": "base64"})
    assert await services.handle("terminal/resize", {**made, "cols": 100, "rows": 30}) == {}
    await display.until(lambda: display.bytes().endswith(b"\xff\0"))
    assert (await services.handle("terminal/output", made))["output"] == "zwölf\n\ufffd\0"


async def test_a_window_is_told_to_the_command(services):
    assert (await run(services, "echo $COLUMNS $LINES", cols=100, rows=30))["output"] == "100 30\n"
    env = {"COLUMNS": "7"}
    assert (await run(services, "echo $COLUMNS $LINES", cols=100, rows=30, env=env))["output"] == "7 30\n"


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


# ---- bounds and policy


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


async def test_services_have_a_runner_of_their_own_when_none_is_given(workspace, tools):
    services = ClientServices([str(workspace)], may_run=allow_all)
    output = await run(services, "echo $$; echo done")
    assert output["output"].endswith("done\n")
    made = await services.handle("terminal/create", {"command": "sleep 600"})
    waiting = asyncio.create_task(services.handle("terminal/wait_for_exit", made))
    await asyncio.sleep(0)
    await services.close()
    assert (await waiting)["signal"] == "SIGTERM"
    await services.close()
