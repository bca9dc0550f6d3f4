from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import pytest
from msgspec import Raw

from roost.errors import CodecError, ConnectionClosed, LimitError, LocalProtocolError, RemoteProtocolError, RpcError
from roost.rpc.limits import PeerLimits
from roost.rpc.messages import INVALID_PARAMS, INVALID_REQUEST, LIMIT_EXCEEDED, METHOD_NOT_FOUND, PARSE_ERROR
from roost.rpc.peer import (
    Answered,
    Called,
    Failed,
    Malformed,
    Notified,
    Peer,
    Refused,
    Unmatched,
    Withdrawn,
)


def request(raw_id: object = 1, method: str = "x") -> bytes:
    return f'{{"jsonrpc":"2.0","id":{raw_id},"method":"{method}"}}'.encode()


def cancel(raw_id: object) -> bytes:
    return f'{{"jsonrpc":"2.0","method":"$/cancel_request","params":{{"requestId":{raw_id}}}}}'.encode()


def sent(peer: Peer) -> list[Any]:
    return [json.loads(message) for message in peer.outgoing()]


def kept(peer: Peer) -> dict[str, Any]:
    """Whatever of a peer's state could grow, and has."""
    state = {name: value for name, value in vars(peer).items() if isinstance(value, dict | set | list)}
    assert len(state) >= 5
    return {name: value for name, value in state.items() if value}


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
    assert kept(peer) == {}
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


# --- a peer that prints other things ---


NOISE = [
    b"",
    b"DEBUG starting",
    b"\xff\xfe",
    b"[",
    b"[]",
    b"[1,2]",
    b"5",
    b'"ready"',
    b"{}",
    b'{"level":"info","msg":"hi"}',
    b'{"jsonrpc":"2.0"}',
    b'{"id":1,"method":"GET"}',
    b'{"id":1,"result":"ok"}',
    b'{"id":1,"error":"no"}',
    b'{"jsonrpc":"1.0","id":1,"result":{}}',
    b'[{"id":1,"result":"ok"}]',
    b"[" * 100_000,
]


@pytest.mark.parametrize("line", NOISE)
def test_noise_is_reported_and_neither_answered_nor_taken_for_a_response(line: bytes) -> None:  # STD-4
    peer = Peer(answer_malformed=False)
    call = peer.call("x", None)
    peer.outgoing()
    events = peer.receive(line)
    assert events
    assert all(isinstance(event, Malformed) for event in events)
    assert peer.outgoing() == []
    assert peer.open_calls == 1
    (event,) = peer.receive(b'{"jsonrpc":"2.0","id":%d,"result":{}}' % call)
    assert isinstance(event, Answered)


@pytest.mark.parametrize(
    ("message", "code"),
    [
        (b'{"jsonrpc":"2.0","id":7,"method":"x","params":[]}', INVALID_PARAMS),
        (b'{"jsonrpc":"2.0","id":7,"method":5}', INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":7,"method":"x","result":1}', INVALID_REQUEST),
        (b'{"jsonrpc":"2.0","id":7,"method":"$/x"}', METHOD_NOT_FOUND),
    ],
)
def test_a_noisy_peer_that_clearly_asks_us_is_told_what_was_wrong(message: bytes, code: int) -> None:
    peer = Peer(answer_malformed=False)
    peer.receive(message)
    (answer,) = sent(peer)
    assert (answer["id"], answer["error"]["code"]) == (7, code)


def test_a_noisy_peers_malformed_response_fails_its_call() -> None:  # ENV-12
    peer = Peer(answer_malformed=False)
    peer.call("x", None)
    (event,) = peer.receive(b'{"jsonrpc":"2.0","id":1,"result":1,"error":2}')
    assert isinstance(event, Failed)
    assert isinstance(event.error, RemoteProtocolError)


def test_a_batch_from_a_noisy_peer_has_no_slot_for_its_noise() -> None:
    peer = Peer(answer_malformed=False)
    peer.receive(b"[1," + request(2) + b",{}]")
    peer.answer(1, b"{}")
    assert sent(peer) == [[{"jsonrpc": "2.0", "id": 2, "result": {}}]]


# --- text ---


def test_a_response_that_is_not_utf8_fails_its_call_and_is_not_answered() -> None:  # ENV-2, ENV-12
    peer = Peer()
    peer.call("x", None)
    peer.outgoing()
    (event,) = peer.receive(b'{"jsonrpc":"2.0","id":1,"result":"\xff"}')
    assert isinstance(event, Failed)
    assert isinstance(event.error, RemoteProtocolError)
    assert peer.outgoing() == []


@pytest.mark.parametrize("wrap", [b"%b", b"[%b]"])
def test_a_request_that_is_not_utf8_is_a_parse_error_and_no_event_to_act_on(wrap: bytes) -> None:  # ENV-2
    peer = Peer()
    (event,) = peer.receive(wrap % b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":"\xff"}}')
    assert isinstance(event, Malformed)
    assert [(answer["id"], answer["error"]["code"]) for answer in sent(peer)] == [(None, PARSE_ERROR)]


def test_half_a_character_does_not_cost_the_message() -> None:
    peer = Peer()
    peer.call("x", None)
    peer.outgoing()
    notified, answered, called = (
        *peer.receive(rb'{"jsonrpc":"2.0","method":"x","params":{"text":"\ud83d"}}'),
        *peer.receive(rb'[{"jsonrpc":"2.0","id":1,"result":"\ude00"}]'),
        *peer.receive(rb'{"jsonrpc":"2.0","id":1,"method":"\ud83d"}'),
    )
    assert isinstance(notified, Notified)
    assert json.loads(bytes(notified.params or b"")) == {"text": "\ufffd"}
    assert json.loads(notified.message)["params"] == {"text": "\ufffd"}
    assert isinstance(answered, Answered)
    assert isinstance(called, Called)
    assert called.method == "\ufffd"
    assert peer.outgoing() == []


@pytest.mark.parametrize("wrap", [b"%b", b"[%b]"])
def test_an_id_with_half_a_character_cannot_be_echoed_and_is_illegal(wrap: bytes) -> None:  # ID-2
    peer = Peer()
    (event,) = peer.receive(wrap % rb'{"jsonrpc":"2.0","id":"\ud83d","method":"x"}')
    assert isinstance(event, Malformed)
    (answer,) = peer.outgoing()
    assert b'"id":null' in answer
    assert b"-32600" in answer
    assert [type(event) for event in peer.receive(rb'{"jsonrpc":"2.0","id":"\ud83d","result":1}')] == [Malformed]
    assert peer.outgoing() == []


@pytest.mark.parametrize(
    "shape",
    [
        b'{"jsonrpc":"2.0","method":"x","params":{"a":%b}}',
        b'{"jsonrpc":"1.0","id":1,"method":"x","params":{"a":%b}}',
        b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m","data":%b}}',
        b'{"jsonrpc":"2.0","id":1,"result":%b}',
        b'{"jsonrpc":"2.0","id":%b,"method":5}',
        b'{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":%b}}',
        b'[{"jsonrpc":"2.0","id":1,"result":%b},1]',
        b"%b",
    ],
)
def test_no_depth_of_nesting_raises(shape: bytes) -> None:
    # The decoder's limit depends on the interpreter and on how deep we are called: walk through where it may lie.
    limit = sys.getrecursionlimit()
    for depth in [*range(limit - 150, limit + 50), 5_000, 20_000, 100_000]:
        peer = Peer()
        peer.call("x", None)
        assert peer.receive(shape % (b"[" * depth + b"]" * depth)) or b"$/" in shape
        assert [type(event) for event in peer.receive(request())] == [Called]


def test_an_integer_of_any_length_is_data() -> None:
    peer = Peer()
    digits = b"9" * 100_000
    (event,) = peer.receive(b'{"jsonrpc":"2.0","method":"x","params":{"n":' + digits + b"}}")
    assert isinstance(event, Notified)
    peer.call("x", None)
    (event,) = peer.receive(b'{"jsonrpc":"2.0","id":1,"error":{"code":' + digits + b',"message":"m"}}')
    assert isinstance(event, Failed)
    assert isinstance(event.error, RemoteProtocolError)


# --- bounds ---


def refusal(message: Any) -> tuple[int, Any, str, int]:
    error = message["error"]
    return error["code"], message["id"], error["data"]["limit"], error["data"]["bound"]


def test_one_call_over_the_bound_is_a_limit_error_and_is_not_sent() -> None:
    peer = Peer(limits=PeerLimits(open_calls=2))
    first, _ = peer.call("x", None), peer.call("x", None)
    peer.outgoing()
    with pytest.raises(LimitError) as caught:
        peer.call("x", None)
    assert (caught.value.limit, caught.value.bound) == ("open_calls", 2)
    assert peer.outgoing() == []
    peer.notify("x", None)
    peer.forget(first)
    assert peer.call("x", None) == 3


def test_one_request_over_the_bound_is_answered_so_and_the_next_one_is_taken_when_there_is_room() -> None:
    peer = Peer(limits=PeerLimits(open_requests=2))
    peer.receive(request(1))
    peer.receive(b"[" + request(2) + b"]")
    assert peer.receive(request(3)) == [Refused("open_requests", 2, request(3))]
    assert [refusal(message) for message in sent(peer)] == [(LIMIT_EXCEEDED, 3, "open_requests", 2)]
    peer.receive(b"[" + request(4) + b"]")
    ((message,),) = sent(peer)
    assert refusal(message) == (LIMIT_EXCEEDED, 4, "open_requests", 2)
    peer.answer(1, b"{}")
    assert [type(event) for event in peer.receive(request(5))] == [Called]


def test_one_element_over_the_bound_refuses_the_batch_as_a_whole() -> None:
    peer = Peer(limits=PeerLimits(batch_items=2))
    message = b"[" + b",".join([request(1), request(2)]) + b"]"
    assert len(peer.receive(message)) == 2
    message = b"[" + b",".join([request(1), request(2), b"3"]) + b"]"
    assert peer.receive(message) == [Refused("batch_items", 2, message)]
    assert [refusal(message) for message in sent(peer)] == [(LIMIT_EXCEEDED, None, "batch_items", 2)]
    assert peer.open_requests == 2


def test_a_noisy_peers_long_array_is_not_answered() -> None:
    peer = Peer(answer_malformed=False, limits=PeerLimits(batch_items=2))
    assert peer.receive(b"[1,2,3]") == [Refused("batch_items", 2, b"[1,2,3]")]
    assert peer.outgoing() == []


def test_one_waiting_batch_over_the_bound_has_its_requests_refused_and_its_responses_taken() -> None:
    peer = Peer(limits=PeerLimits(open_batches=1))
    call = peer.call("x", None)
    peer.outgoing()
    peer.receive(b"[" + request(1) + b"," + request(2) + b"]")
    response = b'{"jsonrpc":"2.0","id":%d,"result":{}}' % call
    events = peer.receive(b"[" + response + b"," + request(3) + b"]")
    assert [type(event) for event in events] == [Answered, Refused]
    ((message,),) = sent(peer)
    assert refusal(message) == (LIMIT_EXCEEDED, 3, "open_batches", 1)
    assert [type(event) for event in peer.receive(request(4))] == [Called]  # a single one is not concerned
    peer.answer(1, b"{}")
    assert [type(event) for event in peer.receive(b"[" + request(5) + b"]")] == [Refused]
    peer.answer(2, b"{}")
    for raw_id in (6, 7):  # done batches count no more, and neither do those that wait for nothing
        peer.receive(b'[{"jsonrpc":"2.0","method":"n"}]')
        peer.receive(b"[1]")
        assert [type(event) for event in peer.receive(b"[" + request(raw_id) + b"]")] == [Called]
        peer.answer(raw_id - 2, b"{}")


def test_an_id_over_the_bound_is_answered_under_that_id_and_not_kept() -> None:
    peer = Peer(limits=PeerLimits(id_bytes=6))
    assert [type(event) for event in peer.receive(request('"1234"'))] == [Called]
    assert [type(event) for event in peer.receive(request('"12345"'))] == [Refused]
    assert [refusal(message) for message in sent(peer)] == [(LIMIT_EXCEEDED, "12345", "id_bytes", 6)]
    assert peer.open_requests == 1


def test_error_data_over_the_bound_stays_raw() -> None:
    peer = Peer(limits=PeerLimits(error_data_bytes=4))
    for data, kept in (("1234", 1234), ("12345", Raw(b"12345"))):
        call = peer.call("x", None)
        message = f'{{"jsonrpc":"2.0","id":{call},"error":{{"code":1,"message":"m","data":{data}}}}}'
        (event,) = peer.receive(message.encode())
        assert isinstance(event, Failed)
        assert isinstance(event.error, RpcError)
        assert event.error.data == kept


def test_nothing_is_kept_of_what_is_done() -> None:
    peer = Peer()
    for n in range(200):
        call = peer.call("x", None)
        peer.withdraw(call)
        peer.receive(b'{"jsonrpc":"2.0","id":%d,"result":{}}' % call)
        peer.withdraw(peer.call("x", None))
        peer.forget(call + 1)
        peer.receive(request(f'"{n}"'))
        peer.receive(cancel(f'"{n}"'))
        peer.answer(2 * n + 1, b"{}")
        peer.receive(b"[" + request(n) + b"]")
        peer.answer(2 * n + 2, b"{}")
        peer.receive(b"[1]")
        peer.outgoing()
    assert kept(peer) == {}


def test_an_unmatched_response_is_told_with_its_message() -> None:
    message = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}'
    assert Peer().receive(message) == [Unmatched(message)]
