"""Cases 1 to 14: codec and transport. The reference's outer protocol is not ours; `design/frames` takes its place."""

from __future__ import annotations

import pytest

from roost.errors import CodecError, LimitError
from roost.sidecar.gate import Asked, Gate, Greeted
from roost.sidecar.gen.frames import (
    CallbackResponse,
    Frame,
    Hello,
    Refused,
    Request,
    Welcome,
    decode_frame,
    encode_frame,
)
from roost.sidecar.gen.messages import (
    AcpAgentExitedEvent,
    AcpAgentStderrEvent,
    AcpCloseSessionRequest,
    AcpCreateSessionRequest,
    AcpDeliverAgentOutputRequest,
    AcpErrorResponse,
    AcpGetSessionStateRequest,
    AcpHostRequestCallback,
    AcpHostRequestCallbackResponse,
    AcpListAgentsRequest,
    AcpListAgentsResponse,
    AcpPendingResponse,
    AcpPermissionCallback,
    AcpPermissionCallbackResponse,
    AcpResumeSessionRequest,
    AcpRuntimeKind,
    AcpSessionClosedResponse,
    AcpSessionCreatedResponse,
    AcpSessionEvent,
    AcpSessionRequest,
    AcpSessionResumedResponse,
    AcpSessionRpcResponse,
    AcpSessionStateResponse,
    decode_acp_callback,
    decode_acp_callback_response,
    decode_acp_event,
    decode_acp_request,
    decode_acp_response,
    encode_acp_callback,
    encode_acp_callback_response,
    encode_acp_event,
    encode_acp_request,
    encode_acp_response,
)
from roost.wire.framing import LengthFramer
from tests.sidecar.rig import Rig
from tests.sidecar.scripted_agent import Json

REQUESTS = [
    AcpCreateSessionRequest("a", AcpRuntimeKind.PYTHON, "/w", ["x"], {"K": "V"}, 1, "{}", "[]", False, "more"),
    AcpSessionRequest("s", "session/prompt", "{}"),
    AcpGetSessionStateRequest("s"),
    AcpCloseSessionRequest("s"),
    AcpResumeSessionRequest("s", "a", "/t", "/w", {}),
    AcpDeliverAgentOutputRequest("p", b"\xff"),
    AcpListAgentsRequest(True),
]
RESPONSES = [
    AcpSessionCreatedResponse("s", 1, "{}", ["{}"], "{}", None),
    AcpSessionRpcResponse("s", "{}"),
    AcpSessionStateResponse("s", "a", "p", None, True, -9, None, [], None, None),
    AcpSessionClosedResponse("s"),
    AcpSessionResumedResponse("s", "native"),
    AcpErrorResponse("c", "m"),
    AcpPendingResponse("p"),
    AcpListAgentsResponse([]),
]
EVENTS = [
    AcpSessionEvent("s", "{}"),
    AcpAgentStderrEvent("s", "a", "p", b"\xff"),
    AcpAgentExitedEvent("s", "a", "p", 7, "restarted", 1, 3),
]
CALLBACKS = [AcpPermissionCallback("s", "permission", "{}"), AcpHostRequestCallback("s", "{}")]
CALLBACK_RESPONSES = [AcpPermissionCallbackResponse("permission", "once"), AcpHostRequestCallbackResponse(None)]


def gate(**options: object) -> Gate:
    settings: Json = {"server": "roost/1", "assigned": "~1", "max_frame_bytes": 1 << 20, "admit": lambda hello: None}
    return Gate(**{**settings, **options})


def greeted(**options: object) -> Gate:
    new = gate(**options)
    assert isinstance(new.receive(encode_frame(Hello(1, "test/1", None, None))), Greeted)
    sent(new)
    return new


def sent(on: Gate) -> list[Frame]:
    framer = LengthFramer()
    return [decode_frame(body) for body in framer.feed(on.outgoing())]


def request(number: int, payload: bytes) -> bytes:
    return encode_frame(Request(number, payload))


@pytest.mark.parametrize(
    ("values", "encode", "decode"),
    [
        (REQUESTS, encode_acp_request, decode_acp_request),
        (RESPONSES, encode_acp_response, decode_acp_response),
        (EVENTS, encode_acp_event, decode_acp_event),
        (CALLBACKS, encode_acp_callback, decode_acp_callback),
        (CALLBACK_RESPONSES, encode_acp_callback_response, decode_acp_callback_response),
    ],
)
def test_case_001_every_union_member_has_its_tag_and_comes_back(values: list, encode: object, decode: object) -> None:
    for tag, value in enumerate(values):
        data = encode(value)  # type: ignore[operator]
        assert data[0] == tag
        assert decode(data) == value  # type: ignore[operator]


def test_case_001_list_agents_is_these_two_bytes() -> None:
    assert encode_acp_request(AcpListAgentsRequest(True)) == b"\x06\x01"


def test_case_002_an_absent_optional_is_00_a_present_one_01_and_empty_collections_are_00() -> None:
    assert encode_acp_request(AcpSessionRequest("", "", None)) == b"\x01\x00\x00\x00"
    assert encode_acp_request(AcpSessionRequest("", "", "x")) == b"\x01\x00\x00\x01\x01x"
    assert encode_acp_request(AcpResumeSessionRequest("", "", None, "", {})) == b"\x04\x00\x00\x00\x00\x00"
    assert encode_acp_response(AcpListAgentsResponse([])) == b"\x07\x00"


@pytest.mark.parametrize("payload", [b"", b"\x01\x03ab", encode_acp_request(REQUESTS[0])[:-1]])
def test_case_003_a_truncated_payload_is_refused_on_the_wire_and_the_connection_lives(payload: bytes) -> None:
    connection = greeted()
    assert connection.receive(request(5, payload)) is None
    (refused,) = sent(connection)
    assert isinstance(refused, Refused)
    assert (refused.id, refused.code) == (5, "invalid_request")
    assert refused.message.startswith("invalid ACP request: ")
    assert connection.receive(request(5, b"\x06\x00")) == Asked(5, AcpListAgentsRequest(False))


@pytest.mark.parametrize("tag", [7, 8, 127])
def test_case_004_an_unknown_request_tag_is_refused_like_a_truncated_one(tag: int) -> None:
    connection = greeted()
    assert connection.receive(request(9, bytes([tag, 0]))) is None
    (refused,) = sent(connection)
    assert isinstance(refused, Refused)
    assert refused.message.startswith("invalid ACP request: ")
    assert not connection.closing


def test_case_005_an_unknown_kind_of_frame_ends_the_connection_and_says_so() -> None:
    """Ours: frames have no namespaces. A frame tag nobody knows takes the place of an unknown one."""
    connection = greeted()
    assert connection.receive(b"\x63rest") is None
    (refused,) = sent(connection)
    assert isinstance(refused, Refused)
    assert (refused.id, refused.code) == (0, "invalid_frame")
    assert connection.closing


def test_case_006_a_declared_length_over_the_limit_is_refused_before_the_body_arrives() -> None:
    framer = LengthFramer(1000)
    assert framer.feed((1001).to_bytes(4, "big")) == []
    assert isinstance(framer.fault, LimitError)
    connection = greeted()
    connection.broke(framer.fault)
    (refused,) = sent(connection)
    assert isinstance(refused, Refused)
    assert (refused.id, refused.code) == (0, "frame_too_large")
    assert "max_frame_bytes" in refused.message
    assert connection.closing


def test_case_007_a_stream_that_ends_inside_a_frame_is_an_error() -> None:
    framer = LengthFramer()
    framer.feed((10).to_bytes(4, "big") + b"abc")
    with pytest.raises(CodecError, match="inside a frame"):
        framer.finish()


def test_case_007_request_id_0_is_refused() -> None:
    connection = greeted()
    assert connection.receive(request(0, b"\x06\x00")) is None
    (refused,) = sent(connection)
    assert isinstance(refused, Refused)
    assert refused.code == "invalid_request"
    assert not connection.closing


@pytest.mark.parametrize("version", [0, 2, 65535])
def test_case_008_another_frames_version_is_refused(version: int) -> None:
    connection = gate()
    assert connection.receive(encode_frame(Hello(version, "test/1", None, None))) is None
    (refused,) = sent(connection)
    assert isinstance(refused, Refused)
    assert refused.code == "version_mismatch"
    assert str(version) in refused.message
    assert connection.closing


def test_case_009_a_wrong_token_is_unauthorized_and_nothing_works_after_it() -> None:
    connection = gate(admit=lambda hello: None if hello.token == "right" else "invalid auth token")
    assert connection.receive(encode_frame(Hello(1, "test/1", "wrong", None))) is None
    assert sent(connection) == [Refused(0, "unauthorized", "invalid auth token")]
    assert connection.receive(encode_frame(Hello(1, "test/1", "right", None))) is None
    assert connection.receive(request(1, b"\x06\x00")) is None
    assert sent(connection) == []


def test_case_009_the_first_frame_has_to_be_hello() -> None:
    connection = gate()
    assert connection.receive(request(1, b"\x06\x00")) is None
    (refused,) = sent(connection)
    assert isinstance(refused, Refused)
    assert "Hello" in refused.message
    assert connection.closing


def test_case_009_a_name_that_belongs_to_another_principal_is_unauthorized() -> None:
    """Ours: a named caller is bound to who used the name first; the daemon says so through `admit`."""
    connection = gate(admit=lambda hello: "this caller name belongs to somebody else" if hello.caller else None)
    assert connection.receive(encode_frame(Hello(1, "test/1", None, "me"))) is None
    (refused,) = sent(connection)
    assert isinstance(refused, Refused)
    assert refused.code == "unauthorized"


@pytest.mark.parametrize("name", ["", "~7", "-x", "a b", "a\n", "x" * 129, "é"])
def test_case_010_a_connection_cannot_take_the_name_the_daemon_assigns_or_an_odd_one(name: str) -> None:
    """Ours: a caller may suggest a name, but none that is assigned. A refused name is not bound to anybody."""
    asked = []
    connection = gate(admit=asked.append)
    assert connection.receive(encode_frame(Hello(1, "test/1", None, name))) is None
    (refused,) = sent(connection)
    assert isinstance(refused, Refused)
    assert refused.code == "invalid_frame"
    assert asked == []


def test_case_010_without_a_name_the_daemon_assigns_one() -> None:
    connection = gate(assigned="~12")
    assert connection.receive(encode_frame(Hello(1, "test/1", None, None))) == Greeted("~12", False, "test/1")
    assert sent(connection) == [Welcome(1, "roost/1", "~12", 1 << 20)]


def test_case_011_another_callers_session_is_not_owned() -> None:
    """Ours: there are no VMs; the same holds for sessions."""
    rig = Rig()
    session = rig.create(rig.connect("one")).session_id
    answer = rig.state(rig.connect("two"), session)
    assert answer == AcpErrorResponse("invalid_state", f"unknown ACP session {session}")


def test_case_012_callback_ids_are_non_zero_and_unique_among_the_open_ones() -> None:
    """Ours: ids belong to the sender of a kind of frame, so callbacks count up from 1."""
    rig = Rig()
    caller = rig.connect()
    rig.create(caller)
    for number in range(3):
        rig.agent.ask("session/request_permission", {}, id=number)
    assert [callback for _, callback, _ in rig.asked] == [1, 2, 3]


def test_case_012_callback_ids_begin_again_after_the_last_and_pass_over_the_open_ones() -> None:
    rig = Rig()
    caller = rig.connect()
    rig.create(caller)
    rig.agent.ask("session/request_permission", {}, "a")
    rig.engine._context.callers.connections[caller]._last_callback = 2**32 - 2
    rig.agent.ask("session/request_permission", {}, "b")
    rig.agent.ask("session/request_permission", {}, "c")
    assert [callback for _, callback, _ in rig.asked] == [1, 2**32 - 1, 2]


def test_case_013_an_open_request_id_cannot_be_used_twice_and_is_free_again_once_answered() -> None:
    """Ours: nothing is registered by a connection but the ids of its open requests."""
    connection = greeted()
    assert connection.receive(request(4, b"\x06\x00")) == Asked(4, AcpListAgentsRequest(False))
    assert connection.receive(request(4, b"\x06\x00")) is None
    (refused,) = sent(connection)
    assert isinstance(refused, Refused)
    assert (refused.id, refused.code) == (4, "invalid_request")
    connection.reply(4, AcpListAgentsResponse([]))
    assert connection.receive(request(4, b"\x06\x00")) == Asked(4, AcpListAgentsRequest(False))


def test_case_014_a_request_from_a_connection_that_was_never_greeted_is_refused() -> None:
    """Ours: there are no VMs; the engine still answers whoever it does not know."""
    rig = Rig()
    answer = rig.ask(77, AcpListAgentsRequest(False))
    assert answer == AcpErrorResponse("invalid_state", "not connected")


def test_case_014_an_answer_that_is_none_costs_that_answer_only() -> None:
    connection = greeted()
    assert connection.receive(encode_frame(CallbackResponse(3, b"\x09"))) is None
    (refused,) = sent(connection)
    assert isinstance(refused, Refused)
    assert refused.message.startswith("invalid ACP callback response: ")
    assert not connection.closing
