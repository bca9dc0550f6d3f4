"""One side of a connection: calls, requests, withdrawal, the end."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from msgspec import Raw

from roost.errors import CodecError, ConnectionClosed, LocalProtocolError, RpcError
from roost.rpc.peer import Answered, Called, Failed, Notified, Peer, Withdrawn
from tests.rpc.envelopes import cancel, kept_by, request, sent


def test_a_call_carries_its_id_and_its_answer_comes_back_by_it() -> None:
    peer = Peer()
    first, second = peer.call("a", b'{"x":1}'), peer.call("b", None)
    assert peer.outgoing() == [
        b'{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":1}}',
        b'{"jsonrpc":"2.0","id":2,"method":"b"}',
    ]
    assert peer.outgoing() == []
    message = b'{"jsonrpc":"2.0","id":2,"result":[1]}'
    assert peer.receive(message) == [Answered(second, Raw(b"[1]"), message)]
    (failed,) = peer.receive(b'{"jsonrpc":"2.0","id":1,"error":{"code":-32002,"message":"m","data":{"a":[1]}}}')
    assert isinstance(failed, Failed)
    assert failed.call == first
    assert isinstance(failed.error, RpcError)
    assert (failed.error.code, failed.error.message, failed.error.data) == (-32002, "m", {"a": [1]})


def test_ids_start_where_they_are_told_to_and_are_never_used_twice() -> None:  # ID-4
    peer = Peer(first_id=41)
    calls = []
    for _ in range(5):
        calls.append(peer.call("x", None))
        peer.forget(calls[-1])
    assert calls == [41, 42, 43, 44, 45]


def test_a_notification_goes_out_without_an_id() -> None:
    peer = Peer()
    peer.notify("n", None)
    peer.notify("n", b"{}")
    assert peer.outgoing() == [b'{"jsonrpc":"2.0","method":"n"}', b'{"jsonrpc":"2.0","method":"n","params":{}}']


def test_events_carry_the_message_they_came_in() -> None:
    peer = Peer()
    message = b' {"jsonrpc":"2.0","id":1,"method":"x","params":{"a" : 1},"trace":"kept"}'
    assert peer.receive(message) == [Called(1, "x", Raw(b'{"a" : 1}'), b"1", message)]
    message = b'{"jsonrpc":"2.0","method":"x","params":{"a" : 1},"trace":"kept"}'
    assert peer.receive(message) == [Notified("x", Raw(b'{"a" : 1}'), message)]
    assert peer.receive(b"[" + message + b" ]") == [Notified("x", Raw(b'{"a" : 1}'), message)]


@pytest.mark.parametrize("again", [lambda peer: peer.answer(1, b"2"), lambda peer: peer.fail(1, RpcError(1, "m"))])
@pytest.mark.parametrize("first", [lambda peer: peer.answer(1, b"1"), lambda peer: peer.fail(1, RpcError(1, "m"))])
def test_a_second_response_is_a_local_error_and_is_not_sent(
    first: Callable[[Peer], None], again: Callable[[Peer], None]
) -> None:  # ENV-17
    peer = Peer()
    peer.receive(request())
    first(peer)
    with pytest.raises(LocalProtocolError):
        again(peer)
    assert len(peer.outgoing()) == 1


@pytest.mark.parametrize("token", [0, -1, 1, 2])
def test_a_response_to_no_request_is_a_local_error(token: int) -> None:
    peer = Peer()
    with pytest.raises(LocalProtocolError):
        peer.answer(token, b"{}")
    with pytest.raises(LocalProtocolError):
        peer.fail(token, RpcError(1, "m"))
    assert peer.outgoing() == []


def test_a_request_stays_open_when_its_error_cannot_be_sent() -> None:
    peer = Peer()
    peer.receive(b"[" + request() + b"]")
    with pytest.raises(CodecError):
        peer.fail(1, RpcError(1, "m", object()))
    assert peer.outgoing() == []
    peer.fail(1, RpcError(1, "m"))
    assert sent(peer) == [[{"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "m"}}]]


def test_a_request_stays_open_when_its_result_is_no_bytes() -> None:
    peer = Peer()
    peer.receive(request())
    with pytest.raises(TypeError):
        peer.answer(1, "{}")  # type: ignore[arg-type]
    peer.answer(1, b"{}")
    assert len(peer.outgoing()) == 1


def test_a_call_that_cannot_be_sent_is_not_open() -> None:
    peer = Peer()
    with pytest.raises(CodecError):
        peer.call("\ud800", None)
    assert peer.open_calls == 0
    assert peer.outgoing() == []
    assert peer.call("x", None) == 1


def test_a_relayed_payload_with_line_breaks_leaves_as_one_line() -> None:  # STD-1
    peer = Peer()
    (event,) = Peer().receive(b'{"jsonrpc":"2.0","method":"x","params":{\n"a"\r\n:1}}')
    assert isinstance(event, Notified)
    peer.notify("x", event.params)
    (message,) = peer.outgoing()
    assert not {b"\n", b"\r"} & {message[i : i + 1] for i in range(len(message))}
    assert json.loads(message)["params"] == {"a": 1}


# --- withdrawal ---


def test_a_withdrawn_call_stays_open_until_its_response() -> None:  # CAN-7
    peer = Peer()
    call = peer.call("x", None)
    peer.withdraw(call)
    assert peer.open_calls == 1
    (event,) = peer.receive(b'{"jsonrpc":"2.0","id":1,"error":{"code":-32800,"message":"cancelled"}}')
    assert isinstance(event, Failed)
    assert isinstance(event.error, RpcError)
    assert peer.open_calls == 0


@pytest.mark.parametrize("call", [0, 1, 99, -5])
def test_withdrawing_and_forgetting_what_is_not_open_does_nothing(call: int) -> None:
    peer = Peer()
    peer.call("x", None)
    peer.receive(b'{"jsonrpc":"2.0","id":1,"result":{}}')
    peer.outgoing()
    peer.withdraw(call)
    peer.forget(call)
    assert peer.outgoing() == []


def test_a_withdrawal_of_a_duplicate_id_concerns_every_open_request_with_it() -> None:
    peer = Peer()
    for _ in range(3):
        peer.receive(request(5))
    peer.answer(2, b"{}")
    assert peer.receive(cancel(5)) == [Withdrawn(1), Withdrawn(3)]
    (event,) = peer.receive(request(5))
    assert isinstance(event, Called)
    peer.answer(1, b"{}")
    assert peer.receive(cancel(5)) == [Withdrawn(event.token)]
    peer.answer(3, b"{}")
    peer.answer(event.token, b"{}")
    assert len(peer.outgoing()) == 4


def test_a_request_can_be_withdrawn_inside_its_own_batch() -> None:
    peer = Peer()
    events = peer.receive(b"[" + request(5) + b"," + cancel(5) + b"]")
    assert [type(event) for event in events] == [Called, Withdrawn]
    peer.answer(1, b"{}")
    assert sent(peer) == [[{"jsonrpc": "2.0", "id": 5, "result": {}}]]


# --- the end ---


def test_after_the_end_nothing_is_taken_in_and_nothing_can_be_answered() -> None:
    peer = Peer()
    peer.receive(request())
    peer.withdraw(peer.call("x", None))
    peer.outgoing()
    peer.end("end of stream")
    assert kept_by(peer) == {}
    assert peer.receive(request(2)) == []
    assert peer.receive(b"{") == []
    assert (peer.open_calls, peer.open_requests) == (0, 0)
    with pytest.raises(ConnectionClosed, match="end of stream"):
        peer.answer(1, b"{}")
    with pytest.raises(ConnectionClosed, match="end of stream"):
        peer.fail(1, RpcError(1, "m"))
    peer.withdraw(1)
    peer.forget(1)
    assert peer.outgoing() == []


def test_a_batch_that_is_not_done_at_the_end_sends_no_part_of_itself() -> None:  # BAT-12
    peer = Peer()
    peer.receive(b"[" + request(1) + b"," + request(2) + b"]")
    peer.answer(1, b"{}")
    peer.end("end of stream")
    assert peer.outgoing() == []
