"""The programs that stand for a client's own MCP servers: real ones, on a real socket."""

from __future__ import annotations

import asyncio
import os
import stat
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from roost.errors import LimitError, RoostError, TransportError
from roost.transport import mcp_relay, mcp_shim
from roost.transport.mcp_relay import McpRelayServer, RelayChannel, RelayLimits, RelayProgram


class Ear:
    """Writes down what it is told, and echoes nothing."""

    def __init__(self) -> None:
        self.channels: list[RelayChannel] = []
        self.lines: list[bytes] = []
        self.faults: list[RoostError | None] = []
        self.news = asyncio.Event()

    def connected(self, channel: RelayChannel) -> None:
        self.channels.append(channel)
        self.news.set()

    def received(self, channel: RelayChannel, lines: list[bytes]) -> None:
        self.lines += lines
        self.news.set()

    def closed(self, channel: RelayChannel, fault: RoostError | None) -> None:
        self.channels.remove(channel)
        self.faults.append(fault)
        self.news.set()

    async def until(self, done: Any) -> None:
        while not done():
            self.news.clear()
            await asyncio.wait_for(self.news.wait(), 20)


@pytest.fixture
async def relay(tmp_path: Path) -> AsyncIterator[McpRelayServer]:
    server = McpRelayServer(environment={"XDG_RUNTIME_DIR": short(tmp_path)})
    yield server
    server.close()
    await asyncio.sleep(0)


def short(path: Path) -> str:
    """pytest's own folders may be too long for a socket."""
    return str(path) if len(str(path)) < 60 else "/tmp"


async def started(program: RelayProgram, **env: str) -> asyncio.subprocess.Process:
    """As an agent starts an MCP server: with what it was told, and pipes."""
    variables = {name: value for name, value in {**program.env, **env}.items() if value}
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(
        program.command, *program.args, env=variables, stdin=pipe, stdout=pipe, stderr=pipe
    )


async def ended(process: asyncio.subprocess.Process) -> tuple[int, bytes, str]:
    """Exit code, what it wrote, and what it said about it. Its input stays open: it ends by itself."""
    assert process.stdout is not None
    assert process.stderr is not None
    out, err, code = await asyncio.wait_for(
        asyncio.gather(process.stdout.read(), process.stderr.read(), process.wait()), 20
    )
    return code, out, err.decode()


async def over(process: asyncio.subprocess.Process) -> tuple[int, bytes, str]:
    assert process.stdin is not None
    process.stdin.close()
    return await ended(process)


# ---- carrying


async def test_lines_go_both_ways_and_closing_its_input_ends_it(relay: McpRelayServer) -> None:
    ear = Ear()
    process = await started(relay.offer(ear))
    assert process.stdin is not None
    assert process.stdout is not None
    big = b'{"x":"%b"}' % (b"y" * 300_000)
    process.stdin.write(b'{"id":1}\n' + big + b"\n")
    await ear.until(lambda: len(ear.lines) == 2)
    assert ear.lines == [b'{"id":1}', big]
    ear.channels[0].send(b'{"id":1,"result":{}}')
    assert await asyncio.wait_for(process.stdout.readline(), 20) == b'{"id":1,"result":{}}\n'
    assert await over(process) == (0, b"", "")
    await ear.until(lambda: ear.faults)
    assert ear.faults == [None]


async def test_the_program_is_told_nothing_by_its_arguments(relay: McpRelayServer) -> None:
    program = relay.offer(Ear())
    assert program.command == sys.executable
    assert program.args == ("-I", "-S", mcp_shim.__file__)
    assert program.token in program.env.values()


async def test_a_program_may_be_started_as_often_as_an_agent_likes(relay: McpRelayServer) -> None:
    ear = Ear()
    program = relay.offer(ear)
    one, two = await started(program), await started(program)
    await ear.until(lambda: len(ear.channels) == 2)
    assert {channel.pid for channel in ear.channels} == {one.pid, two.pid}
    await over(one)
    await over(two)


async def test_each_program_reaches_its_own_listener(relay: McpRelayServer) -> None:
    one, two = Ear(), Ear()
    relay.offer(one)
    process = await started(relay.offer(two))
    await two.until(lambda: two.channels)
    assert not one.channels
    await over(process)


async def test_closing_the_channel_ends_the_program_after_what_was_sent(relay: McpRelayServer) -> None:
    ear = Ear()
    process = await started(relay.offer(ear))
    await ear.until(lambda: ear.channels)
    ear.channels[0].send(b'{"last":"words"}')
    ear.channels[0].close()
    code, out, err = await ended(process)
    assert (code, out) == (0, b'{"last":"words"}\n')
    assert err == "roost mcp: the connection to Roost has ended\n"


async def test_a_killed_program_is_noticed(relay: McpRelayServer) -> None:
    ear = Ear()
    process = await started(relay.offer(ear))
    await ear.until(lambda: ear.channels)
    process.kill()
    await ear.until(lambda: ear.faults)
    await ended(process)
    assert not relay.channels


# ---- who is let in


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({mcp_shim.TOKEN: "0" * 64}, "no session here has this MCP server"),
        ({mcp_shim.TOKEN: ""}, "are not set"),
        ({mcp_shim.SOCKET: ""}, "are not set"),
        ({mcp_shim.SOCKET: "/nowhere/s"}, "cannot reach Roost at /nowhere/s"),
    ],
)
async def test_who_does_not_know_the_secret_gets_nothing(
    relay: McpRelayServer, change: Mapping[str, str], said: str
) -> None:
    ear = Ear()
    process = await started(relay.offer(ear), **change)
    assert process.stdin is not None
    process.stdin.write(b'{"id":1}\n')
    code, out, err = await ended(process)
    assert (code, out) == (1, b"")
    assert said in err
    assert ear.lines == ear.channels == []
    assert "0" * 64 not in err


async def test_a_secret_taken_back_is_worth_nothing(relay: McpRelayServer) -> None:
    ear = Ear()
    program = relay.offer(ear)
    relay.withdraw(program.token)
    code, _, err = await ended(await started(program))
    assert code == 1
    assert "no session here has this MCP server" in err


async def answered(server: McpRelayServer, said: bytes) -> bytes:
    """What a stranger who says this gets, to the end."""
    reader, writer = await asyncio.open_unix_connection(server.path)
    writer.write(said)
    try:
        return await asyncio.wait_for(reader.read(), 20)
    finally:
        writer.close()


@pytest.mark.parametrize("said", [b"\n", b"roost-mcp 2 x\n", b"{}\n", b"x" * 300, b"roost-mcp 1 " + b"0" * 300 + b"\n"])
async def test_a_stranger_gets_a_sentence_and_no_more(relay: McpRelayServer, said: bytes) -> None:
    ear = Ear()
    relay.offer(ear)
    assert await answered(relay, said) == b"no session here has this MCP server\n"
    assert ear.channels == []


async def test_a_secret_without_the_word_before_it_is_none(relay: McpRelayServer) -> None:
    program = relay.offer(Ear())
    assert await answered(relay, program.token.encode() + b"\n") == b"no session here has this MCP server\n"


async def test_another_user_is_not_let_in(relay: McpRelayServer, monkeypatch: pytest.MonkeyPatch) -> None:
    program = relay.offer(Ear())
    monkeypatch.setattr(mcp_relay, "peer_credentials", lambda sock: (1, os.getuid() + 1))
    hello = mcp_shim.HELLO + program.token.encode() + b"\n"
    assert await answered(relay, hello) == b"it serves its own user only\n"


async def test_nobody_else_reaches_the_socket(relay: McpRelayServer) -> None:
    assert relay.path is None
    relay.offer(Ear())
    assert relay.path is not None
    assert stat.S_IMODE(os.stat(os.path.dirname(relay.path)).st_mode) == 0o700


async def test_who_says_nothing_is_let_go(tmp_path: Path) -> None:
    server = McpRelayServer(limits=RelayLimits(hello_timeout=0.05), environment={"XDG_RUNTIME_DIR": short(tmp_path)})
    server.offer(Ear())
    assert await answered(server, b"roost-mcp 1") == b"no complete hello within 0.05 s (hello_timeout)\n"
    server.close()


# ---- bounds


async def test_connections_are_bounded(tmp_path: Path) -> None:
    server = McpRelayServer(limits=RelayLimits(connections=1), environment={"XDG_RUNTIME_DIR": short(tmp_path)})
    ear = Ear()
    program = server.offer(ear)
    one = await started(program)
    await ear.until(lambda: ear.channels)
    code, _, err = await ended(await started(program))
    assert code == 1
    assert "limit connections of 1 reached" in err
    await over(one)
    server.close()


async def test_a_line_of_the_agent_that_is_too_long_ends_the_program(tmp_path: Path) -> None:
    server = McpRelayServer(limits=RelayLimits(line_bytes=100), environment={"XDG_RUNTIME_DIR": short(tmp_path)})
    ear = Ear()
    process = await started(server.offer(ear))
    assert process.stdin is not None
    process.stdin.write(b"x" * 60 + b"\n" + b"y" * 101 + b"\n")
    code, _, err = await ended(process)
    assert code == 1
    assert err == "roost mcp: a line of the agent is longer than line_bytes, which is 100\n"
    await ear.until(lambda: ear.faults)
    server.close()


async def test_a_line_of_the_server_that_is_too_long_ends_the_program(tmp_path: Path) -> None:
    server = McpRelayServer(limits=RelayLimits(line_bytes=100), environment={"XDG_RUNTIME_DIR": short(tmp_path)})
    ear = Ear()
    process = await started(server.offer(ear))
    await ear.until(lambda: ear.channels)
    ear.channels[0].send(b"x" * 101)
    code, _, err = await ended(process)
    assert code == 1
    assert "a line of the MCP server is longer" in err
    server.close()


async def test_who_sends_longer_lines_than_the_program_would_is_cut_off(tmp_path: Path) -> None:
    server = McpRelayServer(limits=RelayLimits(line_bytes=100), environment={"XDG_RUNTIME_DIR": short(tmp_path)})
    ear = Ear()
    program = server.offer(ear)
    _, writer = await asyncio.open_unix_connection(server.path)
    writer.write(mcp_shim.HELLO + program.token.encode() + b"\n" + b"x" * 101 + b"\n")
    await ear.until(lambda: ear.faults)
    (fault,) = ear.faults
    assert isinstance(fault, LimitError)
    assert (fault.limit, fault.bound) == ("line_bytes", 100)
    writer.close()
    server.close()


async def test_a_program_that_is_not_read_is_cut_off(tmp_path: Path) -> None:
    server = McpRelayServer(limits=RelayLimits(queued_bytes=1000), environment={"XDG_RUNTIME_DIR": short(tmp_path)})
    ear = Ear()
    process = await started(server.offer(ear))
    await ear.until(lambda: ear.channels)
    while ear.channels:
        ear.channels[0].send(b"x" * 100_000)
        await asyncio.sleep(0)
    (fault,) = ear.faults
    assert isinstance(fault, LimitError)
    assert fault.limit == "queued_bytes"
    code, _, _ = await ended(process)
    assert code == 0
    server.close()


# ---- the end


async def test_closing_leaves_nothing(tmp_path: Path) -> None:
    base = short(tmp_path)
    server = McpRelayServer(environment={"XDG_RUNTIME_DIR": base})
    ear = Ear()
    program = server.offer(ear)
    assert server.path is not None
    folder = os.path.dirname(server.path)
    assert os.path.dirname(folder) == base
    process = await started(program)
    await ear.until(lambda: ear.channels)
    server.close()
    await ended(process)
    assert not os.path.exists(folder)
    with pytest.raises(TransportError):
        server.offer(ear)


async def test_closing_at_once_leaves_nothing(tmp_path: Path) -> None:
    server = McpRelayServer(environment={"XDG_RUNTIME_DIR": short(tmp_path)})
    server.offer(Ear())
    assert server.path is not None
    server.close()
    await asyncio.sleep(0)
    assert not os.path.exists(os.path.dirname(server.path))


def test_a_folder_that_is_too_long_for_a_socket_is_passed_over(tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 90)
    deep.mkdir()
    path = mcp_relay._folder_for_a_socket({"XDG_RUNTIME_DIR": str(deep), "TMPDIR": "relative"}).path
    assert path.startswith("/tmp/roost-relay-")


# ---- the program's parts


@pytest.mark.parametrize(
    ("chunks", "passes"),
    [
        ([b"12345\n", b"12345\n"], True),
        ([b"123", b"45", b"\n12345"], True),
        ([b"123456"], False),
        ([b"123", b"456"], False),
        ([b"1\n123456\n1"], False),
        ([b"\n\n\n\n\n\n\n"], True),
    ],
)
def test_the_length_of_a_line_does_not_depend_on_how_it_is_cut(chunks: list[bytes], passes: bool) -> None:
    left, out = [*chunks, b""], []
    if passes:
        mcp_shim.carry(lambda: left.pop(0), out.append, 5, "x")
        assert out == chunks
    else:
        with pytest.raises(mcp_shim.Refused, match="longer than line_bytes"):
            mcp_shim.carry(lambda: left.pop(0), out.append, 5, "x")


def test_the_program_loads_nothing_of_roost() -> None:
    """Agents start several, and wait for them: it has to be there in a moment."""
    code = f"import runpy, sys; runpy.run_path({mcp_shim.__file__!r}, run_name='x'); print(*sys.modules)"
    found = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)
    loaded = set(found.stdout.split())
    assert not {name for name in loaded if name.partition(".")[0] in ("roost", "msgspec", "asyncio", "logging", "ssl")}
