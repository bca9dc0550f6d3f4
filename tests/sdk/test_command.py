"""Running commands: streamed, ended, and nothing left behind."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest

from roost.sdk.command import run_command

# Starts a child, which starts a grandchild in a session of its own; each writes its pid, then sleeps.
TREE = """
import os, subprocess, sys, time
program, level, folder = sys.argv[0], int(sys.argv[1]), sys.argv[2]
if level < 3:
    subprocess.Popen([sys.executable, program, str(level + 1), folder], start_new_session=level == 2)
with open(os.path.join(folder, str(level)), "w") as file:
    file.write(str(os.getpid()))
print("level", level, flush=True)
time.sleep(60)
"""


class Output:
    def __init__(self) -> None:
        self.data = b""
        self.changed = asyncio.Event()

    async def __call__(self, chunk: bytes) -> None:
        self.data += chunk
        self.changed.set()

    async def has(self, text: bytes) -> None:
        async with asyncio.timeout(20):
            while text not in self.data:
                self.changed.clear()
                await self.changed.wait()


def is_gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


async def gone(pid: int) -> None:
    async with asyncio.timeout(10):
        while not is_gone(pid):  # noqa: ASYNC110  # another program's end is no event of ours
            await asyncio.sleep(0.01)


async def test_output_and_errors_are_streamed_as_they_are_mixed(tmp_path: Path) -> None:
    output = Output()
    result = await run_command("echo a; echo b >&2; pwd; cat", cwd=str(tmp_path), output=output)
    assert output.data == f"a\nb\n{tmp_path}\n".encode()
    assert (result.exit_code, result.signal, result.output_bytes, result.succeeded) == (0, None, len(output.data), True)


async def test_output_comes_before_the_end() -> None:
    output = Output()
    running = asyncio.ensure_future(run_command("echo first; sleep 60", cwd="/", output=output))
    await output.has(b"first")
    assert not running.done()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


@pytest.mark.parametrize(
    ("command", "code", "signal"),
    [("exit 7", 7, None), ("kill -9 $$", None, "SIGKILL"), (["/bin/sh", "-c", "exit 3"], 3, None)],
)
async def test_an_end_is_a_code_or_a_signal(command: str | list[str], code: int | None, signal: str | None) -> None:
    result = await run_command(command, cwd="/", output=Output())
    assert (result.exit_code, result.signal) == (code, signal)


async def test_the_environment_is_ours_and_more() -> None:
    output = Output()
    await run_command("echo $PATH-$EXTRA", cwd="/", output=output, env={"EXTRA": "more"})
    assert output.data == f"{os.environ['PATH']}-more\n".encode()


async def test_a_timeout_kills_it() -> None:
    with pytest.raises(TimeoutError):
        await run_command("sleep 60", cwd="/", output=Output(), run_timeout=0.05)


async def test_an_output_that_cannot_be_taken_ends_the_command() -> None:
    async def fails(chunk: bytes) -> None:
        raise RuntimeError("full")

    async with asyncio.timeout(10):
        with pytest.raises(RuntimeError, match="full"):
            await run_command("echo x; sleep 60", cwd="/", output=fails)


async def test_what_cannot_be_started_is_an_os_error() -> None:
    with pytest.raises(OSError, match="nowhere"):
        await run_command(["/nowhere"], cwd="/", output=Output())
    with pytest.raises(OSError, match="nowhere"):
        await run_command("true", cwd="/nowhere", output=Output())


@pytest.mark.skipif(sys.platform != "linux", reason="descendants that leave the group are known by /proc")
@pytest.mark.parametrize("how", ["cancelled", "by itself"])
async def test_a_tree_three_deep_is_gone_however_it_ends(tmp_path: Path, how: str) -> None:
    output = Output()
    program = tmp_path / "tree.py"
    program.write_text(TREE)
    tree = f"{sys.executable} {program} 1 {tmp_path}"
    if how == "by itself":
        tree += f" & while [ ! -s {tmp_path}/3 ]; do sleep 0.02; done"
    running = asyncio.ensure_future(run_command(tree, cwd="/", output=output))
    await output.has(b"level 3")
    if how == "cancelled":
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    else:
        assert (await running).exit_code == 0
    for level in "123":
        await gone(int((tmp_path / level).read_text()))
