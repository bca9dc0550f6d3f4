"""The conformance cases E-23 to E-31: batches."""

from __future__ import annotations

import json

import pytest

from roost.errors import RpcError
from roost.rpc.messages import INVALID_REQUEST, PARSE_ERROR
from roost.rpc.peer import Answered, Called, Failed, Malformed, Notified, Peer, Withdrawn
from tests.rpc.envelope_parts import notification, request, response, the_error, works
from tests.rpc.envelopes import sent


def batch(*items: bytes) -> bytes:
    return b"[" + b",".join(items) + b"]"


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
