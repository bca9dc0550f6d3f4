"""Values: messages, enumerations, numbers, ids, what cannot be written (C-01, C-10, C-11, C-24 to C-27, C-33 to C-43).

C-02 and C-45 are in tests/oracle/test_acp_agreement.py, C-12 in test_worked_examples.py, C-34 with the terminals of
the fold, C-38 in tests/wire/test_decode.py.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from roost.acp import v2
from roost.acp.paths import is_absolute
from roost.errors import CodecError
from roost.wire.decode import decode, encode
from roost.wire.model import Unknown
from tests.acp.codec import INIT, TYPES, attribute, load
from tests.oracle.acp_instances import example
from tests.oracle.acp_reference import DEFS, Bad
from tests.oracle.acp_reference import decode as reference_decode

EXAMPLES: list[tuple[str, Any]] = [
    ("InitializeRequest", {**INIT, "capabilities": {"auth": {"terminal": {}}, "elicitation": {"form": {}}}}),
    (
        "InitializeResponse",
        {
            **INIT,
            "capabilities": {"session": {"prompt": {"image": {}}, "mcp": {"stdio": {}}}},
            "authMethods": [{"type": "agent", "methodId": "login", "name": "Log in"}],
        },
    ),
    (
        "NewSessionRequest",
        {
            "cwd": "/srv/project",
            "additionalDirectories": ["/srv/shared"],
            "mcpServers": [
                {"type": "stdio", "name": "files", "command": "/bin/mcp", "env": [{"name": "A", "value": "b"}]},
                {"type": "http", "name": "web", "url": "https://h/", "headers": [{"name": "X", "value": "y"}]},
            ],
        },
    ),
    (
        "PromptRequest",
        {
            "sessionId": "s",
            "prompt": [
                {"type": "text", "text": "what is this?"},
                {"type": "resource", "resource": {"uri": "file:///a.py", "mimeType": "text/x-python", "text": "x=1"}},
                {"type": "resource_link", "uri": "file:///b", "name": "b", "size": 3},
            ],
        },
    ),
    ("PromptResponse", {}),
    (
        "UpdateSessionNotification",
        {
            "sessionId": "s",
            "update": {
                "sessionUpdate": "tool_call_update",
                "toolCallId": "t",
                "title": "edit",
                "kind": "edit",
                "status": "in_progress",
                "content": [
                    {
                        "type": "diff",
                        "changes": [{"operation": "move", "oldPath": "/a", "path": "/b", "fileType": "text"}],
                        "patch": {"format": "git_patch", "text": "diff --git"},
                    },
                    {"type": "terminal", "terminalId": "x"},
                ],
                "locations": [{"path": "/a", "line": 3}],
                "rawInput": {"any": [1, 2.5, None]},
            },
        },
    ),
    (
        "UpdateSessionNotification",
        {"sessionId": "s", "update": {"sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn"}},
    ),
    (
        "UpdateSessionNotification",
        {
            "sessionId": "s",
            "update": {
                "sessionUpdate": "plan_update",
                "plan": {
                    "type": "items",
                    "planId": "p",
                    "entries": [{"content": "look", "priority": "high", "status": "pending"}],
                },
            },
        },
    ),
    (
        "RequestPermissionRequest",
        {
            "sessionId": "s",
            "title": "Run it?",
            "subject": {"type": "tool_call", "toolCall": {"toolCallId": "t", "title": "run"}},
            "options": [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}],
        },
    ),
    ("RequestPermissionResponse", {"outcome": {"outcome": "selected", "optionId": "yes"}}),
    (
        "CreateElicitationRequest",
        {
            "mode": "form",
            "message": "Who?",
            "sessionId": "s",
            "requestedSchema": {
                "type": "object",
                "properties": {
                    "name": {"type": "string", "minLength": 1},
                    "tags": {"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}},
                },
                "required": ["name"],
            },
        },
    ),
    ("CreateElicitationResponse", {"action": "accept", "content": {"name": "me", "n": 3, "ok": True, "l": ["a"]}}),
    (
        "SetSessionConfigOptionResponse",
        {
            "configOptions": [
                {
                    "type": "select",
                    "configId": "model",
                    "name": "Model",
                    "category": "model",
                    "currentValue": "big",
                    "options": [{"groupId": "g", "name": "G", "options": [{"value": "big", "name": "Big"}]}],
                }
            ]
        },
    ),
    ("CancelRequestNotification", {"requestId": "7"}),
    ("Error", {"code": -32602, "message": "no", "data": {"path": "cwd"}}),
]


@pytest.mark.parametrize(("name", "value"), EXAMPLES, ids=[name for name, _ in EXAMPLES])
def test_an_ordinary_message_comes_back_as_it_was(name: str, value: Any) -> None:
    """C-01"""
    losses: list[Any] = []
    assert json.loads(encode(load(getattr(v2, name), value, losses))) == value
    assert losses == []


def open_enums() -> Iterator[tuple[str, str, str]]:
    """(definition, member, open enumeration it takes one value of)"""
    for name in TYPES:
        for wire, schema in DEFS[name]["properties"].items():
            target = json.dumps(schema).partition("#/$defs/")[2].partition('"')[0]
            options = DEFS.get(target, {}).get("anyOf", [{}])
            if "items" not in schema and "const" in options[0] and options[-1].get("type") == "string":
                yield name, wire, target


OPEN_ENUMS = list(open_enums())


@pytest.mark.parametrize(("name", "wire", "target"), OPEN_ENUMS, ids=[f"{n}.{w}" for n, w, _ in OPEN_ENUMS])
def test_an_open_enumeration_keeps_strings_it_does_not_know(name: str, wire: str, target: str) -> None:
    """C-10"""
    value = load(getattr(v2, name), {**example(DEFS[name]), wire: "paused_by_moon"})
    assert getattr(value, attribute(wire)) == "paused_by_moon"
    assert json.loads(encode(value))[wire] == "paused_by_moon"


def test_open_enumerations_have_their_constants() -> None:
    """C-10"""
    found = {target for _, _, target in OPEN_ENUMS} | {"Role", "LlmProtocol", "ErrorCode"}
    for target in found:
        constants = {value for key, value in vars(getattr(v2, target)).items() if key.isupper()}
        assert constants == {option["const"] for option in DEFS[target]["anyOf"] if "const" in option}


@pytest.mark.parametrize(
    ("kind", "value", "where"),
    [
        (v2.TextDocumentSyncKind, "delta", ()),
        (v2.PositionEncodingKind, "utf-7", ()),
        (v2.ElicitationSchemaType, "array", ()),
        (v2.NesDocumentDidChangeCapabilities, {"syncKind": "delta"}, ("syncKind",)),
    ],
)
def test_a_closed_enumeration_refuses_strings_it_does_not_know(kind: Any, value: Any, where: Any) -> None:
    """C-11"""
    with pytest.raises(CodecError) as refusal:
        load(kind, value)
    assert refusal.value.path == where


def test_a_refused_enumeration_falls_to_the_nearest_lenient_place() -> None:
    """C-11"""
    events = load(v2.NesDocumentEventCapabilities, {"didChange": {"syncKind": "delta"}, "didOpen": {}})
    assert events == v2.NesDocumentEventCapabilities(did_open=v2.NesDocumentDidOpenCapabilities())
    assert load(v2.ClientCapabilities, {"positionEncodings": ["utf-7", "utf-8"]}).position_encodings == ["utf-8"]


INTEGERS: list[tuple[str, Any, dict[str, Any], str, int, int]] = [
    ("uint16", v2.InitializeRequest, {**INIT}, "protocolVersion", 0, 2**16 - 1),
    ("uint32", v2.Position, {"line": 0, "character": 0}, "line", 0, 2**32 - 1),
    ("uint64", v2.UsageUpdate, {"used": 0, "size": 0}, "used", 0, 2**64 - 1),
    ("int32", v2.Error, {"code": 0, "message": ""}, "code", -(2**31), 2**31 - 1),
    ("int64", v2.SuggestNesRequest, example(DEFS["SuggestNesRequest"]), "version", -(2**63), 2**63 - 1),
]


@pytest.mark.parametrize(
    ("kind", "value", "wire", "low", "high"), [row[1:] for row in INTEGERS], ids=[row[0] for row in INTEGERS]
)
def test_integers_keep_to_their_width_exactly(kind: Any, value: Any, wire: str, low: int, high: int) -> None:
    """C-24, C-25"""
    for number in {-1, 0, low, high, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, 2**64, low - 1, high + 1}:
        instance = {**value, wire: number}
        if low <= number <= high:
            assert getattr(load(kind, instance), attribute(wire)) == number
            assert json.loads(encode(load(kind, instance)))[wire] == number
        else:
            with pytest.raises(CodecError):
                load(kind, instance)
    for token in (1.0, True, "1", None, 1e2):
        with pytest.raises(CodecError):
            load(kind, {**value, wire: token})


def test_a_lenient_integer_out_of_range_is_not_there() -> None:
    """C-24"""
    assert load(v2.ToolCallLocation, {"path": "/x", "line": -1}).line is None
    assert load(v2.TerminalExitStatus, {"exitCode": -1}).exit_code is None
    assert load(v2.ResourceLink, {"name": "n", "uri": "u", "size": -1}).size == -1
    usage = load(v2.Usage, {"totalTokens": 1, "inputTokens": 1, "outputTokens": 1, "thoughtTokens": 2**64 - 1})
    assert usage.thought_tokens == 2**64 - 1


def test_a_lenient_integer_refuses_floats_and_booleans() -> None:
    """C-25"""
    assert load(v2.ToolCallLocation, {"path": "/x", "line": 1.0}).line is None
    assert load(v2.ToolCallLocation, {"path": "/x", "line": True}).line is None
    assert load(v2.AuthEnvVar, {"name": "n", "secret": 0}).secret is True


def test_an_integer_token_is_a_double() -> None:
    """C-26"""
    priority = load(v2.Annotations, {"priority": 1}).priority
    assert priority == 1.0
    assert type(priority) is float


UNWRITABLE = [
    v2.Annotations(priority=float("nan")),
    v2.Annotations(priority=float("inf")),
    v2.TextContent(text="half a pair: \ud83d"),
    v2.TextContent(text="", meta={"key \udc00": 1}),
    v2.ToolCallUpdate(tool_call_id="t", raw_input={"deep": [{"x": float("-inf")}]}),
]


@pytest.mark.parametrize("value", UNWRITABLE, ids=range(len(UNWRITABLE)))
def test_what_json_cannot_say_is_refused_before_anything_is_written(value: Any) -> None:
    """C-27"""
    with pytest.raises(CodecError) as refusal:
        encode(value)
    assert refusal.value.path


def test_request_ids_of_each_kind_are_distinct() -> None:
    """C-33"""
    ids = [load(v2.CancelRequestNotification, {"requestId": given}).request_id for given in (1, "1", None)]
    assert [type(given) for given in ids] == [int, str, type(None)]
    assert len(set(ids)) == 3
    for illegal in (1.0, 1.5, True, [], 2**63):
        with pytest.raises(CodecError):
            load(v2.CancelRequestNotification, {"requestId": illegal})


def test_a_relative_path_passes_the_codec_and_fails_the_check() -> None:
    """C-35"""
    assert not is_absolute(load(v2.NewSessionRequest, {"cwd": "src"}).cwd)


def test_of_duplicate_keys_the_last_one_counts() -> None:
    """C-39"""
    assert decode(v2.TextContent, b'{"text":"a","text":"b"}').text == "b"
    assert decode(v2.TextContent, b'{"text":5,"text":"b"}').text == "b"
    assert decode(v2.ContentBlock, b'{"type":"image","text":"a","type":"text"}') == v2.TextContent(text="a")
    assert isinstance(decode(v2.ContentBlock, b'{"type":"text","text":"a","type":"_x"}'), Unknown)
    with pytest.raises(CodecError):
        decode(v2.TextContent, b'{"text":"a","text":5}')


@pytest.mark.parametrize("code", [-32700, -32600, -32601, -32602, -32603, -32800, -32000, -32002, 12345, -1, 0])
def test_every_error_code_survives(code: int) -> None:
    """C-42"""
    assert json.loads(encode(load(v2.Error, {"code": code, "message": "m"})))["code"] == code


@pytest.mark.parametrize("data", [1, 1.5, "x", True, [], {}, {"a": [None]}, [1, {"b": 2}]])
def test_any_error_data_survives(data: Any) -> None:
    """C-43"""
    error = {"code": 1, "message": "m", "data": data}
    assert json.loads(encode(load(v2.Error, error))) == error


def test_error_data_that_is_null_is_the_same_as_none() -> None:
    """C-43: only patch fields tell the two apart."""
    assert load(v2.Error, {"code": 1, "message": "m", "data": None}) == v2.Error(code=1, message="m")


def test_the_reference_decoder_is_not_our_decoder() -> None:
    """It refuses on its own account; an oracle that calls what it judges proves nothing."""
    with pytest.raises(Bad):
        reference_decode("TextContent", b'{"text":5}')


@pytest.mark.parametrize("arm", ["user_message_chunk", "agent_message_chunk", "agent_thought_chunk"])
def test_a_valid_chunk_is_decoded_in_c_alone(arm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hot path of a client: the lenient walk has no part in it."""

    def no_walk(*_: Any) -> Any:
        raise AssertionError("the walk was called")

    monkeypatch.setattr("roost.wire.decode._walk", no_walk)
    update = {"sessionUpdate": arm, "messageId": "m", "content": {"type": "text", "text": "hi"}}
    notification = load(v2.UpdateSessionNotification, {"sessionId": "s", "update": update})
    assert isinstance(notification.update, v2.ContentChunk)
    assert json.loads(encode(notification))["update"] == update
