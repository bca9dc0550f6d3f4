"""What v1 agents lack, with real processes and a real journal: across turns, logins and restarts of the daemon."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import sqlite3
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest

from roost.daemon.catalogue import LocalCatalogue, marks_of
from roost.daemon.daemon import Daemon
from roost.host.connect import attach
from roost.host.events import Notification
from roost.host.host import Host
from roost.process.packages import Packages
from roost.process.runtimes.registry import Runtimes
from roost.sidecar.gen.messages import AcpSessionRequest, AcpSessionRpcResponse
from roost.sidecar.limits import Limits
from roost.store.sqlite import SqliteStore

PATIENCE = 20
SCRIPTED = f"{shlex.quote(sys.executable)} -m roost.testing.scripted --v1"
START = {"type": "start"}
Json = dict[str, Any]

# Speaks v1, or version 2 when a file says so; what it does about the other is its first argument. It notes what it is
# asked for.
PICKY = """
import json, os, sys
how, folder = sys.argv[1:]
for line in sys.stdin:
    message = json.loads(line)
    method, id = message.get("method"), message.get("id")
    if method == "initialize":
        version = message["params"]["protocolVersion"]
        with open(os.path.join(folder, "asked"), "a") as asked:
            asked.write(f"{version}\\n")
        if version != 1 + os.path.exists(os.path.join(folder, "modern")):
            if how == "dies":
                sys.exit("no such version")
            continue
        result = {"protocolVersion": 1, "agentCapabilities": {}}
        if version == 2:
            result = {"protocolVersion": 2, "info": {"name": "p", "version": "2"}, "capabilities": {"session": {}}}
    elif method == "session/new":
        result = {"sessionId": "picky"}
    else:
        result = {}
    if id is not None:
        print(json.dumps({"jsonrpc": "2.0", "id": id, "result": result}), flush=True)
"""


@pytest.fixture
def work(tmp_path: Path) -> Path:
    made = tmp_path.resolve() / "work"
    made.mkdir()
    return made


@asynccontextmanager
async def served(work: Path, caller: str | None = "me", **limits: Any) -> AsyncIterator[Host]:
    """A daemon over the journal in the folder beside, and a caller of it."""
    store = SqliteStore(work.parent / "journal.db")
    daemon = Daemon(limits=Limits(**limits), roots=[], environment=dict(os.environ), store=store)
    await daemon.open()
    try:
        host = await attach(daemon, caller=caller)
        try:
            yield host
        finally:
            await host.close()
    finally:
        async with asyncio.timeout(PATIENCE):
            await daemon.close()
    assert not daemon.runner.processes


async def answer(host: Host, session_id: str, method: str, **params: Any) -> Json:
    async with asyncio.timeout(PATIENCE):
        response = await host.request(AcpSessionRequest(session_id, method, json.dumps(params)))
    assert isinstance(response, AcpSessionRpcResponse), response
    found: Json = json.loads(response.response)
    return found


# ---- what an agent speaks


def asked(work: Path) -> list[int]:
    return [int(line) for line in (work / "asked").read_text().split()]


def picky(work: Path, how: str) -> str:
    program = work.parent / "picky.py"
    if not program.exists():
        program.write_text(PICKY)
    return shlex.join([sys.executable, str(program), how, str(work)])


@pytest.mark.parametrize("how", ["silent", "dies"])
async def test_what_an_agent_speaks_is_found_out_once_and_survives_the_daemon(work: Path, how: str) -> None:
    agent = picky(work, how)
    for _ in range(2):
        async with served(work, negotiation_timeout=3.0) as host, asyncio.timeout(PATIENCE):
            await host.create_session(agent, cwd=str(work))
    assert asked(work) == [2, 1, 1]


async def test_an_updated_program_is_asked_anew(work: Path) -> None:
    agent = picky(work, "dies")
    async with served(work) as host, asyncio.timeout(PATIENCE):
        await host.create_session(agent, cwd=str(work))
    (work / "modern").touch()
    program = work.parent / "picky.py"
    program.write_text(PICKY + "# updated\n")
    async with served(work) as host, asyncio.timeout(PATIENCE):
        await host.create_session(agent, cwd=str(work))
    assert asked(work) == [2, 1, 2]


async def test_a_memory_that_is_wrong_is_corrected_on_the_disk(work: Path) -> None:
    agent = picky(work, "dies")
    async with served(work) as host, asyncio.timeout(PATIENCE):
        await host.create_session(agent, cwd=str(work))
    (work / "modern").touch()
    for _ in range(2):
        async with served(work) as host, asyncio.timeout(PATIENCE):
            await host.create_session(agent, cwd=str(work))
    assert asked(work) == [2, 1, 1, 2, 2]
    with closing(sqlite3.connect(work.parent / "journal.db")) as db:
        [(digest, version)] = db.execute("SELECT digest, version FROM versions").fetchall()
    assert version == 2
    assert len(digest) == 64


def test_the_marks_of_a_command_are_those_of_its_files(tmp_path: Path) -> None:
    script = tmp_path / "agent.py"
    script.write_text("1")
    interpreter = marks_of(sys.executable)
    before = marks_of(sys.executable, str(script), "-v", "relative.py", str(tmp_path / "missing"), "\0")
    assert interpreter
    assert before.startswith(f"{interpreter} ")
    script.write_text("22")
    assert marks_of(sys.executable, str(script)) != before
    assert marks_of("no-such-program-anywhere") == ""
    assert marks_of("./relative") == ""
    folder, name = os.path.split(sys.executable)
    assert marks_of(name, path=folder) == interpreter


def test_the_revision_of_a_package_is_its_version_and_of_anything_else_the_marks_of_its_files(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "agent"
    folder = tmp_path / "pkgs" / "agent" / "1.0"
    for made in (program.parent, folder):
        made.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (folder.parent / "current").symlink_to("1.0")

    def revision(agent_type: str) -> str:
        known = Runtimes()
        found = LocalCatalogue(Packages([tmp_path], known), known, own_env={"PATH": str(tmp_path / "bin")})
        program = found.find(agent_type)
        assert program is not None
        return program.revision

    for version in ("1.0", "1.1"):
        manifest = {"name": "agent", "version": version, "agent": {"acpEntrypoint": "agent"}}
        (folder / "agentos-package.json").write_text(json.dumps(manifest))
        assert revision("agent") == version
    marks = marks_of(str(program))
    assert revision(str(program)) == revision("agent --acp") == marks
    assert revision("wren") not in ("", marks)


# ---- list, resume, close


async def test_sessions_are_listed_closed_and_resumed_out_of_the_journal(work: Path) -> None:
    async with served(work) as host, asyncio.timeout(PATIENCE):
        first = await host.create_session(SCRIPTED, cwd=str(work))
        await first.prompt("thought think\ntext hello\ntool t completed Look\nplan Go on")
        second = await host.create_session(SCRIPTED, cwd=str(work.parent))
        assert second.id != first.id
        rows = (await answer(host, first.id, "session/list"))["result"]["sessions"]
        assert [row["sessionId"] for row in rows] == [second.id, first.id]
        rows = (await answer(host, first.id, "session/list", cwd=str(work)))["result"]["sessions"]
        assert [row["sessionId"] for row in rows] == [first.id]
        assert (await answer(host, second.id, "session/close"))["result"] == {}
    async with served(work, "you") as host, asyncio.timeout(PATIENCE):
        other = await host.create_session(SCRIPTED, cwd=str(work))
        rows = (await answer(host, other.id, "session/list"))["result"]["sessions"]
        assert [row["sessionId"] for row in rows] == [other.id]
    async with served(work) as host, asyncio.timeout(PATIENCE):
        known = host.known_session(first.id, 2)
        events = known.subscribe()
        result = (await answer(host, first.id, "session/resume", cwd=str(work), replayFrom=START))["result"]
        assert result["_meta"]["_bridge"] == {"replay": "journal"}
        told: list[str] = []
        while "plan_update" not in told:
            event = await anext(aiter(events))
            if isinstance(event, Notification) and event.raw_update:
                told.append(event.raw_update["sessionUpdate"].removesuffix("_chunk"))
        assert told == ["user_message", "agent_thought", "agent_message", "tool_call_update", "plan_update"]
        rows = (await answer(host, first.id, "session/list"))["result"]["sessions"]
        assert {row["sessionId"] for row in rows} == {second.id, first.id}
        assert "result" in (await answer(host, second.id, "session/resume", cwd=str(work.parent)))


# ---- logout


async def test_a_logout_lasts_until_a_login_which_starts_the_agent_anew(work: Path) -> None:
    memory = work.parent / "memory"
    auth = json.dumps([{"id": "key", "name": "Key"}])
    agent = f"{SCRIPTED} --load --gated --store {shlex.quote(str(memory))} --auth {shlex.quote(auth)}"
    memory.mkdir()
    (memory / "login").touch()
    async with served(work) as host, asyncio.timeout(PATIENCE):
        session = await host.create_session(agent, cwd=str(work))
        first = await session.state()
        assert (await answer(host, session.id, "auth/logout"))["result"] == {}
        assert (await session.state()).pid is None
        refused = await answer(host, session.id, "session/prompt", prompt=[{"type": "text", "text": "text no"}])
        assert refused["error"]["code"] == -32000
        assert (await answer(host, session.id, "auth/login", methodId="nonsense"))["error"]["code"] == -32602
        assert (await answer(host, session.id, "auth/login", methodId="key"))["result"] == {}
        again = await session.state()
        assert again.pid not in (None, first.pid)
        await session.prompt("text yes")
