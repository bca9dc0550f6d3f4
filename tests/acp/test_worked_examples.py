"""The worked examples of lenient decoding, X1 to X42 (C-12)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from roost.acp import v2
from roost.errors import CodecError
from roost.wire.decode import decode
from roost.wire.model import UNSET, Unknown

TEXT = v2.TextContent(text="x")
TEXT_JSON = {"type": "content", "content": {"type": "text", "text": "x"}}
INIT = {"protocolVersion": 2, "info": {"name": "n", "version": "1"}}
PERMISSION = {
    "sessionId": "s",
    "title": "t",
    "options": [{"optionId": "o", "name": "Allow", "kind": "allow_once"}],
}
BAD_STRING = {"type": "string", "minLength": "3"}
SET = {"sessionId": "s", "configId": "c"}
STDIO = {"type": "stdio", "name": "x", "command": "/b"}


def tool(**members: Any) -> dict[str, Any]:
    return {"toolCallId": "t", **members}


# id, type, input, what to look at, what it is
READS: list[tuple[str, Any, Any, str, Any]] = [
    ("X1", v2.ToolCallUpdate, tool(title=5, status="completed"), "title", UNSET),
    ("X1", v2.ToolCallUpdate, tool(title=5, status="completed"), "status", "completed"),
    ("X2", v2.ToolCallUpdate, tool(title=None), "title", None),
    ("X3", v2.ToolCallUpdate, tool(content=[{"type": "diff"}, TEXT_JSON]), "content", [v2.Content(content=TEXT)]),
    ("X4", v2.ToolCallUpdate, tool(content=[{"type": "diff"}]), "content", []),
    ("X5", v2.ToolCallUpdate, tool(content="oops"), "content", UNSET),
    ("X8", v2.InitializeRequest, {**INIT, "capabilities": []}, "capabilities", v2.ClientCapabilities()),
    ("X9", v2.InitializeResponse, {**INIT, "capabilities": {"session": True}}, "capabilities.session", None),
    (
        "X10",
        v2.AgentCapabilities,
        {"session": {"prompt": {"image": True}}},
        "session",
        v2.SessionCapabilities(prompt=v2.PromptCapabilities()),
    ),
    (
        "X11",
        v2.InitializeResponse,
        {**INIT, "authMethods": [{"methodId": "a"}, {"type": "agent", "methodId": "b", "name": "B"}]},
        "auth_methods",
        [v2.AuthMethodAgent(method_id="b", name="B")],
    ),
    ("X12", v2.InitializeResponse, {**INIT, "authMethods": [{"id": "v1-style", "name": "X"}]}, "auth_methods", []),
    ("X13", v2.InitializeResponse, {**INIT, "authMethods": {"0": {}}}, "auth_methods", []),
    ("X13", v2.InitializeResponse, {**INIT, "authMethods": None}, "auth_methods", []),
    ("X15", v2.ListSessionsResponse, {"sessions": None}, "sessions", []),
    (
        "X16",
        v2.ListSessionsResponse,
        {"sessions": [{"sessionId": "s"}, {"sessionId": "t", "cwd": "/x"}]},
        "sessions",
        [v2.SessionInfo(session_id="t", cwd="/x")],
    ),
    ("X17", v2.PlanItems, {"type": "items", "planId": "p", "entries": [{"content": "c"}]}, "entries", []),
    ("X20", v2.ResumeSessionRequest, {"sessionId": "s", "cwd": "/", "replayFrom": {"type": 5}}, "replay_from", None),
    ("X24", v2.RequestPermissionRequest, {**PERMISSION, "description": 7}, "description", None),
    ("X25", v2.ElicitationSchema, {"type": "array", "properties": {}}, "type", "object"),
    (
        "X28",
        v2.TerminalUpdate,
        {"terminalId": "t", "exitStatus": {"exitCode": -1}},
        "exit_status",
        v2.TerminalExitStatus(),
    ),
    ("X29", v2.TerminalUpdate, {"terminalId": "t", "exitStatus": "done"}, "exit_status", UNSET),
    ("X30", v2.TerminalUpdate, {"terminalId": "t", "exitStatus": {}}, "exit_status", v2.TerminalExitStatus()),
    ("X31", v2.IdleStateUpdate, {"stopReason": 5}, "stop_reason", None),
    ("X34", v2.UsageUpdate, {"used": 1, "size": 2, "cost": {"amount": 1}}, "cost", None),
    ("X35", v2.NewSessionRequest, {"cwd": "/", "mcpServers": [{**STDIO, "env": {"A": "1"}}]}, "mcp_servers", []),
    (
        "X36",
        v2.NewSessionRequest,
        {"cwd": "/", "mcpServers": [{"name": "x", "command": "/b", "args": [], "env": []}]},
        "mcp_servers",
        [],
    ),
    ("X41", v2.MessageMcpNotification, {"connectionId": "c", "method": "m", "params": []}, "params", None),
    ("X42", v2.Annotations, {"priority": "high", "audience": ["user", 3]}, "priority", None),
    ("X42", v2.Annotations, {"priority": "high", "audience": ["user", 3]}, "audience", ["user"]),
]

# id, type, input, path of the fault
REFUSED: list[tuple[str, Any, Any, tuple[str | int, ...]]] = [
    ("X7", v2.ToolCallUpdate, {"title": "no id"}, ("toolCallId",)),
    (
        "X7",
        v2.UpdateSessionNotification,
        {"sessionId": "s", "update": {"sessionUpdate": "tool_call_update", "title": "no id"}},
        ("update", "toolCallId"),
    ),
    ("X14", v2.ListSessionsResponse, {}, ("sessions",)),
    ("X18", v2.PlanUpdate, {"plan": {"type": "_x"}}, ("plan", "planId")),
    ("X19", v2.Diff, {"changes": None}, ("changes",)),
    (
        "X22",
        v2.RequestPermissionRequest,
        {**PERMISSION, "subject": {"type": "command", "command": "ls"}},
        ("subject", "cwd"),
    ),
    ("X26", v2.ElicitationSchema, {"properties": None}, ("properties",)),
    (
        "X27",
        v2.CreateElicitationRequest,
        {"mode": "form", "message": "m", "sessionId": "s", "requestedSchema": {"properties": {"f": BAD_STRING}}},
        ("requestedSchema", "properties", "f", "minLength"),
    ),
    ("X33", v2.UsageUpdate, {"used": None, "size": 1}, ("used",)),
    ("X38", v2.SetSessionConfigOptionRequest, {**SET, "value": "x"}, ("type",)),
    ("X39", v2.SetSessionConfigOptionRequest, {**SET, "type": "boolean", "value": "true"}, ("value",)),
    ("X40", v2.Error, {"code": -32000.0, "message": "m"}, ("code",)),
    ("X41", v2.MessageMcpRequest, {"connectionId": "c", "method": "m", "params": []}, ("params",)),
]

# id, type, input, attribute that holds the unknown variant, its tag
KEPT: list[tuple[str, Any, Any, str, str]] = [
    ("X6", v2.ToolCallUpdate, tool(content=[{"type": "_acme/graph", "n": 1}]), "content", "_acme/graph"),
    (
        "X21",
        v2.ResumeSessionRequest,
        {"sessionId": "s", "cwd": "/", "replayFrom": {"type": "message", "id": "m"}},
        "replay_from",
        "message",
    ),
    ("X23", v2.RequestPermissionRequest, {**PERMISSION, "subject": {"type": "_x", "foo": 1}}, "subject", "_x"),
    (
        "X32",
        v2.UpdateSessionNotification,
        {"sessionId": "s", "update": {"sessionUpdate": "state_update", "state": "hibernating"}},
        "update",
        "hibernating",
    ),
    ("X37", v2.NewSessionRequest, {"cwd": "/", "mcpServers": [{"type": "sse", "url": "u"}]}, "mcp_servers", "sse"),
]


def load(kind: Any, value: Any) -> Any:
    return decode(kind, json.dumps(value).encode())


def look(value: Any, where: str) -> Any:
    for step in where.split("."):
        value = getattr(value, step)
    return value


@pytest.mark.parametrize(
    ("kind", "value", "where", "expected"), [row[1:] for row in READS], ids=[f"{row[0]}-{row[3]}" for row in READS]
)
def test_a_worked_example_reads_as_listed(kind: Any, value: Any, where: str, expected: Any) -> None:
    """C-12"""
    found = look(load(kind, value), where)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("kind", "value", "path"), [row[1:] for row in REFUSED], ids=[f"{row[0]}-{row[1]!s:.40}" for row in REFUSED]
)
def test_a_worked_example_is_refused_at_its_path(kind: Any, value: Any, path: tuple[str | int, ...]) -> None:
    """C-12"""
    with pytest.raises(CodecError) as refusal:
        load(kind, value)
    assert refusal.value.path == path


@pytest.mark.parametrize(("kind", "value", "where", "tag"), [row[1:] for row in KEPT], ids=[row[0] for row in KEPT])
def test_a_worked_example_keeps_what_it_does_not_know(kind: Any, value: Any, where: str, tag: str) -> None:
    """C-12"""
    found = look(load(kind, value), where)
    [unknown] = found if isinstance(found, list) else [found]
    assert isinstance(unknown, Unknown)
    assert unknown.tag == tag
    assert unknown.raw.decode() in json.dumps(value)


def test_a_diff_without_changes_vanishes_from_tool_content() -> None:
    """X19"""
    update = load(v2.ToolCallUpdate, tool(content=[{"type": "diff", "changes": None}, TEXT_JSON]))
    assert update.content == [v2.Content(content=TEXT)]


def test_every_worked_example_is_here() -> None:
    listed = {row[0] for rows in (READS, REFUSED, KEPT) for row in rows}  # type: ignore[attr-defined]
    assert listed == {f"X{number}" for number in range(1, 43)}
