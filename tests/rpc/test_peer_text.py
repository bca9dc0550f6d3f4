"""Text that is no UTF-8, half a character, nesting and digits without end."""

from __future__ import annotations

import json
import sys

import pytest

from roost.errors import RemoteProtocolError
from roost.rpc.messages import PARSE_ERROR
from roost.rpc.peer import Answered, Called, Failed, Malformed, Notified, Peer
from tests.rpc.envelopes import request, sent


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
