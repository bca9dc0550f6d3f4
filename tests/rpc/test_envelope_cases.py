"""The conformance cases E-… that concern a connection without handlers: what came, what is sent, what is told."""

from __future__ import annotations

import json

import pytest

from roost.errors import ConnectionClosed, RemoteProtocolError, RpcError
from roost.rpc.messages import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR
from roost.rpc.peer import Answered, Called, Failed, Malformed, Notified, Peer, Unmatched
from tests.rpc.envelope_parts import notification, request, response, the_error, token_of, works
from tests.rpc.envelopes import sent


@pytest.mark.parametrize("line", [b"{", b"", b"log: hello", b'{"jsonrpc":"2.0","id":1,"method":"x"', b'"\xff"'])
def test_e01_what_is_no_json_gets_one_parse_error_and_the_connection_goes_on(line: bytes) -> None:
    peer = Peer()
    (event,) = peer.receive(line)
    assert isinstance(event, Malformed)
    assert event.code == PARSE_ERROR
    assert the_error(peer) == (PARSE_ERROR, None)
    assert works(peer)


@pytest.mark.parametrize("line", [b"5", b'"x"', b"{}", b'{"jsonrpc":"2.0"}', b"null", b"true"])
def test_e02_json_that_is_no_message_is_an_invalid_request(line: bytes) -> None:
    peer = Peer()
    (event,) = peer.receive(line)
    assert isinstance(event, Malformed)
    assert the_error(peer) == (INVALID_REQUEST, None)
    assert works(peer)


@pytest.mark.parametrize("version", [b'"jsonrpc":"1.0",', b'"jsonrpc":2.0,', b'"jsonrpc":null,', b""])
def test_e03_another_jsonrpc_version_is_an_invalid_request(version: bytes) -> None:
    peer = Peer()
    peer.receive(b"{" + version + b'"id":1,"method":"x"}')
    assert the_error(peer) == (INVALID_REQUEST, 1)


def test_e04_a_request_that_is_failed_with_method_not_found_says_so_under_its_id() -> None:
    peer = Peer()
    peer.fail(token_of(peer, request("7", "no/such")), RpcError(METHOD_NOT_FOUND, "Method not found"))
    assert the_error(peer) == (METHOD_NOT_FOUND, 7)


def test_e05_any_notification_is_silence() -> None:
    peer = Peer()
    (event,) = peer.receive(notification("no/such"))
    assert isinstance(event, Notified)
    assert peer.outgoing() == []


@pytest.mark.parametrize("params", ["[]", "5", '"x"', "true"])
def test_e06_a_notification_whose_params_are_no_object_is_silence(params: str) -> None:
    peer = Peer()
    (event,) = peer.receive(notification("x", params))
    assert isinstance(event, Malformed)
    assert event.code == INVALID_PARAMS
    assert peer.outgoing() == []
    assert works(peer)


@pytest.mark.parametrize("params", ["[]", "[1]", "5", '"x"', "true"])
def test_e07_params_that_are_no_object_are_invalid_params(params: str) -> None:
    peer = Peer()
    (event,) = peer.receive(request("1", "x", params))
    assert isinstance(event, Malformed)
    assert the_error(peer) == (INVALID_PARAMS, 1)


@pytest.mark.parametrize("message", [request(params="null"), b'{"jsonrpc":"2.0","id":1,"method":"x"}'])
def test_e07_missing_and_null_params_are_left_to_the_method(message: bytes) -> None:
    (event,) = Peer().receive(message)
    assert isinstance(event, Called)
    assert event.params is None


@pytest.mark.parametrize(
    "raw_id",
    ['"abc"', "0", "-1", "-0", "9223372036854775807", "-9223372036854775808", "null", '"1"', '""', '"\\u0031"'],
)
def test_e08_an_id_is_echoed_to_the_byte(raw_id: str) -> None:
    peer = Peer()
    for _ in range(2):
        (event,) = peer.receive(request(raw_id))
        assert isinstance(event, Called)
        assert event.raw_id == raw_id.encode()
    peer.answer(1, b"{}")
    peer.fail(2, RpcError(1, "m"))
    succeeded, failed = peer.outgoing()
    assert succeeded == b'{"jsonrpc":"2.0","id":' + raw_id.encode() + b',"result":{}}'
    assert failed.startswith(b'{"jsonrpc":"2.0","id":' + raw_id.encode() + b',"error":')


@pytest.mark.parametrize("raw_id", ["1.5", "1.0", "1e2", "true", "{}", "[1]", "9223372036854775808"])
def test_e09_an_illegal_id_is_an_invalid_request(raw_id: str) -> None:
    peer = Peer()
    (event,) = peer.receive(request(raw_id))
    assert isinstance(event, Malformed)
    assert the_error(peer) == (INVALID_REQUEST, None)


@pytest.mark.parametrize("raw_id", ["99", '"1"', "1.0", "null", "[1]", "true"])
def test_e10_a_response_to_no_call_is_ignored(raw_id: str) -> None:
    peer = Peer()
    call = peer.call("x", None)
    peer.outgoing()
    (event,) = peer.receive(response(raw_id))
    assert isinstance(event, Unmatched | Malformed)
    assert peer.outgoing() == []
    (event,) = peer.receive(response(call))
    assert isinstance(event, Answered)


def test_e11_a_second_response_is_ignored() -> None:
    peer = Peer()
    call = peer.call("x", None)
    assert [type(event) for event in peer.receive(response(call))] == [Answered]
    assert [type(event) for event in peer.receive(response(call))] == [Unmatched]
    peer.outgoing()
    assert works(peer)


@pytest.mark.parametrize(
    "members",
    [
        '"result":1,"error":{"code":1,"message":"m"}',
        '"result":1,"error":null',
        '"error":null',
        '"error":"boom"',
        '"error":{"code":"x","message":"m"}',
        '"result":"\\ud800","error":{}',
    ],
)
def test_e12_a_malformed_response_fails_its_call_and_nothing_is_sent(members: str) -> None:
    peer = Peer()
    call = peer.call("x", None)
    peer.outgoing()
    (event,) = peer.receive(f'{{"jsonrpc":"2.0","id":{call},{members}}}'.encode())
    assert isinstance(event, Failed)
    assert event.call == call
    assert isinstance(event.error, RemoteProtocolError)
    assert peer.outgoing() == []
    assert peer.open_calls == 0


def test_e13_a_response_with_neither_result_nor_error_fails_its_call_and_nothing_is_sent() -> None:
    peer = Peer()
    call = peer.call("x", None)
    peer.outgoing()
    (event,) = peer.receive(b'{"jsonrpc":"2.0","id":%d}' % call)
    assert isinstance(event, Failed)
    assert isinstance(event.error, RemoteProtocolError)
    assert [type(event) for event in peer.receive(b'{"jsonrpc":"2.0","id":99}')] == [Malformed]
    assert peer.outgoing() == []


def test_e14_a_request_that_is_also_a_response_is_an_invalid_request() -> None:
    peer = Peer()
    call = peer.call("x", None)
    peer.outgoing()
    peer.receive(b'{"method":"x","result":1,"id":1}')
    assert the_error(peer) == (INVALID_REQUEST, 1)
    peer.receive(b'{"jsonrpc":"2.0","method":"x","result":1,"id":1}')
    assert the_error(peer) == (INVALID_REQUEST, 1)
    assert [type(event) for event in peer.receive(response(call))] == [Answered]


def test_e17_every_open_call_fails_when_the_connection_ends() -> None:
    peer = Peer()
    calls = [peer.call("x", None) for _ in range(3)]
    events = peer.end("the agent exited with code 3")
    assert [event.call for event in events if isinstance(event, Failed)] == calls
    for event in events:
        assert isinstance(event, Failed)
        assert isinstance(event.error, ConnectionClosed)
        assert "code 3" in str(event.error)
    assert peer.end("again") == []
    with pytest.raises(ConnectionClosed, match="code 3"):
        peer.call("x", None)
    with pytest.raises(ConnectionClosed, match="code 3"):
        peer.notify("x", None)


def test_e18_a_response_before_the_end_is_delivered_and_what_was_queued_can_still_be_sent() -> None:
    peer = Peer()
    call = peer.call("x", None)
    peer.answer(token_of(peer, request()), b"{}")
    assert [type(event) for event in peer.receive(response(call))] == [Answered]
    assert peer.end("end of stream") == []
    assert len(peer.outgoing()) == 2


def test_e20_a_response_comes_after_the_updates_that_preceded_it() -> None:
    peer = Peer()
    call = peer.call("session/prompt", b"{}")
    events = []
    for message in [notification("session/update", f'{{"n":{n}}}') for n in range(100)] + [response(call)]:
        events += peer.receive(message)
    assert [json.loads(bytes(event.params))["n"] for event in events[:-1]] == list(range(100))
    assert isinstance(events[-1], Answered)


def test_e21_the_same_id_in_both_directions_is_two_requests() -> None:
    peer = Peer()
    call = peer.call("ours", None)
    token = token_of(peer, request(str(call), "theirs"))
    peer.outgoing()
    (event,) = peer.receive(response(call, '"for us"'))
    assert isinstance(event, Answered)
    peer.answer(token, b'"for them"')
    assert sent(peer) == [{"jsonrpc": "2.0", "id": call, "result": "for them"}]


def test_e22_a_duplicate_open_id_is_two_requests() -> None:
    peer = Peer()
    first, second = token_of(peer, request("5")), token_of(peer, request("5"))
    peer.answer(second, b"2")
    peer.answer(first, b"1")
    assert [(message["id"], message["result"]) for message in sent(peer)] == [(5, 2), (5, 1)]


@pytest.mark.parametrize("method", ["$/unknown", "$/cancel_request", "$/"])
def test_can2_a_protocol_request_is_method_not_found(method: str) -> None:
    peer = Peer()
    assert peer.receive(request("3", method, '{"requestId":3}')) == []
    assert the_error(peer) == (METHOD_NOT_FOUND, 3)
    assert peer.open_requests == 0


@pytest.mark.parametrize("result", ["null", "5", "[]", '"x"', "false"])
def test_e42_a_result_may_be_any_json(result: str) -> None:
    peer = Peer()
    call = peer.call("_vendor/x", None)
    (event,) = peer.receive(response(call, result))
    assert isinstance(event, Answered)
    assert bytes(event.result) == result.encode()
    peer.outgoing()
    peer.answer(token_of(peer, request()), result.encode())
    assert peer.outgoing() == [response(1, result)]


def test_e43_twenty_mebibytes_go_each_way() -> None:
    text = b'{"text":"' + b"x" * (20 << 20) + b'"}'
    here, there = Peer(), Peer()
    call = here.call("x", text)
    (message,) = here.outgoing()
    (event,) = there.receive(message)
    assert isinstance(event, Called)
    assert event.params is not None
    assert bytes(event.params) == text
    there.answer(event.token, text)
    (message,) = there.outgoing()
    (answered,) = here.receive(message)
    assert isinstance(answered, Answered)
    assert answered.call == call
    assert bytes(answered.result) == text
