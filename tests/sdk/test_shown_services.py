"""What an agent of v1 does through a client's services, as its session's view shows it: display terminals and diffs."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from roost.acp import v2
from roost.acp.bridge.events import ServiceRequest
from roost.acp.bridge.v1_agent import V1AgentBridge
from roost.errors import RpcError
from roost.process.services import ClientServices, ServiceLimits, allow_all
from roost.sdk.agent_services import ServedAgent
from roost.sdk.client import Client
from roost.sdk.connect import connect
from roost.sdk.session import Session
from tests.sdk.raw_agent import bounded, eventually
from tests.sdk.test_agent_services import OFFERED, Answering, opened

AGENT = f"{shlex.quote(sys.executable)} -m roost.testing.scripted --v1"
PATIENCE = 30


def create(command: str) -> str:
    return f"request terminal/create {json.dumps({'command': command})}"


def of_terminal(method: str) -> str:
    return f"request terminal/{method} {json.dumps({'terminalId': '$terminal'})}"


def write(path: Path, content: str) -> str:
    return f"request fs/write_text_file {json.dumps({'path': str(path), 'content': content})}"


@asynccontextmanager
async def served(root: Path, **options: Any) -> AsyncIterator[tuple[Client, Session]]:
    options = {"may_write": allow_all, "may_run": allow_all, **options}
    async with (
        asyncio.timeout(PATIENCE),
        ClientServices([str(root)], **options) as services,
        connect(AGENT, services=services) as client,
    ):
        yield client, await client.new_session(str(root))


async def play(session: Session, *steps: str) -> list[v2.SessionUpdate]:
    return [update async for update in session.prompt("\n".join(steps))]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path.resolve()


async def test_a_command_is_a_terminal_of_the_view_that_outlives_its_release(root: Path) -> None:
    async with served(root) as (_, session):
        steps = [create("printf 'h\\303\\251'; exit 3"), of_terminal("wait_for_exit"), of_terminal("release")]
        updates = await play(session, *steps)
        (terminal,) = session.view.terminals.values()
    assert (terminal.command, terminal.cwd) == ("printf 'h\\303\\251'; exit 3", str(root))
    assert terminal.text == "h\u00e9"
    assert terminal.exit_status is not None
    assert terminal.exit_status.exit_code == 3
    kinds = [type(update) for update in updates]
    shown = [kinds.index(v2.TerminalUpdate), kinds.index(v2.TerminalOutputChunk)]
    assert shown == sorted(shown)


async def test_each_session_shows_its_own(root: Path) -> None:
    async with served(root) as (client, one):
        two = await client.new_session(str(root))
        for session, word in ((one, "first"), (two, "second")):
            await play(session, create(f"printf {word}"), of_terminal("wait_for_exit"))
        shown = [[terminal.text for terminal in session.view.terminals.values()] for session in (one, two)]
    assert shown == [["first"], ["second"]]


async def test_a_flood_is_shown_with_its_beginning_and_its_end(root: Path) -> None:
    async with served(root, limits=ServiceLimits(shown_bytes=10)) as (_, session):
        await play(session, create("head -c 300000 /dev/zero | tr '\\0' x; printf end"), of_terminal("wait_for_exit"))
        (terminal,) = session.view.terminals.values()
    hidden = 300_003 - 10 - 64 * 1024
    assert terminal.text.startswith(f"xxxxxxxxxx\n[roost] {hidden} bytes of output are not shown (shown_bytes)\nx")
    assert terminal.text.endswith("xend")


async def test_a_written_file_is_shown_as_a_diff_when_it_is_done(root: Path) -> None:
    (root / "old").write_text("one\ntwo\n")
    async with served(root) as (_, session):
        await play(session, write(root / "new", "fresh\n"), write(root / "old", "one\n2\n"))
        new, old = session.view.tool_calls.values()
    for card, path, kind, line in ((new, "new", v2.DiffAdd, "+fresh"), (old, "old", v2.DiffModify, "+2")):
        assert (card.title, card.kind, card.status) == (f"Write {root / path}", "edit", "completed")
        (diff,) = card.content
        assert isinstance(diff, v2.Diff)
        (change,) = diff.changes
        assert isinstance(change, kind)
        assert change.path == str(root / path)
        assert diff.patch is not None
        assert line in diff.patch.text.splitlines()


async def test_what_was_not_allowed_is_not_shown(root: Path) -> None:
    async def deny(asked: object) -> bool:
        return False

    async with served(root, may_write=deny, may_run=deny) as (_, session):
        await play(session, write(root / "new", "x"), create("echo x"))
        assert (session.view.tool_calls, session.view.terminals) == ({}, {})


async def test_a_write_that_fails_is_not_shown_as_done(root: Path) -> None:
    (root / "folder").mkdir()
    async with served(root) as (_, session):
        await play(session, write(root / "folder", "x"))
        assert session.view.tool_calls == {}


# ---- whose, and when


class Bridge:
    """What a bridge has been told."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []
        self.limits = V1AgentBridge().limits

    def __getattr__(self, name: str) -> Any:
        return lambda *args: self.told.append((name, *args))


class Sharing(Answering):
    """Begins a terminal and a write in the task of each request."""

    async def handle(self, method: str, params: object) -> Any:
        for watcher in self.watchers:
            watcher.terminal_created(f"t-{method}", "line", "/cwd")
            watcher.file_writing("/real", "/asked", plain=False, is_new=True, before=None)
        return {}


async def test_services_that_serve_two_agents_show_each_its_own() -> None:
    services = Sharing()
    bridges = [Bridge(), Bridge()]
    agents = [ServedAgent(bridge, services, lambda: None) for bridge in bridges]  # type: ignore[arg-type]
    for agent, name in zip(agents, ("a", "b"), strict=True):
        agent.take(ServiceRequest(7, f"session-{name}", name, {}))
    await eventually(lambda: all(len(bridge.told) == 3 for bridge in bridges))
    for agent in agents:
        agent.terminal_wrote("t-a", b"x")
        agent.terminal_exited("t-b", None, "SIGKILL")
    await asyncio.sleep(0)
    calls = [[(name, args[0]) for name, *args in bridge.told] for bridge in bridges]
    both = ["terminal_created", "service_writes", "service_answered"]
    for found, name, last in zip(calls, ("a", "b"), ("terminal_wrote", "terminal_exited"), strict=True):
        whose = f"session-{name}"
        assert found == [(both[0], whose), (both[1], 7), (both[2], 7), (last, whose)]


async def test_what_is_begun_by_nobodys_request_is_not_shown() -> None:
    services, bridge = Answering(), Bridge()
    agent = ServedAgent(bridge, services, lambda: None)  # type: ignore[arg-type]
    agent.terminal_created("t", "line", "/cwd")
    agent.terminal_wrote("t", b"x")
    agent.terminal_exited("t", 0, None)
    agent.file_writing("/f", "/f", plain=True, is_new=True, before=None)
    assert bridge.told == []


# ---- a session's end


async def test_commands_end_with_the_session_they_were_started_for(root: Path) -> None:
    """On a cancel they go on, on a close they do not (4.6)."""
    async with served(root) as (client, one):
        two = await client.new_session(str(root))
        ends = {}
        for session, name in ((one, "one"), (two, "two")):
            ends[name] = await _end_of(root / name)
            await play(session, create(f"exec 3> {name}; echo here >&3; exec sleep 600"))
        await one.close()
        await bounded(ends["one"].wait())
        assert not ends["two"].is_set()
        (mine,), (theirs,) = one.view.terminals.values(), two.view.terminals.values()
        assert (mine.exit_status, theirs.exit_status) == (None, None)  # nobody is told of a closed session
        await play(two, of_terminal("kill"), of_terminal("wait_for_exit"))
        assert theirs.exit_status is not None
        await bounded(ends["two"].wait())


async def _end_of(fifo: Path) -> asyncio.Event:
    """Set when the one who has written to it is gone."""
    os.mkfifo(fifo)
    ended = asyncio.Event()
    keep = os.open(fifo, os.O_RDWR)  # without a writer it would have ended already

    class Reader(asyncio.Protocol):
        def data_received(self, data: bytes) -> None:
            os.close(keep)

        def connection_lost(self, error: Exception | None) -> None:
            ended.set()

    pipe = os.fdopen(os.open(fifo, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0)
    await asyncio.get_running_loop().connect_read_pipe(Reader, pipe)
    return ended


class Releasing(Sharing):
    """Notes what is released, and keeps everything else waiting."""

    async def handle(self, method: str, params: object) -> Any:
        if method == "wait":
            return await Answering.handle(self, method, params)
        self.asked.append((method, params))
        if method in ("terminal/release", "terminal/close"):
            if params == {"terminalId": "t-gone"}:
                raise RpcError(-32602, "not found")
            return {}
        return await super().handle(method, params)


async def test_what_is_asked_for_a_session_is_refused_with_its_end_and_what_it_has_is_released() -> None:
    services, bridge = Releasing(), Bridge()
    agent = ServedAgent(bridge, services, lambda: None)  # type: ignore[arg-type]
    for token, (session_id, method) in enumerate((("s", "gone"), ("s", "kept"), ("s", "ended"), ("other", "else"))):
        agent.take(ServiceRequest(token, session_id, method, {}))
    await eventually(lambda: len(bridge.told) == 12)
    agent.terminal_exited("t-ended", 0, None)
    agent.take(ServiceRequest(7, "s", "terminal/release", {"terminalId": "t-kept"}))
    await eventually(lambda: len(bridge.told) == 14)
    del bridge.told[:], services.asked[:]
    agent.take(ServiceRequest(8, "s", "wait", {}))
    agent.take(ServiceRequest(9, "other", "wait", {}))
    await eventually(lambda: len(services.asked) == 2)
    agent.session_closed("s")
    await bounded(services.cancelled.wait())
    await eventually(lambda: len(services.asked) == 4)
    assert [params for _, params in services.asked[2:]] == [{"terminalId": "t-gone"}, {"terminalId": "t-ended"}]
    ((name, token, error),) = bridge.told
    assert (name, token, error.code) == ("service_failed", 8, -32603)
    agent.session_closed("s")
    agent.session_closed("none")
    await asyncio.sleep(0)
    assert len(services.asked) == 4


# ---- back-pressure


async def test_commands_wait_while_nobody_takes_what_they_write() -> None:
    services = Sharing()
    bridge = Bridge()
    agent = ServedAgent(bridge, services, lambda: None)  # type: ignore[arg-type]
    for method in ("one", "two"):
        agent.take(ServiceRequest(1, "s", method, {}))
    await eventually(lambda: len(bridge.told) == 6)
    agent.terminal_exited("t-two", 0, None)
    agent.pause()
    assert services.paused == {"t-one"}
    agent.take(ServiceRequest(2, "s", "three", {}))
    await eventually(lambda: len(bridge.told) == 10)
    assert services.paused == {"t-one", "t-three"}
    agent.resume()
    assert services.paused == set()
    agent.pause()
    agent.close()
    assert services.paused == set()  # they are ended, and have to see it
    await bounded(services.released.wait())


async def test_a_reader_that_lags_stops_the_commands() -> None:
    services = Answering()
    client, _ = await opened(services)
    (watcher,) = services.watchers
    channel = client.link.channel
    with pytest.MonkeyPatch.context() as patch:
        calls: list[str] = []
        patch.setattr(watcher, "pause", lambda: calls.append("pause"))
        patch.setattr(watcher, "resume", lambda: calls.append("resume"))
        channel.pause_reading()
        channel.resume_reading()
    assert calls == ["pause", "resume"]
    await client.close()


async def test_a_terminal_that_speaks_from_within_a_call_is_told_in_a_later_turn_of_the_loop() -> None:
    happened: list[int] = []
    services = Sharing()
    bridge = Bridge()
    agent = ServedAgent(bridge, services, lambda: happened.append(len(bridge.told)))  # type: ignore[arg-type]
    agent.take(ServiceRequest(1, "s", "x", {}))
    await eventually(lambda: len(bridge.told) == 3)
    await asyncio.sleep(0)
    del happened[:]
    agent.terminal_wrote("t-x", b"1")
    agent.terminal_wrote("t-x", b"2")
    assert happened == []
    await asyncio.sleep(0)
    assert happened == [5]
    assert OFFERED["terminal"]
