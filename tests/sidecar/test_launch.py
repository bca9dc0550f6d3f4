"""What an operating system cannot start is refused by name, before anything is started."""

from __future__ import annotations

from typing import Any

import pytest

from roost.acp.dialect import V1, V2
from roost.sidecar.gen.messages import AcpErrorResponse, AcpResumeSessionRequest
from roost.sidecar.launch import shown
from tests.sidecar.rig import Rig, create_request


def refused(**fields: Any) -> str:
    rig = Rig()
    answer = rig.ask(rig.connect(), create_request(**fields))
    assert isinstance(answer, AcpErrorResponse)
    assert answer.code == "invalid_state"
    assert not rig.spawned
    rig.assert_nothing_left()
    return answer.message


@pytest.mark.parametrize("cwd", ["", "relative", "./x", "~", "C:\\x"])
def test_a_relative_cwd_is_refused(cwd: str) -> None:
    assert refused(cwd=cwd) == f"cwd must be an absolute path: {cwd}"
    rig = Rig()
    answer = rig.ask(rig.connect(), AcpResumeSessionRequest("s", "echo", None, cwd, {}))
    assert answer == AcpErrorResponse("invalid_state", f"cwd must be an absolute path: {cwd}")
    assert not rig.spawned


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"cwd": "/w\0x"}, "cwd contains a NUL character"),
        ({"args": ["a", "b\0"]}, "args[1] contains a NUL character"),
        ({"env": {"K": "\0"}}, "env K contains a NUL character"),
        ({"env": {"K\0": "v"}}, r"the name of env K\x00 contains a NUL character"),
        ({"env": {"A=B": "v"}}, "env has a variable with an impossible name: A=B"),
        ({"env": {"": "v"}}, "env has a variable with an impossible name: "),
        ({"additional_instructions": "\0"}, "env ACP_APPEND_SYSTEM_PROMPT contains a NUL character"),
    ],
)
def test_what_no_program_can_be_given_is_refused(fields: dict[str, Any], text: str) -> None:
    assert refused(**fields) == text


def test_an_environment_value_is_not_shown_in_an_error() -> None:
    assert "secret" not in refused(env={"KEY": "secret\0"})


@pytest.mark.parametrize(
    ("text", "out"),
    [
        ("plain text, ü", "plain text, ü"),
        ("a\tb\n", r"a\tb\n"),
        ("\x1b[31m", r"\x1b[31m"),
        ("\u202e", r"\u202e"),
        ("x" * 513, "x" * 512 + "…"),
    ],
)
def test_a_callers_text_is_shown_so_that_it_prints(text: str, out: str) -> None:
    assert shown(text) == out


@pytest.mark.parametrize(("version", "dialect"), [(1, V1), (2, V2), (3, V2), (70_000, V2)])
def test_a_version_nobody_knows_is_asked_for_in_the_latest_shape(version: int, dialect: object) -> None:
    rig = Rig()
    rig.ask(rig.connect(), create_request(protocol_version=version))
    assert rig.agent.launch.dialect is dialect
    assert rig.agent.heard[0]["params"]["protocolVersion"] == version
    assert ("info" in rig.agent.heard[0]["params"]) is (dialect is V2)
