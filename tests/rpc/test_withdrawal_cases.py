"""The conformance cases E-33 to E-37: withdrawals."""

from __future__ import annotations

import json

import pytest

from roost.errors import RpcError
from roost.rpc.messages import REQUEST_CANCELLED
from roost.rpc.peer import Notified, Peer, Unmatched, Withdrawn
from tests.rpc.envelope_parts import notification, request, response, the_error, token_of
from tests.rpc.envelopes import sent


def test_e34_a_withdrawn_request_is_still_answered_once() -> None:
    peer = Peer()
    for raw_id in ("7", '"7"', "null"):
        token = token_of(peer, request(raw_id))
        cancel = notification("$/cancel_request", f'{{"requestId":{raw_id}}}')
        assert peer.receive(cancel) == [Withdrawn(token)]
        assert peer.receive(cancel) == []  # told once
        peer.fail(token, RpcError(REQUEST_CANCELLED, "Request cancelled"))
        assert the_error(peer) == (REQUEST_CANCELLED, json.loads(raw_id))


def test_e35_a_withdrawal_of_what_is_answered_is_silence() -> None:
    peer = Peer()
    peer.answer(token_of(peer, request("7")), b"{}")
    peer.outgoing()
    assert peer.receive(notification("$/cancel_request", '{"requestId":7}')) == []
    assert peer.outgoing() == []


@pytest.mark.parametrize(("open_id", "cancelled"), [('"1"', "1"), ("1", '"1"'), ("null", '"null"'), ("1", "1.0")])
def test_e36_an_id_of_another_type_is_another_id(open_id: str, cancelled: str) -> None:
    peer = Peer()
    peer.receive(request(open_id))
    assert peer.receive(notification("$/cancel_request", f'{{"requestId":{cancelled}}}')) == []


def test_e36_another_spelling_of_the_same_string_is_the_same_id() -> None:
    peer = Peer()
    token = token_of(peer, request('"a"'))
    assert peer.receive(notification("$/cancel_request", '{"requestId":"\\u0061"}')) == [Withdrawn(token)]


def test_e37_a_call_is_withdrawn_once_and_its_late_response_is_ignored_when_forgotten() -> None:
    peer = Peer()
    call = peer.call("x", None)
    peer.outgoing()
    peer.withdraw(call)
    peer.withdraw(call)
    assert sent(peer) == [{"jsonrpc": "2.0", "method": "$/cancel_request", "params": {"requestId": call}}]
    peer.forget(call)
    assert [type(event) for event in peer.receive(response(call))] == [Unmatched]
    peer.withdraw(call)
    assert peer.outgoing() == []


@pytest.mark.parametrize("params", ["{}", "[]", "5"])
def test_e39_an_unknown_protocol_notification_is_silence(params: str) -> None:
    peer = Peer()
    assert not any(isinstance(event, Notified) for event in peer.receive(notification("$/unknown", params)))
    assert peer.outgoing() == []
