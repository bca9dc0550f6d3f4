"""From what real agents send to what is run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from roost.errors import RpcError
from roost.process.services import commands
from roost.process.services.policy import TerminalCommand


@pytest.fixture
def bin_dir(workspace: Path) -> Path:
    """A directory of programs, one with a name that a shell would take apart."""
    for name in ("bin/tool", "bin/my tool", "bin/plain"):
        (workspace / name).parent.mkdir(exist_ok=True)
        (workspace / name).write_text("#!/bin/sh\n")
        (workspace / name).chmod(0o755)
    (workspace / "bin/plain").chmod(0o644)
    (workspace / "bin/broken").write_text("#!/no/such/interpreter\n")
    (workspace / "bin/broken").chmod(0o755)
    return workspace / "bin"


def resolve(workspace: Path, command: str, *args: str, **env: str) -> TerminalCommand:
    return commands.resolve(command, args, cwd=str(workspace), base_env={"PATH": f"{workspace}/bin"}, env=env)


@pytest.mark.parametrize(
    "line",
    [
        "echo hi > f && cat f",
        "sleep 25",
        "ls | wc -l",
        "a;b",
        "$HOME/x",
        "~/x",
        "x*",
        "FOO=1 env",
        "(true)",
        "one\ntwo",
        "`ls`",
        "exit 3 ",
        "'tool'",
    ],
)
def test_quirk_8_a_command_without_arguments_that_means_more_than_a_word_is_a_shell_line(workspace, bin_dir, line):
    found = resolve(workspace, line)
    assert (found.program, found.args, found.line) == ("/bin/sh", ("-c", line), line)


def test_a_program_is_found_on_the_path_or_from_the_working_directory(workspace, bin_dir):
    assert resolve(workspace, "tool").program == f"{bin_dir}/tool"
    assert resolve(workspace, "bin/tool").program == f"{bin_dir}/tool"
    assert os.path.samefile(resolve(workspace, "./bin/tool").program, bin_dir / "tool")
    assert resolve(workspace, f"{bin_dir}/tool").program == f"{bin_dir}/tool"


def test_a_program_whose_name_has_a_space_is_not_a_shell_line(workspace, bin_dir):
    for command in ("my tool", f"{bin_dir}/my tool", "bin/my tool"):
        found = resolve(workspace, command)
        assert (found.program, found.args) == (f"{bin_dir}/my tool", ())
        assert found.line == f"'{command}'"


def test_with_arguments_it_is_never_a_shell_line(workspace, bin_dir):
    found = resolve(workspace, "tool", "a b", "$HOME", ";")
    assert (found.program, found.args) == (f"{bin_dir}/tool", ("a b", "$HOME", ";"))
    assert found.line == "tool 'a b' '$HOME' ';'"
    with pytest.raises(RpcError):
        resolve(workspace, "tool; other", "x")


def test_what_the_agent_adds_to_the_environment_is_told_and_decides_what_is_found(workspace, bin_dir):
    found = resolve(workspace, "tool", PATH="/usr/bin:/bin", A="1") if Path("/usr/bin/tool").exists() else None
    assert found is None
    with pytest.raises(RpcError):
        resolve(workspace, "tool", PATH="/usr/bin:/bin")
    assert resolve(workspace, "tool", A="1").env == {"A": "1"}


@pytest.mark.parametrize(
    ("command", "text", "code"),
    [
        ("nothing", "program not found: nothing", "ENOENT"),
        ("bin/nothing", "program cannot be run: bin/nothing", "ENOENT"),
        ("bin/plain", "program cannot be run: bin/plain", "EACCES"),
        ("bin", "program not found: bin", "ENOENT"),
        ("./bin", "program cannot be run: ./bin", "EACCES"),
        ("bin/broken", "program cannot be run: bin/broken", "EACCES"),
    ],
)
def test_what_cannot_be_run_is_named_and_nothing_else_is_told(workspace, bin_dir, command, text, code):
    with pytest.raises(RpcError) as caught:
        resolve(workspace, command)
    assert (caught.value.code, caught.value.message, caught.value.data) == (-32603, text, {"code": code})


def test_a_plan_says_where_it_is_run_and_with_what():
    command = TerminalCommand("/bin/ls", ("-l",), "/work space", {"A": "agent", "PWD": "/lie"}, "ls -l")
    plan = commands.plan(command, {"A": "base", "B": "base"}, takes_input=False)
    assert plan.argv[0] == "/bin/sh"
    assert plan.argv[-3:] == ("/work space", "/bin/ls", "-l")
    assert plan.argv[2].endswith("2>&1 </dev/null")
    assert plan.env == {"A": "agent", "B": "base", "PWD": "/work space"}
    assert plan.cwd == "/work space"
    assert "/dev/null" not in commands.plan(command, {}, takes_input=True).argv[2]
