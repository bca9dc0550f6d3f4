"""WebAssembly agents: a real WASI module, built here from C, in a real conversation through the sidecar."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import roost
from roost.errors import SidecarError
from roost.host import Host, Notification, Session, TurnOutcome
from roost.process.runtimes.base import ProgramFile, RuntimeSettings
from roost.process.runtimes.sniff import FileKind, Sniffed
from roost.process.runtimes.wasm import WebAssemblyRuntime
from roost.process.wasm_runner import cache_folder, toml_string
from roost.sidecar.gen.messages import AcpRuntimeKind

SOURCE = Path(__file__).parent / "programs" / "wasm_agent.c"
TOOLCHAIN = "clang lld wasi-libc libclang-rt-dev-wasm32"


@pytest.fixture(scope="session")
def module(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The agent, compiled. Without Debian's toolchain the tests are skipped, in CI they fail."""
    target = tmp_path_factory.mktemp("wasm") / "agent.wasm"
    command = ["clang", "--target=wasm32-wasi", "--sysroot=/usr", "-O1", "-o", str(target), str(SOURCE)]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.CalledProcessError) as error:
        text = f"no WASI toolchain (apt-get install {TOOLCHAIN}): {getattr(error, 'stderr', error)}"
        if os.environ.get("CI"):
            pytest.fail(text)
        pytest.skip(text)
    return target


@pytest.fixture
def root(tmp_path: Path, module: Path) -> Path:
    """A package root with the agent `wa`."""
    package = tmp_path / "root" / "pkgs" / "wa" / "current"
    package.mkdir(parents=True)
    agent = {"acpEntrypoint": "wa", "env": {"GREETING": "hello"}, "launchArgs": ["--one", "--two"]}
    (package / "agentos-package.json").write_text(json.dumps({"name": "wa", "version": "1", "agent": agent}))
    (tmp_path / "root" / "bin").mkdir()
    shutil.copy(module, tmp_path / "root" / "bin" / "wa")
    return tmp_path / "root"


@pytest.fixture
async def host(root: Path, tmp_path: Path) -> AsyncIterator[Host]:
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    async with roost.host.embedded(roots=[root], environment=environment) as host:
        yield host


async def say(session: Session, text: str) -> tuple[str, TurnOutcome | None]:
    turn = session.prompt(text)
    said = ""
    async for event in turn:
        if isinstance(event, Notification):
            said += event.raw_update.get("content", {}).get("text", "")
    return said, turn.outcome


async def test_a_wasm_agent_holds_a_conversation(host: Host, tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "a.txt").write_text("what a file says")
    entry = next(entry for entry in await host.list_agents() if entry.id == "wa")
    assert entry.installed
    session = await host.create_session("wa", cwd=str(work), runtime=AcpRuntimeKind.WEB_ASSEMBLY)
    assert session.info["name"] == "wasm"
    said, outcome = await say(session, "good morning")
    assert said == "good morning"
    assert outcome == TurnOutcome("end_turn")
    assert (await say(session, f"read {work}/a.txt"))[0] == "what a file says"
    assert (await say(session, "read a.txt"))[0] == "what a file says"
    assert (await say(session, f"write {work}/b.txt"))[0] == "written"
    assert (work / "b.txt").read_text() == "written by wasm"
    await session.close()


async def test_a_wasm_agent_sees_its_root_only(host: Host, tmp_path: Path) -> None:
    """SEC-1"""
    work = tmp_path / "work"
    work.mkdir()
    (tmp_path / "secret").write_text("not for the agent")
    (work / "link").symlink_to(tmp_path / "secret")
    session = await host.create_session("wa", cwd=str(work))
    for path in ("/etc/passwd", f"{tmp_path}/secret", "../secret", f"{work}/../secret", f"{work}/link"):
        assert (await say(session, f"read {path}"))[0] == "cannot read", path
    assert (await say(session, f"write {tmp_path}/other"))[0] == "cannot write"
    await session.close()


async def test_a_wasm_agents_memory_is_bounded(host: Host, tmp_path: Path) -> None:
    session = await host.create_session("wa", cwd=str(tmp_path))
    assert (await say(session, "eat 100"))[0] == "ate 1"
    assert (await say(session, "eat 1500"))[0] == "no memory"
    await session.close()


async def test_arguments_and_environment_reach_a_wasm_agent(host: Host, tmp_path: Path) -> None:
    session = await host.create_session("wa", cwd=str(tmp_path), args=["three"], env={"GREETING": "good morning"})
    assert (await say(session, "given"))[0] == "GREETING=good morning --one --two three"
    await session.close()
    session = await host.create_session("wa", cwd=str(tmp_path))
    assert (await say(session, "given"))[0] == "GREETING=hello --one --two"
    await session.close()


async def test_a_module_that_is_none_is_a_clear_error(host: Host, root: Path, tmp_path: Path) -> None:
    (root / "bin" / "wa").write_bytes(b"\0asm\1\0\0\0 and then nonsense")
    with pytest.raises(SidecarError, match="is no WebAssembly module that can be run"):
        await host.create_session("wa", cwd=str(tmp_path), runtime=AcpRuntimeKind.WEB_ASSEMBLY)


async def test_a_wasm_file_under_another_runtime_is_a_clear_error(host: Host, tmp_path: Path) -> None:
    with pytest.raises(SidecarError, match=r"is a WebAssembly module and cannot be run as PYTHON"):
        await host.create_session("wa", cwd=str(tmp_path), runtime=AcpRuntimeKind.PYTHON)


async def test_compiled_modules_are_kept(host: Host, tmp_path: Path) -> None:
    for _ in range(2):
        session = await host.create_session("wa", cwd=str(tmp_path))
        await session.close()
    kept = [path for path in (tmp_path / "cache" / "roost" / "wasm" / "modules").rglob("*") if path.is_file()]
    assert kept
    assert (tmp_path / "cache" / "roost" / "wasm").stat().st_mode & 0o077 == 0


def test_a_cache_others_may_write_to_is_not_used(tmp_path: Path) -> None:
    folder = tmp_path / "roost" / "wasm"
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    assert cache_folder({"XDG_CACHE_HOME": str(tmp_path)}) is None
    folder.chmod(0o700)
    assert cache_folder({"XDG_CACHE_HOME": str(tmp_path)}) == str(folder)
    assert cache_folder({}) is None


def test_a_path_in_toml_is_quoted() -> None:
    assert toml_string('/a "b"\\c') == '"/a \\"b\\"\\\\c"'


def test_the_command_names_root_memory_module_and_arguments() -> None:
    runtime = WebAssemblyRuntime(RuntimeSettings(wasm_memory_bytes=4096))
    program = ProgramFile("/p/bin/a", "/p", Sniffed(FileKind.WEB_ASSEMBLY))
    assert runtime.command(program, ("-x",), "/w")[1:] == (
        "-m",
        "roost.process.wasm_runner",
        "--root=/w",
        "--memory=4096",
        "/p/bin/a",
        "-x",
    )
