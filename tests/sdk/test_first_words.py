"""What a client says before it is known which version it speaks (INI-1, INI-5, INI-10)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest

from roost.sdk.agent import Agent
from roost.sdk.first_words import FirstWords
from roost.sdk.serve import serve
from roost.sdk.turn import Turn
from roost.transport.messages import MessageChannel, MessageListener, message_pair
from tests.sdk.raw_agent import RawAgent, bounded, eventually

Json = dict[str, Any]
INFO = {"name": "c", "version": "1"}
V1 = {"protocolVersion": 1, "clientInfo": INFO, "clientCapabilities": {}}
V2 = {"protocolVersion": 2, "info": INFO, "capabilities": {}}
NEW = {"cwd": "/work", "mcpServers": []}


def message(method: str, params: Any = None, **more: Any) -> Json:
    return {"jsonrpc": "2.0", **more, "method": method, **({} if params is None else {"params": params})}


def an_agent() -> Agent:
    agent = Agent("a", "1.0")

    @agent.prompt
    async def answer(turn: Turn) -> None:
        await turn.say(turn.text)

    return agent


@pytest.fixture
async def client() -> AsyncIterator[RawAgent]:
    """The other end of an agent of ours, served to clients of both versions."""
    here, there = message_pair()
    serving = asyncio.ensure_future(serve(an_agent(), there))
    peer = RawAgent(here)
    yield peer
    peer.close()
    await bounded(serving)


async def greeted(client: RawAgent, hello: Json) -> None:
    """It is served in the version it asks for."""
    client.send(message("initialize", hello, id="hello"))
    answer = (await client.answer_to("hello"))["result"]
    assert answer["protocolVersion"] == hello["protocolVersion"]
    assert ("agentInfo" in answer) is (hello is V1)
    client.send(message("session/new", NEW, id="new"))
    assert (await client.answer_to("new"))["result"]["sessionId"]


BOTH = pytest.mark.parametrize("hello", [V1, V2], ids=["v1", "v2"])


@BOTH
@pytest.mark.parametrize(
    ("first", "code"),
    [
        (message("session/new", NEW, id=1), -32600),
        (message("session/prompt", {"sessionId": "s", "prompt": []}, id=1), -32600),
        (message("no/such", id=1), -32600),
        (message("_vendor/thing", id=1), -32600),
        (message("$/thing", id=1), -32601),
        ({"id": 1, "method": "initialize"}, -32600),
        (message("initialize", {"protocolVersion": "2", "info": INFO}, id=1), -32602),
        (message("initialize", {"protocolVersion": 2.5, "info": INFO}, id=1), -32602),
        (message("initialize", {"protocolVersion": -1}, id=1), -32602),
        (message("initialize", {"protocolVersion": 100_000}, id=1), -32602),
        (message("initialize", {"info": INFO}, id=1), -32602),
        (message("initialize", {"protocolVersion": 2, "clientInfo": INFO}, id=1), -32602),
        (message("initialize", {"protocolVersion": 3, "clientInfo": INFO}, id=1), -32602),
        (message("initialize", id=1), -32602),
        (message("initialize", [1], id=1), -32602),
    ],
)
async def test_a_request_before_it_is_refused_and_decides_nothing(
    client: RawAgent, first: Json, code: int, hello: Json
) -> None:
    client.send(first)
    assert (await client.answer_to(1))["error"]["code"] == code
    await greeted(client, hello)


@BOTH
@pytest.mark.parametrize(
    "first",
    [
        message("session/cancel", {"sessionId": "s"}),
        message("initialize", V2),
        message("initialize", V1),
        message("_vendor/told"),
        message("$/cancel_request", {"requestId": "hello"}),
        {"jsonrpc": "2.0", "id": 5, "result": {}},
        {"jsonrpc": "2.0", "id": 5, "error": {"code": 1, "message": "x"}},
    ],
)
async def test_what_is_no_request_means_nothing(client: RawAgent, first: Json, hello: Json) -> None:
    client.send(first)
    await greeted(client, hello)
    assert len(client.messages) == 2


@BOTH
@pytest.mark.parametrize(("line", "code"), [(b"{", -32700), (b"[]", -32600), (b"7", -32600)])
async def test_what_is_no_message_is_answered_as_ever(client: RawAgent, line: bytes, code: int, hello: Json) -> None:
    client.send(line)
    await client.until(lambda: client.messages)
    assert (client.messages[0]["id"], client.messages[0]["error"]["code"]) == (None, code)
    await greeted(client, hello)


@BOTH
async def test_all_of_it_may_come_in_one_piece(client: RawAgent, hello: Json) -> None:
    client.send(
        message("session/cancel", {"sessionId": "s"}),
        message("session/new", NEW, id=1),
        message("initialize", {"protocolVersion": "x"}, id=2),
        message("initialize", hello, id=3),
        message("initialize", hello, id=4),
    )
    codes = [(await client.answer_to(number)).get("error", {}).get("code") for number in range(1, 5)]
    assert codes == [-32600, -32602, None, -32600]
    assert [len(client.answers_to(number)) for number in range(1, 5)] == [1] * 4
    assert ("agentInfo" in client.answers_to(3)[0]["result"]) is (hello is V1)


@BOTH
async def test_a_batch_may_say_it_and_is_answered_by_one(client: RawAgent, hello: Json) -> None:
    batch = [message("session/new", NEW, id=1), message("initialize", hello, id=2), {"jsonrpc": "2.0", "id": {}}]
    client.send(json.dumps(batch).encode())
    await client.until(lambda: client.messages)
    (replies,) = client.messages
    by_id = {reply["id"]: reply for reply in replies}
    assert by_id[1]["error"]["code"] == -32600
    assert by_id[2]["result"]["protocolVersion"] == hello["protocolVersion"]
    assert len(replies) == len(by_id)


async def test_a_batch_that_does_not_say_it_is_answered_by_one(client: RawAgent) -> None:
    client.send(json.dumps([message("x", id=1), message("y"), message("z", id=2)]).encode())
    await client.until(lambda: client.messages)
    assert [[reply["id"] for reply in replies] for replies in client.messages] == [[1, 2]]
    await greeted(client, V1)


async def test_what_is_answered_is_what_those_say_who_serve_the_versions() -> None:
    """The same bytes, but for the words."""
    answers = []
    for hello in (None, V1, V2):
        here, there = message_pair()
        serving = asyncio.ensure_future(serve(an_agent(), there))
        peer = RawAgent(here)
        if hello is not None:  # in a batch, so that whoever serves it refuses what comes before
            peer.send(json.dumps([message("session/new", NEW, id=1), message("initialize", hello, id=2)]).encode())
            await peer.until(lambda peer=peer: peer.messages)
            answers += [reply for reply in peer.messages[0] if reply["id"] == 1]
        else:
            peer.send(message("session/new", NEW, id=1))
            answers.append(await peer.answer_to(1))
        peer.close()
        await bounded(serving)
    assert answers[0] == answers[1] == answers[2]


@BOTH
async def test_who_leaves_without_a_word_or_behind_some_is_served_to_the_end(hello: Json) -> None:
    for words in ([], [message("x", id=1)], [message("initialize", hello, id=1)]):
        here, there = message_pair()
        serving = asyncio.ensure_future(serve(an_agent(), there))
        peer = RawAgent(here)
        if words:
            peer.send(*words)
        peer.close()
        await bounded(serving)


# ---- as a channel


class Wire:
    """A channel that records what is done with it."""

    peer = "wire"
    queued = 3

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def __getattr__(self, name: str) -> Any:
        return lambda *args: self.calls.append((name, *args) if args else name)


class Listener(Wire):
    pass


def words() -> tuple[FirstWords, Wire]:
    wire = Wire()
    return FirstWords(wire), wire  # type: ignore[arg-type]


def line(value: Json) -> bytes:
    return json.dumps(value).encode()


async def opened(first: MessageChannel) -> Listener:
    listener = Listener()
    as_listener: MessageListener = listener  # type: ignore[assignment]
    first.open(as_listener)
    await asyncio.sleep(0)
    return listener


async def test_a_client_that_does_not_read_is_answered_no_more() -> None:
    first, wire = words()
    first.congested()
    first.eased()
    assert wire.calls == ["pause_reading", "resume_reading"]


async def test_a_message_that_is_too_long_is_refused() -> None:
    first, wire = words()
    first.overflowed(2, 64)
    ((_, sent),) = wire.calls
    errors = [json.loads(text)["error"] for text in sent]
    assert [error["data"] for error in errors] == [{"limit": "max_line_bytes", "bound": 64}] * 2


async def test_who_takes_over_gets_what_waited_and_is_told_how_things_stand() -> None:
    first, wire = words()
    first.congested()
    hello, more = line(message("initialize", V1, id=1)), line(message("x", id=2))
    first.received([hello, more])
    first.eased()
    first.congested()
    assert wire.calls == ["pause_reading"] * 3  # known: nothing is read until somebody has it
    del wire.calls[:]
    listener = await opened(first)
    assert listener.calls == ["congested", ("received", [hello, more])]
    assert wire.calls == ["resume_reading"]
    for tell in (first.eased, first.congested, first.ended, lambda: first.overflowed(1, 2), lambda: first.closed(None)):
        tell()
    assert listener.calls[2:] == ["eased", "congested", "ended", ("overflowed", 1, 2), ("closed", None)]
    first.received([b"z"])
    assert listener.calls[-1] == ("received", [b"z"])
    first.send([b"a"])
    first.pause_reading()
    first.resume_reading()
    first.close()
    first.abort()
    assert wire.calls[1:] == [("send", [b"a"]), "pause_reading", "resume_reading", "close", "abort"]
    assert (first.peer, first.queued) == ("wire", 3)


async def test_who_has_enough_at_once_is_not_read_on_for() -> None:
    first, wire = words()
    first.received([line(message("initialize", V2, id=1))])
    del wire.calls[:]

    class Full(Listener):
        def received(self, messages: list[bytes]) -> None:
            first.pause_reading()

    first.open(Full())  # type: ignore[arg-type]
    await asyncio.sleep(0)
    assert wire.calls == ["pause_reading"]


@pytest.mark.parametrize("closed", [False, True])
async def test_an_end_that_came_before_is_told_behind_what_waited(closed: bool) -> None:
    first, wire = words()
    hello = line(message("initialize", V2, id=1))
    first.received([hello])
    first.ended()
    if closed:
        first.closed(None)
    assert first.known.is_set()
    listener = await opened(first)
    assert listener.calls == [("received", [hello]), "ended", *([("closed", None)] if closed else [])]
    assert ("resume_reading" in wire.calls) is not closed


async def test_an_end_without_a_word_is_known() -> None:
    first, _ = words()
    first.ended()
    await eventually(first.known.is_set)
    assert first.version is None
