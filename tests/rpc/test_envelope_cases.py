"""The conformance cases E-… that concern a connection without handlers: given what came, what is sent and what is told.

Named by case. E-06, E-15, E-16, E-19, E-32, E-38, E-40, E-41, E-44 need methods, handlers or an application.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from roost.errors import ConnectionClosed, RemoteProtocolError, RpcError
from roost.rpc.messages import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    REQUEST_CANCELLED,
)
from roost.rpc.peer import Answered, Called, Failed, Malformed, Notified, Peer, Unmatched, Withdrawn


def request(raw_id: str = "1", method: str = "x", params: str = "{}") -> bytes:
    return f'{{"jsonrpc":"2.0","id":{raw_id},"method":"{method}","params":{params}}}'.encode()


def notification(method: str, params: str = "{}") -> bytes:
    return f'{{"jsonrpc":"2.0","method":"{method}","params":{params}}}'.encode()


def response(raw_id: object, result: str = "{}") -> bytes:
    return f'{{"jsonrpc":"2.0","id":{raw_id},"result":{result}}}'.encode()


def batch(*items: bytes) -> bytes:
    return b"[" + b",".join(items) + b"]"


def sent(peer: Peer) -> list[Any]:
    return [json.loads(message) for message in peer.outgoing()]


def the_error(peer: Peer) -> tuple[int, Any]:
    """Code and id of the one error sent."""
    (message,) = sent(peer)
    assert message.keys() == {"jsonrpc", "id", "error"}
    return message["error"]["code"], message["id"]


def token_of(peer: Peer, message: bytes) -> int:
    (event,) = peer.receive(message)
    assert isinstance(event, Called)
    return event.token


def works(peer: Peer) -> bool:
    peer.answer(token_of(peer, request('"still there"')), b"true")
    return sent(peer) == [{"jsonrpc": "2.0", "id": "still there", "result": True}]


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


def test_e23_a_batch_is_answered_by_one_array() -> None:
    peer = Peer()
    first, told, second = peer.receive(batch(request("1"), notification("n"), request('"1"')))
    assert isinstance(first, Called)
    assert isinstance(told, Notified)
    assert isinstance(second, Called)
    peer.answer(second.token, b'"b"')
    assert peer.outgoing() == []
    peer.answer(first.token, b'"a"')
    (array,) = sent(peer)
    assert sorted((repr(reply["id"]), reply["result"]) for reply in array) == [("'1'", "b"), ("1", "a")]


@pytest.mark.parametrize("message", [b"[]", b" [ ] "])
def test_e24_an_empty_batch_is_one_invalid_request_and_no_array(message: bytes) -> None:
    peer = Peer()
    peer.receive(message)
    assert the_error(peer) == (INVALID_REQUEST, None)


def test_e25_an_invalid_element_has_its_own_error_beside_its_valid_siblings() -> None:
    peer = Peer()
    events = peer.receive(batch(b"1", request("4"), b'{"foo":1}', b"[]", b"null"))
    assert [type(event) for event in events] == [Malformed, Called, Malformed, Malformed, Malformed]
    assert peer.outgoing() == []
    peer.answer(1, b'"r"')
    (array,) = sent(peer)
    assert sorted((str(reply["id"]), reply.get("error", {}).get("code")) for reply in array) == [
        ("4", None),
        *[("None", INVALID_REQUEST)] * 4,
    ]


def test_e25_a_batch_of_only_invalid_elements_is_answered_at_once() -> None:
    peer = Peer()
    peer.receive(b"[1,2,3]")
    (array,) = sent(peer)
    assert [(reply["error"]["code"], reply["id"]) for reply in array] == [(INVALID_REQUEST, None)] * 3


@pytest.mark.parametrize(
    "message",
    [
        batch(notification("a"), notification("$/b"), notification("c", "[]")),
        batch(response(7), b'{"jsonrpc":"2.0","id":8}'),
    ],
)
def test_e26_a_batch_without_requests_is_silence(message: bytes) -> None:
    peer = Peer()
    peer.receive(message)
    assert peer.outgoing() == []


@pytest.mark.parametrize("message", [b"[", b'[{"jsonrpc":"2.0","id":1,"method":"x"}', batch(request(), b'{"a"')])
def test_e27_a_truncated_batch_is_one_parse_error(message: bytes) -> None:
    peer = Peer()
    (event,) = peer.receive(message)
    assert isinstance(event, Malformed)
    assert the_error(peer) == (PARSE_ERROR, None)


def test_e28_a_slow_element_holds_its_batch_and_nothing_else() -> None:
    peer = Peer()
    peer.receive(batch(request('"slow"'), request('"fast"')))
    peer.answer(2, b"{}")
    assert works(peer)
    peer.receive(batch(request('"other"')))
    peer.answer(4, b"{}")
    assert sent(peer) == [[{"jsonrpc": "2.0", "id": "other", "result": {}}]]
    peer.answer(1, b"{}")
    (array,) = sent(peer)
    assert {reply["id"] for reply in array} == {"slow", "fast"}


def test_e29_a_batch_of_responses_resolves_each_call() -> None:
    peer = Peer()
    first, second = peer.call("x", None), peer.call("y", None)
    peer.outgoing()
    error = b'{"jsonrpc":"2.0","id":%d,"error":{"code":5,"message":"m"}}' % first
    failed, answered = peer.receive(batch(error, response(second)))
    assert isinstance(failed, Failed)
    assert isinstance(failed.error, RpcError)
    assert failed.error.code == 5
    assert isinstance(answered, Answered)
    assert answered.call == second
    assert peer.outgoing() == []


def test_e30_the_notifications_of_a_batch_come_in_order() -> None:
    events = Peer().receive(batch(*(notification("session/update", f'{{"text":"{c}"}}') for c in "ABC")))
    assert [json.loads(bytes(event.params))["text"] for event in events if isinstance(event, Notified)] == [
        "A",
        "B",
        "C",
    ]


def test_e31_duplicate_ids_in_a_batch_have_a_slot_each() -> None:
    peer = Peer()
    peer.receive(batch(request("1"), request("1")))
    peer.answer(1, b'"a"')
    peer.answer(2, b'"b"')
    (array,) = sent(peer)
    assert [(reply["id"], reply["result"]) for reply in array] == [(1, "a"), (1, "b")]


def test_bat11_a_mixed_batch_is_taken_element_by_element() -> None:
    peer = Peer()
    call = peer.call("x", None)
    peer.outgoing()
    events = peer.receive(batch(response(call), request("9"), notification("n"), b'{"jsonrpc":"2.0","id":77}'))
    assert [type(event) for event in events] == [Answered, Called, Notified, Malformed]
    peer.answer(1, b"{}")
    assert sent(peer) == [[{"jsonrpc": "2.0", "id": 9, "result": {}}]]


@pytest.mark.parametrize(
    "params",
    [
        '{"requestId":99}',
        '{"requestId":1.5}',
        '{"requestId":{"a":"\\n"}}',
        '{"requestId":["\\u0031"]}',
        '{"requestId":true}',
        "{}",
        "[]",
        "5",
        "null",
    ],
)
def test_e33_a_withdrawal_of_nothing_is_silence(params: str) -> None:
    peer = Peer()
    peer.receive(request())
    events = peer.receive(notification("$/cancel_request", params))
    assert not any(isinstance(event, Withdrawn) for event in events)
    assert peer.receive(b'{"jsonrpc":"2.0","method":"$/cancel_request"}') == []
    assert peer.outgoing() == []


def test_e34_a_withdrawn_request_is_still_answered_once() -> None:
    peer = Peer()
    for raw_id in ("7", '"7"', "null"):
        token = token_of(peer, request(raw_id))
        cancel = notification("$/cancel_request", f'{{"requestId":{raw_id}}}')
        assert peer.receive(cancel) == [Withdrawn(token)]
        assert peer.receive(cancel) == []  # told once
        peer.fail(token, RpcError(REQUEST_CANCELLED, "Request cancelled"))
        assert the_error(peer) == (REQUEST_CANCELLED, json.loads(raw_id))


def test_e35_a_withdrawal_of_what_is_answered_is_silence() -> None:
    peer = Peer()
    peer.answer(token_of(peer, request("7")), b"{}")
    peer.outgoing()
    assert peer.receive(notification("$/cancel_request", '{"requestId":7}')) == []
    assert peer.outgoing() == []


@pytest.mark.parametrize(("open_id", "cancelled"), [('"1"', "1"), ("1", '"1"'), ("null", '"null"'), ("1", "1.0")])
def test_e36_an_id_of_another_type_is_another_id(open_id: str, cancelled: str) -> None:
    peer = Peer()
    peer.receive(request(open_id))
    assert peer.receive(notification("$/cancel_request", f'{{"requestId":{cancelled}}}')) == []


def test_e36_another_spelling_of_the_same_string_is_the_same_id() -> None:
    peer = Peer()
    token = token_of(peer, request('"a"'))
    assert peer.receive(notification("$/cancel_request", '{"requestId":"\\u0061"}')) == [Withdrawn(token)]


def test_e37_a_call_is_withdrawn_once_and_its_late_response_is_ignored_when_forgotten() -> None:
    peer = Peer()
    call = peer.call("x", None)
    peer.outgoing()
    peer.withdraw(call)
    peer.withdraw(call)
    assert sent(peer) == [{"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": call}}]
    peer.forget(call)
    assert [type(event) for event in peer.receive(response(call))] == [Unmatched]
    peer.withdraw(call)
    assert peer.outgoing() == []


@pytest.mark.parametrize("params", ["{}", "[]", "5"])
def test_e39_an_unknown_protocol_notification_is_silence(params: str) -> None:
    peer = Peer()
    assert not any(isinstance(event, Notified) for event in peer.receive(notification("$/unknown", params)))
    assert peer.outgoing() == []


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
