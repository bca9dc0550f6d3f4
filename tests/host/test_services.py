"""Files and terminals served to a real v1 agent, through a Host and the whole sidecar."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import roost
from roost.errors import RpcError
from roost.host.events import HostRequest
from roost.host.services import SessionServices
from roost.process.services import ClientServices, ServiceLimits, allow_all

PATIENCE = 20
DOC = Path(__file__).resolve().parents[2] / "docs" / "services.md"

# An ACP v1 agent that asks its client what each prompt says, as JSON lists of method and params, one after the
# other, and writes the answers to a file. "$terminalId" stands for the last terminal.
AGENT = r"""
import json, sys

def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

def receive():
    line = sys.stdin.readline()
    if not line:
        sys.exit()
    return json.loads(line)

def ask(number, method, params, terminal):
    params = {key: terminal if value == "$terminalId" else value for key, value in params.items()}
    send({"id": number, "method": method, "params": {"sessionId": "s1", **params}})
    while True:
        message = receive()
        if message.get("id") == number and "method" not in message:
            return message.get("result", message.get("error"))

while True:
    message = receive()
    method, number = message.get("method"), message.get("id")
    if method == "initialize":
        send({"id": number, "result": {"protocolVersion": 1, "agentCapabilities": {"promptCapabilities": {}}}})
        offered = message["params"]["clientCapabilities"]
    elif method == "session/new":
        cwd = message["params"]["cwd"]
        send({"id": number, "result": {"sessionId": "s1"}})
    elif method == "session/prompt":
        terminal, answers = "", [offered]
        for at, (asked, params) in enumerate(json.loads(message["params"]["prompt"][0]["text"])):
            answer = ask(at, asked, params, terminal)
            terminal = answer.get("terminalId", terminal) if isinstance(answer, dict) else terminal
            answers.append(answer)
        with open(cwd + "/answers", "w") as file:
            json.dump(answers, file)
        send({"id": number, "result": {"stopReason": "end_turn"}})
    elif number is not None:
        send({"id": number, "error": {"code": -32601, "message": "Method not found"}})
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    made = tmp_path.resolve() / "workspace"
    made.mkdir()
    return made


@pytest.fixture
def agent(tmp_path: Path) -> str:
    (tmp_path / "agent.py").write_text(AGENT)
    return f"{sys.executable} -I -S {tmp_path}/agent.py"


async def converse(agent: str, workspace: Path, served: SessionServices, *questions: tuple[str, dict[str, Any]]) -> Any:
    """What the agent was offered, and what it was answered."""
    async with asyncio.timeout(PATIENCE), roost.host.embedded() as host:
        session = await host.create_session(
            agent,
            cwd=str(workspace),
            protocol_version=1,
            client_capabilities=served.capabilities,
            on_request=served,
        )
        await session.prompt(json.dumps(questions))
    return json.loads((workspace / "answers").read_text())


async def test_a_v1_agent_writes_reads_and_runs_through_its_host(agent, workspace):
    async with SessionServices(ClientServices([str(workspace)], may_write=allow_all, may_run=allow_all)) as served:
        answers = await converse(
            agent,
            workspace,
            served,
            ("fs/write_text_file", {"path": f"{workspace}/f", "content": "one\ntwo\n"}),
            ("fs/read_text_file", {"path": f"{workspace}/f", "line": 2, "limit": 1}),
            ("terminal/create", {"command": "cat f && echo done", "env": [{"name": "A", "value": "1"}]}),
            ("terminal/wait_for_exit", {"terminalId": "$terminalId"}),
            ("terminal/output", {"terminalId": "$terminalId"}),
            ("terminal/release", {"terminalId": "$terminalId"}),
        )
    assert answers == [
        {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True},
        {},
        {"content": "two"},
        {"terminalId": "acp-terminal-1"},
        {"exitCode": 0, "signal": None},
        {"output": "one\ntwo\ndone\n", "truncated": False, "exitStatus": {"exitCode": 0, "signal": None}},
        {},
    ]


async def test_a_refusal_reaches_the_agent_with_its_code_and_text(agent, workspace):
    async with SessionServices(ClientServices([str(workspace)])) as served:
        answers = await converse(
            agent,
            workspace,
            served,
            ("fs/read_text_file", {"path": "/etc/passwd"}),
            ("fs/read_text_file", {"path": f"{workspace}/none"}),
            ("fs/write_text_file", {"path": f"{workspace}/f", "content": ""}),
            ("terminal/create", {"command": "true"}),
            ("fs/read_text_file", {}),
            ("vendor/unknown", {}),
        )
    assert answers[0] == {"fs": {"readTextFile": True, "writeTextFile": False}, "terminal": False}
    assert [(answer["code"], answer["message"]) for answer in answers[1:]] == [
        (-32602, "path is outside the session's roots: /etc/passwd"),
        (-32002, f"Resource not found: {workspace}/none"),
        (-32603, f"not allowed: writing {workspace}/f"),
        (-32603, "not allowed: true"),
        (-32602, "fs/read_text_file requires a string path"),
        (-32601, "method not found: vendor/unknown"),  # case 70
    ]
    assert answers[6]["data"] == {"method": "vendor/unknown"}


def request(session_id: str, method: str, params: Any = None) -> HostRequest:
    return HostRequest(session_id, json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}))


async def test_what_is_no_service_goes_to_the_next_handler(workspace):
    async def otherwise(asked: HostRequest) -> dict[str, Any]:
        return {"heard": asked.method}

    async with ClientServices([str(workspace)]) as services:
        assert await SessionServices(services)(request("s1", "vendor/x")) is None
        assert await SessionServices(services, otherwise)(request("s1", "vendor/x")) == {"heard": "vendor/x"}
        with pytest.raises(RpcError, match="requires object params"):
            await SessionServices(services, otherwise)(request("s1", "fs/read", []))


async def test_the_terminals_of_one_session_are_not_another_sessions(workspace, caplog):
    services = ClientServices([str(workspace)], may_run=allow_all, limits=ServiceLimits(kill_grace=0.2))
    async with SessionServices(services) as served:
        made = await served(request("s1", "terminal/create", {"command": "true"}))
        with pytest.raises(RpcError, match="another session"):
            await served(request("s2", "terminal/output", made))
        assert (await served(request("s1", "terminal/wait_for_exit", made)))["exitCode"] == 0
    assert "asked by session s2" in caplog.text


async def test_the_example_with_a_host_works_with_a_real_agent(agent, workspace):
    blocks = re.findall(r"```python\n(.*?)```", DOC.read_text(encoding="utf-8"), re.DOTALL)
    example = ModuleType("example")
    exec(compile(blocks[1], str(DOC), "exec"), example.__dict__)
    question = ("fs/write_text_file", {"path": f"{workspace}/f", "content": "by the example"})
    async with asyncio.timeout(PATIENCE):
        await example.ask_agent(agent, str(workspace), json.dumps([question]))
    assert (workspace / "f").read_text() == "by the example"


async def test_the_example_without_a_host_works(workspace, capsys):
    blocks = re.findall(r"```python\n(.*?)```", DOC.read_text(encoding="utf-8"), re.DOTALL)
    example = ModuleType("example")
    exec(compile(blocks[0], str(DOC), "exec"), example.__dict__)
    async with asyncio.timeout(PATIENCE):
        await example.main(str(workspace))
    assert capsys.readouterr().out == "acp-terminal-1 ended with 0\n"


def test_the_table_of_limits_names_every_one_and_its_default():
    rows = dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \|", DOC.read_text(encoding="utf-8"), re.MULTILINE))
    limits = ServiceLimits()
    names = [name for name in ServiceLimits.__slots__ if name in rows]
    assert names == list(ServiceLimits.__slots__)
    for name in names:
        number, _, unit = rows[name].replace(",", "").partition(" ")
        assert float(number) * {"MiB": 1024 * 1024, "s": 1, "": 1}[unit] == getattr(limits, name), name
