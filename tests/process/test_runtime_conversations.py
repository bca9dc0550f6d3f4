"""An agent in JavaScript and one in Python, installed as packages, in a real conversation through the sidecar.

That of a WASM agent is in test_wasm_runtime.py.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import venv
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from roost.daemon.daemon import Daemon
from roost.errors import SidecarError
from roost.host import Host, Notification, Session, TurnOutcome
from roost.host.connect import attach
from roost.process.runtimes.base import RuntimeSettings
from roost.process.runtimes.registry import Runtimes
from roost.sidecar.gen.messages import AcpRuntimeKind

PROGRAMS = Path(__file__).parent / "programs"
SOURCES = {"JAVA_SCRIPT": PROGRAMS / "node_agent.cjs", "PYTHON": PROGRAMS / "python_agent.py"}


def install(root: Path, runtime: str) -> Path:
    """The agent `a` in a package; where the package is."""
    package = root / "pkgs/a/1"
    package.mkdir(parents=True)
    agent = {"acpEntrypoint": "a", "env": {"GREETING": "grüß"}, "launchArgs": ["--one"]}
    (package / "agentos-package.json").write_text(json.dumps({"name": "a", "version": "1", "agent": agent}))
    (root / "pkgs/a/current").symlink_to("1")
    shutil.copy(SOURCES[runtime], package / "a")
    (root / "bin").mkdir()
    (root / "bin/a").symlink_to("../pkgs/a/current/a")
    return package


@asynccontextmanager
async def hosted(root: Path, runtimes: RuntimeSettings | None = None) -> AsyncIterator[Host]:
    daemon = Daemon(roots=[root], environment=dict(os.environ), runtimes=runtimes)
    try:
        await daemon.open()
        host = await attach(daemon)
        try:
            yield host
        finally:
            await host.close()
    finally:
        await daemon.close()


async def say(session: Session, text: str) -> tuple[str, TurnOutcome | None]:
    turn = session.prompt(text)
    said = ""
    async for event in turn:
        if isinstance(event, Notification):
            said += event.raw_update.get("content", {}).get("text", "")
    return said, turn.outcome


async def where(session: Session) -> dict[str, Any]:
    told: dict[str, Any] = json.loads((await say(session, "where"))[0])
    return told


def present(runtime: str) -> None:
    missing = Runtimes().missing(runtime)
    if missing is not None and os.environ.get("CI"):
        pytest.fail(missing)
    if missing is not None:
        pytest.skip(missing)


@pytest.mark.parametrize("runtime", SOURCES)
async def test_an_agent_of_each_kind_holds_a_conversation(runtime: str, tmp_path: Path) -> None:
    present(runtime)
    install(tmp_path / "root", runtime)
    asked: list[Any] = []

    async def decide(request: Any) -> str:
        asked.append(request.params["toolCall"]["title"])
        return "once"

    async with hosted(tmp_path / "root") as host:
        [entry] = [entry for entry in await host.list_agents() if entry.id == "a"]
        assert entry.installed
        kind = AcpRuntimeKind[runtime]
        session = await host.create_session("a", cwd=str(tmp_path), args=["-x"], runtime=kind, on_permission=decide)
        assert await say(session, "good morning, 🐦") == ("good morning, 🐦", TurnOutcome("end_turn"))
        assert json.loads((await say(session, "ask"))[0]) == {"outcome": "selected", "optionId": "y"}
        assert asked == ["Go?"]
        told = await where(session)
        assert (told["args"], told["greeting"]) == (["--one", "-x"], "grüß")
        assert os.path.realpath(told["cwd"]) == os.path.realpath(tmp_path)
        if runtime == "PYTHON":
            assert told["program"] == sys.executable, "the daemon's own, for a package that brings none"
        await session.close()


async def test_a_python_agent_runs_in_the_environment_its_package_brings(tmp_path: Path) -> None:
    package = install(tmp_path / "root", "PYTHON")
    venv.create(package / "venv", symlinks=True)
    async with hosted(tmp_path / "root") as host:
        session = await host.create_session("a", cwd=str(tmp_path), runtime=AcpRuntimeKind.PYTHON)
        assert os.path.realpath((await where(session))["prefix"]) == os.path.realpath(package / "venv")
        await session.close()


@pytest.mark.parametrize(("flavour", "words"), [("bun", 1), ("deno", 3)])
async def test_a_javascript_agent_runs_on_what_the_configuration_says(flavour: str, words: int, tmp_path: Path) -> None:
    """Stands in for a runtime that is no package of Debian's: drops its own words, and says that it was here."""
    present("JAVA_SCRIPT")
    install(tmp_path / "root", "JAVA_SCRIPT")
    program = tmp_path / "programs" / flavour
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$@" > "{tmp_path}/ran"\nshift {words}\nexec node "$@"\n')
    program.chmod(0o755)
    async with hosted(tmp_path / "root", RuntimeSettings(javascript=str(program))) as host:
        session = await host.create_session("a", cwd=str(tmp_path), runtime=AcpRuntimeKind.JAVA_SCRIPT)
        assert (await say(session, "hello"))[0] == "hello"
        await session.close()
    ran = (tmp_path / "ran").read_text().split()
    assert ran[:words] == {"bun": ["run"], "deno": ["run", "--allow-all", "--quiet"]}[flavour]
    assert ran[words:] == [str(tmp_path / "root/bin/a"), "--one"]


@pytest.mark.parametrize(
    ("runtime", "wanted", "text"),
    [
        ("JAVA_SCRIPT", "PYTHON", r"is a JavaScript program \(#!node\) and cannot be run as PYTHON"),
        ("PYTHON", "WEB_ASSEMBLY", r"is a Python program \(#!python3\) and cannot be run as WEB_ASSEMBLY"),
    ],
)
async def test_another_runtime_than_the_files_is_a_clear_error(
    runtime: str, wanted: str, text: str, tmp_path: Path
) -> None:
    install(tmp_path / "root", runtime)
    async with hosted(tmp_path / "root") as host:
        with pytest.raises(SidecarError, match=text):
            await host.create_session("a", cwd=str(tmp_path), runtime=AcpRuntimeKind[wanted])
