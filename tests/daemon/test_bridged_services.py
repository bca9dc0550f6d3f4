"""Files and terminals of a real v1 agent, through a whole daemon: what it gets, what its caller sees, what is left."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import sys
from base64 import b64decode
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from roost.daemon.daemon import Daemon
from roost.errors import RoostError
from roost.host.connect import attach
from roost.host.events import HostEvent, Notification, PermissionRequest
from roost.host.host import Host
from roost.host.session import Session
from roost.process.table import process_table
from roost.sidecar.limits import Limits

PATIENCE = 20
AGENT = f"{shlex.quote(sys.executable)} -m roost.testing.scripted --v1"
Json = dict[str, Any]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path.resolve() / "work"
    made.mkdir()
    return made


class Play:
    """One session with a scripted agent, and everything its caller hears."""

    def __init__(self, host: Host, session: Session, asked: list[Json]) -> None:
        self.host = host
        self.session = session
        self.asked = asked
        self.events: list[HostEvent] = []

    async def says(self, *steps: str) -> list[Any]:
        """What the agent said in a turn, one value for each request it made."""
        start = len(self.events)
        async with asyncio.timeout(PATIENCE):
            async for event in self.session.prompt("\n".join(steps)):
                self.events.append(event)
        said = [update["content"]["text"] for update in self.updates("agent_message_chunk", start)]
        return [json.loads(text) if text[:1] in "{[n" else text for text in said]

    def updates(self, kind: str, start: int = 0) -> list[Json]:
        told = [event.raw_update for event in self.events[start:] if isinstance(event, Notification)]
        return [update for update in told if update.get("sessionUpdate") == kind]

    def shown(self) -> bytes:
        return b"".join(b64decode(update["data"]) for update in self.updates("terminal_output_chunk"))


@asynccontextmanager
async def playing(
    root: Path, reply: Callable[[Json], str] = lambda params: "once", agent: str = AGENT, **options: Any
) -> AsyncIterator[Play]:
    asked: list[Json] = []

    async def decide(request: PermissionRequest) -> str:
        asked.append(request.params)
        return reply(request.params)

    limits = Limits(**options.pop("limits", {}))
    daemon = Daemon(limits=limits, roots=[], environment=dict(os.environ), **options)
    try:
        await daemon.open()
        host = await attach(daemon, caller="me")
        try:
            yield Play(host, await host.create_session(agent, cwd=str(root), on_permission=decide), asked)
        finally:
            await host.close()
    finally:
        async with asyncio.timeout(PATIENCE):
            await daemon.close()
    assert not daemon.runner.processes


def call(step: str, method: str, **params: Any) -> str:
    return f"{step} {method} {json.dumps(params)}"


def request(method: str, **params: Any) -> str:
    return call("request", method, **params)


def any_alive(pids: list[int]) -> bool:
    rows = process_table()
    return any(pid in rows and not rows[pid].zombie for pid in pids)


async def written(path: Path, text: str) -> None:
    loop, found = asyncio.get_running_loop(), asyncio.Event()

    def look() -> None:
        if text in path.read_text():
            found.set()
        else:
            loop.call_later(0.01, look)

    look()
    await found.wait()


# ---- files


async def test_a_file_is_read_by_its_lines_and_written_when_the_user_says_so(root: Path) -> None:
    note = root / "note.md"
    note.write_text("one\ntwo\nthree\n")
    async with playing(root) as play:
        read, written = await play.says(
            request("fs/read_text_file", path=str(note), line=2, limit=1),
            request("fs/write_text_file", path=str(note), content="one\n2\nthree\n"),
        )
    assert read == {"content": "two"}
    assert written == {}
    assert note.read_text() == "one\n2\nthree\n"
    [params] = play.asked
    [diff] = params["subject"]["toolCall"]["content"]
    assert "-two\n+2\n" in diff["patch"]["text"]
    statuses = [update["status"] for update in play.updates("tool_call_update")]
    assert statuses == ["pending", "completed"]


async def test_a_write_that_is_denied_leaves_the_file_alone(root: Path) -> None:
    async with playing(root, lambda params: "reject") as play:
        [error] = await play.says(request("fs/write_text_file", path=str(root / "new"), content="x"))
    assert error["code"] == -32603
    assert error["data"]["code"] == "EACCES"
    assert list(root.iterdir()) == []


async def test_nothing_outside_the_roots_can_be_reached_by_a_link(root: Path) -> None:
    secret = root.parent / "secret"
    secret.write_text("s3cret")
    (root / "way").symlink_to(secret)
    (root / "dir").symlink_to(root.parent)
    async with playing(root) as play:
        answers = await play.says(
            request("fs/read_text_file", path=str(root / "way")),
            request("fs/read_text_file", path=str(root / "dir" / "secret")),
            request("fs/write_text_file", path=str(root / "way"), content="x"),
            request("fs/write_text_file", path=str(root / ".." / "secret"), content="x"),
            request("terminal/create", command="true", cwd=str(root / "dir")),
        )
    assert [answer["code"] for answer in answers] == [-32602] * 5
    assert not play.asked, "what cannot be is not asked about"
    assert secret.read_text() == "s3cret"


async def test_a_missing_file_is_an_error_or_empty_as_the_agents_quirk_says(root: Path) -> None:
    for quirks, found in (({}, -32002), ({"missing_file": "empty"}, "")):
        async with playing(root, quirks={"scripted": quirks}) as play:
            [answer] = await play.says(request("fs/read_text_file", path=str(root / "none")))
        assert answer.get("content", answer.get("code")) == found


async def test_a_bound_is_told_by_the_name_of_its_setting(root: Path) -> None:
    (root / "large").write_text("x" * 2000)
    limits = {"service_read_bytes": 1000, "service_write_bytes": 100, "terminals_per_session": 1}
    async with playing(root, limits=limits) as play:
        read, write, _, second = await play.says(
            request("fs/read_text_file", path=str(root / "large")),
            request("fs/write_text_file", path=str(root / "new"), content="x" * 101),
            request("terminal/create", command="sleep 100"),
            request("terminal/create", command="sleep 100"),
        )
    assert (read["data"], write["data"], second["data"]) == (
        {"limit": "service_read_bytes", "bound": 1000},
        {"limit": "service_write_bytes", "bound": 100},
        {"limit": "terminals_per_session", "bound": 1},
    )
    assert "service_write_bytes" in write["message"]


# ---- terminals


async def test_a_shell_line_runs_as_agents_send_it(root: Path) -> None:
    """As claude-code-acp does: one line, env as pairs, a limit on the output."""
    env = [{"name": "CLAUDECODE", "value": "1"}]
    async with playing(root) as play:
        _, ended, output, _ = await play.says(
            request("terminal/create", command='printf "grün %s" "$CLAUDECODE"; exit 3', env=env, outputByteLimit=4),
            request("terminal/wait_for_exit", terminalId="$terminal"),
            request("terminal/output", terminalId="$terminal"),
            request("terminal/release", terminalId="$terminal"),
        )
    assert ended == {"exitCode": 3, "signal": None}
    assert output == {"output": "n 1", "truncated": True, "exitStatus": ended}
    assert play.shown() == "grün 1".encode()
    started, over = play.updates("terminal_update")
    assert started["cwd"] == str(root)
    assert over["exitStatus"] == {"exitCode": 3}
    [params] = play.asked
    assert params["subject"]["type"] == "command"
    assert "CLAUDECODE=1" in params["description"]


async def test_the_output_is_cut_at_a_character(root: Path) -> None:
    async with playing(root) as play:
        _, _, output = await play.says(
            request("terminal/create", command="printf 'aüü'", outputByteLimit=3),
            request("terminal/wait_for_exit", terminalId="$terminal"),
            request("terminal/output", terminalId="$terminal"),
        )
    assert (output["output"], output["truncated"]) == ("ü", True)


async def test_a_kill_during_a_wait_answers_both_and_keeps_the_terminal(root: Path) -> None:
    async with playing(root) as play:
        _, killed, waited, output = await play.says(
            request("terminal/create", command="sleep 100 & sleep 100"),
            call("begin wait", "terminal/wait_for_exit", terminalId="$terminal"),
            request("terminal/kill", terminalId="$terminal"),
            "finish wait",
            request("terminal/output", terminalId="$terminal"),
        )
    assert killed == {}
    assert waited["signal"] == "SIGTERM"
    assert output["exitStatus"] == waited


async def test_a_release_during_a_wait_answers_both_and_ends_the_terminal(root: Path) -> None:
    async with playing(root) as play:
        _, released, waited, gone = await play.says(
            request("terminal/create", command="sleep 100 & sleep 100"),
            call("begin wait", "terminal/wait_for_exit", terminalId="$terminal"),
            request("terminal/release", terminalId="$terminal"),
            "finish wait",
            request("terminal/output", terminalId="$terminal"),
        )
    assert released == {}
    assert waited["signal"] == "SIGTERM"
    assert gone["code"] == -32602
    assert play.updates("terminal_update")[-1]["exitStatus"] == {"signal": "SIGTERM"}


async def test_a_command_that_is_denied_does_not_run(root: Path) -> None:
    async with playing(root, lambda params: "reject") as play:
        [error] = await play.says(request("terminal/create", command="touch here"))
    assert error["data"]["code"] == "EACCES"
    assert list(root.iterdir()) == []


async def test_a_flood_is_bounded_for_the_agent_and_for_its_caller(root: Path) -> None:
    limits = {"terminal_shown_bytes": 100_000, "terminal_output_bytes": 50_000}
    async with playing(root, limits=limits) as play:
        _, _, output = await play.says(
            request("terminal/create", command="yes 0123456 | head -c 20000000; echo the end"),
            request("terminal/wait_for_exit", terminalId="$terminal"),
            request("terminal/output", terminalId="$terminal"),
        )
    assert output["truncated"]
    assert len(output["output"]) == 50_000
    shown = play.shown()
    assert shown.startswith(b"0123456\n" * 12_500)
    assert shown.endswith(b"the end\n")
    assert b"bytes of output are not shown (terminal_shown_bytes)" in shown[100_000:100_200]
    assert len(shown) < 200_000


# ---- permissions


async def test_what_the_agent_asked_for_itself_is_asked_once(root: Path) -> None:
    note = str(root / "note")
    kinds = [{"optionId": kind, "name": kind, "kind": kind} for kind in ("allow_once", "reject_once")]
    tool = {"toolCallId": "t", "title": "Edit", "kind": "edit", "locations": [{"path": note}]}
    async with playing(root) as play:
        await play.says(
            request("session/request_permission", toolCall=tool, options=kinds),
            request("fs/write_text_file", path=note, content="x\n"),
        )
    assert len(play.asked) == 1
    [chunk] = play.updates("tool_call_content_chunk")
    assert (chunk["toolCallId"], chunk["content"]["type"]) == ("t", "diff")


async def test_always_is_for_the_session(root: Path) -> None:
    def reply(params: Json) -> str:
        return "always"

    async with playing(root, reply) as play:
        for name in ("a", "b", "c"):
            await play.says(request("fs/write_text_file", path=str(root / name), content=name))
    assert len(play.asked) == 1
    assert sorted(path.name for path in root.iterdir()) == ["a", "b", "c"]


async def test_a_caller_that_leaves_while_it_is_asked_has_said_no(root: Path, tmp_path: Path) -> None:
    daemon = Daemon(roots=[], environment=dict(os.environ))
    asked = asyncio.Event()

    async def never(request: PermissionRequest) -> str:
        asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    try:
        host = await attach(daemon, caller="me")
        agent = f"{AGENT} --store {tmp_path}/store"
        session = await host.create_session(agent, cwd=str(root), on_permission=never)
        turn = session.prompt(request("fs/write_text_file", path=str(root / "new"), content="x"))
        async with asyncio.timeout(PATIENCE):
            await asked.wait()
            await host.close()
            with pytest.raises(RoostError):
                await turn
            await written(tmp_path / "store" / f"{session.id}.json", "EACCES")  # at the end of its turn
    finally:
        async with asyncio.timeout(PATIENCE):
            await daemon.close()
    assert list(root.iterdir()) == []
    assert not daemon.runner.processes


# ---- the end


@pytest.mark.parametrize("ending", ["close", "crash", "daemon"])
async def test_nothing_an_agent_has_started_outlives_it(root: Path, ending: str) -> None:
    pids = root / "pids"
    line = f"(sleep 1000 & echo $! >> {pids}; setsid sleep 1000 & echo $! >> {pids}; wait)"
    async with playing(root) as play:
        await play.says(
            request("terminal/create", command=line),
            request("terminal/create", command=f"until test $(wc -l < {pids}) = 2; do sleep 0.01; done"),
            request("terminal/wait_for_exit", terminalId="$terminal"),
        )
        started = [int(pid) for pid in pids.read_text().split()]
        assert len(started) == 2
        assert all(any_alive([pid]) for pid in started)
        if ending == "close":
            async with asyncio.timeout(PATIENCE):
                await play.session.close()
            assert not any_alive(started)
        elif ending == "crash":
            with pytest.raises(RoostError):
                await play.says("exit 1")
    assert not any_alive(started)


async def test_a_command_that_ignores_sigterm_is_ended_all_the_same(root: Path) -> None:
    async with playing(root, limits={"terminal_kill_grace": 0.1}) as play:
        _, _, waited = await play.says(
            request("terminal/create", command="trap '' TERM; echo ready; while :; do sleep 0.05; done"),
            call("begin wait", "terminal/wait_for_exit", terminalId="$terminal"),
            request("terminal/kill", terminalId="$terminal"),
            "finish wait",
        )
    assert waited["signal"] in ("SIGKILL", "SIGTERM")


# ---- what is offered


@pytest.mark.parametrize("kind", ["agent_files", "agent_terminals"])
async def test_what_the_configuration_denies_is_not_there(root: Path, kind: str) -> None:
    (root / "note").write_text("x")
    async with playing(root, **{kind: False}) as play:
        read, create = await play.says(
            request("fs/read_text_file", path=str(root / "note")), request("terminal/create", command="true")
        )
    denied, served = (read, create) if kind == "agent_files" else (create, read)
    assert denied["code"] == -32601
    assert "code" not in served


async def test_a_withdrawn_request_is_answered_once(root: Path) -> None:
    withdrawal = {"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": "call-2"}}
    async with playing(root) as play:
        _, waited, read = await play.says(
            request("terminal/create", command="sleep 100"),
            call("begin wait", "terminal/wait_for_exit", terminalId="$terminal"),
            f"raw {json.dumps(withdrawal)}",
            "finish wait",
            request("terminal/output", terminalId="$terminal"),
        )
    assert waited["code"] == -32800
    assert read == {"output": "", "truncated": False}
