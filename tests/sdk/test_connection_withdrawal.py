"""CAN-1 to CAN-13: requests that are taken back, by the peer and by us."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from roost.sdk.incoming import Incoming

from .connection_pair import connected, ping


async def test_e_34_e_35_a_withdrawn_request_gets_one_response_can_4_can_3() -> None:
    connection, peer = connected()
    connection.on_request("_x", lambda params, incoming: asyncio.Event().wait())
    connection.start()
    id = peer.request("_x")
    peer.withdraw(id)
    assert (await peer.response(id))["error"]["code"] == -32800
    peer.withdraw(id)
    await ping(connection, peer)
    assert len(peer.responses(id)) == 1


async def test_a_withdrawn_request_may_still_give_its_result_can_4() -> None:
    connection, peer = connected()

    async def stubborn(params: Any, incoming: Incoming) -> Any:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return {"partial": incoming.withdrawn}

    connection.on_request("_x", stubborn)
    connection.start()
    id = peer.request("_x")
    await ping(connection, peer)
    peer.withdraw(id)
    assert (await peer.response(id))["result"] == {"partial": True}


@pytest.mark.parametrize(
    "params", [{"requestId": "1"}, {"requestId": 99}, {}, {"requestId": {}}, None, {"requestId": 1.5}]
)
async def test_e_33_e_36_only_the_very_id_is_withdrawn_can_3_id_2(params: Any) -> None:
    connection, peer = connected()
    gate = asyncio.Event()

    async def slow(params: Any, incoming: Incoming) -> Any:
        await gate.wait()
        return "done"

    connection.on_request("_x", slow)
    connection.start()
    peer.send(peer.message("_x", {}, 1))
    peer.notify("$/cancel_request", params)
    peer._next_id = 10
    await ping(connection, peer)
    gate.set()
    assert (await peer.response(1))["result"] == "done"


async def test_a_request_withdrawn_before_its_handler_ran_is_answered_can_4() -> None:
    connection, peer = connected()
    ran: list[int] = []

    async def handler(params: Any, incoming: Incoming) -> Any:
        ran.append(1)

    connection.on_request("_x", handler)
    connection.start()
    peer.send(peer.message("_x", {}, "a"), peer.message("$/cancel_request", {"requestId": "a"}))
    assert (await peer.response("a"))["error"]["code"] == -32800
    assert ran == []


async def test_e_37_a_cancelled_wait_withdraws_once_and_a_late_answer_is_ignored_can_11() -> None:
    connection, peer = connected()
    connection.start()
    waiting = asyncio.ensure_future(connection.call_raw("_ask"))
    request = await peer.asked_for("_ask")
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    peer.reply(request, 1)
    peer.reply(request, 2)
    await ping(connection, peer)
    withdrawals = [m["params"] for m in peer.messages if m.get("method") == "$/cancel_request"]
    assert withdrawals == [{"requestId": request["id"]}]
    assert connection.open_calls == 0


async def test_e_38_withdrawal_cascades_to_nested_calls_can_5() -> None:
    connection, peer = connected()

    async def nested(params: Any, incoming: Incoming) -> Any:
        return await connection.call_raw("_inner", {"n": 1})

    connection.on_request("_outer", nested)
    connection.start()
    id = peer.request("_outer")
    inner = await peer.asked_for("_inner")
    peer.withdraw(id)
    assert (await peer.response(id))["error"]["code"] == -32800
    assert [m["params"]["requestId"] for m in peer.messages if m.get("method") == "$/cancel_request"] == [inner["id"]]


async def test_e_19_a_handler_may_ask_back_env_20() -> None:
    connection, peer = connected()

    async def asks(params: Any, incoming: Incoming) -> Any:
        return await connection.call_raw("_inner")

    connection.on_request("_outer", asks)
    connection.start()
    peer.answers["_inner"] = lambda params: {"deep": 1}
    assert await peer.call("_outer") == {"deep": 1}
