"""Cases 94 to 101: close, state, the list of agents, and instructions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from roost.sidecar import events
from roost.sidecar.gen.messages import (
    AcpAgentEntry,
    AcpErrorResponse,
    AcpListAgentsRequest,
    AcpListAgentsResponse,
    AcpSessionClosedResponse,
    AcpSessionStateResponse,
)
from roost.sidecar.instructions import BASE_INSTRUCTIONS
from tests.sidecar.rig import Rig

BASE = BASE_INSTRUCTIONS.rstrip()


def opened(**fields: Any) -> tuple[Rig, int, str]:
    rig = Rig()
    caller = rig.connect()
    return rig, caller, rig.create(caller, **fields).session_id


def test_case_094_an_agent_that_ignores_everything_is_killed_after_the_grace() -> None:
    """Ours: 0.5 s for the closed input, then SIGTERM, 5 s, SIGKILL."""
    rig, caller, session = opened()
    rig.agent.exits_on_eof = False
    rig.agent.exits_on = frozenset((9,))
    request = rig.close(caller, session)
    assert rig.agent.input_closed
    assert rig.agent.signals == []
    rig.advance(0.6)
    assert rig.agent.signals == [15]
    rig.advance(4.8)
    assert rig.reply(caller, request) is None
    rig.advance(0.2)
    assert rig.agent.signals == [15, 9]
    assert rig.reply(caller, request) == AcpSessionClosedResponse(session)
    rig.assert_nothing_left()


def test_case_094_a_process_that_even_sigkill_does_not_end_is_given_up_and_noted() -> None:
    rig, caller, session = opened()
    rig.agent.exits_on_eof = False
    rig.agent.exits_on = frozenset()
    request = rig.close(caller, session)
    rig.advance(11)
    assert rig.reply(caller, request) == AcpSessionClosedResponse(session)
    assert any("reap_timeout" in note.text and note.level == "error" for note in rig.notes)
    rig.assert_nothing_left()


def test_case_095_an_agent_that_is_gone_when_its_input_closes_costs_no_time() -> None:
    rig, caller, session = opened()
    assert rig.reply(caller, rig.close(caller, session)) == AcpSessionClosedResponse(session)
    assert rig.agent.signals == []


def test_case_096_a_second_close_is_unknown() -> None:
    rig, caller, session = opened()
    rig.agent.exits_on_eof = False
    first = rig.close(caller, session)
    second = rig.close(caller, session)
    unknown = AcpErrorResponse("invalid_state", f"unknown ACP session {session}")
    assert rig.reply(caller, second) == unknown
    rig.advance(1)
    assert rig.reply(caller, first) == AcpSessionClosedResponse(session)
    assert rig.reply(caller, rig.close(caller, session)) == unknown


def test_case_097_the_state_after_create_is_what_create_told() -> None:
    rig = Rig()
    caller = rig.connect()
    created = rig.create(caller)
    assert rig.state(caller, created.session_id) == AcpSessionStateResponse(
        created.session_id,
        "echo",
        "acp-agent-1",
        created.pid,
        False,
        None,
        created.modes,
        created.config_options,
        created.agent_capabilities,
        created.agent_info,
    )


def test_case_097_what_the_agent_changes_by_itself_shows_in_the_state() -> None:
    """Ours: the reference kept the old values."""
    rig, caller, session = opened()
    rig.agent.update(sessionUpdate="config_option_update", configOptions=[{"id": "a", "currentValue": 1}])
    assert rig.state(caller, session).config_options == ['{"id": "a", "currentValue": 1}']
    rig.agent.update(sessionUpdate="config_option_update", configOptions="nonsense")
    assert rig.state(caller, session).config_options == ['{"id": "a", "currentValue": 1}']


def test_case_098_agents_are_listed_by_id() -> None:
    rig = Rig()
    rig.install("abc")
    assert rig.ask(rig.connect(), AcpListAgentsRequest(True)) == AcpListAgentsResponse(
        [
            AcpAgentEntry("abc", True, "/opt/agentos/bin/abc"),
            AcpAgentEntry("echo", True, "/opt/agentos/bin/echo"),
            AcpAgentEntry("other", True, "/opt/agentos/bin/other"),
        ]
    )


@pytest.mark.parametrize("found", [[], None])
def test_case_098_no_packages_and_an_unreadable_catalogue_are_an_empty_list(found: Any) -> None:
    rig = Rig()
    rig.look_up = lambda query: found  # type: ignore[method-assign]
    assert rig.ask(rig.connect(), AcpListAgentsRequest(False)) == AcpListAgentsResponse([])


def test_case_099_a_connection_that_ends_takes_its_own_sessions_and_no_others() -> None:
    rig = Rig()
    one, two = rig.connect(), rig.connect()
    rig.create(one)
    rig.create(one)
    kept = rig.create(two).session_id
    rig.leave(one)
    assert [agent.exited for agent in rig.agents.values()] == [True, True, False]
    assert rig.state(two, kept).closed is False
    rig.leave(two)
    rig.assert_nothing_left()


def test_case_099_the_sessions_of_a_named_caller_outlive_its_connections() -> None:
    """Ours."""
    rig = Rig()
    one = rig.connect("me")
    session = rig.create(one).session_id
    rig.leave(one)
    again = rig.connect("me")
    assert rig.state(again, session).closed is False
    stranger = rig.connect("you")
    assert rig.state(stranger, session) == AcpErrorResponse("invalid_state", f"unknown ACP session {session}")


def test_case_099_a_shutdown_closes_every_session_and_opens_none() -> None:
    rig = Rig()
    one, two = rig.connect(), rig.connect("me")
    rig.create(one)
    rig.create(two)
    rig.feed(events.ShutdownRequested())
    rig.assert_nothing_left()
    assert rig.events(one) == rig.events(two) == []


@pytest.mark.parametrize(
    ("skip", "additional", "text"),
    [
        (True, "X", "X\n\n---"),
        (True, None, None),
        (True, "", None),
        (False, None, f"{BASE}\n\n---"),
        (False, "", f"{BASE}\n\n---"),
        (False, "X", f"{BASE}\n\nX\n\n---"),
    ],
)
@pytest.mark.parametrize("agent", ["pi", "pi-cli", "claude", "codex", "echo"])
def test_case_100_each_agent_is_told_in_its_own_way(
    agent: str, skip: bool, additional: str | None, text: str | None
) -> None:
    """Ours: an agent nobody knows is told in ACP_APPEND_SYSTEM_PROMPT."""
    rig = Rig()
    rig.install(agent)
    rig.create(rig.connect(), agent=agent, skip_os_instructions=skip, additional_instructions=additional)
    launch = rig.agent.launch
    flag = {"codex": "--append-developer-instructions", "echo": None}.get(agent, "--append-system-prompt")
    assert launch.args == (() if text is None or flag is None else (flag, text))
    assert launch.env.get("ACP_APPEND_SYSTEM_PROMPT") == (text if flag is None else None)


def test_case_100_a_variable_the_caller_has_set_is_left_alone() -> None:
    rig = Rig()
    rig.create(rig.connect(), skip_os_instructions=False, env={"ACP_APPEND_SYSTEM_PROMPT": ""})
    assert rig.agent.launch.env["ACP_APPEND_SYSTEM_PROMPT"] == ""


def test_case_101_opencode_finds_a_file_and_twelve_paths() -> None:
    rig = Rig()
    rig.install("opencode")
    rig.create(rig.connect(), agent="opencode", additional_instructions="X")
    launch = rig.agent.launch
    paths = json.loads(launch.env["OPENCODE_CONTEXTPATHS"])
    assert len(paths) == 12
    assert paths[0] == ".github/copilot-instructions.md"
    assert paths[-1].startswith("/instructions/agentos-system-prompt-")
    assert launch.files == ((paths[-1], "X\n\n---"),)


def test_case_101_two_sessions_with_different_instructions_do_not_share_a_file() -> None:
    """Ours: the reference has one file, and whoever comes last writes it."""
    rig = Rig()
    rig.install("opencode")
    files = []
    for text in ("X", "Y", "X"):
        rig.create(rig.connect(), agent="opencode", additional_instructions=text)
        files.append(rig.agent.launch.files[0][0])
    assert files[0] != files[1]
    assert files[0] == files[2]


@pytest.mark.parametrize("value", ["", "[]"])
def test_case_101_context_paths_that_are_set_stay_as_they_are(value: str) -> None:
    rig = Rig()
    rig.install("opencode")
    env = {"OPENCODE_CONTEXTPATHS": value}
    rig.create(rig.connect(), agent="opencode", additional_instructions="X", env=env)
    assert rig.agent.launch.env["OPENCODE_CONTEXTPATHS"] == value
    assert rig.agent.launch.files == ()
