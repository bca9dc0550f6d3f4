"""ENV-17, ENV-18: how a connection ends, and what happens to all that was open."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from roost.errors import ConnectionClosed, RpcError
from roost.sdk.incoming import DEFERRED, Incoming
from roost.sdk.limits import ConnectionLimits

from .connection_pair import connected, ping


async def test_e_17_calls_fail_when_the_peer_ends_env_18() -> None:
    connection, peer = connected()
    connection.start()
    calls = [asyncio.ensure_future(connection.call_raw("_ask", {"n": n})) for n in range(3)]
    await peer.asked_for("_ask", 3)
    peer.close()
    results = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(result) for result in results] == [ConnectionClosed] * 3
    await connection.wait_closed()
    assert connection.error is None
    assert connection.is_over
    with pytest.raises(ConnectionClosed):
        await connection.call_raw("_ask")
    with pytest.raises(ConnectionClosed):
        connection.notify_raw("_x")
    with pytest.raises(ConnectionClosed):
        await connection.drain()


async def test_e_18_an_answer_that_came_before_the_end_is_delivered_env_18() -> None:
    connection, peer = connected()
    connection.start()
    call = asyncio.ensure_future(connection.call_raw("_ask"))
    request = await peer.asked_for("_ask")
    peer.reply(request, "in time")
    peer.close()
    assert bytes(await call) == b'"in time"'
    await connection.wait_closed()


async def test_close_cancels_handlers_which_answer_and_sends_what_is_queued_env_17_can_8() -> None:
    connection, peer = connected()

    async def slow(params: Any, incoming: Incoming) -> Any:
        try:
            await asyncio.Event().wait()
        finally:
            connection.notify_raw("_last", {"words": True})

    kept: list[Incoming] = []

    def defers(params: Any, incoming: Incoming) -> Any:
        kept.append(incoming)
        return DEFERRED

    connection.on_request("_slow", slow)
    connection.on_request("_defers", defers)
    connection.start()
    ids = [peer.request("_slow"), peer.request("_defers")]
    await ping(connection, peer)
    await connection.close()
    await connection.close()
    for id in ids:
        assert (await peer.response(id))["error"]["code"] == -32800
    await peer.until(lambda: peer.over)
    assert [m for m in peer.messages if m.get("method") == "_last"]


async def test_handlers_are_cancelled_and_awaited_when_the_peer_is_gone_at_once() -> None:
    connection, peer = connected()
    ended: list[str] = []

    async def slow(params: Any, incoming: Incoming) -> Any:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.append("slow")

    connection.on_request("_slow", slow)
    connection.start()
    peer.request("_slow")
    await ping(connection, peer)
    peer.close()
    await connection.wait_closed()
    assert ended == ["slow"]


async def test_a_handler_that_does_not_end_does_not_stop_the_end(caplog: pytest.LogCaptureFixture) -> None:
    connection, peer = connected(limits=ConnectionLimits(close_grace=0.01))
    stop = asyncio.Event()

    async def deaf(params: Any, incoming: Incoming) -> Any:
        while not stop.is_set():
            try:
                await stop.wait()
            except asyncio.CancelledError:
                continue

    connection.on_request("_deaf", deaf)
    connection.start()
    id = peer.request("_deaf")
    await ping(connection, peer)
    async with asyncio.timeout(5):
        await connection.close()
    stop.set()
    assert "gave up waiting" in caplog.text
    await peer.until(lambda: peer.over)
    assert len(peer.responses(id)) == 1


@pytest.mark.parametrize("fails", [False, True])
async def test_what_is_registered_for_the_end_is_called_once_and_awaited(
    fails: bool, caplog: pytest.LogCaptureFixture
) -> None:
    connection, peer = connected()
    calls: list[str] = []

    async def rest() -> None:
        await asyncio.sleep(0)
        calls.append("rest")
        if fails:
            raise RuntimeError("the end failed")

    def end() -> Any:
        calls.append("end")
        return rest()

    connection.on_end = end
    connection.start()
    peer.close()
    await connection.wait_closed()
    await connection.close()
    assert calls == ["end", "rest"]
    assert ("the end failed" in caplog.text) is fails


async def test_closing_from_inside_a_handler_works() -> None:
    connection, peer = connected()

    async def closes(params: Any, incoming: Incoming) -> Any:
        await connection.close()

    connection.on_request("_close", closes)
    connection.start()
    id = peer.request("_close")
    async with asyncio.timeout(5):
        await connection.wait_closed()
    assert (await peer.response(id))["error"]["code"] == -32800


async def test_a_gate_refuses_requests_and_drops_notifications_ini_1() -> None:
    connection, peer = connected()
    heard: list[Any] = []
    open_methods = {"_open"}
    connection.gate = lambda method: None if method in open_methods else RpcError(-32600, "closed")
    connection.on_request("_open", lambda params, incoming: 1)
    connection.on_request("_closed", lambda params, incoming: 1)
    connection.on_notification("_open", lambda params: heard.append("open"))
    connection.on_notification("_closed", lambda params: heard.append("closed"))
    connection.start()
    peer.notify("_closed")
    peer.notify("_open")
    assert (await peer.error("_closed"))["code"] == -32600
    assert await peer.call("_open") == 1
    assert heard == ["open"]
