"""Terminals as real agents use them: begun, told of, released."""

from __future__ import annotations

import asyncio
import os

import pytest

from roost.process.services import (
    ClientServices,
    TerminalCreated,
    TerminalExited,
    allow_all,
)
from tests.process.services.display import Display, run


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
