"""ENV-20: notifications whose handlers take time hold nobody up, and are bounded."""

from __future__ import annotations

import asyncio
from typing import Any

from roost.errors import LimitError
from roost.sdk.limits import ConnectionLimits

from .connection_pair import connected, ping
from .raw_client import eventually


async def test_slow_notification_handlers_run_in_order_and_hold_nobody_up_env_20() -> None:
    connection, peer = connected()
    gate = asyncio.Event()
    got: list[int] = []

    async def slow(params: Any) -> None:
        await gate.wait()
        got.append(params["n"])
        if params["n"] == 1:
            raise RuntimeError("one fails")

    connection.on_notification("_slow", slow)
    connection.start()
    for n in range(3):
        peer.notify("_slow", {"n": n})
    await ping(connection, peer)
    assert got == []
    gate.set()
    await eventually(lambda: len(got) == 3)
    assert got == [0, 1, 2]


async def test_too_much_for_a_slow_handler_holds_the_reader_back_and_nothing_is_lost() -> None:
    limits = ConnectionLimits(waiting_notifications=10)
    connection, peer = connected(limits=limits)
    gate = asyncio.Event()
    got: list[int] = []

    async def slow(params: Any) -> None:
        await gate.wait()
        got.append(params["n"])

    connection.on_notification("_slow", slow)
    connection.start()
    for n in range(100):
        peer.notify("_slow", {"n": n})
        await asyncio.sleep(0)
    assert connection._reading is False
    assert len(connection._consumer._waiting) <= 11
    gate.set()
    await eventually(lambda: len(got) == 100)
    assert got == list(range(100))


async def test_a_slow_handler_that_waits_for_an_answer_still_gets_it() -> None:
    """Held back, the reader would never see the answer the handler is slow for."""
    connection, peer = connected(limits=ConnectionLimits(waiting_notifications=4))
    got: list[Any] = []

    async def asks(params: Any) -> None:
        got.append(bytes(await connection.call_raw("_ask", params)))

    connection.on_notification("_slow", asks)
    connection.start()
    peer.send(*[peer.message("_slow", {"n": n}) for n in range(20)])
    await peer.asked_for("_ask")
    peer.answers["_ask"] = lambda params: params["n"]
    peer.reply(peer.asked[0], 0)
    await eventually(lambda: len(got) == 20)


async def test_a_flood_beyond_all_bounds_ends_the_connection_with_its_reason() -> None:
    connection, peer = connected(limits=ConnectionLimits(waiting_notifications=4))

    async def never(params: Any) -> None:
        await asyncio.Event().wait()

    connection.on_notification("_slow", never)
    connection.start()
    peer.send(*[peer.message("_slow", {"n": n}) for n in range(100)])
    async with asyncio.timeout(10):
        await connection.wait_closed()
    assert isinstance(connection.error, LimitError)
    assert connection.error.limit == "waiting_notifications"


async def test_holding_is_soft_while_a_call_is_open() -> None:
    connection, peer = connected()
    got: list[Any] = []
    connection.on_notification("_x", got.append)
    connection.start()
    connection.hold_reading("me")
    peer.notify("_x")
    for _ in range(5):
        await asyncio.sleep(0)
    assert got == []
    peer.answers["_ask"] = lambda params: 1
    assert bytes(await connection.call_raw("_ask")) == b"1"
    assert len(got) == 1
    peer.notify("_x")
    for _ in range(5):
        await asyncio.sleep(0)
    assert len(got) == 1
    connection.hold_reading("hard", hard=True)
    connection.release_reading("me")
    connection.release_reading("nobody")
    call = asyncio.ensure_future(connection.call_raw("_ask"))
    for _ in range(5):
        await asyncio.sleep(0)
    assert not call.done()
    connection.release_reading("hard")
    await call
    assert len(got) == 2
