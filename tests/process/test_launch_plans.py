"""From an agent to a plan, by comparing lists; and what is said when file and runtime do not fit."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from roost.errors import ProcessError
from roost.process.base import SpawnPlan
from roost.process.launch import plan_agent
from roost.process.packages import CommandLine, Package
from roost.process.runtimes.base import RuntimeSettings
from roost.process.runtimes.registry import BUILT_IN, Runtimes
from roost.process.runtimes.sniff import FileKind

OWN = {"PATH": "/bin", "HOME": "/h", "SECRET": "s"}
PYTHON = {"PYTHONUTF8": "1", "PYTHONIOENCODING": "utf-8"}
FORCED = {"AGENTOS_KEEP_STDIN_OPEN": "1"}
EVERYTHING = ("node", "bun", "deno", "python3")


def runtimes(javascript: str = "node", present: tuple[str, ...] = EVERYTHING) -> Runtimes:
    def which(name: str, path: str) -> str | None:
        return f"{path}/{name}" if name in present else None

    return Runtimes(RuntimeSettings(javascript=javascript, python="python3", path="/p", which=which))


def package(**change: object) -> Package:
    return Package(
        **{"name": "pi", "version": "1", "entrypoint": "/r/bin/pi-acp", "folder": Path("/r/pkgs/pi/current"), **change}
    )


def planned(agent: Package | CommandLine, head: bytes = b"", runtime: str = "JAVA_SCRIPT", **more: object) -> SpawnPlan:
    def read(path: str) -> bytes:
        return head

    given = {"args": (), "env": {}, "cwd": "/w", "own_env": OWN, "runtimes": runtimes(), "read": read, **more}
    return plan_agent(agent, runtime=runtime, **given)


NODE = b"#!/usr/bin/env node\n"
SNAKE = b"#!/usr/bin/python3\n"


@pytest.mark.parametrize(
    ("runtime", "javascript", "head", "argv"),
    [
        ("JAVA_SCRIPT", "node", NODE, ("/p/node", "/r/bin/pi-acp", "a")),
        ("JAVA_SCRIPT", "node", b"import x", ("/p/node", "/r/bin/pi-acp", "a")),
        ("JAVA_SCRIPT", "node", b"#!/usr/bin/env -S node -r x\n", ("/p/node", "-r", "x", "/r/bin/pi-acp", "a")),
        ("JAVA_SCRIPT", "bun", b"#!/usr/bin/env -S node -r x\n", ("/p/bun", "run", "/r/bin/pi-acp", "a")),
        ("JAVA_SCRIPT", "bun", NODE, ("/p/bun", "run", "/r/bin/pi-acp", "a")),
        ("JAVA_SCRIPT", "deno", NODE, ("/p/deno", "run", "--allow-all", "--quiet", "/r/bin/pi-acp", "a")),
        ("PYTHON", "node", b"import x", ("/p/python3", "/r/bin/pi-acp", "a")),
        ("PYTHON", "node", b"#!/usr/bin/env python3\n", ("/p/python3", "/r/bin/pi-acp", "a")),
        ("PYTHON", "node", b"#!/no/such/python\n", ("/p/python3", "/r/bin/pi-acp", "a")),
        ("JAVA_SCRIPT", "node", b"\x7fELF", ("/r/bin/pi-acp", "a")),
        ("PYTHON", "node", b"\x7fELF", ("/r/bin/pi-acp", "a")),
        ("WEB_ASSEMBLY", "node", b"#!/bin/sh\n", ("/r/bin/pi-acp", "a")),
    ],
)
def test_the_command_of_a_package(runtime, javascript, head, argv):
    plan = planned(package(), head, runtime, args=("a",), runtimes=runtimes(javascript))
    assert plan.argv == argv
    assert plan.cwd == "/w"


@pytest.mark.parametrize(
    ("runtime", "head", "file"),
    [
        ("JAVA_SCRIPT", SNAKE, "a Python program (#!/usr/bin/python3)"),
        ("JAVA_SCRIPT", b"\0asm", "a WebAssembly module"),
        ("PYTHON", NODE, "a JavaScript program (#!node)"),
        ("PYTHON", b"\0asm", "a WebAssembly module"),
        ("WEB_ASSEMBLY", NODE, "a JavaScript program (#!node)"),
        ("WEB_ASSEMBLY", SNAKE, "a Python program (#!/usr/bin/python3)"),
    ],
)
def test_a_file_of_another_runtime_is_refused_naming_both(runtime, head, file):
    with pytest.raises(ProcessError) as error:
        planned(package(), head, runtime)
    assert str(error.value) == f"/r/bin/pi-acp is {file} and cannot be run as {runtime}"


def test_a_missing_runtime_is_said_with_the_way_to_get_it():
    with pytest.raises(ProcessError, match=r"cannot be run as JAVA_SCRIPT: node was not found: install Node.js"):
        planned(package(), NODE, runtimes=runtimes(present=()))
    with pytest.raises(ProcessError, match=r"cannot be run as PYTHON: python3 was not found: install Python"):
        planned(package(), SNAKE, "PYTHON", runtimes=runtimes(present=()))
    with pytest.raises(ProcessError, match=r"cannot be run as JAVA_SCRIPT: /opt/bun was not found: install Bun"):
        planned(package(), NODE, runtimes=runtimes("/opt/bun"))
    with pytest.raises(ProcessError, match="no runtime for PYTHON programs"):
        planned(package(), SNAKE, "PYTHON", runtimes=Runtimes(factories={}))


def test_each_runtime_says_what_it_lacks_and_how_to_get_it(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    lacking = runtimes(present=())
    assert {kind: lacking.missing(kind) for kind in BUILT_IN} == {
        "JAVA_SCRIPT": "node was not found: install Node.js (Debian: apt install nodejs; else https://nodejs.org)",
        "PYTHON": "python3 was not found: install Python (Debian: apt install python3; else https://www.python.org)",
        "WEB_ASSEMBLY": 'the wasmtime package was not found: install it with Roost (pip install "roost[wasm]")',
    }
    deno = runtimes("deno", present=()).missing("JAVA_SCRIPT")
    assert deno == "deno was not found: install Deno (https://deno.com)"
    other = runtimes("/opt/js", present=()).missing("JAVA_SCRIPT")
    assert other == "/opt/js was not found: install it, or choose node, bun or deno"
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name == "wasmtime" or None)
    assert {kind: runtimes().missing(kind) for kind in BUILT_IN} == dict.fromkeys(BUILT_IN)


def test_a_wasm_module_without_its_runtime_is_refused_before_anything_is_started(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ProcessError, match="cannot be run as WEB_ASSEMBLY: the wasmtime package was not found"):
        planned(package(), b"\0asm", "WEB_ASSEMBLY")


def test_runtimes_are_named_as_the_schema_names_them():
    for kind, factory in BUILT_IN.items():
        assert factory(RuntimeSettings()).kind == kind
        assert kind in FileKind.__members__


@pytest.mark.parametrize("venv", ["venv", ".venv"])
def test_a_python_package_runs_on_its_own_environment(tmp_path, venv):
    interpreter = tmp_path / venv / "bin/python"
    interpreter.parent.mkdir(parents=True)
    interpreter.symlink_to("/bin/sh")
    plan = planned(package(folder=tmp_path), SNAKE, "PYTHON")
    assert plan.argv == (str(interpreter), "/r/bin/pi-acp")


def test_a_console_script_runs_on_the_interpreter_it_was_installed_for(tmp_path):
    interpreter = tmp_path / "python3"
    interpreter.symlink_to("/bin/sh")
    plan = planned(package(), b"#!" + bytes(interpreter) + b"\n", "PYTHON")
    assert plan.argv == (str(interpreter), "/r/bin/pi-acp")


def test_the_environment_is_made_by_the_policy():
    plan = planned(package(env={"A": "m", "B": "m"}), NODE, env={"A": "r"}, let_through=["SECRET"])
    assert plan.env == {"PATH": "/bin", "HOME": "/h", "SECRET": "s", "A": "r", "B": "m", **FORCED}
    assert planned(package(), NODE).env == {"PATH": "/bin", "HOME": "/h", **FORCED}


@pytest.mark.parametrize(
    ("head", "runtime", "python"),
    [
        (SNAKE, "PYTHON", True),
        (b"import x", "PYTHON", True),
        (NODE, "JAVA_SCRIPT", False),
        (b"\x7fELF", "PYTHON", False),
    ],
)
def test_python_programs_are_asked_for_utf8(head, runtime, python):
    env = planned(package(), head, runtime).env
    assert env == {"PATH": "/bin", "HOME": "/h", **FORCED, **(PYTHON if python else {})}


def test_a_shipped_agent_runs_its_own_command_whatever_is_requested():
    shipped = package(command=("/p/python", "-m", "x"), kind=FileKind.PYTHON)
    for runtime in ("JAVA_SCRIPT", "PYTHON", "WEB_ASSEMBLY"):
        plan = planned(shipped, runtime=runtime, args=("a",))
        assert plan.argv == ("/p/python", "-m", "x", "a")
        assert plan.env == {"PATH": "/bin", "HOME": "/h", **FORCED, **PYTHON}


def test_a_shipped_agent_that_is_missing_says_so():
    with pytest.raises(ProcessError, match="agent pi cannot be run: module x is missing"):
        planned(package(command=("python", "-m", "x"), missing="module x is missing"))


def test_a_missing_entrypoint_is_said_by_name(tmp_path):
    def read(path: str) -> bytes:
        return Path(path).read_bytes()

    with pytest.raises(ProcessError, match=r"agent pi: its entrypoint .*/none does not exist"):
        planned(package(entrypoint=str(tmp_path / "none")), read=read)
    with pytest.raises(ProcessError, match=r"agent pi: its entrypoint .* cannot be read: Is a directory"):
        planned(package(entrypoint=str(tmp_path)), read=read)


@pytest.mark.parametrize(
    ("command", "argv"),
    [
        (CommandLine("agent"), ("/bin/agent", "a")),
        (CommandLine("./agent"), ("/w/./agent", "a")),
        (CommandLine("sub/agent"), ("/w/sub/agent", "a")),
        (CommandLine("/opt/agent"), ("/opt/agent", "a")),
    ],
)
def test_the_command_of_a_command_line(command, argv):
    plan = planned(command, args=("a",), which=lambda name, path: f"{path}/{name}")
    assert plan.argv == argv
    assert plan.env == {"PATH": "/bin", "HOME": "/h", **FORCED}


def test_a_command_that_is_nowhere_on_path_is_said_by_name():
    with pytest.raises(ProcessError, match=r"program 'agent' was not found on PATH \(/bin\)"):
        planned(CommandLine("agent"), which=lambda *_: None)


def test_the_path_of_the_request_decides_where_a_command_is():
    plan = planned(CommandLine("agent"), env={"PATH": "/mine"}, which=lambda name, path: f"{path}/{name}")
    assert plan.argv == ("/mine/agent",)


@pytest.mark.parametrize(
    ("program", "head", "python"), [("/v/python3", b"\x7fELF", True), ("/v/x", SNAKE, True), ("/v/x", NODE, False)]
)
def test_command_lines_that_run_python_are_asked_for_utf8(program, head, python):
    assert ("PYTHONUTF8" in planned(CommandLine(program), head).env) == python


def test_a_command_that_cannot_be_read_is_left_to_the_start():
    def read(path: str) -> bytes:
        raise PermissionError

    assert planned(CommandLine("/x"), read=read).argv == ("/x",)


TEXTS = {
    "JAVA_SCRIPT": "console.log(JSON.stringify([process.argv[2], process.env.A]))",
    "PYTHON": "import json, os, sys\nprint(json.dumps([sys.argv[1], os.environ['A']]))",
    "WEB_ASSEMBLY": '#!/bin/sh\necho "[\\"$1\\", \\"$A\\"]"',  # a script runs itself, whatever was requested
}


@pytest.mark.parametrize("runtime", TEXTS)
async def test_a_package_of_each_kind_really_runs(tmp_path, runner, recorder, runtime):
    if runtime == "JAVA_SCRIPT" and (missing := Runtimes().missing(runtime)):
        pytest.skip(missing)
    file = tmp_path / "agent"
    file.write_text(TEXTS[runtime])
    file.chmod(0o755)
    plan = plan_agent(
        package(entrypoint=str(file), folder=tmp_path, env={"A": "ä"}),
        runtime=runtime,
        args=("ö",),
        env={},
        cwd=str(tmp_path),
        own_env=os.environ,
        runtimes=Runtimes(),
    )
    runner.spawn(plan, recorder)
    assert await recorder.line() == ["ö", "ä"]
