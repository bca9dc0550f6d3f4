"""Our own calls on a connection: their answers, errors and bounds."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from roost.acp import v2
from roost.errors import LimitError, RemoteProtocolError, RpcError
from roost.rpc.limits import PeerLimits
from roost.rpc.peer import Malformed, Unmatched
from roost.sdk.incoming import DEFERRED, Incoming
from roost.sdk.limits import ConnectionLimits

from .connection_pair import chunk, connected, ping


async def test_e_20_updates_are_applied_before_the_answer_behind_them_is_seen_env_19() -> None:
    connection, peer = connected()
    got: list[Any] = []
    connection.on_notification("session/update", got.append)
    connection.start()
    call = asyncio.ensure_future(connection.call(v2.PromptRequest(session_id="s", prompt=[v2.TextContent(text="x")])))
    request = await peer.asked_for("session/prompt")
    peer.send(
        *[chunk(str(n)) for n in range(100)], {"jsonrpc": "2.0", "id": request["id"], "result": {}}, chunk("late")
    )
    assert await call == v2.PromptResponse()
    assert [n.update.content.text for n in got[:100]] == [str(n) for n in range(100)]


async def test_e_21_both_sides_may_use_one_id_id_3() -> None:
    connection, peer = connected()
    connection.on_request("_theirs", lambda params, incoming: "ours")
    connection.start()
    call = asyncio.ensure_future(connection.call_raw("_ask"))
    request = await peer.asked_for("_ask")
    peer.send(peer.message("_theirs", {}, request["id"]))
    assert (await peer.response(request["id"]))["result"] == "ours"
    peer.reply(request, "yours")
    assert bytes(await call) == b'"yours"'


async def test_e_29_answers_may_come_as_a_batch_bat_1() -> None:
    connection, peer = connected()
    connection.start()
    calls = [asyncio.ensure_future(connection.call_raw("_ask", {"n": n})) for n in range(2)]
    await peer.asked_for("_ask", 2)
    one, two = (request["id"] for request in peer.asked)
    peer.send([{"jsonrpc": "2.0", "id": two, "result": 2}, {"jsonrpc": "2.0", "id": one, "result": 1}])
    assert [bytes(await call) for call in calls] == [b"1", b"2"]


@pytest.mark.parametrize("result", [None, {}, {"_meta": {}}])
async def test_null_is_as_good_as_an_empty_object_env_16(result: Any) -> None:
    connection, peer = connected()
    connection.start()
    peer.answers["session/prompt"] = lambda params: result
    answer = await connection.call(v2.PromptRequest(session_id="s", prompt=[]))
    assert isinstance(answer, v2.PromptResponse)


@pytest.mark.parametrize("result", [None, {}, {"sessionId": 5}, [], "x"])
async def test_a_malformed_answer_is_the_peers_fault(result: Any) -> None:
    connection, peer = connected()
    connection.start()
    peer.answers["session/new"] = lambda params: result
    with pytest.raises(RemoteProtocolError):
        await connection.call(v2.NewSessionRequest(cwd="/w"))


async def test_e_12_a_response_with_result_and_error_fails_its_call_and_is_not_answered_env_12() -> None:
    connection, peer = connected()
    oddities: list[Any] = []
    connection.on_oddity = oddities.append
    connection.start()
    call = asyncio.ensure_future(connection.call_raw("_ask"))
    request = await peer.asked_for("_ask")
    peer.send({"jsonrpc": "2.0", "id": request["id"], "result": 1, "error": {"code": 1, "message": "x"}})
    with pytest.raises(RemoteProtocolError):
        await call
    peer.send({"jsonrpc": "2.0", "id": 99, "result": 1}, b"{", b'"scalar"')
    await ping(connection, peer)
    assert [type(oddity) for oddity in oddities] == [Unmatched, Malformed, Malformed]
    assert [m["error"]["code"] for m in peer.messages if "error" in m] == [-32700, -32600]


async def test_whoever_is_told_of_something_may_fail_and_reading_goes_on_env_20(
    caplog: pytest.LogCaptureFixture,
) -> None:
    connection, peer = connected()

    def fails(*_: Any) -> Any:
        raise RuntimeError("told and failed")

    def defers(params: Any, incoming: Incoming) -> Any:
        incoming.on_withdrawn(fails)
        kept.append(incoming)
        return DEFERRED

    kept: list[Incoming] = []
    connection.on_oddity = connection.on_overflow = fails
    connection.on_request("_defers", defers)
    connection.start()
    peer.send(b"{", {"jsonrpc": "2.0", "id": 99, "result": 1})
    id = peer.request("_defers")
    peer.withdraw(id)
    connection.overflowed(1, 10)
    await ping(connection, peer)
    assert len([record for record in caplog.records if record.exc_info]) == 4
    kept[0].answer(1)
    assert (await peer.response(id))["result"] == 1


async def test_an_error_answer_is_raised_with_all_it_has_err_1() -> None:
    connection, peer = connected()
    connection.start()
    call = asyncio.ensure_future(connection.call_raw("_ask"))
    request = await peer.asked_for("_ask")
    peer.send({"jsonrpc": "2.0", "id": request["id"], "error": {"code": 4711, "message": "m", "data": [1]}})
    with pytest.raises(RpcError) as caught:
        await call
    assert (caught.value.code, caught.value.message, caught.value.data) == (4711, "m", [1])


async def test_our_calls_are_bounded() -> None:
    connection, peer = connected(limits=ConnectionLimits(peer=PeerLimits(open_calls=1)))
    connection.start()
    call = asyncio.ensure_future(connection.call_raw("_ask"))
    await peer.asked_for("_ask")
    with pytest.raises(LimitError):
        await connection.call_raw("_ask")
    peer.reply(peer.asked[0], 1)
    await call


async def test_what_cannot_be_encoded_is_not_sent_w_7() -> None:
    connection, peer = connected()
    connection.start()
    from roost.errors import CodecError

    with pytest.raises(CodecError):
        connection.notify_raw("_x", {"n": float("inf")})
    with pytest.raises(CodecError):
        await connection.call_raw("_x", {"s": "\ud800"})
    await ping(connection, peer)
    assert len(peer.messages) == 1
