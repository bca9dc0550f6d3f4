"""Whatever a caller sends: it gets one answer, and nobody else notices."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roost.sidecar.gate import Asked, Gate
from roost.sidecar.gen.frames import Hello, decode_frame, encode_frame
from roost.sidecar.gen.messages import (
    AcpCloseSessionRequest,
    AcpErrorResponse,
    AcpGetSessionStateRequest,
    AcpResumeSessionRequest,
    AcpSessionRequest,
    AcpSessionRpcResponse,
    encode_acp_response,
)
from roost.wire.framing import LengthFramer
from tests.sidecar.rig import Rig, create_request
from tests.sidecar.scripted_agent import Json
from tests.sidecar.test_hostile_agents import NASTY


def opened() -> tuple[Rig, int, str]:
    rig = Rig()
    rig.capabilities = {"loadSession": True}
    caller = rig.connect()
    return rig, caller, rig.create(caller).session_id


@pytest.mark.parametrize("value", NASTY)
@pytest.mark.parametrize(
    "method", ["session/prompt", "session/set_mode", "session/set_config_option", "session/cancel"]
)
@pytest.mark.parametrize(
    "params",
    [
        "{0}",
        '{{"prompt":{0},"modeId":{0},"configId":{0},"value":{0}}}',
        '{{"configId":"o","value":{0}}}',
        '{{"sessionId":{0}}}',
    ],
)
def test_nasty_params_are_sent_as_they_are_or_refused(params: str, method: str, value: str) -> None:
    rig, caller, session = opened()
    rig.agent.update(sessionUpdate="config_option_update", configOptions=[{"id": "o", "currentValue": 1}])
    heard: list[bytes] = []
    hears = rig.agent.hears
    rig.agent.hears = lambda data: heard.append(data) or hears(b'{"id":3,"method":"_x"}')  # type: ignore[method-assign, func-returns-value]
    answer = rig.ask(caller, AcpSessionRequest(session, method, params.format(value)))
    assert isinstance(answer, AcpSessionRpcResponse | AcpErrorResponse)
    for data in heard:
        assert data.count(b"\n") == 1  # one message is one line, whatever is in it
    encode_acp_response(rig.state(caller, session))


@pytest.mark.parametrize("value", NASTY)
def test_nasty_capabilities_and_servers_are_sent_as_they_are_or_refused(value: str) -> None:
    rig = Rig()
    rig.script = lambda agent, message: False
    caller = rig.connect()
    for field in ("client_capabilities", "mcp_servers"):
        rig.send(caller, create_request(**{field: value}))
    rig.advance(100)
    rig.leave(caller)
    rig.advance(30)
    rig.assert_nothing_left()


ODD_TEXTS = ["", "\0", "\n", "x" * 100_000, "\u202e", "../../etc", "é🐦", '"', "{0}"]


@pytest.mark.parametrize("text", ODD_TEXTS)
def test_odd_session_ids_are_unknown(text: str) -> None:
    rig, caller, _ = opened()
    for request in (
        AcpGetSessionStateRequest(text),
        AcpCloseSessionRequest(text),
        AcpSessionRequest(text, "session/prompt", None),
    ):
        assert rig.ask(caller, request) == AcpErrorResponse("invalid_state", f"unknown ACP session {text}")


@pytest.mark.parametrize("text", ODD_TEXTS)
def test_odd_names_everywhere_get_one_answer(text: str) -> None:
    rig, caller, session = opened()
    for request in (
        create_request(text),
        create_request(cwd=text),
        create_request(args=[text]),
        create_request(env={text: text}),
        create_request(additional_instructions=text, skip_os_instructions=False),
        AcpResumeSessionRequest(text, "echo", text, "/w", {}),
        AcpResumeSessionRequest("old", text, None, text, {text: text}),
        AcpSessionRequest(session, text, None),
    ):
        number = rig.send(caller, request)
        rig.advance(100)
        answer = rig.reply(caller, number)
        assert len(encode_acp_response(answer)) < 300_000
    rig.leave(caller)
    rig.advance(30)
    rig.assert_nothing_left()


def test_a_method_of_any_length_is_bounded_in_what_is_told_of_it() -> None:
    rig = Rig(lambda agent, message: message.get("method", "").startswith("xx"))
    caller = rig.connect()
    session = rig.create(caller).session_id
    request = rig.request(caller, session, "x" * 50_000)
    rig.advance(121)
    error: Json = rig.rpc(caller, request)["error"]
    assert len(error["message"]) < 2000
    assert error["data"]["method"] == "x" * 50_000


def greeted() -> Gate:
    gate = Gate(server="roost/1", assigned="~1", max_frame_bytes=1 << 20, admit=lambda hello: None)
    gate.receive(encode_frame(Hello(1, "test/1", None, None)))
    gate.outgoing()
    return gate


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.binary(max_size=80), max_size=8), st.booleans())
def test_arbitrary_frames_mean_something_or_are_refused(bodies: list[bytes], hello: bool) -> None:
    gate = greeted() if hello else Gate(server="s", assigned="~1", max_frame_bytes=1 << 20, admit=lambda h: None)
    for body in bodies:
        meaning: Any = gate.receive(body)
        if isinstance(meaning, Asked):
            gate.reply(meaning.request, AcpErrorResponse("x", "y"))
    for body in LengthFramer().feed(gate.outgoing()):
        decode_frame(body)


def test_a_reply_that_does_not_fit_in_a_frame_is_an_error_that_says_so() -> None:
    gate = Gate(server="s", assigned="~1", max_frame_bytes=1000, admit=lambda hello: None)
    gate.reply(7, AcpSessionRpcResponse("s", json.dumps("x" * 200_000)))
    (body,) = LengthFramer().feed(gate.outgoing())
    answer = decode_frame(body)
    assert b"max_frame_bytes (1000)" in answer.payload  # type: ignore[union-attr]
