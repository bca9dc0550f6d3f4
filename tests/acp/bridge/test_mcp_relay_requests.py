"""What passes between an agent and a client's own MCP server over a relay (MCP-10)."""

from __future__ import annotations

from typing import Any

import pytest

from roost.rpc.messages import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, REQUEST_CANCELLED

from .relay_rig import CLOCK, RelayRig, connected
from .rig import CWD, Json

HELLO = {"id": 0, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}}


def test_what_the_program_says_reaches_the_client_without_its_ids() -> None:
    rig = connected()
    rig.say(HELLO)
    request = rig.from_client()
    assert request["method"] == "mcp/message"
    assert request["params"] == {
        "connectionId": "conn-1",
        "method": "initialize",
        "params": {"protocolVersion": "2025-06-18"},
    }
    rig.answer(request["id"], {"serverInfo": {"name": "clock"}})
    assert rig.heard() == [{"jsonrpc": "2.0", "id": 0, "result": {"serverInfo": {"name": "clock"}}}]
    rig.say({"method": "notifications/initialized"})
    assert rig.from_client() == {
        "jsonrpc": "2.0",
        "method": "mcp/message",
        "params": {"connectionId": "conn-1", "method": "notifications/initialized"},
    }


@pytest.mark.parametrize("result", [None, 7, "text", [], {"a": [1]}, True])
def test_any_result_is_the_bare_inner_result(result: Any) -> None:
    rig = connected()
    rig.say({"id": "x", "method": "tools/list"})
    rig.answer(rig.from_client()["id"], result)
    assert rig.heard() == [{"jsonrpc": "2.0", "id": "x", "result": result}]


def test_an_error_of_the_server_keeps_its_code_and_data() -> None:
    rig = connected()
    rig.say({"id": 1, "method": "tools/call", "params": {"name": "x"}})
    error = {"code": METHOD_NOT_FOUND, "message": "no such tool", "data": {"tool": "x"}}
    rig.north_sends({"id": rig.from_client()["id"], "error": error})
    assert rig.heard() == [{"jsonrpc": "2.0", "id": 1, "error": error}]


def test_requests_of_two_programs_with_the_same_ids_are_kept_apart() -> None:
    rig = connected()
    rig.connect(2, 1, "conn-2")
    rig.say({"id": 1, "method": "a"}, channel=1)
    rig.say({"id": 1, "method": "b"}, channel=2)
    one, two = rig.north()
    assert one["params"]["connectionId"], two["params"]["connectionId"] == ("conn-1", "conn-2")
    rig.answer(two["id"], "two")
    assert rig.heard(2) == [{"jsonrpc": "2.0", "id": 1, "result": "two"}]
    rig.answer(one["id"], "one")
    assert rig.heard(1) == [{"jsonrpc": "2.0", "id": 1, "result": "one"}]


def test_what_comes_before_the_client_has_answered_waits_in_order() -> None:
    rig = RelayRig()
    rig.ask("session/new", {"cwd": CWD, "mcpServers": [CLOCK]})
    (relay,) = rig.offer()
    rig.mcp.connected(1, relay)  # while session/new is open, as many agents do
    rig.say(HELLO)
    rig.say({"method": "notifications/initialized"})
    connect = rig.from_client()
    assert connect["params"] == {"serverId": "srv-1"}
    rig.answer(connect["id"], {"connectionId": "c"})
    assert [message["params"]["method"] for message in rig.north()] == ["initialize", "notifications/initialized"]


def test_a_refused_connect_is_the_answer_to_every_request() -> None:
    rig = RelayRig()
    rig.open_with(CLOCK)
    rig.mcp.connected(1, 1)
    rig.say(HELLO)
    refusal = {"code": -32602, "message": "no such server"}
    rig.north_sends({"id": rig.from_client()["id"], "error": refusal})
    assert rig.heard() == [{"jsonrpc": "2.0", "id": 0, "error": refusal}]
    rig.say({"method": "notifications/initialized"})
    rig.say({"id": 1, "method": "tools/list"})
    assert rig.heard() == [{"jsonrpc": "2.0", "id": 1, "error": refusal}]
    rig.mcp.closed(1)
    assert rig.north() == []  # there is nothing to disconnect


@pytest.mark.parametrize("result", [{}, {"connectionId": 7}, {"connectionId": "conn-1"}])
def test_a_connection_that_is_not_fresh_is_none(result: Json) -> None:
    rig = connected()
    rig.mcp.connected(2, 1)
    rig.answer(rig.from_client()["id"], result)
    rig.say(HELLO, channel=2)
    (refused,) = rig.heard(2)
    assert refused["error"]["code"] == INTERNAL_ERROR
    rig.say(HELLO, channel=1)
    assert rig.from_client()["params"]["connectionId"] == "conn-1"


def test_a_client_that_is_gone_cannot_be_connected_to() -> None:
    rig = RelayRig()
    rig.open_with(CLOCK)
    rig.bridge.client.end("gone")
    rig.mcp.connected(1, 1)
    rig.say(HELLO)
    (refused,) = rig.heard()
    assert refused["error"]["code"] == INTERNAL_ERROR


def test_parameters_that_are_no_object_are_refused_on_a_request_and_drop_a_notification() -> None:
    rig = connected()
    rig.say({"id": 1, "method": "a", "params": [1]})
    (refused,) = rig.heard()
    rig.say({"method": "b", "params": [1]})
    assert rig.north() == []
    assert refused["error"]["code"] == INVALID_PARAMS


def test_a_cancelled_request_is_withdrawn_from_the_client_and_never_answered() -> None:
    rig = connected()
    rig.say({"id": 5, "method": "tools/call"})
    request = rig.from_client()
    rig.say({"method": "notifications/cancelled", "params": {"requestId": 5, "reason": "enough"}})
    assert rig.from_client() == {
        "jsonrpc": "2.0",
        "method": "$/cancel_request",
        "params": {"requestId": request["id"]},
    }
    rig.north_sends({"id": request["id"], "error": {"code": REQUEST_CANCELLED, "message": "cancelled"}})
    assert rig.heard() == []


@pytest.mark.parametrize("request_id", [6, "5", None, [5]])
def test_cancelling_what_is_not_open_does_nothing(request_id: Any) -> None:
    rig = connected()
    rig.say({"id": 5, "method": "tools/call"})
    request = rig.from_client()
    rig.say({"method": "notifications/cancelled", "params": {"requestId": request_id}})
    assert rig.north() == []
    rig.answer(request["id"], 1)
    assert len(rig.heard()) == 1


def test_a_request_cancelled_before_the_client_has_answered_is_not_sent() -> None:
    rig = RelayRig()
    rig.open_with(CLOCK)
    rig.mcp.connected(1, 1)
    rig.say({"id": 1, "method": "a"})
    rig.say({"id": 2, "method": "b"})
    rig.say({"method": "notifications/cancelled", "params": {"requestId": 1}})
    rig.answer(rig.from_client()["id"], {"connectionId": "c"})
    assert rig.from_client()["params"]["method"] == "b"


def test_a_line_that_is_no_message_is_passed_over() -> None:
    rig = connected()
    rig.mcp.said(1, b"Starting up ...")
    rig.mcp.said(1, b'{"jsonrpc":"2.0","id":99,"result":1}')
    assert rig.heard() == []
    assert rig.north() == []


def test_a_batch_is_taken_apart_and_answered_as_one() -> None:
    rig = connected()
    rig.mcp.said(1, b'[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","id":2,"method":"b"}]')
    one, two = rig.north()
    rig.answer(one["id"], "one")
    assert rig.heard() == []
    rig.say({"method": "notifications/cancelled", "params": {"requestId": 2}})
    rig.north()
    ((first, second),) = rig.heard()  # the batch is answered as a whole
    assert first["result"] == "one"
    assert second["error"]["code"] == REQUEST_CANCELLED
    assert two["params"]["method"] == "b"


# ---- the server's requests


def test_a_request_of_the_server_goes_to_the_program_under_an_id_of_ours() -> None:
    rig = connected()
    params = {"connectionId": "conn-1", "method": "sampling/createMessage", "params": {"maxTokens": 1}}
    id = rig.ask("mcp/message", params)
    (request,) = rig.heard()
    assert (request["method"], request["params"]) == ("sampling/createMessage", {"maxTokens": 1})
    rig.say({"id": request["id"], "result": {"role": "assistant"}})
    assert rig.from_client() == {"jsonrpc": "2.0", "id": id, "result": {"role": "assistant"}}
    assert rig.south() == []  # the agent's own connection knows nothing of it


def test_an_error_of_the_agent_is_the_servers_answer() -> None:
    rig = connected()
    rig.ask("mcp/message", {"connectionId": "conn-1", "method": "roots/list"})
    (request,) = rig.heard()
    assert "params" not in request
    rig.say({"id": request["id"], "error": {"code": -32601, "message": "no roots"}})
    assert rig.from_client()["error"] == {"code": -32601, "message": "no roots"}


def test_a_notification_of_the_server_goes_to_the_program() -> None:
    rig = connected()
    rig.tell("mcp/message", {"connectionId": "conn-1", "method": "notifications/tools/list_changed"})
    assert rig.heard() == [{"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}]


def test_a_request_the_server_withdraws_is_cancelled_in_mcps_own_way() -> None:
    rig = connected()
    id = rig.ask("mcp/message", {"connectionId": "conn-1", "method": "roots/list"})
    (request,) = rig.heard()
    rig.tell("$/cancel_request", {"requestId": id})
    assert rig.heard() == [
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": request["id"]}}
    ]
    assert rig.from_client()["error"]["code"] == REQUEST_CANCELLED
    rig.say({"id": request["id"], "result": {}})
    assert rig.north() == []


def test_a_connection_nobody_knows_is_refused_and_its_notification_ignored() -> None:
    rig = connected()
    rig.ask("mcp/message", {"connectionId": "other", "method": "roots/list"})
    error = rig.from_client()["error"]
    assert (error["code"], error["data"]) == (INVALID_PARAMS, {"path": "connectionId"})
    for params in ({"connectionId": "other", "method": "x"}, {"method": "x"}, {}):
        rig.tell("mcp/message", params)
    assert rig.gather() == []
