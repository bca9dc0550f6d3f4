"""What the daemon does for programs of MCP servers: real sockets, and what the engine is told of them."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from roost.daemon.mcp_relay import McpRelays
from roost.sidecar import commands
from roost.sidecar.limits import Limits
from roost.sidecar.mcp_relay import (
    CutRelay,
    OfferRelay,
    RelayClosed,
    RelayConnected,
    RelayEvent,
    RelayHeard,
    RelayOffered,
    RelayRefused,
    TellRelay,
    WithdrawRelay,
)
from roost.transport.mcp_shim import HELLO, SOCKET, TOKEN

PATIENCE = 20


class House:
    """Engine and driver in one: writes down what it is told, and says what is to be done."""

    def __init__(self, base: str, **limits: Any) -> None:
        self.told: list[RelayEvent] = []
        self.news = asyncio.Event()
        self.relaying = False
        self._do: dict[type, Callable[[Any], None]] = {}
        self.relays = McpRelays(self, self, Limits(**limits), {"XDG_RUNTIME_DIR": base})  # type: ignore[arg-type]

    def relay_mcp(self) -> None:
        self.relaying = True

    def also(self, kind: type, do: Callable[[Any], None]) -> None:
        self._do[kind] = do

    def feed(self, event: RelayEvent) -> None:
        self.told.append(event)
        self.news.set()

    def do(self, command: Any) -> None:
        self._do[type(command)](command)

    async def next(self) -> RelayEvent:
        while not self.told:
            self.news.clear()
            await asyncio.wait_for(self.news.wait(), PATIENCE)
        return self.told.pop(0)

    async def offer(self, process: str = "a", relay: int = 1) -> RelayOffered:
        self.do(OfferRelay(process, relay, "clock"))
        offered = await self.next()
        assert isinstance(offered, RelayOffered)
        assert (offered.process, offered.relay) == (process, relay)
        return offered


@asynccontextmanager
async def house(**limits: Any) -> AsyncIterator[House]:
    with tempfile.TemporaryDirectory(prefix="roost-test-", dir="/tmp") as base:
        made = House(base, **limits)
        yield made
        made.relays.close()
        await asyncio.sleep(0)


class Program:
    """A program as far as the daemon can see."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def say(self, line: bytes) -> None:
        self.writer.write(line + b"\n")

    async def line(self) -> bytes:
        return await asyncio.wait_for(self.reader.readline(), PATIENCE)

    async def over(self) -> None:
        """Returns when the daemon has ended the connection."""
        assert await asyncio.wait_for(self.reader.read(), PATIENCE) == b""
        self.writer.close()


async def started(offered: RelayOffered) -> Program:
    program = Program(*await asyncio.open_unix_connection(offered.env[SOCKET]))
    program.say(HELLO + offered.env[TOKEN].encode())
    return program


async def connected(at: House, offered: RelayOffered) -> tuple[Program, int]:
    program = await started(offered)
    assert await program.line() == b"ok\n"
    event = await at.next()
    assert isinstance(event, RelayConnected)
    return program, event.channel


async def test_a_program_is_heard_and_told() -> None:
    async with house() as at:
        assert at.relaying
        program, channel = await connected(at, await at.offer())
        program.say(b'{"id":1}')
        assert await at.next() == RelayHeard("a", channel, (b'{"id":1}',))
        at.do(TellRelay("a", channel, b'{"id":1,"result":{}}'))
        assert await program.line() == b'{"id":1,"result":{}}\n'
        program.writer.close()
        assert await at.next() == RelayClosed("a", channel, None)


async def test_each_program_has_a_number_of_its_own() -> None:
    async with house() as at:
        one, two = await at.offer("a", 1), await at.offer("b", 1)
        assert one.env[TOKEN] != two.env[TOKEN]
        assert one.env[SOCKET] == two.env[SOCKET]
        first, number = await connected(at, one)
        second, other = await connected(at, two)
        assert number != other
        second.say(b"{}")
        assert await at.next() == RelayHeard("b", other, (b"{}",))
        for program in (first, second):
            program.writer.close()


async def test_a_program_that_is_cut_hears_what_was_said_before() -> None:
    async with house() as at:
        program, channel = await connected(at, await at.offer())
        at.do(TellRelay("a", channel, b"{}"))
        at.do(CutRelay("a", channel, "the session has ended"))
        assert await program.line() == b"{}\n"
        await program.over()
        assert at.told == []  # whoever cuts it knows


async def test_a_withdrawn_relay_lets_nobody_in_and_keeps_who_is_there() -> None:
    async with house() as at:
        offered = await at.offer()
        program, channel = await connected(at, offered)
        at.do(WithdrawRelay("a", 1))
        late = await started(offered)
        assert await late.line() == b"no session here has this MCP server\n"
        late.writer.close()
        program.say(b"{}")
        assert await at.next() == RelayHeard("a", channel, (b"{}",))
        program.writer.close()


async def test_a_forgotten_agent_leaves_nothing() -> None:
    async with house() as at:
        offered = await at.offer()
        program, channel = await connected(at, offered)
        other, _ = await connected(at, await at.offer("b"))
        at.do(commands.ForgetAgent("a"))
        await program.over()
        late = await started(offered)
        assert await late.line() == b"no session here has this MCP server\n"
        late.writer.close()
        at.do(TellRelay("a", channel, b"{}"))
        other.say(b"{}")
        assert isinstance(await at.next(), RelayHeard)
        other.writer.close()


async def test_the_programs_of_a_paused_agent_are_not_read() -> None:
    async with house() as at:
        offered = await at.offer()
        program, channel = await connected(at, offered)
        at.do(commands.PauseAgent("a"))
        program.say(b"{}")
        later, number = await connected(at, offered)
        later.say(b"[]")
        witness, seen = await connected(at, await at.offer("b"))
        witness.say(b"{}")
        assert await at.next() == RelayHeard("b", seen, (b"{}",))
        assert at.told == []
        at.do(commands.ResumeAgent("a"))
        heard = [await at.next(), await at.next()]
        assert sorted(heard, key=repr) == sorted(
            [RelayHeard("a", channel, (b"{}",)), RelayHeard("a", number, (b"[]",))], key=repr
        )
        for each in (program, later, witness):
            each.writer.close()


async def test_a_line_over_the_daemons_bound_ends_the_program(caplog: pytest.LogCaptureFixture) -> None:
    async with house(line_bytes=1000) as at:
        offered = await at.offer()
        assert offered.env["ROOST_MCP_LINE_BYTES"] == "1000"
        program, channel = await connected(at, offered)
        program.say(b"x" * 1001)
        assert await at.next() == RelayClosed("a", channel, "limit line_bytes of 1000 reached")
        assert "limit line_bytes of 1000 reached" in caplog.text
        program.writer.close()


async def test_where_there_can_be_no_socket_the_relay_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    async with house() as at:
        monkeypatch.setattr("roost.transport.mcp_relay.sys.executable", "")
        at.do(OfferRelay("a", 1, "clock"))
        assert await at.next() == RelayRefused("a", 1, "the Python that runs this program is not known")


async def test_secrets_are_in_no_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG", "roost.daemon")
    async with house() as at:
        offered = await at.offer()
        program, channel = await connected(at, offered)
        program.say(b'{"secret":"of the agent"}')
        await at.next()
        at.do(CutRelay("a", channel, "over"))
        await program.over()
    assert "an MCP server's program" in caplog.text
    assert offered.env[TOKEN] not in caplog.text
    assert "of the agent" not in caplog.text
