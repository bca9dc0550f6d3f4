"""Whatever a peer sends: nothing raises, no request has two responses, no response is answered."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from roost.errors import RpcError
from roost.rpc.limits import PeerLimits
from roost.rpc.messages import INVALID_REQUEST, NULL_ID, PARSE_ERROR
from roost.rpc.peer import Answered, Called, Failed, Malformed, Peer, PeerEvent

scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.sampled_from(["2.0", "1.0", "\ud800", "$/x"])
)
values = st.recursive(
    scalars, lambda v: st.lists(v, max_size=4) | st.dictionaries(st.text(), v, max_size=4), max_leaves=8
)

ids = st.one_of(st.integers(0, 4), st.sampled_from([None, "", "1", 1.5, True, 2**63, "\ud800", "\ufffd"]), values)
methods = st.one_of(st.sampled_from(["x", "", "$/cancel_request", "$/unknown", "\ud800"]), values)
errors = st.fixed_dictionaries(
    {"code": st.integers(-5, 5) | values, "message": st.text() | values}, optional={"data": values}
)
members = {
    "id": ids,
    "method": methods,
    "params": st.fixed_dictionaries({"requestId": ids}) | values,
    "result": values,
    "error": errors | values,
}
# Mostly what looks like a message, because it is at the edges of one that a rule can break.
objects = st.one_of(
    st.fixed_dictionaries({"jsonrpc": st.just("2.0")}, optional=members),
    st.fixed_dictionaries({"jsonrpc": st.just("2.0"), "id": ids, "method": methods}),
    st.fixed_dictionaries(
        {}, optional={"jsonrpc": st.sampled_from(["2.0", "1.0", 2.0, None]), **members, "more": values}
    ),
)


@st.composite
def json_texts(draw: st.DrawFn) -> bytes:
    value = draw(objects | st.lists(objects | values, max_size=6) | values)
    text = json.dumps(value, ensure_ascii=draw(st.booleans()), indent=draw(st.sampled_from([None, 1])))
    return text.encode("utf-8", "surrogatepass")


@st.composite
def broken_texts(draw: st.DrawFn) -> bytes:
    text = bytearray(draw(json_texts()))
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(text)))
        text[at : at + draw(st.integers(0, 3))] = draw(st.binary(max_size=3))
    return bytes(text)


messages = st.one_of(json_texts(), broken_texts(), st.binary(max_size=60))


def check(peer: Peer, incoming: list[bytes]) -> None:
    """Take all in, answer every request once, some late; then weigh what was sent against what was told."""
    calls = [peer.call("ours", None) for _ in range(3)]
    peer.outgoing()
    events: list[PeerEvent] = []
    late: list[Called] = []
    for message in incoming:
        for event in peer.receive(message):
            events.append(event)
            if isinstance(event, Called):
                late.append(event)
        if len(late) > 2:
            peer.answer(late.pop().token, b"0")
    for called in late:
        peer.fail(called.token, RpcError(1, "m"))
    outcomes = [event.call for event in events + peer.end("done") if isinstance(event, Answered | Failed)]
    assert sorted(outcomes) == calls

    sent = peer.outgoing()
    assert all(b"\n" not in message for message in sent)
    replies: list[dict[str, Any]] = []
    for message in sent:
        value = json.loads(message)
        assert value != []
        replies += value if isinstance(value, list) else [value]
    assert all(reply.keys() in ({"jsonrpc", "id", "result"}, {"jsonrpc", "id", "error"}) for reply in replies)
    # Every request that was handed out has the one response it was given; the rest are our own refusals.
    given_out = Counter(json.dumps(json.loads(event.raw_id)) for event in events if isinstance(event, Called))
    answered = Counter(json.dumps(reply["id"]) for reply in replies if "result" in reply or reply["error"]["code"] == 1)
    assert answered == given_out
    told = [event for event in events if isinstance(event, Malformed)]
    nameless = [
        reply for reply in replies if "error" in reply and reply["error"]["code"] in (PARSE_ERROR, INVALID_REQUEST)
    ]
    assert len(nameless) <= len(told)


@given(st.lists(messages, max_size=8), st.booleans())
def test_any_input_is_taken_and_each_request_has_one_response(incoming: list[bytes], answer_malformed: bool) -> None:
    check(Peer(answer_malformed=answer_malformed), incoming)


@given(st.lists(messages, max_size=8), st.booleans())
def test_any_input_is_taken_at_any_bound(incoming: list[bytes], answer_malformed: bool) -> None:
    limits = PeerLimits(open_requests=1, open_batches=1, batch_items=3, id_bytes=3, error_data_bytes=2)
    check(Peer(answer_malformed=answer_malformed, limits=limits), incoming)


@given(messages)
def test_what_a_noisy_peer_sends_is_never_answered_under_no_id(message: bytes) -> None:  # STD-4
    peer = Peer(answer_malformed=False)
    asked = [event for event in peer.receive(message) if isinstance(event, Called)]
    for called in asked:
        peer.answer(called.token, b"0")
    nameless = sum(reply.count(b'"id":' + NULL_ID) for reply in peer.outgoing())
    assert nameless <= message.replace(b" ", b"").replace(b"\n", b"").count(b'"id":null')


@given(st.lists(messages, max_size=6))
def test_two_peers_never_answer_each_others_answers(incoming: list[bytes]) -> None:  # ENV-12
    peer, other = Peer(), Peer()
    for message in incoming:
        for event in peer.receive(message):
            if isinstance(event, Called):
                peer.answer(event.token, b"0")
    for message in peer.outgoing():
        other.receive(message)
    assert other.outgoing() == []
