"""`roost exec`: an agent's own program in the place of the command."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.rig import PATIENCE, ROOST, Program, program, roost

# Says what it was started with, as one line of JSON.
TELL = """\
import json, os, signal, sys
told = {
    "args": sys.argv[1:],
    "env": dict(os.environ),
    "cwd": os.getcwd(),
    "pid": os.getpid(),
    "ignored": [n.name for n in signal.Signals if signal.getsignal(n) is signal.SIG_IGN],
}
print(json.dumps(told), flush=True)
"""


def script(path: Path, text: str, interpreter: str = sys.executable) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!{interpreter}\n{text}")
    path.chmod(0o755)
    return path


def install(root: Path, name: str, text: str, interpreter: str = sys.executable, **agent: Any) -> Path:
    """A package of that name with one program."""
    folder = root / "pkgs" / name / "1"
    folder.mkdir(parents=True)
    folder.parent.joinpath("current").symlink_to("1")
    manifest = {"name": name, "version": "1", "agent": {"acpEntrypoint": name, **agent}}
    (folder / "agentos-package.json").write_text(json.dumps(manifest))
    made = script(folder / "program", text, interpreter)
    (root / "bin").mkdir(exist_ok=True)
    (root / "bin" / name).symlink_to(made)
    return made


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "data" / "roost"


def run(*args: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*ROOST, "exec", *args], capture_output=True, timeout=PATIENCE, **options)


def told(*args: str, **options: Any) -> dict[str, Any]:
    done = run(*args, **options)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_an_agent_s_own_arguments_come_before_those_that_are_given(root: Path) -> None:
    install(root, "tell", TELL, launchArgs=["--acp"])
    assert told("tell")["args"] == ["--acp"]
    assert told("tell", "--help", "-x", "a b", "--", "--config=1")["args"] == [
        "--acp",
        "--help",
        "-x",
        "a b",
        "--",
        "--config=1",
    ]


def test_the_caller_s_whole_environment_lies_over_the_agent_s(root: Path) -> None:
    install(root, "tell", TELL, env={"FROM_PACKAGE": "p", "BOTH": "package"})
    env = told("tell", env={**os.environ, "SECRET_KEY": "s", "BOTH": "caller"})["env"]
    assert (env["FROM_PACKAGE"], env["BOTH"], env["SECRET_KEY"]) == ("p", "caller", "s")


def test_it_works_where_the_caller_is(root: Path, tmp_path: Path) -> None:
    install(root, "tell", TELL)
    assert told("tell", cwd=tmp_path)["cwd"] == str(tmp_path)


@pytest.mark.parametrize("how", ["name on PATH", "path", "command line"])
def test_a_program_that_is_not_installed_is_found_as_a_run_finds_it(how: str, tmp_path: Path) -> None:
    made = script(tmp_path / "bin" / "telling", TELL)
    env = {**os.environ, "PATH": f"{made.parent}{os.pathsep}{os.environ['PATH']}"}
    word = {"name on PATH": "telling", "path": "bin/telling", "command line": "bin/telling --acp 'a b'"}[how]
    args = told(word, "more", cwd=tmp_path, env=env)["args"]
    assert args == (["--acp", "a b", "more"] if how == "command line" else ["more"])


def test_the_program_takes_the_place_of_the_command(root: Path) -> None:
    """Same process, nothing in between, and no signal ignored that was not before."""
    install(root, "tell", TELL)
    made = Program([*ROOST, "exec", "tell"])
    assert made.end() == 0
    found = json.loads(made.stdout)
    assert found["pid"] == made.pid
    # By the Python of the script itself, as by this one, and by whoever runs the tests.
    assert found["ignored"] == [one.name for one in signal.Signals if signal.getsignal(one) is signal.SIG_IGN]


def test_signals_that_a_program_dies_of_are_as_they_were(root: Path) -> None:
    install(root, "trap", "trap\nkill -PIPE $$\nexit 3\n", interpreter="/bin/sh")
    assert run("trap").returncode == -signal.SIGPIPE


def test_bytes_pass_as_they_are_both_ways(root: Path) -> None:
    install(root, "cat", "exec cat\n", interpreter="/bin/sh")
    data = bytes(range(256)) * 1000 + b"\r\n\x00 no newline at the end"
    assert run("cat", input=data).stdout == data


def test_stderr_is_the_caller_s(root: Path) -> None:
    install(root, "grumble", "echo grumble >&2\n", interpreter="/bin/sh")
    done = run("grumble")
    assert (done.stdout, done.stderr) == (b"", b"grumble\n")


def test_the_exit_status_is_the_program_s_own(root: Path) -> None:
    install(root, "ends", "exit 42\n", interpreter="/bin/sh")
    assert run("ends").returncode == 42


def test_a_signal_reaches_the_program(root: Path) -> None:
    install(root, "waits", 'trap "echo bye; exit 9" TERM\necho ready\nwhile :; do read x || :; done\n', "/bin/sh")
    reading, writing = os.pipe()
    try:
        with program("exec", "waits", stdin=reading) as made:
            made.until("ready")
            made.process.send_signal(signal.SIGTERM)
            os.write(writing, b"\n")
            assert made.end() == 9
            assert made.stdout == b"ready\nbye\n"
    finally:
        os.close(reading)
        os.close(writing)


def test_a_stream_that_was_closed_stays_so(root: Path) -> None:
    install(root, "open", "test -e /proc/self/fd/0 && exit 1\nexit 0\n", "/bin/sh")
    if not os.path.exists("/proc/self/fd"):
        pytest.skip("descriptors are only seen in /proc")
    command = ["/bin/sh", "-c", 'exec "$@" <&-', "sh", *ROOST, "exec", "open"]
    assert subprocess.run(command, timeout=PATIENCE).returncode == 0


INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": 2, "info": {"name": "x", "version": "1"}, "capabilities": {}},
}


def test_the_agent_in_the_box_speaks_to_whoever_starts_it() -> None:
    answer = json.loads(run("wren", input=json.dumps(INITIALIZE).encode() + b"\n").stdout)
    assert answer["result"]["info"]["name"] == "wren"


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_a_javascript_program_runs_on_node(root: Path) -> None:
    made = install(root, "js", "", launchArgs=["--acp"])
    made.write_text("console.log(JSON.stringify(process.argv.slice(2)))\n")  # no #! line: it is run as JavaScript
    assert json.loads(run("js", "more").stdout) == ["--acp", "more"]


def test_a_python_program_without_a_first_line_runs_on_python(root: Path) -> None:
    made = install(root, "py", "", launchArgs=["--acp"])
    target = made.with_suffix(".py")
    made.rename(target)
    target.write_text(TELL)
    link = root / "bin" / "py"
    link.unlink()
    link.symlink_to(target)
    assert told("py")["args"] == ["--acp"]


def test_a_webassembly_module_runs_in_its_runtime(root: Path) -> None:
    wasmtime = pytest.importorskip("wasmtime")
    text = """(module
      (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
      (memory (export "memory") 1)
      (func (export "_start") (call $exit (i32.const 5))))"""
    made = install(root, "wasm", "")
    made.write_bytes(wasmtime.wat2wasm(text))
    assert run("wasm").returncode == 5


def test_the_configuration_says_where_agents_are(tmp_path: Path) -> None:
    install(tmp_path / "elsewhere", "tell", TELL)
    config = tmp_path / "mine.toml"
    config.write_text('[daemon]\npackages = ["elsewhere"]\n')
    assert told("--config", str(config), "tell", "--config", "x")["args"] == ["--config", "x"]
    assert run("tell").returncode == 1


def test_an_agent_that_does_not_exist_is_a_misuse() -> None:
    result = roost("exec", "nobody")
    assert result.exit_code == 1
    assert "there is no agent 'nobody'" in result.stderr


def test_an_agent_that_cannot_be_run_says_why(root: Path) -> None:
    made = install(root, "gone", "", interpreter="/nowhere/at/all")
    made.chmod(0o644)
    result = roost("exec", "gone")
    assert result.exit_code == 2
    assert "cannot be run" in result.stderr


def test_a_program_whose_interpreter_is_missing_says_so(root: Path, tmp_path: Path) -> None:
    made = script(tmp_path / "agent", "", interpreter="/nowhere/at/all")
    result = roost("exec", str(made))
    assert result.exit_code == 2
    assert "needs the interpreter /nowhere/at/all, which does not exist" in result.stderr


def test_an_old_node_is_told_before_it_fails(tmp_path: Path) -> None:
    script(tmp_path / "bin" / "node", "echo v18.0.0\n", "/bin/sh")
    folder = tmp_path / "node_modules" / "new"
    made = script(folder / "cli.js", "", "/usr/bin/env node")
    (folder / "package.json").write_text('{"engines": {"node": ">=20"}}')
    result = roost("exec", str(made), env={"PATH": f"{tmp_path}/bin{os.pathsep}{os.environ['PATH']}"})
    assert result.exit_code == 2
    assert "cli.js needs node >=20, and " in result.stderr
