"""The scripted agent misbehaves exactly as told, and starts quickly."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

WAIT = 20.0

Json = dict[str, Any]


class Agent:
    """A running scripted agent; what it writes is read as bytes, a line at a time."""

    def __init__(self, *arguments: str) -> None:
        command = [sys.executable, "-P", "-m", "roost.testing.scripted", *arguments]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe)
        self._watchdog = threading.Timer(WAIT, self.process.kill)
        self._watchdog.start()
        self._id = 0

    def close(self) -> None:
        self._watchdog.cancel()
        if self.process.poll() is None:
            self.process.kill()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe is not None
            with suppress(BrokenPipeError):
                pipe.close()
        self.process.wait()

    def send(self, **message: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def line(self) -> bytes:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def read(self) -> Json:
        message: Json = json.loads(self.line())
        return message

    def request(self, method: str, **params: Any) -> int:
        self._id += 1
        self.send(id=self._id, method=method, params=params)
        return self._id

    def call(self, method: str, **params: Any) -> Any:
        self.request(method, **params)
        return self.read()["result"]

    def session(self, version: int = 2) -> str:
        self.call("initialize", protocolVersion=version)
        return self.call("session/new", cwd="/w")["sessionId"]  # type: ignore[no-any-return]

    def prompt(self, session: str, *steps: str) -> int:
        return self.request("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "\n".join(steps)}])

    def turn(self, session: str, *steps: str) -> list[Json]:
        """Everything until a prompt's end."""
        id = self.prompt(session, *steps)
        out: list[Json] = []
        while True:
            out.append(self.read())
            update = out[-1].get("params", {}).get("update", {})
            answer = out[-1].get("id") == id and (out[-1].get("error") or out[-1].get("result") != {})
            if update.get("state") == "idle" or answer:
                return out


Start = Callable[..., Agent]


@pytest.fixture
def start() -> Iterator[Start]:
    agents: list[Agent] = []

    def one(*arguments: str) -> Agent:
        agents.append(Agent(*arguments))
        return agents[-1]

    yield one
    for agent in agents:
        agent.close()


def kinds(messages: list[Json]) -> list[str]:
    return [m["params"]["update"]["sessionUpdate"] for m in messages if m.get("method") == "session/update"]


@pytest.mark.parametrize(
    ("arguments", "asked", "spoken"), [((), 1, 1), ((), 2, 2), (("--v1",), 2, 1), (("--v2",), 1, 2), ((), 3, 2)]
)
def test_it_speaks_either_version(start: Start, arguments: tuple[str, ...], asked: int, spoken: int) -> None:
    agent = start(*arguments)
    answer = agent.call("initialize", protocolVersion=asked)
    assert answer["protocolVersion"] == spoken
    assert ("agentCapabilities" in answer) is (spoken == 1)
    session = agent.call("session/new", cwd="/w")["sessionId"]
    messages = agent.turn(session, "text hi", "tool t1 pending Work", "tool t1 completed Work", "plan it")
    if spoken == 1:
        assert kinds(messages) == ["agent_message_chunk", "tool_call", "tool_call_update", "plan"]
        assert messages[-1]["result"] == {"stopReason": "end_turn"}
        assert "messageId" not in messages[0]["params"]["update"]
    else:
        assert messages[0]["result"] == {}
        assert kinds(messages)[:3] == ["user_message", "state_update", "agent_message_chunk"]
        assert messages[-1]["params"]["update"]["stopReason"] == "end_turn"


@pytest.mark.parametrize("claim", ["1", "2", "99", '"2"', "null"])
def test_it_lies_about_its_version(start: Start, claim: str) -> None:
    assert start("--claim", claim).call("initialize", protocolVersion=2)["protocolVersion"] == json.loads(claim)


def test_it_cuts_what_it_writes_and_floods(start: Start) -> None:
    agent = start("--split", "7")
    messages = agent.turn(agent.session(), "chunks 50 20", "text \u00fc\U0001f600")
    assert kinds(messages).count("agent_message_chunk") == 51


def test_it_writes_what_is_no_message(start: Start) -> None:
    agent = start()
    agent.prompt(
        agent.session(), "raw hello there", "garbage 7", "bytes ff00", "long 3000000", "stdout 150", "text end"
    )
    while (line := agent.line()) != b"hello there\n":
        assert json.loads(line)
    assert [agent.line() for _ in range(7)][3] == b"123\n"
    assert agent.line() == b"\xff\x00" + b"x" * 3_000_000 + b"\n"
    assert len(agent.line() + agent.line() + agent.line()) == 151
    assert agent.read()["params"]["update"]["content"]["text"] == "end"


def test_it_floods_standard_error(start: Start) -> None:
    agent = start()
    agent.prompt(agent.session(), "stderr 1000000", "note last", "text done")
    assert agent.process.stderr is not None
    read = b""
    while not read.endswith(b"last\n"):
        read += os.read(agent.process.stderr.fileno(), 65536)
    assert len(read) == 1_000_005
    while "done" not in str(agent.read()):
        pass


@pytest.mark.parametrize(("step", "code"), [("exit 3", 3), ("kill SIGKILL", -9), ("kill 15", -15)])
def test_it_crashes_where_it_is_told(start: Start, step: str, code: int) -> None:
    agent = start()
    agent.prompt(agent.session(), "text before", step)
    agent.process.wait(WAIT)
    assert agent.process.returncode == code


@pytest.mark.parametrize("method", ["start", "initialize", "session/new"])
def test_a_script_says_what_happens_when(start: Start, method: str, tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps({method: ["note going", "exit 4"]}))
    agent = start(str(script))
    if method != "start":
        agent.request("initialize", protocolVersion=2)
        if method == "session/new":
            agent.read()
            agent.request("session/new", cwd="/w")
    agent.process.wait(WAIT)
    assert agent.process.returncode == 4
    assert agent.process.stderr is not None
    assert agent.process.stderr.read() == b"going\n"


def test_a_script_may_answer_late_or_never(start: Start) -> None:
    agent = start('{"initialize": ["raw banner", "answer"], "session/new": ["silent"]}')
    agent.request("initialize", protocolVersion=2)
    assert agent.line() == b"banner\n"
    assert agent.read()["result"]["protocolVersion"] == 2
    agent.request("session/new", cwd="/w")
    assert agent.process.stdin is not None
    agent.process.stdin.close()
    assert agent.line() == b""
    assert agent.process.wait(WAIT) == 0


@pytest.mark.parametrize("version", [1, 2])
def test_it_asks_and_says_what_came(start: Start, version: int) -> None:
    agent = start()
    agent.prompt(agent.session(version), "permission Delete it", 'request fs/read_text_file {"path": "/a"}')
    while "method" not in (asked := agent.read()) or "id" not in asked:
        pass
    assert [option["kind"] for option in asked["params"]["options"]][0] == "allow_once"  # noqa: RUF015
    agent.send(id=asked["id"], result={"outcome": {"outcome": "selected", "optionId": "opt-allow_once"}})
    while "id" not in (wanted := agent.read()) or "method" not in wanted:
        if wanted.get("params", {}).get("update", {}).get("content"):
            assert wanted["params"]["update"]["content"]["text"] == "permission: opt-allow_once"
    assert (wanted["method"], wanted["params"]["path"]) == ("fs/read_text_file", "/a")
    agent.send(id=wanted["id"], error={"code": -32601, "message": "no"})
    assert "-32601" in agent.read()["params"]["update"]["content"]["text"]


@pytest.mark.parametrize("version", [1, 2])
def test_cancel_ends_a_wait_and_a_question(start: Start, version: int) -> None:
    agent = start()
    session = agent.session(version)
    for step in ("wait cancel", "sleep 60", "permission"):
        agent.prompt(session, step, "tool x pending Never")
        agent.send(method="session/cancel", params={"sessionId": session})
        while "cancelled" not in (message := str(agent.read())):
            assert "'toolCallId': 'x'" not in message


def test_a_prompt_ends_as_it_is_told(start: Start) -> None:
    agent = start()
    session = agent.session(1)
    assert agent.turn(session, "stop refusal")[-1]["result"] == {"stopReason": "refusal"}
    assert agent.turn(session, "error -32000 log in")[-1]["error"] == {"code": -32000, "message": "log in"}
    agent.prompt(session, "no-idle")
    assert agent.call("session/close", sessionId=session) == {}
    agent.request("nonsense")
    assert agent.read()["error"]["code"] == -32601


@pytest.mark.parametrize(("version", "method"), [(1, "session/load"), (2, "session/resume")])
def test_sessions_outlive_the_process_in_a_store(start: Start, tmp_path: Path, version: int, method: str) -> None:
    agent = start("--store", str(tmp_path), "--load", "--resume")
    session = agent.session(version)
    agent.turn(session, "text remembered")
    agent.close()
    again = start("--store", str(tmp_path), "--load", "--resume")
    capabilities = again.call("initialize", protocolVersion=version)
    assert version == 2 or capabilities["agentCapabilities"]["loadSession"] is True
    more = {"replayFrom": {"type": "start"}} if version == 2 else {}
    again.request(method, sessionId=session, cwd="/w", **more)
    replayed = [again.read(), again.read()]
    assert kinds(replayed)[1] == "agent_message_chunk"
    assert again.read()["result"] == {}


def test_it_starts_a_tree_and_ignores_sigterm_and_the_end_of_input(start: Start) -> None:
    agent = start("--ignore-term")
    agent.prompt(agent.session(), "child 1")
    while not (words := agent.read().get("params", {}).get("update", {}).get("content", {})) or "text" not in words:
        pass
    pids = [int(word) for word in words["text"].split()[1:]]
    try:
        assert len(pids) == 2
        for pid in pids:
            os.kill(pid, 0)
        agent.process.send_signal(signal.SIGTERM)
        assert agent.process.stdin is not None
        agent.process.stdin.close()
        with pytest.raises(subprocess.TimeoutExpired):
            agent.process.wait(0.2)
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGKILL)


def test_it_needs_nothing_but_the_standard_library_and_little_of_it() -> None:
    program = (
        "import sys; before = set(sys.modules); import roost.testing.scripted.__main__; import json;"
        "print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, timeout=WAIT, check=True)
    loaded = json.loads(done.stdout)
    assert not {"asyncio", "msgspec", "logging", "subprocess", "typing_extensions"} & set(loaded)
    ours = [name for name in loaded if name.startswith("roost")]
    assert ours == [
        "roost",
        "roost.testing",
        "roost.testing.scripted",
        "roost.testing.scripted.__main__",
        "roost.testing.scripted.agent",
    ]
