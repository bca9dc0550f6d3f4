"""ENV-7 to ENV-17, ID-2, ID-4, BAT-5: what a connection does with the requests and notifications of its peer."""

from __future__ import annotations

import asyncio
import gc
import json
from typing import Any

import pytest

from roost.acp import v2
from roost.errors import LocalProtocolError, RpcError
from roost.rpc.limits import PeerLimits
from roost.sdk.incoming import DEFERRED, Incoming
from roost.sdk.limits import ConnectionLimits

from .connection_pair import chunk, connected, ping


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
