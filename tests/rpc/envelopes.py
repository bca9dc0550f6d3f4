"""Messages for one side of a connection, and what it sent and keeps."""

from __future__ import annotations

import json
from typing import Any

from roost.rpc.peer import Peer


def request(raw_id: object = 1, method: str = "x") -> bytes:
    return f'{{"jsonrpc":"2.0","id":{raw_id},"method":"{method}"}}'.encode()


def cancel(raw_id: object) -> bytes:
    return f'{{"jsonrpc":"2.0","method":"$/cancel_request","params":{{"requestId":{raw_id}}}}}'.encode()


def sent(peer: Peer) -> list[Any]:
    return [json.loads(message) for message in peer.outgoing()]


def kept_by(peer: Peer) -> dict[str, Any]:
    """Whatever of a peer's state could grow, and has."""
    state = {name: value for name, value in vars(peer).items() if isinstance(value, dict | set | list)}
    assert len(state) >= 5
    return {name: value for name, value in state.items() if value}
