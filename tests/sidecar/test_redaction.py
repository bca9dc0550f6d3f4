"""What is stored of a launch and of a request: names, never values."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.sidecar.gen.messages import AcpRuntimeKind
from roost.sidecar.launch import KEEP_STDIN_OPEN, AgentProgram, Launch
from roost.sidecar.redaction import redact_params, redact_servers, stored_launch

SECRET = "hunter2-hunter2"


def launch(**changes: Any) -> Launch:
    values: dict[str, Any] = {
        "program": AgentProgram(agent_type="wren", entrypoint="wren", env={"BASE": SECRET}),
        "runtime": AcpRuntimeKind.PYTHON,
        "cwd": "/work",
        "args": ("--fast",),
        "env": {"API_KEY": SECRET, "BASE": SECRET, KEEP_STDIN_OPEN: "1"},
        "protocol_version": 2,
        "client_capabilities": "{}",
        "mcp_servers": "[]",
        "files": (("/tmp/instructions", SECRET),),
    }
    return Launch(**{**values, **changes})


def servers(*entries: Any) -> Any:
    return json.loads(redact_servers(json.dumps(entries)))


def test_of_a_launch_the_names_of_its_variables_are_kept() -> None:
    stored = stored_launch(launch())
    assert stored.env_names == ("API_KEY", "BASE")
    assert (stored.agent_type, stored.cwd, stored.args, stored.protocol_version) == ("wren", "/work", ("--fast",), 2)
    assert SECRET not in repr(stored)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (
            {"type": "stdio", "name": "n", "command": "/c", "args": ["a"], "env": [{"name": "K", "value": SECRET}]},
            {"type": "stdio", "name": "n", "command": "/c", "args": ["a"], "env": [{"name": "K"}]},
        ),
        (
            {
                "type": "http",
                "name": "n",
                "url": "https://h/p",
                "headers": [{"name": "A", "value": SECRET, "x": SECRET}],
            },
            {"type": "http", "name": "n", "url": "https://h/p", "headers": [{"name": "A"}]},
        ),
        ({"command": "c", "env": {"K": SECRET}}, {"command": "c", "env": {"K": None}}),
        ({"url": "u", "headers": {"Authorization": SECRET}}, {"url": "u", "headers": {"Authorization": None}}),
        ({"url": f"https://me:{SECRET}@h:1/p?q#f"}, {"url": "https://h:1/p?q#f"}),
        ({"url": f"https://a@{SECRET}@h"}, {"url": "https://h"}),
        ({"url": "https://h/@home"}, {"url": "https://h/@home"}),
        ({"name": "n", "token": SECRET, "_meta": {"k": SECRET}}, {"name": "n"}),
        (
            {"name": "n", "env": SECRET, "headers": [SECRET, {"value": SECRET}]},
            {"name": "n", "env": None, "headers": []},
        ),
    ],
)
def test_of_an_mcp_server_everything_but_values_is_kept(given: Any, kept: Any) -> None:
    assert servers(given) == [kept]


@pytest.mark.parametrize("text", ["{}", f'"{SECRET}"', "7", "[" * 10_000, "\\", f'["{SECRET}"]'])
def test_what_is_no_list_of_servers_is_not_kept(text: str) -> None:
    assert redact_servers(text) == "[]"


def test_a_terminal_request_loses_the_values_of_its_environment() -> None:
    params = {"command": "make", "env": [{"name": "K", "value": SECRET}], "deep": [{"headers": {"H": SECRET}}]}
    kept = json.loads(redact_params(json.dumps(params).encode()))
    assert kept == {"command": "make", "env": [{"name": "K"}], "deep": [{"headers": {"H": None}}]}


def test_an_escaped_member_name_is_seen_through() -> None:
    assert SECRET.encode() not in redact_params(b'{"\\u0065nv":{"K":"%b"}}' % SECRET.encode())


def test_params_without_such_members_are_kept_to_the_byte() -> None:
    params = b'{ "text": "export TOKEN=abc" }'
    assert redact_params(params) is params


json_values = st.recursive(
    st.none() | st.integers(-9, 9) | st.just(SECRET),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["env", "headers", "name"]), inner),
)


@given(json_values)
def test_no_shape_lets_a_value_through(value: Any) -> None:
    kept = json.loads(redact_params(json.dumps({"env": value, "list": [{"headers": value}]}).encode()))
    names_only = json.dumps(kept).replace(json.dumps({"name": SECRET}), "{}")
    assert SECRET not in names_only
