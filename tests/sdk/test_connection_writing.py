"""How a connection writes, and what it does with a peer that does not read."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from roost.errors import LimitError
from roost.sdk.connection import Connection
from roost.sdk.limits import ConnectionLimits
from roost.transport.messages import message_pair

from .connection_pair import connected, ping
from .raw_client import RawClient


async def test_a_producer_that_does_not_wait_is_stopped_by_a_limit() -> None:
    connection, peer = connected(limits=ConnectionLimits(outgoing_bytes=1_000_000))
    connection.start()
    peer.pause()

    def produce() -> None:
        for _ in range(100):
            connection.notify_raw("_x", {"data": "x" * 100_000})

    with pytest.raises(LimitError) as caught:
        produce()
    assert caught.value.limit == "outgoing_bytes"
    peer.resume()
    await ping(connection, peer)


async def test_a_peer_that_asks_and_does_not_read_is_left() -> None:
    connection, peer = connected(limits=ConnectionLimits(outgoing_bytes=1_000_000))
    connection.on_request("_big", lambda params, incoming: "x" * 300_000)
    connection.start()
    peer.pause()
    for _ in range(20):
        peer.request("_big")
    async with asyncio.timeout(10):
        await connection.wait_closed()
    assert isinstance(connection.error, LimitError)


async def test_messages_of_one_turn_are_written_together() -> None:
    here, there = message_pair()
    writes: list[int] = []
    send = there.send

    class Counting:
        def __getattr__(self, name: str) -> Any:
            return getattr(there, name)

        def send(self, messages: list[bytes]) -> None:
            writes.append(len(messages))
            send(messages)

    connection = Connection(Counting())  # type: ignore[arg-type]
    peer = RawClient(here)
    connection.start()
    for n in range(100):
        connection.notify_raw("_x", {"n": n})
    await peer.until(lambda: len(peer.messages) == 100)
    assert writes == [1, 99]
    assert [m["params"]["n"] for m in peer.messages] == list(range(100))


async def test_drain_lets_others_have_a_turn() -> None:
    connection, peer = connected()
    connection.start()
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.ensure_future(other())
    for _ in range(1000):
        connection.notify_raw("_x", {"data": "x" * 1000})
        await connection.drain()
    task.cancel()
    assert turns > 10
    await peer.until(lambda: len(peer.messages) == 1000)


async def test_a_tap_sees_everything_both_ways() -> None:
    connection, peer = connected()
    seen: list[tuple[bool, Any]] = []
    connection.tap = lambda outgoing, message: seen.append((outgoing, json.loads(message)))
    assert connection.tap is not None
    connection.start()
    connection.notify_raw("_out")
    peer.notify("_in")
    await ping(connection, peer)
    assert (True, {"jsonrpc": "2.0", "method": "_out"}) in seen
    assert (False, {"jsonrpc": "2.0", "method": "_in"}) in seen
    assert {outgoing for outgoing, message in seen if "result" in message} == {True}


async def test_params_that_are_none_are_not_sent() -> None:
    connection, peer = connected()
    connection.start()
    connection.notify_raw("_out")
    await ping(connection, peer)
    assert "params" not in peer.messages[0]


async def test_an_overlong_message_is_refused_alone_env_21() -> None:
    connection, peer = connected()
    told: list[Any] = []
    connection.on_overflow = lambda count, limit: told.append((count, limit))
    connection.start()
    connection.overflowed(2, 1000)
    await ping(connection, peer)
    assert told == [(2, 1000)]
    refused = [m for m in peer.messages if "error" in m]
    assert [m["error"]["data"] for m in refused] == [{"limit": "max_line_bytes", "bound": 1000}] * 2
    assert [m["id"] for m in refused] == [None, None]


async def test_the_reader_of_a_noisy_program_answers_no_noise_std_4() -> None:
    connection, peer = connected(answer_malformed=False)
    connection.start()
    peer.send(b"Starting...", b"123", b'{"level":"info"}', b"[]", b'"x"')
    await ping(connection, peer)
    assert len(peer.messages) == 1
