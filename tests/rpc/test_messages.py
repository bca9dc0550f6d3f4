from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET, Raw

from roost.errors import CodecError, RpcError
from roost.rpc.messages import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    Envelope,
    Flaw,
    error_bytes,
    flaw_of,
    id_key,
    is_legal_id,
    judge,
    notification_bytes,
    one_line,
    peek,
    read_error,
    readable,
    request_bytes,
    result_bytes,
)


def test_peek_keeps_the_id_and_every_payload_as_they_are_written() -> None:
    envelope = peek(b'{"jsonrpc":"2.0","id": "\\u0031" ,"method":"a\\u0062","params":{ "x" : 1.0 },"more":[1]}')
    assert envelope.method == "ab"
    assert isinstance(envelope.id, Raw)
    assert bytes(envelope.id) == b'"\\u0031"'
    assert isinstance(envelope.params, Raw)
    assert bytes(envelope.params) == b'{ "x" : 1.0 }'
    assert envelope.result is UNSET
    assert envelope.error is UNSET


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"{",
        b"5",
        b"[]",
        b"null",
        b"{}",
        b'{"jsonrpc":2.0}',
        b'{"jsonrpc":"2.0","method":5}',
        b'{"jsonrpc":"2.0","method":"x"} {}',
        b'{"jsonrpc":"2.0","method":"x","params":{"a":tru}}',
        b'{"jsonrpc":"2.0","method":"x","params":{"a":"\xff"}}',
        b'{"jsonrpc":"2.0","method":"x","params":{"\xed\xa0\x80":1}}',
        b'{"jsonrpc":"2.0","\xff":1}',
        b'{"jsonrpc":"2.0","method":"x","params":' + b'{"a":' * 100_000 + b"1" + b"}" * 100_001,
    ],
)
def test_what_is_no_message_is_a_codec_error(message: bytes) -> None:
    with pytest.raises(CodecError):
        peek(message)


@pytest.mark.parametrize(
    "raw",
    [b"null", b"0", b"-0", b"-1", b"1", b"9223372036854775807", b"-9223372036854775808", b'""', b'"1"', b'"\\u0031"'],
)
def test_null_int64_and_string_are_ids(raw: bytes) -> None:  # ID-1
    assert is_legal_id(raw)


@pytest.mark.parametrize(
    "raw",
    [
        b"1.5",
        b"1.0",
        b"-1.0",
        b"1e3",
        b"1E400",
        b"true",
        b"false",
        b"{}",
        b"[1]",
        b"9223372036854775808",
        b"-9223372036854775809",
        b"9" * 100_000,
    ],
)
def test_nothing_else_is_an_id(raw: bytes) -> None:  # ID-1
    assert not is_legal_id(raw)


@given(st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text()))
def test_an_id_is_legal_when_its_python_value_says_so(value: Any) -> None:
    legal = value is None or isinstance(value, str) or (type(value) is int and -(2**63) <= value < 2**63)
    assert is_legal_id(json.dumps(value, allow_nan=True).encode()) is legal


def test_ids_have_the_same_key_when_they_are_equal_and_of_one_type() -> None:  # ID-2
    assert id_key(b'"a\\u0062"') == id_key(b'"ab"')
    assert id_key(b"-0") == id_key(b"0")
    assert len({id_key(raw) for raw in (b"1", b'"1"', b"null", b'"null"', b'"\\"1\\""')}) == 5


REQUEST = {"shape": "request"}
RESPONSE = {"shape": "response"}
NOTIFICATION = {"shape": "notification"}

FLAWED: list[tuple[bytes, int, dict[str, Any]]] = [
    # ENV-11: an object that is nothing
    (b"{}", INVALID_REQUEST, REQUEST | {"raw_id": None, "genuine": False}),
    (b'{"jsonrpc":"2.0"}', INVALID_REQUEST, REQUEST | {"raw_id": None, "genuine": True}),
    (b'{"foo":1}', INVALID_REQUEST, REQUEST | {"raw_id": None}),
    (b'{"jsonrpc":"2.0","id":7,"params":{}}', INVALID_REQUEST, REQUEST | {"raw_id": b"7"}),
    # ENV-1
    (b'{"jsonrpc":"1.0","id":1,"method":"x"}', INVALID_REQUEST, REQUEST | {"raw_id": b"1", "genuine": False}),
    (b'{"jsonrpc":2.0,"id":"a","method":"x"}', INVALID_REQUEST, REQUEST | {"raw_id": b'"a"', "genuine": False}),
    (b'{"id":null,"method":"x"}', INVALID_REQUEST, REQUEST | {"raw_id": b"null"}),
    (b'{"jsonrpc":"1.0","method":"x"}', INVALID_REQUEST, NOTIFICATION),
    (b'{"id":1,"result":{}}', INVALID_REQUEST, RESPONSE | {"raw_id": b"1", "genuine": False}),
    # ENV-3: classes mixed
    (b'{"jsonrpc":"2.0","id":1,"method":"x","result":1}', INVALID_REQUEST, REQUEST | {"raw_id": b"1"}),
    (b'{"jsonrpc":"2.0","id":1,"method":"x","error":{}}', INVALID_REQUEST, REQUEST | {"raw_id": b"1"}),
    (b'{"jsonrpc":"2.0","method":"x","result":1}', INVALID_REQUEST, NOTIFICATION),
    (b'{"jsonrpc":"2.0","id":1,"result":1,"error":{}}', INVALID_REQUEST, RESPONSE | {"raw_id": b"1"}),
    (b'{"jsonrpc":"2.0","id":1,"result":1,"error":null}', INVALID_REQUEST, RESPONSE | {"raw_id": b"1"}),
    # ENV-4
    (b'{"jsonrpc":"2.0","id":1,"method":"x","params":[]}', INVALID_PARAMS, REQUEST | {"raw_id": b"1"}),
    (b'{"jsonrpc":"2.0","id":1,"method":"x","params":5}', INVALID_PARAMS, REQUEST | {"raw_id": b"1"}),
    (b'{"jsonrpc":"2.0","id":1,"method":"x","params":"{}"}', INVALID_PARAMS, REQUEST | {"raw_id": b"1"}),
    (b'{"jsonrpc":"2.0","id":1,"method":"x","params":true}', INVALID_PARAMS, REQUEST | {"raw_id": b"1"}),
    (b'{"jsonrpc":"2.0","method":"x","params":-1}', INVALID_PARAMS, NOTIFICATION),
    # ENV-12: malformed responses
    (b'{"jsonrpc":"2.0","id":1}', INVALID_REQUEST, RESPONSE | {"raw_id": b"1"}),
    (b'{"jsonrpc":"2.0","result":1}', INVALID_REQUEST, RESPONSE | {"raw_id": None}),
    (b'{"jsonrpc":"2.0","id":[1],"result":1}', INVALID_REQUEST, RESPONSE | {"raw_id": None}),
    (b'{"jsonrpc":"2.0","id":1.0,"error":{"code":1,"message":"m"}}', INVALID_REQUEST, RESPONSE | {"raw_id": None}),
    (b'{"jsonrpc":"2.0","id":1,"method":null,"result":1}', INVALID_REQUEST, RESPONSE | {"raw_id": b"1"}),
    # ID-1
    (b'{"jsonrpc":"2.0","id":1.5,"method":"x"}', INVALID_REQUEST, REQUEST | {"raw_id": None}),
    (b'{"jsonrpc":"2.0","id":true,"method":"x"}', INVALID_REQUEST, REQUEST | {"raw_id": None}),
    (b'{"jsonrpc":"2.0","id":{},"method":"x"}', INVALID_REQUEST, REQUEST | {"raw_id": None}),
    (b'{"jsonrpc":"2.0","id":9223372036854775808,"method":"x"}', INVALID_REQUEST, REQUEST | {"raw_id": None}),
    # a method that is no method
    (b'{"jsonrpc":"2.0","method":1,"params":"bar"}', INVALID_REQUEST, REQUEST | {"raw_id": None}),
    (b'{"jsonrpc":"2.0","id":1,"method":5}', INVALID_REQUEST, REQUEST | {"raw_id": b"1"}),
    (b'{"jsonrpc":"2.0","id":1,"method":null}', INVALID_REQUEST, REQUEST | {"raw_id": b"1"}),
    # not objects
    (b"5", INVALID_REQUEST, REQUEST | {"raw_id": None, "genuine": False}),
    (b' "x" ', INVALID_REQUEST, REQUEST | {"raw_id": None, "genuine": False}),
    (b"[]", INVALID_REQUEST, REQUEST | {"raw_id": None, "genuine": False}),
]


def look(message: bytes) -> Envelope | Flaw:
    try:
        envelope = peek(message)
    except CodecError:
        return judge(message)
    return flaw_of(envelope) or envelope


@pytest.mark.parametrize(("message", "code", "traits"), FLAWED)
def test_a_flawed_message_is_told_by_code_shape_and_id(message: bytes, code: int, traits: dict[str, Any]) -> None:
    flaw = look(message)
    assert isinstance(flaw, Flaw)
    assert flaw.code == code
    assert {name: getattr(flaw, name) for name in traits} == traits


@pytest.mark.parametrize(("message", "code", "traits"), FLAWED)
def test_the_second_look_agrees_with_the_first(message: bytes, code: int, traits: dict[str, Any]) -> None:
    assert judge(message) == look(message)


@pytest.mark.parametrize(
    "message",
    [
        b'{"jsonrpc":"2.0","method":"x"}',
        b'{"jsonrpc":"2.0","method":"","params":{}}',
        b'{"jsonrpc":"2.0","id":null,"method":"x","params":null}',
        b'{"jsonrpc":"2.0","id":null,"error":{}}',
        b'{"jsonrpc":"2.0","id":1,"result":null,"params":5}',
        b' {"jsonrpc":"2.0", "id":1, "result":[]}\r',
    ],
)
def test_a_sound_message_has_no_flaw(message: bytes) -> None:
    assert flaw_of(peek(message)) is None
    assert isinstance(judge(message), Envelope)


def test_null_params_are_no_params() -> None:  # ENV-4
    envelope = peek(b'{"jsonrpc":"2.0","method":"x","params":null}')
    assert flaw_of(envelope) is None
    assert envelope.params is UNSET


def test_of_two_members_of_one_name_the_last_counts() -> None:
    verdict = judge(b'{"jsonrpc":"1.0","jsonrpc":"2.0","method":5,"method":"x"}')
    assert isinstance(verdict, Envelope)
    assert verdict.method == "x"


@pytest.mark.parametrize("message", [b"", b" ", b"{", b"nul", b"[1,", b'{"a":1}x', b"\xff", b'"\xff"', b"[" * 100_000])
def test_what_is_no_json_is_a_parse_error(message: bytes) -> None:  # ENV-10
    flaw = readable(message)
    assert isinstance(flaw, Flaw)
    assert (flaw.code, flaw.shape, flaw.raw_id, flaw.genuine) == (PARSE_ERROR, "request", None, False)


def test_a_request_that_is_not_utf8_is_a_parse_error_without_id() -> None:  # ENV-2, ENV-10
    flaw = readable(b'{"jsonrpc":"2.0","id":1,"method":"x","params":{"a":"\xff"}}')
    assert isinstance(flaw, Flaw)
    assert (flaw.code, flaw.shape, flaw.raw_id) == (PARSE_ERROR, "request", None)


@pytest.mark.parametrize("rest", [b"", b',"error":1', b',"error":{"\xff":1}'])
def test_a_response_that_is_not_utf8_still_names_its_call(rest: bytes) -> None:  # ENV-12
    flaw = readable(b'{"jsonrpc":"2.0","id":1,"result":{"a":"\xff"}' + rest + b"}")
    assert isinstance(flaw, Flaw)
    assert (flaw.shape, flaw.raw_id) == ("response", b"1")


def test_an_object_nested_too_deeply_is_a_parse_error() -> None:
    flaw = judge(b'{"jsonrpc":"2.0","id":1,"result":' + b"[" * 100_000 + b"]" * 100_000 + b"}")
    assert isinstance(flaw, Flaw)
    assert (flaw.code, flaw.raw_id) == (PARSE_ERROR, None)


def test_a_lone_surrogate_is_mended_and_other_text_is_left_alone() -> None:
    assert readable(rb'{"a":"\ud83d"}') == rb'{"a":"\ufffd"}'
    message = rb'{"a":"\ud83d\ude00"}'
    assert readable(message) is message


def test_absent_params_are_left_out() -> None:
    assert request_bytes(3, "a", None) == b'{"jsonrpc":"2.0","id":3,"method":"a"}'
    assert notification_bytes("a", None) == b'{"jsonrpc":"2.0","method":"a"}'


def test_what_we_send_reads_back() -> None:
    assert json.loads(request_bytes(3, 'a"\né', b'{"x":1}')) == {
        "jsonrpc": "2.0",
        "id": 3,
        "method": 'a"\né',
        "params": {"x": 1},
    }
    assert json.loads(notification_bytes("a", b"{}")) == {"jsonrpc": "2.0", "method": "a", "params": {}}
    assert result_bytes(b'"\\u0031"', b"null") == b'{"jsonrpc":"2.0","id":"\\u0031","result":null}'


def test_a_method_that_is_no_unicode_text_is_a_codec_error() -> None:
    with pytest.raises(CodecError) as caught:
        request_bytes(1, "\ud800", None)
    assert caught.value.path == ("method",)
    with pytest.raises(CodecError):
        notification_bytes("\ud800", None)


@pytest.mark.parametrize("payload", [b'{"a":\r\n1}', b'{"a":\n1}', b'{"a":\r1}', Raw(b'{\n"a":\r\n1}')])
def test_a_message_is_one_line_whatever_its_payload_was(payload: bytes) -> None:  # STD-1
    for message in (
        request_bytes(1, "a", payload),
        notification_bytes("a", payload),
        result_bytes(b"1", payload),
        error_bytes(b"1", RpcError(1, "m", Raw(payload))),
    ):
        assert b"\n" not in message
        assert b"\r" not in message
        assert b'"a":' in message
        json.loads(message)


def test_one_line_text_is_not_copied() -> None:
    payload = b'{"a":"\\n"}'
    assert one_line(payload) is payload


@pytest.mark.parametrize("code", [-32700, -32600, -32601, -32602, -32603, -32800, -32000, -32002, 12345, -(2**31), 0])
def test_every_error_code_round_trips(code: int) -> None:  # ERR-1
    error = read_error(bytes(msgspec.json.decode(error_bytes(b"1", RpcError(code, "m")), type=Envelope).error), 1000)
    assert (error.code, error.message, error.data) == (code, "m", None)


@pytest.mark.parametrize("data", [0, False, "", [], {}, {"a": [1, None]}, 2**70, 1.5])
def test_every_error_data_round_trips(data: Any) -> None:  # ERR-1
    wire = json.loads(error_bytes(b"1", RpcError(1, "m", data)))["error"]
    error = read_error(json.dumps(wire).encode(), 1000)
    assert error.data == data
    assert type(error.data) is type(data)


def test_null_data_is_no_data() -> None:
    assert read_error(b'{"code":1,"message":"m","data":null}', 1000).data is None


@pytest.mark.parametrize(
    "data", [b'"' + b"x" * 1000 + b'"', b"1e999", b"[" * 800 + b"]" * 800], ids=["too long", "out of range", "deep"]
)
def test_data_that_is_not_decoded_is_sent_on_as_it_came(data: bytes) -> None:
    error = read_error(b'{"code":1,"message":"m","data":' + data + b"}", 900 if data[:1] == b'"' else 10_000)
    assert error_bytes(b"1", error) == b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m","data":' + data + b"}}"


@pytest.mark.parametrize(
    "raw",
    [
        b"null",
        b'"boom"',
        b"{}",
        b'{"code":1}',
        b'{"message":"m"}',
        b'{"code":"ENOENT","message":"m"}',
        b'{"code":1.5,"message":"m"}',
        b'{"code":2147483648,"message":"m"}',
        b'{"code":true,"message":"m"}',
        b'{"code":1,"message":null}',
    ],
)
def test_what_is_no_error_object_is_a_codec_error(raw: bytes) -> None:
    with pytest.raises(CodecError):
        read_error(raw, 1000)


def deep() -> list[Any]:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    return value


@pytest.mark.parametrize(
    "error",
    [
        RpcError(2**31, "m"),
        RpcError(-(2**31) - 1, "m"),
        RpcError(True, "m"),
        RpcError(1, "\ud800"),
        RpcError(1, "m", object()),
        RpcError(1, "m", {"a": "\ud800"}),
        RpcError(1, "m", {1.5: {object(): 1}}),
        RpcError(1, "m", deep()),
    ],
    ids=["too big", "too small", "bool", "message", "object", "surrogate", "key", "deep"],
)
def test_an_error_without_json_form_is_a_codec_error(error: RpcError) -> None:
    with pytest.raises(CodecError):
        error_bytes(b"1", error)
