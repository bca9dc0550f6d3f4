"""Messages as they came, and what a connection without handlers sends."""

from __future__ import annotations

from typing import Any

from roost.rpc.peer import Called, Peer
from tests.rpc.envelopes import sent


def request(raw_id: str = "1", method: str = "x", params: str = "{}") -> bytes:
    return f'{{"jsonrpc":"2.0","id":{raw_id},"method":"{method}","params":{params}}}'.encode()


def notification(method: str, params: str = "{}") -> bytes:
    return f'{{"jsonrpc":"2.0","method":"{method}","params":{params}}}'.encode()


def response(raw_id: object, result: str = "{}") -> bytes:
    return f'{{"jsonrpc":"2.0","id":{raw_id},"result":{result}}}'.encode()


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
