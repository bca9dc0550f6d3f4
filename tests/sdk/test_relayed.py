"""Between a client and an agent of v2 that is a process stands nothing, unless the agent needs relays (MCP-10)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from roost.sdk.client_link import Mortal
from roost.sdk.relayed import RelayedChild
from roost.transport.messages import MessageListener

Json = dict[str, Any]
INFO = {"name": "a", "version": "1"}
KNOWS = {"session": {"mcp": {"stdio": {}, "acp": {}}}}
LACKS = {"session": {"mcp": {"stdio": {}}}}


class Child:
    """A process that does nothing by itself."""

    peer = "child (pid 7)"
    pid = 7
    queued = 11
    exit_code: int | None = None
    last_words = "oh"

    def __init__(self) -> None:
        self.listener: MessageListener
        self.calls: list[str] = []
        self.sent: list[bytes] = []

    def open(self, listener: MessageListener) -> None:
        self.listener = listener

    def send(self, messages: list[bytes]) -> None:
        self.sent += messages

    def pause_reading(self) -> None:
        self.calls.append("pause")

    def resume_reading(self) -> None:
        self.calls.append("resume")

    def close(self) -> None:
        self.calls.append("close")

    def abort(self) -> None:
        self.calls.append("abort")

    async def wait_exited(self) -> int:
        return 3


class Listener:
    def __init__(self) -> None:
        self.heard: list[Any] = []

    def received(self, messages: list[bytes]) -> None:
        self.heard += messages

    def overflowed(self, count: int, limit: int) -> None:
        self.heard.append(("overflowed", count, limit))

    def congested(self) -> None:
        self.heard.append("congested")

    def eased(self) -> None:
        self.heard.append("eased")

    def ended(self) -> None:
        self.heard.append("ended")

    def closed(self, error: Exception | None) -> None:
        self.heard.append(("closed", error))


def line(**message: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode()


INITIALIZE = line(id=1, method="initialize", params={"protocolVersion": 2, "info": INFO})
NOTICE = line(method="session/update", params={"sessionId": "s", "update": {"sessionUpdate": "x"}})


def answer(capabilities: Json, **more: Any) -> bytes:
    result = {"protocolVersion": 2, "info": INFO, "capabilities": capabilities, **more}
    return line(id=1, result=result)


def asked() -> tuple[RelayedChild, Child, Listener]:
    """The request is out."""
    child, listener = Child(), Listener()
    channel = RelayedChild(child)
    channel.open(listener)
    channel.send([INITIALIZE])
    assert child.sent == [INITIALIZE]
    return channel, child, listener


@pytest.mark.parametrize(
    "message",
    [
        answer(KNOWS),
        answer({}),
        line(id=1, result={"protocolVersion": 1, "agentCapabilities": {"mcpCapabilities": {}}}),
        line(id=1, result=None),
        line(id=1, result=[{"capabilities": LACKS}]),
        line(id=1, error={"code": -32602, "message": "no", "data": {"capabilities": LACKS}}),
        line(id=1, error="no"),
    ],
)
async def test_every_message_of_an_agent_that_needs_no_relays_is_the_very_same(message: bytes) -> None:
    channel, child, listener = asked()
    before, noise, request = line(method="_early"), b"npm warn", line(id=1, method="_ask")
    child.listener.received([before, noise, request, message, NOTICE])
    child.listener.received([NOTICE])
    expected = [before, noise, request, message, NOTICE, NOTICE]
    assert len(listener.heard) == len(expected)
    assert all(heard is sent for heard, sent in zip(listener.heard, expected, strict=True))
    said = line(id=2, method="session/new", params={})
    channel.send([said])
    assert child.sent[1] is said


async def test_an_agent_that_needs_relays_is_bridged_from_its_answer_on() -> None:
    channel, child, listener = asked()
    before, noise = line(method="_early"), b"npm warn"
    child.listener.received([before, noise, answer(LACKS), NOTICE])
    first, second, answered, notice = listener.heard
    assert (first, second, notice) == (before, noise, NOTICE)
    told = json.loads(answered)
    assert (told["id"], told["result"]["capabilities"]) == (1, KNOWS)
    channel.send([line(id=2, method="session/new", params={"cwd": "/w", "mcpServers": []})])
    request = json.loads(child.sent[-1])
    assert request["params"] == {"cwd": "/w", "mcpServers": []}
    assert request["id"] != 1  # used already (ID-4)
    child.listener.received([line(id=request["id"], result={"sessionId": "s"})])
    assert json.loads(listener.heard[-1]) == {"jsonrpc": "2.0", "id": 2, "result": {"sessionId": "s"}}


async def test_what_comes_in_pieces_is_the_same() -> None:
    _, child, listener = asked()
    for message in (b"npm warn", line(id=7, result={}), answer(LACKS), NOTICE):
        child.listener.received([message])
    assert listener.heard[:2] == [b"npm warn", line(id=7, result={})]
    assert json.loads(listener.heard[2])["result"]["capabilities"] == KNOWS
    assert listener.heard[3:] == [NOTICE]


@pytest.mark.parametrize("capabilities", [None, KNOWS, LACKS])
async def test_the_process_is_told_of_as_it_is(capabilities: Json | None) -> None:
    channel, child, listener = asked()
    if capabilities is not None:
        child.listener.received([answer(capabilities)])
    assert isinstance(channel, Mortal)
    assert (channel.pid, channel.exit_code, channel.last_words) == (7, None, "oh")
    assert (channel.peer, channel.queued, await channel.wait_exited()) == ("child (pid 7)", 11, 3)
    del listener.heard[:]
    child.listener.overflowed(1, 2)
    child.listener.congested()
    child.listener.eased()
    channel.pause_reading()
    channel.resume_reading()
    channel.close()
    child.listener.ended()
    child.listener.closed(None)
    channel.abort()
    assert listener.heard == [("overflowed", 1, 2), "congested", "eased", "ended", ("closed", None)]
    assert child.calls == ["pause", "resume", "close", "abort"]


async def test_what_nobody_asked_for_is_no_answer() -> None:
    """A hostile agent may speak first."""
    child, listener = Child(), Listener()
    RelayedChild(child).open(listener)
    child.listener.received([answer(LACKS)])
    assert listener.heard == [answer(LACKS)]
