"""A connection of the library and a raw peer at its other end."""

from __future__ import annotations

from typing import Any

from roost.sdk.connection import Connection
from roost.transport.messages import message_pair

from .raw_client import Json, RawClient

Pair = tuple[Connection, RawClient]


def connected(**more: Any) -> Pair:
    """A connection, not started, and a raw peer."""
    here, there = message_pair()
    return Connection(there, **more), RawClient(here)


def chunk(text: str) -> Json:
    update = {"sessionUpdate": "agent_message_chunk", "messageId": "m", "content": {"type": "text", "text": text}}
    return {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": update}}


async def ping(connection: Connection, peer: RawClient) -> None:
    """Everything the peer sent so far has been handled, and its answers have come."""
    connection.on_request("_ping", lambda params, incoming: 1)
    await peer.call("_ping")
