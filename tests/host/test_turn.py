"""Where a turn ends, whatever the pace at which it is read."""

from __future__ import annotations

import asyncio
import json
from typing import Any, cast

import msgspec
import pytest

from roost.host.events import Notification
from roost.host.host import Host
from roost.host.session import Session
from roost.sidecar.gen.messages import AcpSessionRequest, AcpSessionRpcResponse


class ScriptedHost:
    """Answers a prompt when it is told to, and plays the events around it."""

    def __init__(self) -> None:
        self.session = Session(cast(Host, self), "s", 2, None, None)
        self.arrived: Any = None
        self.answer: asyncio.Future[AcpSessionRpcResponse] = asyncio.get_running_loop().create_future()

    async def request(self, payload: AcpSessionRequest, arrived: Any = None) -> AcpSessionRpcResponse:
        self.arrived = arrived
        return await self.answer

    def accept(self) -> None:
        self.arrived()
        text = msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "result": {}}).decode()
        self.answer.set_result(AcpSessionRpcResponse("s", text))

    def state(self, **members: Any) -> None:
        update = {"sessionUpdate": "state_update", **members}
        text = json.dumps(
            {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": update}}
        )
        self.session.put(Notification("s", text))

    def slow(self, _: object) -> None: ...

    def fast(self, _: object) -> None: ...


@pytest.fixture
async def host() -> ScriptedHost:
    return ScriptedHost()


async def test_a_turn_ends_when_answer_and_events_come_at_once(host: ScriptedHost) -> None:
    host.state(state="idle")  # kept for the first to listen, so that the reader never has to wait
    turn = host.session.prompt("hi")
    await asyncio.sleep(0)
    host.accept()
    host.state(state="running")
    host.state(state="idle", stopReason="end_turn")
    outcome = await asyncio.wait_for(turn._run(), 5)
    assert outcome.stop_reason == "end_turn"


async def test_an_idle_from_before_the_prompt_was_accepted_ends_no_turn_even_when_it_is_read_late(
    host: ScriptedHost,
) -> None:
    turn = host.session.prompt("hi")
    await asyncio.sleep(0)
    host.state(state="running")
    host.state(state="idle", stopReason="max_tokens")
    host.accept()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    host.state(state="running")
    host.state(state="idle", stopReason="end_turn")
    outcome = await asyncio.wait_for(turn._run(), 5)
    assert outcome.stop_reason == "end_turn"


async def test_what_was_told_before_anybody_listened_comes_first(host: ScriptedHost) -> None:
    host.state(state="idle")
    host.state(state="running")
    events = host.session.events()
    assert [cast(Notification, await anext(events)).raw_update["state"] for _ in range(2)] == ["idle", "running"]
    host.state(state="idle")
    late = host.session.events()
    host.state(state="_odd")
    assert cast(Notification, await anext(late)).raw_update["state"] == "_odd"
