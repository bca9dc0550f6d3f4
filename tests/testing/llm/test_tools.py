"""The tool for a step is found by its name's words and its parameters, in the tool lists of agents in the field."""

from __future__ import annotations

import pytest

from roost.testing.llm import Read, Run, Tool, Write
from roost.testing.llm.tools import TIMEOUT_ARGUMENT, call_for, filled

STRING = {"type": "string"}


def tool(name: str, *properties: str, **typed: object) -> Tool:
    members = dict.fromkeys(properties, STRING) | typed
    return Tool(name, {"type": "object", "properties": members, "required": list(members)})


WRITERS = [
    [tool("write_file", "file_path", "content"), tool("write_todos", "file", "content")],
    [tool("Write", "file_path", "content"), tool("TaskCreate", "path", "text"), tool("NotebookEdit", "path", "text")],
    [tool("mcp__acp__Write", "file_path", "content"), tool("mcp__acp__Edit", "file_path", "text")],
    [tool("create", "path", "file_text"), tool("write_bash", "shellId", "input")],
    [tool("write", "filePath", "content"), tool("todowrite", "content")],
    [tool("write_text_file", "path", "content")],
]


@pytest.mark.parametrize("offered", WRITERS, ids=lambda tools: tools[0].name)
@pytest.mark.parametrize("backwards", [False, True])
def test_the_tool_that_writes_is_found(offered: list[Tool], backwards: bool) -> None:
    call = call_for(Write("a.txt", "text"), reversed(offered) if backwards else offered)
    assert call is not None
    assert call.name == offered[0].name
    assert list(call.arguments.values()) == ["a.txt", "text"]


READERS = [
    [tool("read_file", "file_path"), tool("read_background_output", "file"), tool("list_directory", "path")],
    [tool("Read", "file_path"), tool("NotebookRead", "path")],
    [tool("view", "path"), tool("view_image", "path")],
]


@pytest.mark.parametrize("offered", READERS, ids=lambda tools: tools[0].name)
def test_the_tool_that_reads_is_found(offered: list[Tool]) -> None:
    call = call_for(Read("a.txt"), offered[::-1])
    assert call is not None
    assert (call.name, list(call.arguments.values())) == (offered[0].name, ["a.txt"])


RUNNERS = [
    [tool("run_shell_command", "command"), tool("list_background_processes", "command")],
    [tool("Bash", "command"), tool("mcp__acp__BashOutput", "command"), tool("KillShell", "command")],
    [tool("exec_command", "cmd"), tool("write_stdin", "command")],
    [tool("terminal", "command")],
    [tool("bash", "command"), tool("run_typescript", "script")],
]


@pytest.mark.parametrize("offered", RUNNERS, ids=lambda tools: tools[0].name)
def test_the_tool_that_runs_is_found(offered: list[Tool]) -> None:
    call = call_for(Run("ls"), offered[::-1])
    assert call is not None
    assert (call.name, list(call.arguments.values())) == (offered[0].name, ["ls"])


def test_a_command_that_is_a_list_goes_to_a_shell() -> None:
    call = call_for(Run("ls | wc"), [tool("shell", command={"type": "array"})])
    assert call is not None
    assert call.arguments == {"command": ["bash", "-lc", "ls | wc"]}


def test_an_agent_without_a_tool_for_files_uses_its_shell() -> None:
    offered = [tool("bash", "command")]
    written, read = call_for(Write("a b", "it's"), offered), call_for(Read("a b"), offered)
    assert written is not None
    assert read is not None
    assert written.arguments == {"command": "printf %s 'it'\"'\"'s' > 'a b'"}
    assert read.arguments == {"command": "cat 'a b'"}


def test_no_tool_is_no_call() -> None:
    assert call_for(Write("a", "b"), [tool("glob", "path")]) is None


def test_what_is_required_is_filled_in() -> None:
    schema = {
        "properties": {
            "why": STRING,
            "count": {"type": "INTEGER", "minimum": 3},
            "kind": {"enum": ["a", "b"]},
            "deep": {"type": "object", "properties": {"on": {"type": "boolean"}}, "required": ["on"]},
            "either": {"anyOf": [{"type": "array"}, {"type": "null"}]},
            "timeout_ms": {"type": "number"},
            "optional": STRING,
        },
        "required": ["why", "count", "kind", "deep", "either", "timeout_ms"],
    }
    assert filled(schema, {"why": "so"}) == {
        "why": "so",
        "count": 3,
        "kind": "a",
        "deep": {"on": False},
        "either": [],
        "timeout_ms": TIMEOUT_ARGUMENT,
    }
