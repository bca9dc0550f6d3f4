"""What each quirk does: an agent that has it, and the same agent of which nobody knows."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from roost.sidecar.gen.messages import (
    AcpAgentExitedEvent,
    AcpErrorResponse,
    AcpResumeSessionRequest,
    AcpSessionResumedResponse,
)
from roost.sidecar.quirks import Quirks
from tests.sidecar.rig import Rig, create_request
from tests.sidecar.scripted_agent import Agent, Json
from tests.sidecar.shelf import Shelf

KEY = {"API_KEY": "secret"}
LOGIN = Quirks(authenticate={"api-key": ("API_KEY",)})


def v1(agent: Agent, message: Json) -> bool:
    """An agent of version 1 that wants a login by one of two methods, the first of which is done elsewhere."""
    method = message.get("method")
    if method == "initialize":
        methods = [{"id": "web", "name": "W", "type": "terminal"}, {"id": "api-key", "name": "Key"}]
        answer = {"protocolVersion": 1, "agentInfo": {"name": "quirky", "version": "1"}, "authMethods": methods}
        agent.result(message, {**answer, "agentCapabilities": agent.capabilities})
    elif method == "session/new" and not agent.requests("authenticate"):
        agent.error(message, -32000, "Authentication required")
    else:
        return False
    return True


def methods(agent: Agent) -> list[str]:
    return [message["method"] for message in agent.heard if "method" in message]


def quirky(quirks: Quirks, script: Any = None, **options: Any) -> tuple[Rig, int]:
    limits = {name: value for name, value in options.items() if name != "program"}
    rig = Rig(script, **limits)
    rig.install("echo", quirks=quirks, **options.get("program", {}))
    return rig, rig.connect("me")


@pytest.mark.parametrize("version", [1, 2])
def test_a_login_comes_before_the_session_when_its_variables_are_given(version: int) -> None:
    rig, caller = quirky(LOGIN, v1)
    rig.create(caller, env=KEY, protocol_version=version)
    assert methods(rig.agent)[:3] == ["initialize", "authenticate", "session/new"]
    assert rig.agent.requests("authenticate")[0]["params"] == {"methodId": "api-key"}


def test_a_variable_of_the_daemon_s_own_counts_as_given() -> None:
    rig, caller = quirky(LOGIN, v1, program={"inherited": ("API_KEY",)})
    rig.create(caller)
    assert rig.agent.requests("authenticate")


@pytest.mark.parametrize("env", [{}, {"API_KEY": ""}, {"OTHER": "x"}])
def test_without_its_variables_there_is_no_login_and_the_error_says_what_is_wanted(env: dict[str, str]) -> None:
    rig, caller = quirky(LOGIN, v1)
    answer = rig.ask(caller, create_request(env=env))
    assert answer == AcpErrorResponse("invalid_state", "ACP session/new failed: Authentication required")
    assert not rig.agent.requests("authenticate")


def test_a_login_that_needs_nothing_is_always_done() -> None:
    rig, caller = quirky(Quirks(authenticate={"api-key": ()}), v1)
    rig.create(caller)
    assert rig.agent.requests("authenticate")


@pytest.mark.parametrize("method", ["gone", "web"])
def test_a_login_the_agent_does_not_offer_as_a_request_is_not_tried(method: str) -> None:
    rig, caller = quirky(Quirks(authenticate={method: ()}), v1)
    assert rig.ask(caller, create_request()).code == "invalid_state"
    assert not rig.agent.requests("authenticate")
    assert f"offers no login {method}" in rig.notes[0].text


def test_a_login_that_is_refused_is_told_in_the_agent_s_words() -> None:
    def refuses(agent: Agent, message: Json) -> bool:
        if message.get("method") == "authenticate":
            agent.error(message, -32603, "no such key")
            return True
        return v1(agent, message)

    rig, caller = quirky(LOGIN, refuses)
    answer = rig.ask(caller, create_request(env=KEY))
    assert answer == AcpErrorResponse("invalid_state", "ACP authenticate failed: no such key")
    assert rig.agent.exited
    rig.leave(caller)
    rig.assert_nothing_left()


def test_after_a_crash_the_agent_is_logged_in_again() -> None:
    rig, caller = quirky(LOGIN, v1)
    rig.capabilities = {"loadSession": True}
    rig.create(caller, env=KEY)
    rig.agent.exit(1)
    assert methods(rig.agent) == ["initialize", "authenticate", "session/load"]


@pytest.mark.parametrize(("speaks", "asked"), [(None, [2, 1]), (1, [1]), (2, [2, 1])])
def test_the_version_it_speaks_is_tried_first(speaks: Any, asked: list[int]) -> None:
    rig, caller = quirky(Quirks(speaks=speaks, authenticate={"api-key": ()}), v1)
    rig.create(caller, protocol_version=2)
    versions = [agent.requests("initialize")[0]["params"]["protocolVersion"] for agent in rig.agents.values()]
    assert versions == asked


def test_an_agent_that_speaks_another_version_than_is_known_of_it_is_found_out_all_the_same() -> None:
    def v2_only(agent: Agent, message: Json) -> bool:
        if message.get("method") == "initialize" and message["params"]["protocolVersion"] == 1:
            agent.error(message, -32602, "info is missing")
            return True
        return False

    rig, caller = quirky(Quirks(speaks=1), v2_only)
    rig.create(caller, protocol_version=2)
    assert rig.agent.requests("initialize")[0]["params"]["protocolVersion"] == 2


@pytest.mark.parametrize(("quirk", "limit", "waited"), [(None, 30, 30), (90, 30, 90), (90, 300, 300)])
def test_a_slow_start_is_waited_for(quirk: float | None, limit: float, waited: float) -> None:
    rig, caller = quirky(Quirks(initialize_timeout=quirk), lambda agent, message: True, initialize_timeout=limit)
    request = rig.send(caller, create_request())
    rig.advance(waited - 1)
    assert rig.reply(caller, request) is None
    rig.advance(2)
    assert f"unanswered after {waited} s (initialize_timeout)" in rig.reply(caller, request).message


@pytest.mark.parametrize(("quirk", "grace"), [(None, 0.5), (0.0, 0.0), (4.0, 4.0)])
def test_the_end_of_its_input_gets_its_own_time(quirk: float | None, grace: float) -> None:
    rig, caller = quirky(Quirks(input_close_grace=quirk))
    session = rig.create(caller).session_id
    rig.agent.exits_on_eof = False
    rig.close(caller, session)
    assert rig.agent.input_closed
    if grace:
        rig.advance(grace - 0.1)
        assert rig.agent.signals == []
    rig.advance(0.2)
    assert rig.agent.signals == [15]


def test_an_agent_that_keeps_late_what_was_said_is_left_alone_before_its_input_is_closed() -> None:
    rig, caller = quirky(Quirks(save_grace=1))
    rig.close(caller, rig.create(caller).session_id)
    rig.advance(0.9)
    assert not rig.agent.input_closed
    rig.advance(0.2)
    assert rig.agent.input_closed
    assert rig.agent.signals == []


def test_an_agent_that_ends_by_itself_meanwhile_is_not_waited_for() -> None:
    rig, caller = quirky(Quirks(save_grace=60))
    number = rig.close(caller, rig.create(caller).session_id)
    rig.agent.exit(0)
    assert not rig.agent.input_closed
    rig.advance(0)
    assert rig.reply(caller, number) is not None


def test_an_agent_whose_start_failed_has_nothing_to_keep() -> None:
    def refusing(agent: Agent, message: Json) -> bool:
        agent.error(message, -32603, "no")
        return True

    rig, caller = quirky(Quirks(save_grace=60), refusing)
    rig.send(caller, create_request())
    assert rig.agent.input_closed


def crash(rig: Rig, caller: int) -> list[str]:
    rig.agent.exit(1)
    rig.advance(5)
    return [event.restart for event in rig.events(caller) if isinstance(event, AcpAgentExitedEvent)]


def test_a_way_back_that_fails_is_not_tried_after_a_crash() -> None:
    rig, caller = quirky(Quirks(resume="transcript"))
    rig.capabilities = {"loadSession": True}
    rig.create(caller)
    assert crash(rig, caller) == ["unsupported"]
    assert not rig.agent.requests("session/load")


@pytest.mark.parametrize(("resume", "mode"), [("native", "native"), ("transcript", "fallback")])
def test_a_session_is_resumed_by_its_transcript_where_the_agent_s_way_fails(resume: Any, mode: str) -> None:
    rig, caller = quirky(Quirks(resume=resume))
    rig.capabilities = {"loadSession": True}
    answer = rig.ask(caller, AcpResumeSessionRequest("old", "echo", "/w/past.md", "/w", {}))
    assert isinstance(answer, AcpSessionResumedResponse)
    assert answer.mode == mode
    rig.prompt(caller, answer.session_id)
    prompt = rig.agent.requests("session/prompt")[0]["params"]["prompt"]
    assert ("/w/past.md" in json.dumps(prompt)) == (resume == "transcript")


def test_a_sleeping_session_is_woken_by_its_transcript_where_the_agent_s_way_fails() -> None:
    rig, caller = quirky(Quirks(resume="transcript"), journal=Shelf(), sleep_after=60)
    rig.capabilities = {"loadSession": True}
    session = rig.create(caller).session_id
    first = rig.agent
    rig.advance(120)
    assert first.exited
    rig.prompt(caller, session)
    assert methods(rig.agent)[:3] == ["initialize", "session/new", "session/prompt"]


@pytest.mark.parametrize("version", [1, 2])
def test_an_agent_is_known_by_the_name_it_tells(version: int) -> None:
    rig, caller = quirky(Quirks(), v1, program={"quirks_by_info": {"quirky": LOGIN}})
    rig.create(caller, env=KEY, protocol_version=version)
    assert rig.agent.requests("authenticate")


def test_another_s_quirks_are_not_its_own() -> None:
    rig, caller = quirky(Quirks(), v1, program={"quirks_by_info": {"other": LOGIN}})
    assert rig.ask(caller, create_request(env=KEY)).code == "invalid_state"


@pytest.mark.parametrize(
    "fields",
    [
        {"initialize_timeout": -1.0},
        {"input_close_grace": float("inf")},
        {"speaks": 3},
        {"resume": "never"},
        {"authenticate": ["api-key"]},
        {"unknown": 1},
    ],
)
def test_a_quirk_that_cannot_be_is_refused(fields: Json) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(fields, Quirks)


@pytest.mark.parametrize("version", [1, 2])
def test_an_agent_never_gets_a_batch(version: int) -> None:
    """Several end when they read one."""
    rig, caller = quirky(Quirks(authenticate={"api-key": ()}), v1)
    lines: list[bytes] = []
    hears = Agent.hears

    def keep(agent: Agent, data: bytes) -> None:
        lines.extend(data.splitlines())
        hears(agent, data)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Agent, "hears", keep)
        session = rig.create(caller, protocol_version=version).session_id
        for _ in range(3):
            rig.prompt(caller, session)
        rig.agent.ask("fs/read_text_file", {"sessionId": session, "path": "/w/x"})
        rig.close(caller, session)
    assert len(lines) > 5
    assert all(line.startswith(b"{") for line in lines)
