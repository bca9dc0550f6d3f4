"""The bounds of one side of a connection, and that nothing is kept of what is done."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import Raw

from roost.errors import LimitError, RpcError
from roost.rpc.limits import PeerLimits
from roost.rpc.messages import LIMIT_EXCEEDED
from roost.rpc.peer import Answered, Called, Failed, Peer, Refused, Unmatched
from tests.rpc.envelopes import cancel, kept_by, request, sent


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
    assert kept_by(peer) == {}


def test_an_unmatched_response_is_told_with_its_message() -> None:
    message = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}'
    assert Peer().receive(message) == [Unmatched(message)]
