"""STD-1 to STD-8, H-04, H-07, H-09, H-10: an agent as a program, over its real standard input and output."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from roost.transport.lines import DEFAULT_MAX_MESSAGE_BYTES

from .raw_client import Json, initialize_params

WAIT = 20.0

PROGRAM = """
import asyncio, os, subprocess, sys, threading, time
from roost.sdk.agent import Agent
from roost.sdk.turn import Turn

agent = Agent("stdio", "1")

@agent.prompt
async def answer(turn: Turn) -> None:
    if turn.text == "print":
        print("stray")
        os.write(1, b"raw stray\\n")
        subprocess.run(["/bin/sh", "-c", "echo child stray; cat"])
        await turn.say("printed")
    elif turn.text == "sleep":
        async with turn.tool("sleep") as call:
            terminal = await call.terminal()
            await terminal.write(b"on")
            await terminal.run("echo $$; sleep 60")
    elif turn.text == "thread":
        threading.Thread(target=time.sleep, args=(60,)).start()
        await turn.say("started")
    elif turn.text == "deaf":
        await turn.say("deaf")
        while True:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                pass
    elif turn.text == "flood":
        for n in range(5000):
            await turn.say("x" * 200)
    else:
        await turn.say(turn.text)

agent.run()
"""


class Program:
    """A running agent program, spoken to in plain lines."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.messages: list[Json] = []
        self._id = 0

    def send(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)

    def request(self, method: str, params: Any) -> int:
        self._id += 1
        self.send(json.dumps({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params}).encode() + b"\n")
        return self._id

    async def read(self) -> Json | None:
        assert self.process.stdout is not None
        async with asyncio.timeout(WAIT):
            line = await self.process.stdout.readline()
        if not line:
            return None
        message: Json = json.loads(line)
        self.messages.append(message)
        return message

    async def until(self, text: str) -> Json:
        """The first message from now on that holds this text."""
        while (message := await self.read()) is not None:
            if text in json.dumps(message):
                return message
        raise AssertionError(f"the program ended before {text!r}")

    async def call(self, method: str, params: Any) -> Any:
        id = self.request(method, params)
        while (message := await self.read()) is not None:
            if message.get("id") == id and "method" not in message:
                return message.get("result", message)
        raise AssertionError("the program ended")

    async def session(self, cwd: str = "/tmp") -> str:
        await self.call("initialize", initialize_params())
        return (await self.call("session/new", {"cwd": cwd}))["sessionId"]  # type: ignore[no-any-return]

    def prompt(self, session: str, text: str) -> int:
        return self.request("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": text}]})

    def end_input(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    async def exit(self) -> tuple[int, str]:
        """Exit code and standard error; what it still says is read. What the program waits for is longer than WAIT."""
        while await self.read() is not None:
            pass
        assert self.process.stderr is not None
        async with asyncio.timeout(WAIT):
            errors = await self.process.stderr.read()
            code = await self.process.wait()
        return code, errors.decode()


@asynccontextmanager
async def running(program: str = PROGRAM, **more: Any) -> AsyncIterator[Program]:
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        program,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=64 * 1024 * 1024,
        **more,
    )
    try:
        yield Program(process)
    finally:
        if process.returncode is None:
            process.kill()
        assert process.stdin is not None
        process.stdin.close()
        await process.communicate()


async def test_h_04_an_agent_exits_at_the_end_of_its_input_and_its_children_are_gone_std_5() -> None:
    async with running() as program:
        program.prompt(await program.session(), "sleep")
        chunk = await program.until("terminal_output_chunk")
        chunk = await program.until("terminal_output_chunk")
        import base64

        child = int(base64.b64decode(chunk["params"]["update"]["data"]))
        program.end_input()
        code, _ = await program.exit()
        assert code == 0
        with pytest.raises(ProcessLookupError):
            os.kill(child, 0)
        states = [m["params"]["update"].get("stopReason") for m in program.messages if "method" in m]
        assert states[-1] == "cancelled"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_ends_it_cleanly(number: signal.Signals) -> None:
    async with running() as program:
        program.prompt(await program.session(), "sleep")
        await program.until("terminal_output_chunk")
        program.process.send_signal(number)
        code, errors = await program.exit()
        assert (code, errors) == (0, "")
        assert program.messages[-1]["params"]["update"]["stopReason"] == "cancelled"


async def test_an_agent_that_ignores_cancel_still_exits_at_the_end_of_its_input_std_5() -> None:
    async with running() as program:
        program.prompt(await program.session(), "deaf")
        await program.until("deaf")
        await program.until("deaf")
        program.end_input()
        code, _ = await program.exit()
        assert code == 0


async def test_a_thread_that_does_not_end_does_not_keep_it_alive_std_5() -> None:
    async with running() as program:
        program.prompt(await program.session(), "thread")
        await program.until("started")
        program.end_input()
        code, _ = await program.exit()
        assert code == 0


async def test_h_09_stray_prints_go_to_standard_error_and_children_get_no_messages_std_2_std_7() -> None:
    async with running() as program:
        session = await program.session()
        program.prompt(session, "print")
        program.prompt(session, "next")
        await program.until('"printed"')
        await program.until('"next"')
        program.end_input()
        code, errors = await program.exit()
        assert code == 0
        assert sorted(errors.split("\n")) == ["", "child stray", "raw stray", "stray"]


async def test_h_07_h_10_lines_may_be_cut_anywhere_end_in_crlf_or_be_blank_std_1_std_6() -> None:
    async with running() as program:
        session = await program.session()
        text = "\u00fc\U0001f600" * 1000
        params = {"sessionId": session, "prompt": [{"type": "text", "text": text}]}
        line = json.dumps(
            {"jsonrpc": "2.0", "id": 99, "method": "session/prompt", "params": params}, ensure_ascii=False
        ).encode()
        program.send(b"\r\n\n  \n")
        for start in range(0, len(line), 997):
            program.send(line[start : start + 997])
            assert program.process.stdin is not None
            await program.process.stdin.drain()
        program.send(b"\r\n")
        said = await program.until("agent_message_chunk")
        assert said["params"]["update"]["content"]["text"] == text


LARGE = 20 * 1024 * 1024


async def test_e_43_a_large_message_goes_both_ways_env_21() -> None:
    async with running() as program:
        session = await program.session()
        program.prompt(session, "x" * LARGE)
        assert program.process.stdin is not None
        draining = asyncio.ensure_future(program.process.stdin.drain())
        message = await program.until("agent_message_chunk")
        await draining
        assert len(message["params"]["update"]["content"]["text"]) == LARGE


async def test_a_line_over_the_limit_is_refused_alone_env_21() -> None:
    async with running() as program:
        await program.session()
        program.send(b"x" * (DEFAULT_MAX_MESSAGE_BYTES + 1) + b"\n")
        assert program.process.stdin is not None
        draining = asyncio.ensure_future(program.process.stdin.drain())
        refused = await program.until("max_line_bytes")
        await draining
        assert refused["error"]["data"] == {"limit": "max_line_bytes", "bound": DEFAULT_MAX_MESSAGE_BYTES}
        assert (await program.call("session/list", {}))["sessions"]


async def test_garbage_is_answered_and_does_no_harm_env_10() -> None:
    async with running() as program:
        program.send(b"{\n5\n\xff\xfe\n[]\n")
        codes = [(await program.read() or {})["error"]["code"] for _ in range(4)]
        assert codes == [-32700, -32600, -32700, -32600]
        await program.session()


async def test_std_8_a_reader_that_is_slow_gets_everything() -> None:
    async with running() as program:
        program.prompt(await program.session(), "flood")
        await asyncio.sleep(0)
        count = 0
        while "idle" not in json.dumps(await program.read()):
            count += 1
        assert count == 5000 + 3


@pytest.mark.parametrize("kind", ["file", "null"])
async def test_input_from_a_file_is_answered_and_ends_it(tmp_path: Path, kind: str) -> None:
    lines = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize_params()},
        {"jsonrpc": "2.0", "id": 2, "method": "session/new", "params": {"cwd": "/w"}},
    ]
    source, target = tmp_path / "in", tmp_path / "out"
    source.write_bytes(b"\n".join(json.dumps(line).encode() for line in lines) if kind == "file" else b"")
    with open(source if kind == "file" else os.devnull, "rb") as stdin, open(target, "wb") as stdout:  # noqa: ASYNC230
        process = await asyncio.create_subprocess_exec(sys.executable, "-c", PROGRAM, stdin=stdin, stdout=stdout)
        async with asyncio.timeout(WAIT):
            assert await process.wait() == 0
    answers = [json.loads(line) for line in target.read_bytes().splitlines()]
    assert [answer["id"] for answer in answers] == ([1, 2] if kind == "file" else [])


async def test_a_client_that_dies_ends_the_agent() -> None:
    """Both pipes are gone at once, as after a kill."""
    async with running() as program:
        program.prompt(await program.session(), "flood")
        await program.until("agent_message_chunk")
        transport: Any = program.process._transport  # type: ignore[attr-defined]
        for fd in (0, 1):
            transport.get_pipe_transport(fd).abort() if fd == 0 else transport.get_pipe_transport(fd).close()
        async with asyncio.timeout(WAIT):
            assert await program.process.wait() == 0
