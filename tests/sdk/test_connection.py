"""ENV-7 to ENV-20, CAN-1 to CAN-13, E-cases: the connection both roles share."""

from __future__ import annotations

import asyncio
import gc
import json
from typing import Any

import pytest

from roost.acp import v2
from roost.errors import (
    ConnectionClosed,
    LimitError,
    LocalProtocolError,
    RemoteProtocolError,
    RpcError,
)
from roost.rpc.limits import PeerLimits
from roost.rpc.peer import Malformed, Unmatched
from roost.sdk.connection import Connection
from roost.sdk.incoming import DEFERRED, Incoming
from roost.sdk.limits import ConnectionLimits
from roost.transport.messages import message_pair

from .raw_client import Json, RawClient, eventually

Pair = tuple[Connection, RawClient]


def connected(**more: Any) -> Pair:
    """A connection, not started, and a raw peer."""
    here, there = message_pair()
    return Connection(there, **more), RawClient(here)


def chunk(text: str) -> Json:
    update = {"sessionUpdate": "agent_message_chunk", "messageId": "m", "content": {"type": "text", "text": text}}
    return {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": update}}


async def ping(connection: Connection, peer: RawClient) -> None:
    """Everything the peer sent so far has been handled, and its answers have come."""
    connection.on_request("_ping", lambda params, incoming: 1)
    await peer.call("_ping")


# ---- requests of the peer


async def test_e_04_e_05_unknown_requests_are_refused_and_notifications_ignored_env_8() -> None:
    connection, peer = connected()
    connection.start()
    peer.notify("nonsense", {})
    error = await peer.error("nonsense", {})
    assert error == {"code": -32601, "message": "Method not found", "data": {"method": "nonsense"}}
    assert len(peer.messages) == 1


@pytest.mark.parametrize("params", [None, [], 5, "x", {}, {"cwd": 5}])
async def test_e_07_params_that_do_not_fit_are_invalid_env_4_env_14(params: Any) -> None:
    connection, peer = connected()
    connection.on_request("session/new", lambda request, incoming: v2.NewSessionResponse(session_id="s"))
    connection.start()
    assert (await peer.error("session/new", params))["code"] == -32602
    assert await peer.call("session/new", {"cwd": "/w"}) == {"sessionId": "s"}


async def test_the_path_of_what_is_wrong_is_told_and_never_the_value_env_14() -> None:
    connection, peer = connected()
    connection.on_request("session/prompt", lambda request, incoming: None)
    connection.start()
    params = {"sessionId": "s", "prompt": [{"type": "text", "text": "x"}, {"type": "text", "text": {"secret": 1}}]}
    error = await peer.error("session/prompt", params)
    assert error["data"] == {"path": "prompt[1].text"}
    assert "secret" not in json.dumps(error)


async def test_e_06_a_bad_notification_is_dropped_env_7(caplog: pytest.LogCaptureFixture) -> None:
    connection, peer = connected()
    got: list[Any] = []
    connection.on_notification("session/update", got.append)
    connection.start()
    peer.notify("session/update", {"sessionId": "s"})
    peer.send(chunk("x"))
    await ping(connection, peer)
    assert len(got) == 1
    assert "dropped session/update" in caplog.text
    assert len(peer.messages) == 1


@pytest.mark.parametrize("asynchronous", [True, False])
async def test_e_15_what_a_handler_raises_stays_here_env_15(
    asynchronous: bool, caplog: pytest.LogCaptureFixture
) -> None:
    connection, peer = connected()

    def fails(params: Any, incoming: Incoming) -> Any:
        raise RuntimeError("secret 4711")

    async def fails_later(params: Any, incoming: Incoming) -> Any:
        raise RuntimeError("secret 4711")

    connection.on_request("_x", fails_later if asynchronous else fails)
    connection.start()
    assert await peer.error("_x") == {"code": -32603, "message": "Internal error"}
    assert "secret 4711" in caplog.text


async def test_an_rpc_error_is_sent_as_it_is_and_one_that_cannot_be_is_internal_err_1() -> None:
    connection, peer = connected()
    errors = iter([RpcError(4711, "mine", {"a": [None]}), RpcError(2**40, "huge"), RpcError(1, "x", object())])

    def fails(params: Any, incoming: Incoming) -> Any:
        raise next(errors)

    connection.on_request("_x", fails)
    connection.start()
    assert await peer.error("_x") == {"code": 4711, "message": "mine", "data": {"a": [None]}}
    for _ in range(2):
        assert (await peer.error("_x"))["code"] == -32603


async def test_a_result_that_cannot_be_sent_is_an_internal_error_env_17() -> None:
    connection, peer = connected()
    connection.on_request("_x", lambda params, incoming: float("nan"))
    connection.start()
    assert (await peer.error("_x"))["code"] == -32603


async def test_e_16_a_request_that_is_forgotten_is_answered_all_the_same_env_17() -> None:
    connection, peer = connected()
    kept: list[Incoming] = []

    def defers(params: Any, incoming: Incoming) -> Any:
        kept.append(incoming)
        return DEFERRED

    connection.on_request("_x", defers)
    connection.start()
    forgotten, answered = peer.request("_x"), peer.request("_x")
    await ping(connection, peer)
    assert peer.responses(forgotten) == []
    kept[1].answer({"late": True})
    kept.clear()
    gc.collect()
    assert (await peer.response(forgotten))["error"]["code"] == -32603
    assert (await peer.response(answered))["result"] == {"late": True}
    await ping(connection, peer)
    assert len(peer.responses(forgotten)) == len(peer.responses(answered)) == 1


async def test_a_second_answer_is_not_sent_env_17() -> None:
    connection, peer = connected()

    def twice(params: Any, incoming: Incoming) -> Any:
        incoming.answer(1)
        incoming.fail(RpcError(1, "x"))
        return 2

    connection.on_request("_x", twice)
    connection.start()
    id = peer.request("_x")
    await ping(connection, peer)
    assert [r["result"] for r in peer.responses(id)] == [1]
    assert connection.open_requests == 0


async def test_e_08_ids_come_back_as_they_were_id_2() -> None:
    connection, peer = connected()
    connection.on_request("_x", lambda params, incoming: repr(incoming.id))
    connection.start()
    for id in ("abc", 0, -1, 2**63 - 1, "1", 1):
        peer.send({"jsonrpc": "2.0", "id": id, "method": "_x"})
        assert (await peer.response(id))["result"] == repr(id)
    peer.send({"jsonrpc": "2.0", "id": None, "method": "_x"})
    await peer.until(lambda: peer.messages[-1]["id"] is None)


async def test_e_22_one_id_twice_gets_two_responses_id_4() -> None:
    connection, peer = connected()
    gate = asyncio.Event()

    async def slow(params: Any, incoming: Incoming) -> Any:
        await gate.wait()
        return 1

    connection.on_request("_x", slow)
    connection.start()
    peer.send(*[{"jsonrpc": "2.0", "id": 5, "method": "_x"}] * 2)
    await ping(connection, peer)
    gate.set()
    await peer.until(lambda: len(peer.responses(5)) == 2)


async def test_e_23_e_28_a_batch_is_answered_by_one_array_and_holds_nobody_up_bat_5_env_20() -> None:
    connection, peer = connected()
    gate = asyncio.Event()
    heard: list[Any] = []

    async def slow(params: Any, incoming: Incoming) -> Any:
        await gate.wait()
        return "slow"

    connection.on_request("_slow", slow)
    connection.on_request("_fast", lambda params, incoming: "fast")
    connection.on_notification("_note", heard.append)
    connection.start()
    peer.send([peer.message("_slow", {}, 1), peer.message("_note", {"n": 1}), peer.message("_fast", {}, 2), 5])
    assert await peer.call("_fast") == "fast"
    assert len(peer.messages) == 1
    gate.set()
    batch: Any = await peer.until(lambda: len(peer.messages) == 2 and peer.messages[1])
    assert {r["id"]: r.get("result") for r in batch} == {1: "slow", 2: "fast", None: None}
    assert heard == [{"n": 1}]


async def test_e_30_a_batch_of_notifications_is_applied_in_order_bat_9() -> None:
    connection, peer = connected()
    got: list[str] = []
    connection.on_notification("session/update", lambda n: got.append(n.update.content.text))
    connection.start()
    peer.send([chunk("A"), chunk("B"), chunk("C")])
    await ping(connection, peer)
    assert got == ["A", "B", "C"]
    assert len(peer.messages) == 1


async def test_e_39_other_protocol_level_messages_mean_nothing_can_2() -> None:
    connection, peer = connected()
    connection.start()
    peer.notify("$/unknown", {})
    assert (await peer.error("$/unknown", {}))["code"] == -32601


async def test_requests_are_bounded() -> None:
    connection, peer = connected(limits=ConnectionLimits(peer=PeerLimits(open_requests=3)))
    connection.on_request("_x", lambda params, incoming: asyncio.Event().wait())
    connection.start()
    for _ in range(3):
        peer.request("_x")
    error = await peer.error("_x")
    assert (error["code"], error["data"]["limit"]) == (-32005, "open_requests")


async def test_a_handler_is_registered_for_what_exists_or_is_an_extension_ext_3() -> None:
    connection, _ = connected()
    with pytest.raises(LocalProtocolError):
        connection.on_request("session/nonsense", lambda params, incoming: None)
    with pytest.raises(LocalProtocolError):
        connection.on_notification("session/new", lambda params: None)
    connection.on_request("session/nonsense", lambda params, incoming: None, raw=True)


async def test_raw_handlers_see_the_params_as_they_came() -> None:
    connection, peer = connected()
    seen: list[Any] = []
    connection.on_request(
        "session/new", lambda params, incoming: seen.append((bytes(params), incoming.message)), raw=True
    )
    connection.start()
    peer.send(b'{"jsonrpc":"2.0","id":1,"method":"session/new","params":{ "cwd" : 5 }}')
    assert (await peer.response(1))["result"] == {}
    assert seen[0][0] == b'{ "cwd" : 5 }'
    assert seen[0][1].startswith(b'{"jsonrpc"')


async def test_l20_what_leniency_drops_is_logged_with_its_path_and_without_its_value(
    caplog: pytest.LogCaptureFixture,
) -> None:
    connection, peer = connected()
    seen: list[Any] = []

    def new(request: Any, incoming: Incoming) -> Any:
        seen.append([path for path, _ in incoming.losses])

    connection.on_request("session/new", new)
    connection.start()
    for _ in range(300):
        await peer.call("session/new", {"cwd": "/w", "mcpServers": [{"type": "stdio", "secret": "4711"}]})
    assert seen[0] == [("mcpServers", 0)]
    assert "mcpServers[0]" in caplog.text
    assert "4711" not in caplog.text
    assert len(caplog.records) <= 100


# ---- withdrawal


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


# ---- our calls


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


# ---- notifications that take time


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


# ---- writing


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


# ---- the end


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
