"""`roost decode`: lines in, what our types make of them out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from roost.acp import v2
from roost.cli import decode, decode_bare, decode_types
from roost.sidecar.gen import frames, messages
from tests.acp.codec import APART
from tests.cli.rig import objects, roost
from tests.oracle.acp_instances import example
from tests.oracle.acp_reference import DEFS
from tools.gen_bare.schema import Struct, parse

TOOL = '{"toolCallId":"t","title":5,"status":"completed","content":[{"type":"diff"}]}'


def test_a_value_is_printed_as_our_types_see_it() -> None:
    result = roost("decode", "AuthEnvVar", stdin='{"name":"TOKEN", "secret":"no", "nobody":"knows"}\n')
    assert result.stdout == '{"name":"TOKEN","secret":true,"optional":false}\n'
    assert result.stderr == "line 1: secret: default used: expected a boolean\n"
    assert result.exit_code == 0


def test_what_was_forgiven_is_told_with_its_path_and_without_its_value() -> None:
    result = roost("decode", "ToolCallUpdate", stdin=TOOL.replace("5", '["hidden"]'))
    assert result.stdout == '{"toolCallId":"t","status":"completed","content":[]}\n'
    assert result.stderr.splitlines() == [
        "line 1: title: default used: expected a string or null",
        "line 1: content[0]: item dropped: missing (at changes)",
    ]
    assert "hidden" not in result.stderr


def test_an_error_has_its_line_and_its_path_and_the_other_lines_are_read() -> None:
    result = roost("decode", "ToolCallUpdate", stdin='{"title":"x"}\n\n{"toolCallId":"t"}\n{\n')
    assert result.stdout == '{"toolCallId":"t"}\n'
    first, last = result.stderr.splitlines()
    assert first == "line 1: missing (at toolCallId)"
    assert last.startswith("line 4: not JSON")
    assert result.exit_code == 1


def test_unknown_parts_come_back_whole_and_in_their_order() -> None:
    text = '{"sessionUpdate":"notice","z":[1,{"b":null,"a":1.50}],"severity":"info"}'
    assert roost("decode", "SessionUpdate", stdin=text).stdout == text + "\n"


def test_a_clearing_null_is_shown_and_one_without_meaning_is_not() -> None:
    assert roost("decode", "ToolCallUpdate", stdin='{"toolCallId":"t","title":null}').stdout.strip() == (
        '{"toolCallId":"t","title":null}'
    )
    assert roost("decode", "Annotations", stdin='{"priority":null}').stdout == "{}\n"


@pytest.mark.parametrize(
    ("name", "text", "shown"),
    [
        ("TextContent", '{"text":"x"}', '{"text":"x"}'),
        ("TextContent", '{"type":"text","text":"x"}', '{"type":"text","text":"x"}'),
        ("StateUpdate", '{"state":"idle"}', '{"state":"idle"}'),
        ("RequestId", '"1"', '"1"'),
        ("StopReason", '"_mine"', '"_mine"'),
        ("ErrorCode", "-5", "-5"),
        ("session/cancel", '{"sessionId":"s"}', '{"sessionId":"s"}'),
    ],
)
def test_a_type_is_read_by_its_own_name_and_params_by_their_method(name: str, text: str, shown: str) -> None:
    result = roost("decode", name, stdin=text)
    assert (result.stdout, result.stderr) == (shown + "\n", "")


def test_json_output_is_one_object_a_line() -> None:
    result = roost("decode", "--json", "ToolCallUpdate", stdin=f"{TOOL}\n{{}}\n")
    assert objects(result) == [
        {
            "line": 1,
            "value": {"toolCallId": "t", "status": "completed", "content": []},
            "losses": [
                {"path": ["title"], "what": "default used: expected a string or null"},
                {"path": ["content", 0], "what": "item dropped: missing (at changes)"},
            ],
        },
        {"line": 2, "error": "missing", "path": ["toolCallId"]},
    ]
    assert result.stderr == ""
    assert result.exit_code == 1


def test_files_are_read_in_turn_and_named_in_what_is_told(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text('{"toolCallId":5}\n')
    result = roost("decode", "ToolCallUpdate", str(tmp_path / "a"), str(tmp_path / "b"))
    assert result.stderr.splitlines() == [
        f"{tmp_path / name}: line 1: expected a string (at toolCallId)" for name in ("a", "b")
    ]


def test_a_line_beyond_the_bound_is_an_error_and_the_next_one_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decode, "MAX_LINE_BYTES", 20)
    result = roost("decode", "TextContent", stdin=f'{{"text":"{"x" * 50}"}}\n{{"text":"y"}}\n')
    assert result.stdout == '{"text":"y"}\n'
    assert result.stderr == "line 1: longer than 20 bytes\n"
    assert result.exit_code == 1


@pytest.mark.parametrize(
    ("name", "meant"), [("NewSessionReq", "NewSessionRequest"), ("sesion/new", "session/new"), ("diff", "Diff")]
)
def test_a_name_nobody_has_is_answered_with_the_likely_ones(name: str, meant: str) -> None:
    result = roost("decode", name)
    assert result.exit_code == 1
    assert meant in result.stderr


def test_without_a_type_the_way_to_their_names_is_told() -> None:
    result = roost("decode")
    assert result.exit_code == 1
    assert "--list" in result.stderr


def test_every_listed_type_can_be_read() -> None:
    listed = roost("decode", "--list").stdout.split()
    assert "session/new" in listed
    for name in listed:
        assert decode_types.find(name) is not None, name


@pytest.mark.parametrize("name", sorted((set(DEFS) & set(decode_types.names())) - APART))
def test_every_type_shows_an_example_of_its_definition_without_loss(name: str) -> None:
    if DEFS[name].get("x-docs-ignore"):
        return
    seen = decode_types.find(name)(json.dumps(example(DEFS[name])).encode())  # type: ignore[misc]
    assert seen.error is None
    assert seen.losses == ()
    assert seen.value is not None
    given, shown = example(DEFS[name]), json.loads(bytes(seen.value))
    if isinstance(given, dict):
        assert {key: shown.get(key) for key in given} == given
    else:
        assert shown == given


def test_a_method_with_two_kinds_of_params_is_read_as_its_request() -> None:
    """MCP-8"""
    text = '{"connectionId":"c","method":"m","params":[]}'
    assert roost("decode", "mcp/message", stdin=text).exit_code == 1
    assert roost("decode", v2.NOTIFICATIONS["mcp/message"].params_name, stdin=text).exit_code == 0


# ---- bare


def test_a_sidecar_message_is_read_from_hex() -> None:
    request = messages.AcpCreateSessionRequest(
        "wren", messages.AcpRuntimeKind.PYTHON, "/w", ["-x"], {"A": "b"}, 2, "{}", "[]", True
    )
    data = messages.encode_acp_request(request)
    result = roost("decode", "--bare", "AcpRequest", stdin=f"{data.hex(' ')}\n")
    assert json.loads(result.stdout) == {
        "type": "AcpCreateSessionRequest",
        "agentType": "wren",
        "runtime": "PYTHON",
        "cwd": "/w",
        "args": ["-x"],
        "env": {"A": "b"},
        "protocolVersion": 2,
        "clientCapabilities": "{}",
        "mcpServers": "[]",
        "skipOsInstructions": True,
        "additionalInstructions": None,
    }


def test_bytes_in_a_frame_are_shown_as_hex() -> None:
    data = frames.encode_frame(frames.Response(7, b"\x00\xff"))
    result = roost("decode", "--bare", "Frame", stdin=data.hex().upper())
    assert json.loads(result.stdout) == {"type": "Response", "id": 7, "payload": "00ff"}


def test_bare_input_that_cannot_be_read_says_where() -> None:
    data = messages.encode_acp_response(messages.AcpSessionResumedResponse("s", "native"))
    result = roost("decode", "--bare", "--json", "AcpResponse", stdin=f"{data[:-1].hex()}\nxyz\n")
    short, odd = objects(result)
    assert short["path"] == ["mode"]
    assert odd == {"line": 2, "error": "not hex", "path": []}
    assert result.exit_code == 1


def test_every_bare_type_is_listed_and_its_fields_have_the_names_of_the_schema() -> None:
    assert roost("decode", "--bare", "--list").stdout.split() == list(decode_bare.TYPES)
    for name in ("agentos_acp.v1.bare", "roost_frames.v1.bare"):
        schema = parse((Path(__file__).resolve().parents[2] / "schema" / name).read_text(), name)
        module = messages if name.startswith("agentos") else frames
        for declaration in schema.declarations:
            if isinstance(declaration.type, Struct):
                fields = getattr(module, declaration.name).__struct_fields__
                assert [decode_bare.camel(field) for field in fields] == [f.name for f in declaration.type.fields]


def test_an_unknown_bare_type_is_answered_with_the_likely_ones() -> None:
    assert "AcpRequest" in roost("decode", "--bare", "AcpReqest").stderr
