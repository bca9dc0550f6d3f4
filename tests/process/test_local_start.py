"""Agents that cannot be started: what is said, and that nothing is left behind."""

from __future__ import annotations

import os
import resource

import pytest

from roost.errors import ProcessError
from roost.process.base import SpawnPlan
from roost.process.graces import Graces
from roost.process.local import LocalRunner
from tests.process.children import ECHO, collect


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"argv": ("no-such-program-anywhere",)}, "program 'no-such-program-anywhere' was not found on PATH"),
        ({"argv": ("/no/such/program",)}, "program /no/such/program does not exist"),
        ({"argv": ("./none",)}, "does not exist"),
        ({"argv": ("/",)}, "program / is a directory"),
        ({"argv": ()}, "the command is empty"),
        ({"argv": ("cat", "a\0b")}, "contains a NUL character"),
        ({"env": {"A=B": "c"}}, "'A=B' is not a variable's name"),
        ({"env": {"A": "b\0c"}}, "the value of A contains a NUL character"),
        ({"cwd": "/no/such/folder"}, "working directory /no/such/folder does not exist"),
        ({"cwd": "/dev/null"}, "working directory /dev/null is not a directory"),
        ({"cwd": "/dev/null/x"}, "working directory /dev/null/x is not a directory"),
        ({"cwd": "relative"}, "working directory 'relative' is not an absolute path"),
    ],
)
async def test_what_cannot_be_started_is_said_by_name(runner, recorder, change, text):
    whole = {"argv": ("cat",), "env": {"PATH": "/bin:/usr/bin"}, "cwd": "/", **change}
    with pytest.raises(ProcessError) as error:
        runner.spawn(SpawnPlan(**whole), recorder)
    assert text in str(error.value)
    assert recorder.exits == []
    assert runner.processes == []


@pytest.mark.parametrize(
    ("args", "env", "longest"),
    [
        (("x" * 300_000, "y"), {}, "the longest argument has 300000 bytes"),
        ((), {"INSTRUCTIONS": "ä" * 150_000}, "the variable INSTRUCTIONS has 300000 bytes"),
    ],
)
async def test_what_is_too_long_for_the_system_is_said_by_name_and_not_repeated(
    runner, recorder, tools, args, env, longest
):
    """Linux takes 128 KiB in one argument or variable; others take more, and no system takes a megabyte in all."""
    with pytest.raises(ProcessError) as error:
        runner.spawn(tools.plan("/bin/cat", *args, *["z" * 1000] * 5000, **env), recorder)
    assert str(error.value).endswith(f": Argument list too long; {longest}")
    assert len(str(error.value)) < 500
    assert runner.processes == []


async def test_a_file_that_may_not_be_run_is_said_so(runner, recorder, tools, tmp_path):
    file = tmp_path / "agent"
    file.write_text("#!/bin/sh\n")
    with pytest.raises(ProcessError, match="is not executable"):
        runner.spawn(tools.plan(str(file)), recorder)


async def test_a_missing_interpreter_is_said_by_name(runner, recorder, tools, tmp_path):
    file = tmp_path / "agent"
    file.write_text("#!/no/such/interpreter -x\n")
    file.chmod(0o755)
    with pytest.raises(ProcessError, match="needs the interpreter /no/such/interpreter, which does not exist"):
        runner.spawn(tools.plan(str(file)), recorder)


async def test_a_relative_program_is_taken_from_the_working_directory(runner, recorder, tools, tmp_path):
    file = tmp_path / "agent"
    file.write_text('#!/bin/sh\necho "\\"$1\\""\n')
    file.chmod(0o755)
    runner.spawn(tools.plan("./agent", "here", cwd=str(tmp_path)), recorder)
    assert await recorder.line() == "here"


@pytest.mark.parametrize("death_signal", [False, True])
async def test_a_failed_start_leaves_no_descriptor_behind(recorder, tools, tmp_path, death_signal):
    file = tmp_path / "agent"
    file.write_bytes(b"\x7fELF and no more")
    file.chmod(0o755)
    runner = LocalRunner(python=None, death_signal=death_signal, graces=Graces(close_grace=0.0))
    before = os.listdir("/proc/self/fd")
    if not death_signal:
        with pytest.raises(ProcessError, match="could not be started"):
            runner.spawn(tools.plan(str(file)), recorder)
    else:
        runner.spawn(tools.plan(str(file)), recorder)
        assert await recorder.exited() in (126, 127)
        assert recorder.stderr_bytes > 0  # who said it depends on the system: setpriv, or the shell it falls back on
        await runner.shutdown()
    assert os.listdir("/proc/self/fd") == before


async def test_running_out_of_descriptors_is_an_error_of_the_start_alone(runner, recorder, tools):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest_free = os.dup(0)
    os.close(lowest_free)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free + 1, hard))
        with pytest.raises(ProcessError, match="Too many open files"):
            runner.spawn(tools.python(ECHO), recorder)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    process = runner.spawn(tools.python(ECHO), recorder)
    process.close_input()
    assert await recorder.exited() == 0


@pytest.mark.parametrize("call", ["PipeWriter", "PipeReader", "ExitWatch"])
async def test_an_agent_that_cannot_be_watched_is_ended_again(runner, recorder, tools, monkeypatch, call):
    def fail(*_args):
        raise OSError(12, "Cannot allocate memory")

    before = os.listdir("/proc/self/fd")
    with monkeypatch.context() as broken:
        broken.setattr(f"roost.process.child.{call}", fail)
        with pytest.raises(ProcessError, match=r"cannot be watched, so it was ended: .*Cannot allocate memory"):
            runner.spawn(tools.plan("cat"), recorder)
    with pytest.raises(ChildProcessError):
        collect(-1)
    assert os.listdir("/proc/self/fd") == before
    assert runner.processes == []
