"""A peer that prints other things than messages."""

from __future__ import annotations

import pytest

from roost.errors import RemoteProtocolError
from roost.rpc.messages import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND
from roost.rpc.peer import Answered, Failed, Malformed, Peer
from tests.rpc.envelopes import request, sent

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
