"""Resuming what is alive, ending, or being started again."""

from __future__ import annotations

import pytest

from roost.sidecar.gen.messages import (
    AcpAgentStderrEvent,
    AcpErrorResponse,
    AcpResumeSessionRequest,
    AcpRuntimeKind,
    AcpSessionResumedResponse,
)
from tests.sidecar.kept_sessions import kept
from tests.sidecar.rig import Rig
from tests.sidecar.scripted_agent import Agent, Json
from tests.sidecar.shelf import Shelf
from tests.sidecar.v1_agents import V1


def resumption(session: str) -> AcpResumeSessionRequest:
    return AcpResumeSessionRequest(session, "echo", None, "/w", {})


def recovering() -> tuple[Rig, int, str]:
    """A session whose agent has crashed, and whose next one has not answered yet."""
    rig = Rig()
    rig.capabilities = {"loadSession": True}
    caller = rig.connect("me")
    session = rig.create(caller).session_id
    rig.script = lambda agent, message: message.get("method") == "session/load"
    rig.agent.exit(1)
    return rig, caller, session


def test_a_session_that_is_being_started_again_is_joined_when_it_is_back() -> None:
    rig, caller, session = recovering()
    joined = rig.send(caller, resumption(session))
    assert rig.reply(caller, joined) is None
    rig.agent.answer(rig.agent.requests("session/load")[0])
    assert rig.reply(caller, joined) == AcpSessionResumedResponse(session, "native")
    assert len(rig.spawned) == 2


def test_a_session_that_does_not_come_back_cannot_be_joined() -> None:
    rig, caller, session = recovering()
    joined = rig.send(caller, resumption(session))
    rig.agent.error(rig.agent.requests("session/load")[0], -32603, "gone")
    assert rig.reply(caller, joined) == AcpErrorResponse("invalid_state", f"unknown ACP session {session}")
    assert len(rig.spawned) == 2


def test_two_who_resume_a_kept_session_while_its_agent_is_being_ended_share_the_next_one() -> None:
    rig, _, caller = kept(lambda agent, message: False)
    rig.capabilities = {"loadSession": True}
    session = rig.create(caller).session_id
    rig.agent.exits_on_eof = False
    rig.close(caller, session)
    resumed = [rig.send(caller, resumption(session)) for _ in range(2)]
    assert len(rig.spawned) == 1
    rig.advance(0.6)
    assert [rig.reply(caller, one) for one in resumed] == [AcpSessionResumedResponse(session, "native")] * 2
    assert len(rig.spawned) == 2


def test_a_sleeping_session_that_is_resumed_has_its_secrets_back_and_what_the_request_gives_wins() -> None:
    rig, _, caller = kept(lambda agent, message: False)
    rig.capabilities = {"loadSession": True}
    session = rig.create(caller, env={"KEY": "secret", "LEVEL": "1"}).session_id
    rig.request(caller, session, "_roost/sleep")
    again = AcpResumeSessionRequest(session, "other", None, "", {"LEVEL": "2"})
    assert rig.ask(caller, again) == AcpSessionResumedResponse(session, "native")
    launch = rig.agent.launch
    assert launch.agent_type == "other"
    assert (launch.env["KEY"], launch.env["LEVEL"], launch.cwd) == ("secret", "2", "/w")


@pytest.mark.parametrize(
    ("asked_for", "started"), [(None, AcpRuntimeKind.JAVA_SCRIPT), (AcpRuntimeKind.PYTHON, AcpRuntimeKind.PYTHON)]
)
def test_a_session_nobody_remembers_is_started_as_its_agents_file_asks_for(
    asked_for: AcpRuntimeKind | None, started: AcpRuntimeKind
) -> None:
    rig = Rig()
    rig.install("echo", runtime=asked_for)
    rig.ask(rig.connect(), resumption("old"))
    assert rig.agent.launch.runtime is started


def test_a_kept_session_is_started_in_the_runtime_it_was_created_with() -> None:
    rig, _, caller = kept(lambda agent, message: False)
    rig.capabilities = {"loadSession": True}
    session = rig.create(caller, runtime=AcpRuntimeKind.WEB_ASSEMBLY).session_id
    rig.close(caller, session)
    rig.ask(caller, resumption(session))
    assert rig.agent.launch.runtime is AcpRuntimeKind.WEB_ASSEMBLY


@pytest.mark.parametrize(
    ("capabilities", "method"),
    [({"loadSession": True}, "session/load"), ({"sessionCapabilities": {"resume": {}}}, "session/resume")],
)
def test_a_v1_agent_is_asked_to_replay_where_it_can_and_resumes_without_where_it_cannot(
    capabilities: Json, method: str
) -> None:
    rig = Rig(V1(capabilities=capabilities), journal=Shelf())
    caller = rig.connect("me")
    session = rig.create(caller, protocol_version=2).session_id
    rig.close(caller, session)
    resumed = rig.send(caller, resumption(session))
    rig.advance(1)
    assert rig.reply(caller, resumed) == AcpSessionResumedResponse(session, "native")
    assert rig.agent.heard[-1]["method"] == method


def test_what_an_agent_asks_on_its_way_back_names_the_session_as_long_as_it_is_that_one() -> None:
    def script(agent: Agent, message: Json) -> bool:
        if message.get("method") in ("initialize", "session/load", "session/new"):
            agent.ask("session/request_permission", {}, id=message["method"])
            agent.stderr(b"working\n")
        if message.get("method") != "session/load":
            return False
        agent.error(message, 1, "unknown", {"kind": "unknown_session"})
        return True

    rig = Rig(script)
    rig.capabilities = {"loadSession": True}
    caller = rig.connect()
    assert rig.ask(caller, resumption("old")).mode == "fallback"
    assert [callback.session_id for _, _, callback in rig.asked] == ["old", "old", ""]
    told = [event.session_id for event in rig.events(caller) if isinstance(event, AcpAgentStderrEvent)]
    assert told == ["old", "old", ""]


@pytest.mark.parametrize("given", [None, "", "/mine.md"])
def test_a_kept_session_that_is_begun_anew_is_told_of_the_journals_transcript_or_of_the_requests(
    given: str | None,
) -> None:
    rig, _, caller = kept(lambda agent, message: False)
    session = rig.create(caller).session_id
    rig.close(caller, session)
    rig.session_id = "fresh"
    fallback = rig.ask(caller, AcpResumeSessionRequest(session, "echo", given, "", {}))
    assert fallback == AcpSessionResumedResponse("fresh", "fallback")
    rig.prompt(caller, "fresh")
    text = rig.agent.requests("session/prompt")[0]["params"]["prompt"][0]["text"]
    assert f"`{given or f'/w/{session}.md'}`" in text


def test_an_agent_that_calls_its_new_session_as_the_one_that_was_to_be_resumed_does_not_wait_for_itself() -> None:
    rig, _, caller = kept(lambda agent, message: False)
    rig.session_id = "session-1"
    assert rig.ask(caller, resumption("session-1")) == AcpSessionResumedResponse("session-1", "fallback")


def test_who_comes_back_while_the_agent_of_a_session_is_being_ended_waits_for_that_too() -> None:
    rig, _, caller = kept(lambda agent, message: False)
    rig.capabilities = {"loadSession": True}
    session = rig.create(caller).session_id
    rig.agent.exits_on_eof = False
    rig.close(caller, session)
    rig.leave(caller)
    again = rig.connect("me")
    resumed = rig.send(again, resumption(session))
    assert len(rig.spawned) == 1
    rig.advance(0.6)
    assert rig.reply(again, resumed) == AcpSessionResumedResponse(session, "native")
    assert rig.agents["acp-agent-1"].exited


def test_who_comes_back_while_a_session_of_his_is_being_woken_wakes_it_no_second_time() -> None:
    rig, _, caller = kept(lambda agent, message: False)
    rig.capabilities = {"loadSession": True}
    session = rig.create(caller).session_id
    rig.request(caller, session, "_roost/sleep")
    rig.script = lambda agent, message: message.get("method") == "session/load"
    rig.request(caller, session, "_x")
    rig.agent.exits_on_eof, rig.agent.exits_on = False, frozenset((9,))
    rig.leave(caller)
    again = rig.connect("me")
    asked = rig.request(again, session, "_y")
    assert len(rig.spawned) == 2, "the one that is being woken is there still"
    rig.script = lambda agent, message: False
    rig.advance(2)
    assert rig.agents["acp-agent-2"].exited
    assert rig.rpc(again, asked)["result"] == {}
    assert len(rig.spawned) == 3


@pytest.mark.parametrize("load", ["works", "fails"])
def test_of_several_who_resume_one_session_at_once_each_next_one_waits_for_the_one_before(load: str) -> None:
    rig = Rig(lambda agent, message: message.get("method") == "session/load")
    rig.capabilities = {"loadSession": True}
    caller = rig.connect()
    resumed = [rig.send(caller, resumption("old")) for _ in range(3)]
    assert len(rig.spawned) == 1
    if load == "works":
        rig.agent.answer(rig.agent.requests("session/load")[0])
        assert [rig.reply(caller, one) for one in resumed] == [AcpSessionResumedResponse("old", "native")] * 3
        assert len(rig.spawned) == 1
    else:
        for number, one in enumerate(resumed, 1):
            assert len(rig.spawned) == number
            rig.agent.error(rig.agent.requests("session/load")[0], -32603, "no")
            assert rig.reply(caller, one) == AcpErrorResponse("invalid_state", "ACP session/load failed: no")
        rig.assert_nothing_left()
