"""The one-pass reader gives what the ordinary way gives, or nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.acp import v2
from roost.acp.v2.gen.updates import UpdateSessionNotification
from roost.errors import CodecError
from roost.rpc.peer import Notified, Peer
from roost.sdk.connection import Connection
from roost.sdk.one_pass import OnePass
from roost.transport.messages import message_pair
from roost.wire.decode import decode

UPDATE = {"sessionUpdate": "agent_message_chunk", "messageId": "m", "content": {"type": "text", "text": "hé"}}
MESSAGE = {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": UPDATE}}


def reader() -> OnePass:
    return OnePass("session/update", lambda params, size: None)


def ordinary(message: bytes) -> Any:
    """What the peer and the decoder make of it; None when it is no notification, or loses something."""
    events = Peer().receive(message)
    if len(events) != 1 or not isinstance(events[0], Notified) or events[0].method != "session/update":
        return None
    losses: list[Any] = []
    try:
        value = decode(UpdateSessionNotification, events[0].params or b"{}", on_loss=lambda *loss: losses.append(loss))
    except CodecError:
        return None
    return None if losses else value


def test_a_well_formed_notification_is_read() -> None:
    params = reader().params(json.dumps(MESSAGE).encode())
    assert isinstance(params.update, v2.AgentMessageChunk)
    assert params.update.content == v2.TextContent(text="hé")


@pytest.mark.parametrize(
    "change",
    [
        {"id": 1},
        {"id": None},
        {"result": {}},
        {"error": {}},
        {"jsonrpc": "1.0"},
        {"jsonrpc": None},
        {"method": "session/updates"},
        {"method": "_session/update"},
        {"params": None},
        {"params": []},
        {"params": {"sessionId": "s"}},
        {"params": {"sessionId": 1, "update": UPDATE}},
        {"params": {"sessionId": "s", "update": {**UPDATE, "content": {"type": "text", "text": 5}}}},
        {"params": {"sessionId": "s", "update": {**UPDATE, "_meta": 5}}},
    ],
    ids=json.dumps,
)
def test_whatever_else_it_may_be_goes_the_ordinary_way(change: dict[str, Any]) -> None:
    assert reader().params(json.dumps({**MESSAGE, **change}).encode()) is None


@pytest.mark.parametrize(
    "message",
    [
        json.dumps(MESSAGE).encode().replace(rb"h\u00e9", b"h\xff"),
        json.dumps(MESSAGE).encode().replace(rb"h\u00e9", rb"h\ud800"),
        json.dumps({**MESSAGE, "x": "y"}).encode().replace(b'"y"', b'"\xff"'),
        json.dumps(MESSAGE).encode()[:-1],
        b"[" + json.dumps(MESSAGE).encode() + b"]",
        b'"session/update"',
        b"",
    ],
)
def test_what_is_no_message_goes_the_ordinary_way(message: bytes) -> None:
    assert reader().params(message) is None


def test_a_method_far_behind_goes_the_ordinary_way() -> None:
    behind = {"params": {**MESSAGE["params"], "x": "y" * 500}, "method": "session/update", "jsonrpc": "2.0"}  # type: ignore[dict-item]
    assert reader().params(json.dumps(behind).encode()) is None
    assert ordinary(json.dumps(behind).encode()) is not None


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=4,
)
_fields = st.sampled_from(["jsonrpc", "method", "id", "result", "error", "params", "_meta"])
_updates = st.dictionaries(st.sampled_from(["sessionUpdate", "messageId", "content", "_meta", "x"]), _json, max_size=3)


@given(st.dictionaries(_fields, _json, max_size=2), _updates, st.integers(0, 40))
def test_it_never_differs_from_the_ordinary_way(changes: dict[str, Any], update: dict[str, Any], cut: int) -> None:
    params = {"sessionId": "s", "update": {**UPDATE, **update}}
    message = json.dumps({**MESSAGE, "params": params, **changes}).encode()
    message = message[: len(message) - cut if cut > 30 else len(message)]
    found = reader().params(message)
    assert found is None or found == ordinary(message)


async def test_a_stream_handler_hears_both_the_strict_and_the_forgiven_with_their_sizes() -> None:
    near, far = message_pair()
    connection = Connection(near)
    heard: list[tuple[Any, int]] = []
    connection.on_stream("session/update", lambda params, size: heard.append((params.update, size)))
    connection.start()
    strict = json.dumps(MESSAGE).encode()
    loose = json.dumps({**MESSAGE, "params": {"sessionId": "s", "update": {**UPDATE, "_meta": 5}}}).encode()
    broken = json.dumps({**MESSAGE, "params": {"sessionId": "s"}}).encode()
    far.send([strict, loose, broken, strict])
    far.close()
    await connection.wait_closed()
    assert [size for _, size in heard] == [len(strict), len(loose), len(strict)]
    assert heard[0][0] == heard[1][0] == heard[2][0]


async def test_a_stream_handler_that_raises_does_not_stop_the_reader(caplog: pytest.LogCaptureFixture) -> None:
    near, far = message_pair()
    connection = Connection(near)
    heard: list[int] = []

    def handler(params: Any, size: int) -> None:
        heard.append(size)
        raise ValueError("no")

    connection.on_stream("session/update", handler)
    connection.start()
    far.send([json.dumps(MESSAGE).encode()] * 2)
    far.close()
    await connection.wait_closed()
    assert len(heard) == 2
    assert caplog.messages == ["the handler of a stream failed"] * 2


async def test_a_gate_is_asked_about_a_stream_too() -> None:
    near, far = message_pair()
    connection = Connection(near)
    heard: list[int] = []
    asked: list[str] = []
    connection.on_stream("session/update", lambda params, size: heard.append(size))
    connection.gate = lambda method: asked.append(method)  # type: ignore[func-returns-value]
    connection.start()
    far.send([json.dumps(MESSAGE).encode()])
    far.close()
    await connection.wait_closed()
    assert asked == ["session/update"]
    assert len(heard) == 1
