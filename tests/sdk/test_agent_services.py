"""Files and terminals that a client of the library gives to an agent of v1."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from roost.errors import RpcError
from roost.process.services import ClientServices
from roost.sdk.agent_services import ServedAgent
from roost.sdk.connect import connect
from tests.sdk.fresh_agents import Fresh
from tests.sdk.raw_agent import RawAgent, bounded
from tests.sdk.test_negotiation import V1

AGENT = f"{shlex.quote(sys.executable)} -m roost.testing.scripted --v1"
OFFERED = {"fs": {"readTextFile": True, "writeTextFile": False}, "terminal": True}


class Answering:
    """Services as the protocol has them, whose answers the test gives."""

    def __init__(self) -> None:
        self.capabilities: dict[str, Any] = OFFERED
        self.asked: list[tuple[str, Any]] = []
        self.answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.begun = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.released = asyncio.Event()
        self.watchers: list[ServedAgent] = []
        self.paused: set[str] = set()

    async def handle(self, method: str, params: object) -> Any:
        self.asked.append((method, params))
        self.begun.set()
        try:
            return await asyncio.shield(self.answer)
        except asyncio.CancelledError:
            self.cancelled.set()
            raise

    def watch(self, watcher: ServedAgent, text_bytes: int) -> Callable[[], None]:
        self.watchers.append(watcher)
        return lambda: self.watchers.remove(watcher)

    def pause_terminal(self, terminal_id: str) -> None:
        self.paused.add(terminal_id)

    def resume_terminal(self, terminal_id: str) -> None:
        self.paused.discard(terminal_id)

    async def release_terminals(self) -> None:
        self.released.set()


async def opened(services: Answering) -> tuple[Any, RawAgent]:
    fresh = Fresh({"protocolVersion": 1, **V1})
    client = await connect(fresh, speaks=1, services=services)
    (agent,) = fresh.agents
    opening = asyncio.ensure_future(client.new_session("/work"))
    agent.reply(await agent.next("session/new"), {"sessionId": "s"})
    await bounded(opening)
    return client, agent


def ask(agent: RawAgent, method: str) -> None:
    agent.send({"jsonrpc": "2.0", "id": "r", "method": method, "params": {"sessionId": "s", "path": "/here/x"}})


async def answered(agent: RawAgent) -> dict[str, Any]:
    async with asyncio.timeout(10):
        while True:
            for message in agent.messages:
                if message.get("id") == "r" and "method" not in message:
                    return message
            await asyncio.sleep(0)


async def test_an_agent_is_offered_what_is_served_and_gets_its_answers() -> None:
    services = Answering()
    client, agent = await opened(services)
    offered = agent.messages[0]["params"]["clientCapabilities"]
    assert {name: offered[name] for name in OFFERED} == OFFERED
    ask(agent, "fs/read_text_file")
    services.answer.set_result({"content": "text"})
    assert (await answered(agent))["result"] == {"content": "text"}
    assert services.asked == [("fs/read_text_file", {"sessionId": "s", "path": "/here/x"})]
    await client.close()


async def test_an_error_is_the_agents() -> None:
    services = Answering()
    client, agent = await opened(services)
    ask(agent, "terminal/create")
    services.answer.set_exception(RpcError(-32603, "not allowed", {"code": "EACCES"}))
    assert (await answered(agent))["error"] == {"code": -32603, "message": "not allowed", "data": {"code": "EACCES"}}
    await client.close()


async def test_a_withdrawn_request_is_given_up() -> None:
    services = Answering()
    client, agent = await opened(services)
    ask(agent, "fs/read_text_file")
    await bounded(services.begun.wait())
    agent.send({"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": "r"}})
    assert (await answered(agent))["error"]["code"] == -32800
    await bounded(services.cancelled.wait())
    await client.close()


async def test_what_an_agent_has_started_ends_with_its_connection() -> None:
    services = Answering()
    client, agent = await opened(services)
    ask(agent, "terminal/wait_for_exit")
    await bounded(services.begun.wait())
    await bounded(client.close())
    await bounded(services.released.wait())
    assert services.cancelled.is_set()
    assert services.watchers == []


async def test_without_services_nothing_is_offered() -> None:
    fresh = Fresh({"protocolVersion": 1, **V1})
    async with connect(fresh, speaks=1):
        offered = fresh.agents[0].messages[0]["params"]["clientCapabilities"]
    assert offered["fs"] == {"readTextFile": False, "writeTextFile": False}
    assert offered["terminal"] is False


@pytest.mark.parametrize("may", [True, False])
async def test_a_real_agent_works_with_client_services(tmp_path: Path, may: bool) -> None:
    root = tmp_path.resolve()
    (root / "note").write_text("one\ntwo\n")
    steps = [
        f"request fs/read_text_file {json.dumps({'path': f'{root}/note', 'line': 2})}",
        f"request fs/write_text_file {json.dumps({'path': f'{root}/new', 'content': 'x'})}",
        f"request terminal/create {json.dumps({'command': 'printf done'})}",
        f"request terminal/wait_for_exit {json.dumps({'terminalId': '$terminal'})}",
        f"request terminal/output {json.dumps({'terminalId': '$terminal'})}",
    ]

    async def decide(asked: object) -> bool:
        return may

    async with (
        asyncio.timeout(20),
        ClientServices([str(root)], may_write=decide, may_run=decide) as services,
        connect(AGENT, services=services) as client,
    ):
        session = await client.new_session(str(root))
        turn = session.prompt("\n".join(steps))
        said = "".join([getattr(update.content, "text", "") async for update in turn if hasattr(update, "content")])
    assert '{"content": "two\\n"}' in said
    assert ("EACCES" in said) is not may
    assert ('"output": "done"' in said) is may
    assert (root / "new").exists() is may


async def test_the_example_of_the_page_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "services.md"
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, str(page), "exec"), names)
    text = f"request fs/write_text_file {json.dumps({'path': f'{tmp_path.resolve()}/new', 'content': 'x'})}"
    async with asyncio.timeout(20):
        await names["ask_old_agent"](AGENT, str(tmp_path.resolve()), text)
    assert (tmp_path / "new").read_text() == "x"
    assert "AgentMessageChunk" in capsys.readouterr().out
