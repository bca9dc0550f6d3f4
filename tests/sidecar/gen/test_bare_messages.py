"""What the two generated modules promise: every type, its bytes, its paths, and what it keeps to itself."""

from __future__ import annotations

import re
from enum import IntEnum
from pathlib import Path
from typing import Any

import msgspec
import pytest

from roost.errors import CodecError
from roost.sidecar.gen import frames as f
from roost.sidecar.gen import messages as m

SCHEMAS = Path(__file__).parents[3] / "schema"


@pytest.mark.parametrize(("file", "module", "count"), [("agentos_acp.v1.bare", m, 30), ("roost_frames.v1.bare", f, 9)])
def test_every_type_of_the_schema_is_in_the_registry(file: str, module: Any, count: int) -> None:
    names = re.findall(r"^type (\w+)", (SCHEMAS / file).read_text(), re.MULTILINE)
    assert len(names) == count
    assert list(module.TYPES) == names
    assert all(hasattr(module, name) for name in names)


GOLDEN = [
    ("JsonUtf8", '{"é":1}', "08 7b22c3a9223a317d"),
    ("AcpRuntimeKind", m.AcpRuntimeKind.JAVA_SCRIPT, "00"),
    ("AcpRuntimeKind", m.AcpRuntimeKind.PYTHON, "01"),
    ("AcpRuntimeKind", m.AcpRuntimeKind.WEB_ASSEMBLY, "02"),
    (
        "AcpCreateSessionRequest",
        m.AcpCreateSessionRequest(
            agent_type="wren",
            runtime=m.AcpRuntimeKind.PYTHON,
            cwd="/w",
            args=["-v", ""],
            env={"A": "1", "B": ""},
            protocol_version=2,
            client_capabilities="{}",
            mcp_servers="[]",
            skip_os_instructions=True,
        ),
        "04 7772656e  01  02 2f77  02 02 2d76 00  02 01 41 01 31 01 42 00  02000000  02 7b7d  02 5b5d  01  00",
    ),
    (
        "AcpSessionRequest",
        m.AcpSessionRequest("s1", "session/prompt", "{}"),
        "02 7331  0e 73657373696f6e2f70726f6d7074  01 02 7b7d",
    ),
    ("AcpListAgentsRequest", m.AcpListAgentsRequest(reserved=True), "01"),
    ("AcpAgentEntry", m.AcpAgentEntry("wren", True, "bin/wren"), "04 7772656e  01  08 62696e2f7772656e"),
    (
        "AcpListAgentsResponse",
        m.AcpListAgentsResponse([m.AcpAgentEntry("a", True, "x"), m.AcpAgentEntry("b", False, "")]),
        "02  01 61 01 01 78  01 62 00 00",
    ),
    ("AcpGetSessionStateRequest", m.AcpGetSessionStateRequest("s1"), "02 7331"),
    ("AcpCloseSessionRequest", m.AcpCloseSessionRequest("s1"), "02 7331"),
    (
        "AcpResumeSessionRequest",
        m.AcpResumeSessionRequest("s1", "wren", "/t", "/w", {}),
        "02 7331  04 7772656e  01 02 2f74  02 2f77  00",
    ),
    ("AcpDeliverAgentOutputRequest", m.AcpDeliverAgentOutputRequest("p1", b"\x00\xff\n"), "02 7031  03 00ff0a"),
    (
        "AcpSessionCreatedResponse",
        m.AcpSessionCreatedResponse("s1", 4242, None, ["{}"], "{}"),
        "02 7331  01 92100000  00  01 02 7b7d  01 02 7b7d  00",
    ),
    ("AcpSessionRpcResponse", m.AcpSessionRpcResponse("s1", "{}"), "02 7331  02 7b7d"),
    (
        "AcpSessionStateResponse",
        m.AcpSessionStateResponse("s1", "wren", "p1", None, True, -9, "{}", []),
        "02 7331  04 7772656e  02 7031  00  01  01 f7ffffff  01 02 7b7d  00  00  00",
    ),
    ("AcpSessionClosedResponse", m.AcpSessionClosedResponse("s1"), "02 7331"),
    ("AcpSessionResumedResponse", m.AcpSessionResumedResponse("s1", "native"), "02 7331  06 6e6174697665"),
    ("AcpErrorResponse", m.AcpErrorResponse("io", "é"), "02 696f  02 c3a9"),
    ("AcpPendingResponse", m.AcpPendingResponse("p1"), "02 7031"),
    ("AcpSessionEvent", m.AcpSessionEvent("s1", "x" * 200), "02 7331  c801" + "78" * 200),
    (
        "AcpAgentStderrEvent",
        m.AcpAgentStderrEvent("", "wren", "p1", b"oops\n"),
        "00  04 7772656e  02 7031  05 6f6f70730a",
    ),
    (
        "AcpAgentExitedEvent",
        m.AcpAgentExitedEvent("s1", "wren", "p1", 1, "restarted", 1, 3),
        "02 7331  04 7772656e  02 7031  01 01000000  09 726573746172746564  01000000  03000000",
    ),
    ("AcpPermissionCallback", m.AcpPermissionCallback("s1", "q1", "{}"), "02 7331  02 7131  02 7b7d"),
    ("AcpHostRequestCallback", m.AcpHostRequestCallback("s1", "{}"), "02 7331  02 7b7d"),
    ("AcpPermissionCallbackResponse", m.AcpPermissionCallbackResponse("q1", "once"), "02 7131  04 6f6e6365"),
    ("AcpHostRequestCallbackResponse", m.AcpHostRequestCallbackResponse(), "00"),
    ("Hello", f.Hello(1, "cli/1", caller="me"), "0100  05 636c692f31  00  01 02 6d65"),
    ("Welcome", f.Welcome(1, "roost/1", "me", 16 * 1024 * 1024), "0100  07 726f6f73742f31  02 6d65  00000001"),
    ("Refused", f.Refused(0, "io", "no"), "00000000  02 696f  02 6e6f"),
    ("Request", f.Request(7, b"\x06\x01"), "07000000  02 0601"),
    ("Response", f.Response(7, b"\x06"), "07000000  01 06"),
    ("Event", f.Event(b"\x00"), "01 00"),
    ("Callback", f.Callback(2**32 - 1, b""), "ffffffff 00"),
    ("CallbackResponse", f.CallbackResponse(1, b"\x01\x00"), "01000000  02 0100"),
]

TAGS = {
    "AcpRequest": [
        "AcpCreateSessionRequest",
        "AcpSessionRequest",
        "AcpGetSessionStateRequest",
        "AcpCloseSessionRequest",
        "AcpResumeSessionRequest",
        "AcpDeliverAgentOutputRequest",
        "AcpListAgentsRequest",
    ],
    "AcpResponse": [
        "AcpSessionCreatedResponse",
        "AcpSessionRpcResponse",
        "AcpSessionStateResponse",
        "AcpSessionClosedResponse",
        "AcpSessionResumedResponse",
        "AcpErrorResponse",
        "AcpPendingResponse",
        "AcpListAgentsResponse",
    ],
    "AcpEvent": ["AcpSessionEvent", "AcpAgentStderrEvent", "AcpAgentExitedEvent"],
    "AcpCallback": ["AcpPermissionCallback", "AcpHostRequestCallback"],
    "AcpCallbackResponse": ["AcpPermissionCallbackResponse", "AcpHostRequestCallbackResponse"],
    "Frame": ["Hello", "Welcome", "Refused", "Request", "Response", "Event", "Callback", "CallbackResponse"],
}
ARMS = [(union, tag, arm) for union, arms in TAGS.items() for tag, arm in enumerate(arms)]
REGISTRY = {**m.TYPES, **f.TYPES}


def test_every_type_has_golden_bytes() -> None:
    assert {name for name, _, _ in GOLDEN} | set(TAGS) == set(REGISTRY)


@pytest.mark.parametrize(("name", "value", "golden"), GOLDEN, ids=[name for name, _, _ in GOLDEN])
def test_the_bytes_of_a_value_are_these(name: str, value: Any, golden: str) -> None:
    encode, decode = REGISTRY[name]
    assert encode(value).hex() == golden.replace(" ", "")
    assert decode(bytes.fromhex(golden)) == value


@pytest.mark.parametrize(("union", "tag", "arm"), ARMS, ids=[arm for _, _, arm in ARMS])
def test_a_union_is_its_members_number_and_then_the_member(union: str, tag: int, arm: str) -> None:
    value, golden = next((value, golden) for name, value, golden in GOLDEN if name == arm)
    encode, decode = REGISTRY[union]
    assert encode(value).hex() == f"{tag:02x}" + golden.replace(" ", "")
    assert decode(encode(value)) == value


def test_list_agents_is_six_one() -> None:
    assert m.encode_acp_request(m.AcpListAgentsRequest(reserved=True)) == b"\x06\x01"


@pytest.mark.parametrize("union", TAGS)
def test_a_number_no_member_has_is_a_codec_error(union: str) -> None:
    for number in range(len(TAGS[union]), 128):
        with pytest.raises(CodecError, match=f"{union} has no member {number}"):
            REGISTRY[union][1](bytes([number]) + b"\0" * 100)


CREATE = next(value for name, value, _ in GOLDEN if name == "AcpCreateSessionRequest")


@pytest.mark.parametrize(
    ("name", "data", "path", "message"),
    [
        ("AcpRequest", "", (), "the input ends too early"),
        ("AcpRequest", "8600", (), "not the shortest"),  # tag 6 in two bytes
        ("AcpRequest", "86", (), "the input ends too early"),
        ("AcpRequest", "0602", ("reserved",), "byte 2 where a bool has 0 or 1"),
        ("AcpRequest", "060100", (), "bytes follow the value: 1"),
        ("AcpRequest", "06", ("reserved",), "the input ends too early"),
        ("AcpSessionRequest", "02 7331 01 78 02", ("params",), "byte 2 where an optional has 0 or 1"),
        ("AcpSessionRequest", "02 7331 01 78 01", ("params",), "the input ends too early"),
        ("AcpSessionRequest", "02 7331 01 ff 00", ("method",), "not UTF-8"),
        ("AcpSessionRequest", "02 7331 03 eda080 00", ("method",), "not UTF-8"),  # a surrogate
        ("AcpSessionRequest", "02 7331 02 c080 00", ("method",), "not UTF-8"),  # NUL in two bytes
        ("AcpSessionRequest", "02 7331 8100 78 00", ("method",), "not the shortest"),
        ("AcpSessionRequest", "ffffffffffffffffff02", ("sessionId",), "more than 64 bits"),
        ("AcpSessionRequest", "ffffffffffffffffff8001", ("sessionId",), "more than 10 bytes"),
        ("AcpListAgentsResponse", "02 01610100 0162 07 00", ("agents", 1, "installed"), "byte 7 where a bool"),
        ("AcpListAgentsResponse", "02 01610100 0561", ("agents", 1, "id"), "the input ends too early"),
        ("AcpCreateSessionRequest", "01 61 03 00", ("runtime",), "AcpRuntimeKind has no member 3"),
        ("AcpCreateSessionRequest", "01 61 00 01 2f 02 01 61 01 ff", ("args", 1), "not UTF-8"),
        ("AcpCreateSessionRequest", "01 61 00 01 2f 00 02 0141 00 0141 00", ("env", "A"), "a key occurs twice"),
        ("AcpCreateSessionRequest", "01 61 00 01 2f 00 02 0141 00 0142 01ff", ("env", "B"), "not UTF-8"),
        ("AcpCreateSessionRequest", "01 61 00 01 2f 00 02 0141 00 01ff 00", ("env", 1), "not UTF-8"),
        ("AcpCreateSessionRequest", "01 61 00 01 2f 00 05 0141 00", ("env",), "5 items are declared"),
        ("AcpAgentExitedEvent", "00 00 00 01 0102", ("exitCode",), "the input ends too early"),
        ("AcpAgentExitedEvent", "00 00 00 00 00 0102", ("restartCount",), "the input ends too early"),
        ("Frame", "03 07000000 03 0601", ("payload",), "the input ends too early"),
        ("Frame", "08", (), "Frame has no member 8"),
    ],
)
def test_a_fault_in_the_input_is_named_with_its_path(name: str, data: str, path: tuple[Any, ...], message: str) -> None:
    with pytest.raises(CodecError, match=message) as caught:
        REGISTRY[name][1](bytes.fromhex(data))
    assert caught.value.path == path


def changed(**fields: Any) -> m.AcpCreateSessionRequest:
    return msgspec.structs.replace(CREATE, **fields)


@pytest.mark.parametrize(
    ("name", "value", "path", "message"),
    [
        ("AcpRequest", None, (), "expected AcpRequest, got NoneType"),
        ("AcpRequest", m.AcpPendingResponse("p"), (), "expected AcpRequest, got AcpPendingResponse"),
        ("AcpPendingResponse", m.AcpSessionClosedResponse("s"), (), "expected AcpPendingResponse"),
        ("AcpRequest", changed(cwd=None), ("cwd",), "expected str"),
        ("AcpRequest", changed(cwd=b"/"), ("cwd",), "expected str"),
        ("AcpRequest", changed(cwd="\ud800"), ("cwd",), "lone surrogate"),
        ("AcpRequest", changed(runtime=0), ("runtime",), "expected AcpRuntimeKind"),
        ("AcpRequest", changed(args=None), ("args",), "expected list<str>"),
        ("AcpRequest", changed(args="-v"), ("args",), "expected list<str>"),
        ("AcpRequest", changed(args=["a", None]), ("args", 1), "expected str"),
        ("AcpRequest", changed(args=["\udfff"]), ("args", 0), "lone surrogate"),
        ("AcpRequest", changed(env=[("A", "1")]), ("env",), "expected map<str><str>"),
        ("AcpRequest", changed(env={"A": 1}), ("env", "A"), "expected str to str"),
        ("AcpRequest", changed(env={7: "1"}), ("env", 7), "expected str to str"),
        ("AcpRequest", changed(protocol_version=2**31), ("protocolVersion",), "expected i32"),
        ("AcpRequest", changed(protocol_version=-(2**31) - 1), ("protocolVersion",), "expected i32"),
        ("AcpRequest", changed(protocol_version="2"), ("protocolVersion",), "expected i32"),
        ("AcpRequest", changed(protocol_version=2.0), ("protocolVersion",), "expected i32"),
        ("AcpRequest", changed(skip_os_instructions=1), ("skipOsInstructions",), "expected bool"),
        ("AcpRequest", changed(additional_instructions=0), ("additionalInstructions",), "expected optional<str>"),
        ("AcpResponse", m.AcpSessionCreatedResponse("s", -1, None, []), ("pid",), "expected optional<u32>"),
        (
            "AcpResponse",
            m.AcpListAgentsResponse([m.AcpAgentEntry("a", True, "b"), m.AcpAgentEntry("a", None, "b")]),
            ("agents", 1, "installed"),
            "expected bool",
        ),
        ("AcpResponse", m.AcpListAgentsResponse([None]), ("agents", 0), "expected AcpAgentEntry, got NoneType"),
        ("Frame", f.Request(2**32, b""), ("id",), "expected u32"),
        ("Frame", f.Request(1, "text"), ("payload",), "expected data"),
        ("Frame", f.Hello(2**16, ""), ("version",), "expected u16"),
    ],
)
def test_a_value_that_cannot_be_encoded_is_named_with_its_path(
    name: str, value: Any, path: tuple[Any, ...], message: str
) -> None:
    with pytest.raises(CodecError, match=message) as caught:
        REGISTRY[name][0](value)
    assert caught.value.path == path


def test_a_long_key_is_cut_in_the_path() -> None:
    key = "K" * 1_000_000
    data = b"\1s\1a\0\1c\1" + b"\xc0\x84\x3d" + key.encode() + b"\1\xff"
    with pytest.raises(CodecError) as caught:
        m.decode_acp_resume_session_request(data)
    assert caught.value.path == ("env", "K" * 64 + "…")


def test_an_error_shows_no_value() -> None:
    secret = "hunter2"
    faults = []
    for value in (changed(env={"TOKEN": [secret]}), changed(env={"TOKEN": secret + "\ud800"}), changed(cwd=[secret])):
        with pytest.raises(CodecError) as caught:
            m.encode_acp_request(value)
        faults.append(caught.value)
    with pytest.raises(CodecError) as caught:
        f.decode_hello(b"\1\0\0\1\x08" + secret.encode() + b"\xff\0")
    faults.append(caught.value)
    assert not [fault for fault in faults if secret in repr(fault) or secret in str(fault)]


@pytest.mark.parametrize(
    ("value", "shown", "secrets"),
    [
        (f.Hello(1, "cli/1", "hunter2", "me"), "Hello(version=1, client='cli/1', token=<withheld>, caller='me')", 1),
        (f.Request(1, b"hunter2"), "Request(id=1, payload=<withheld>)", 1),
        (
            m.AcpResumeSessionRequest("s", "a", None, "/", {"TOKEN": "hunter2"}),
            "AcpResumeSessionRequest(session_id='s', agent_type='a', transcript_path=None, cwd='/', env=<withheld>)",
            1,
        ),
        (changed(env={"TOKEN": "hunter2"}, mcp_servers="hunter2"), None, 2),
    ],
)
def test_a_repr_withholds_what_may_be_secret(value: Any, shown: str | None, secrets: int) -> None:
    assert shown in (None, repr(value))
    assert "hunter2" not in repr(value)
    assert "hunter2" not in repr(value.__rich_repr__())
    assert [name for name, _ in value.__rich_repr__()] == list(value.__struct_fields__)
    assert repr(value).count("<withheld>") == secrets


def test_a_tuple_serves_for_a_list_and_any_buffer_for_data() -> None:
    assert m.encode_acp_request(changed(args=("-v", ""))) == m.encode_acp_request(CREATE)
    golden = f.encode_frame(f.Event(b"\0\1"))
    for kind in (bytearray, memoryview):
        assert f.encode_frame(f.Event(kind(b"\0\1"))) == golden
    wide = memoryview(bytearray(b"\1\0\2\0")).cast("H")  # two items, four bytes
    assert f.encode_event(f.Event(wide)) == b"\4\1\0\2\0"


def test_an_optional_that_no_required_field_follows_may_be_left_out() -> None:
    assert m.AcpSessionRequest("s", "m").params is None
    assert m.AcpAgentExitedEvent.__struct_defaults__ == ()


def test_values_are_frozen_and_compare_by_their_fields() -> None:
    event = m.AcpSessionEvent("s", "{}")
    assert event == m.AcpSessionEvent("s", "{}")
    with pytest.raises(AttributeError):
        event.session_id = "t"


def test_enums_have_the_schemas_members() -> None:
    assert issubclass(m.AcpRuntimeKind, IntEnum)
    assert [(kind.name, kind.value) for kind in m.AcpRuntimeKind] == [
        ("JAVA_SCRIPT", 0),
        ("PYTHON", 1),
        ("WEB_ASSEMBLY", 2),
    ]
