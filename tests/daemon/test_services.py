"""What the daemon makes of the engine's wishes about files and terminals, without an engine."""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from roost.acp.bridge.events import CommandRun, FileWrite
from roost.daemon.services import AgentServices
from roost.process.local import LocalRunner
from roost.sidecar import commands, events
from roost.sidecar.commands import ServicePlace
from roost.sidecar.limits import Limits

PATIENCE = 20
PROCESS = "acp-agent-1"


class Engine:
    """Hears what the daemon tells, and decides."""

    def __init__(self, runner: LocalRunner, root: Path, decides: bool | None = True, **limits: Any) -> None:
        self.services = AgentServices(runner, Limits(**limits), own_env=dict(os.environ))
        self.services.tell = self._hear
        self.place = ServicePlace("s", (str(root),), "acp-terminal-x.", "error")
        self.decides = decides  # None: not yet
        self.told: list[Any] = []
        self._news = asyncio.Event()
        self._tokens = itertools.count(1)

    def _hear(self, event: events.Event) -> None:
        self.told.append(event)
        if isinstance(event, events.ServiceWished) and self.decides is not None:
            self.do(commands.DecideService(event.process, event.token, self.decides))
        self._news.set()

    def do(self, command: Any) -> None:
        self.services.commands[type(command)](command)

    def begin(self, method: str, place: ServicePlace | None = None, **params: Any) -> int:
        token = next(self._tokens)
        self.do(commands.ServeAgent(PROCESS, token, place or self.place, method, params))
        return token

    async def until(self, true: Callable[[Any], bool]) -> Any:
        """The first event of which that is so."""
        async with asyncio.timeout(PATIENCE):
            while True:
                found = next((event for event in self.told if true(event)), None)
                if found is not None:
                    return found
                self._news.clear()
                await self._news.wait()

    async def answer(self, token: int) -> Any:
        answer = await self.until(lambda event: isinstance(event, events.ServiceAnswered) and event.token == token)
        return answer.error or answer.result

    async def ask(self, method: str, **params: Any) -> Any:
        return await self.answer(self.begin(method, **params))

    def of(self, kind: type) -> list[Any]:
        return [event for event in self.told if isinstance(event, kind)]

    def printed(self) -> int:
        return sum(len(event.data) for event in self.of(events.TerminalPrinted))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path.resolve() / "work"
    made.mkdir()
    return made


@pytest.fixture
async def runner() -> AsyncIterator[LocalRunner]:
    runner = LocalRunner(python=None)
    yield runner
    await runner.shutdown()


@pytest.fixture
async def engine(runner: LocalRunner, root: Path) -> AsyncIterator[Engine]:
    engine = Engine(runner, root)
    yield engine
    async with asyncio.timeout(PATIENCE):
        await engine.services.close()


# ---- wishes


@pytest.mark.parametrize(
    ("content", "wish"),
    [
        (None, (True, None)),
        (b"old\n", (False, "old\n")),
        (b"\xff\xfe", (False, None)),
        (b"x" * (2 << 20), (False, None)),
    ],
)
async def test_a_write_is_told_with_what_was_there(
    engine: Engine, root: Path, content: bytes | None, wish: Any
) -> None:
    note = root / "note"
    if content is not None:
        note.write_bytes(content)
    assert await engine.ask("fs/write_text_file", path=str(note), content="new\n") == {}
    [wished] = engine.of(events.ServiceWished)
    assert wished.wish == FileWrite(str(note), str(note), True, *wish)
    assert note.read_text() == "new\n"


async def test_a_write_through_a_link_is_told_as_what_it_is(engine: Engine, root: Path) -> None:
    (root / "real").write_text("old")
    (root / "link").symlink_to("real")
    await engine.ask("fs/write_text_file", path=str(root / "link"), content="new")
    [wished] = engine.of(events.ServiceWished)
    assert (wished.wish.path, wished.wish.plain) == (str(root / "real"), False)


async def test_the_way_to_the_root_may_have_links(runner: LocalRunner, root: Path) -> None:
    alias = root.parent / "alias"
    alias.symlink_to(root)
    engine = Engine(runner, alias)
    await engine.ask("fs/write_text_file", path=f"{alias}/./note", content="new")
    [wished] = engine.of(events.ServiceWished)
    assert (wished.wish.path, wished.wish.plain) == (str(root / "note"), True)
    await engine.ask("terminal/create", command="true")
    (root / "in").mkdir()
    (root / "link").symlink_to("in")
    await engine.ask("terminal/create", command="true", cwd=f"{alias}/link")
    commands = [event.wish for event in engine.of(events.ServiceWished)[1:]]
    assert [(wish.cwd, wish.asked_cwd) for wish in commands] == [
        (str(root), str(alias)),
        (str(root / "in"), str(root / "in")),
    ]
    await engine.services.close()


async def test_a_command_is_told_as_it_would_be_run(engine: Engine, root: Path) -> None:
    env = [{"name": "A", "value": "b c"}]
    await engine.ask("terminal/create", command="echo", args=["x y"], env=env)
    [wished] = engine.of(events.ServiceWished)
    assert wished.wish == CommandRun("echo 'x y'", str(root), {"A": "b c"}, str(root))


async def test_nothing_is_done_before_it_is_decided(engine: Engine, root: Path) -> None:
    engine.decides = None
    token = engine.begin("fs/write_text_file", path=str(root / "note"), content="x")
    await engine.until(lambda event: isinstance(event, events.ServiceWished))
    assert not (root / "note").exists()
    engine.do(commands.DecideService(PROCESS, 77, True))
    engine.do(commands.DecideService(PROCESS, token, False))
    assert (await engine.answer(token)).data["code"] == "EACCES"
    assert not (root / "note").exists()


async def test_a_withdrawn_wish_is_not_answered_and_not_done(engine: Engine, root: Path) -> None:
    engine.decides = None
    token = engine.begin("terminal/create", command="touch here")
    await engine.until(lambda event: isinstance(event, events.ServiceWished))
    engine.do(commands.WithdrawService(PROCESS, token))
    engine.do(commands.DecideService(PROCESS, token, True))
    await engine.ask("fs/read_dir", path=str(root))
    assert [event.token for event in engine.of(events.ServiceAnswered)] == [token + 1]
    assert not engine.of(events.TerminalStarted)


async def test_roots_that_cannot_be_are_an_error_for_the_agent(engine: Engine) -> None:
    place = ServicePlace("s", ("not/absolute",), "t", "error")
    error = await engine.answer(engine.begin("fs/read_text_file", place, path="/x"))
    assert error.code == -32603


# ---- back-pressure


async def test_a_paused_agents_terminals_are_not_read_and_its_new_ones_neither(engine: Engine) -> None:
    await engine.ask("terminal/create", command="exec yes")
    await engine.until(lambda event: isinstance(event, events.TerminalPrinted))
    engine.services.pause(PROCESS)
    before = len(engine.told)
    await engine.ask("terminal/create", command="exec yes")
    for _ in range(200):  # each a turn of the loop in which they could be read
        await asyncio.sleep(0)
    late = [event for event in engine.told[before:] if isinstance(event, events.TerminalPrinted)]
    assert not late
    engine.services.resume(PROCESS)
    second = engine.of(events.TerminalStarted)[1].terminal_id
    await engine.until(lambda event: isinstance(event, events.TerminalPrinted) and event.terminal_id == second)


async def test_what_is_told_of_a_flood_is_bounded_and_ends_with_its_end(runner: LocalRunner, root: Path) -> None:
    engine = Engine(runner, root, terminal_shown_bytes=1000)
    await engine.ask("terminal/create", command="head -c 3000000 /dev/zero | tr '\\0' x; printf end")
    await engine.until(lambda event: isinstance(event, events.TerminalEnded))
    data = b"".join(event.data for event in engine.of(events.TerminalPrinted))
    assert data.startswith(b"x" * 1000 + b"\n[roost] ")
    assert data.endswith(b"xxend")
    assert int(data.split(b"[roost] ")[1].split()[0]) == 3_000_003 - 1000 - 64 * 1024
    await engine.services.close()


async def test_an_output_of_exactly_the_bound_is_shown_whole(runner: LocalRunner, root: Path) -> None:
    engine = Engine(runner, root, terminal_shown_bytes=6)
    await engine.ask("terminal/create", command="printf 123456")
    await engine.until(lambda event: isinstance(event, events.TerminalEnded))
    assert engine.printed() == 6
    await engine.services.close()


# ---- the end


async def test_what_fills_up_is_warned_of_by_the_name_of_its_setting_and_what_is_full_is_refused(
    runner: LocalRunner, root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    engine = Engine(runner, root, service_requests=5, service_write_bytes=100)
    with caplog.at_level(logging.WARNING, "roost.daemon"):
        assert await engine.ask("fs/write_text_file", path=f"{root}/f", content="x" * 80) == {}
        terminal = await engine.ask("terminal/create", command="sleep 600")
        for _ in range(5):
            engine.begin("terminal/wait_for_exit", **terminal)
        refused = await engine.ask("terminal/output", **terminal)
    assert refused.data == {"limit": "service_requests", "bound": 5}
    assert [record.message for record in caplog.records] == [
        f"{PROCESS}: service_write_bytes is 80 % full: 80 of 100",
        f"{PROCESS}: service_requests is 80 % full: 4 of 5",
    ]
    async with asyncio.timeout(PATIENCE):
        await engine.services.close()


async def test_the_end_answers_what_is_open_and_ends_what_runs(engine: Engine, runner: LocalRunner, root: Path) -> None:
    terminal = await engine.ask("terminal/create", command="sleep 1000 & sleep 1000")
    wait = engine.begin("terminal/wait_for_exit", **terminal)
    engine.decides = None
    write = engine.begin("fs/write_text_file", path=str(root / "note"), content="x")
    await engine.until(lambda event: isinstance(event, events.ServiceWished) and event.token == write)
    engine.do(commands.EndServices(PROCESS, None))
    await engine.until(lambda event: isinstance(event, events.ServicesEnded))
    assert (await engine.answer(wait))["signal"] == "SIGTERM"
    assert (await engine.answer(write)).code == -32603
    assert not (root / "note").exists()
    assert not runner.processes
    assert isinstance(engine.told[-1], events.ServicesEnded)


async def test_one_place_ends_and_another_goes_on(engine: Engine, root: Path) -> None:
    other = ServicePlace("t", (str(root),), "acp-terminal-y.", "error")
    await engine.ask("terminal/create", command="sleep 1000")
    there = await engine.answer(engine.begin("terminal/create", other, command="sleep 1000"))
    engine.do(commands.EndServices(PROCESS, engine.place))
    await engine.until(lambda event: isinstance(event, events.TerminalEnded))
    assert [event.session_id for event in engine.of(events.TerminalEnded)] == ["s"]
    output = await engine.answer(engine.begin("terminal/output", other, **there))
    assert "exitStatus" not in output
    assert not engine.of(events.ServicesEnded)


async def test_the_end_of_an_agent_that_was_never_served_is_told_all_the_same(engine: Engine) -> None:
    engine.do(commands.EndServices(PROCESS, None))
    await engine.until(lambda event: isinstance(event, events.ServicesEnded))
    assert engine.of(events.ServicesEnded) == [events.ServicesEnded(PROCESS)]


async def test_a_root_that_never_answers_holds_up_nobody(
    engine: Engine, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = threading.Event()
    monkeypatch.setattr(os.path, "realpath", lambda path: answers.wait(PATIENCE) and path)
    try:
        read = engine.begin("fs/read_text_file", path=str(root / "note"))
        engine.do(commands.EndServices(PROCESS, None))
        await engine.until(lambda event: isinstance(event, events.ServicesEnded))
        assert (await engine.answer(read)).code == -32603
    finally:
        answers.set()
