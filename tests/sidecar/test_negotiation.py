"""Agents that do not answer the version they are asked for, and what is remembered of what they speak."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from roost.sidecar.gen.messages import AcpErrorResponse, AcpSessionCreatedResponse
from roost.sidecar.quirks import Quirks
from tests.sidecar.rig import Rig, create_request
from tests.sidecar.scripted_agent import Agent, Json
from tests.sidecar.shelf import Shelf

Act = Callable[[Agent, Json], object]
V1_ANSWER: Json = {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}}
V2_ANSWER: Json = {"protocolVersion": 2, "info": {"name": "a", "version": "1"}, "capabilities": {"session": {}}}


def silent(agent: Agent, message: Json) -> None:
    """Nothing at all."""


def dies(agent: Agent, message: Json) -> None:
    agent.stderr(b"cannot read that\n")
    agent.exit(3)


def null(agent: Agent, message: Json) -> None:
    agent.result(message, None)


def garbage(agent: Agent, message: Json) -> None:
    agent.say({"jsonrpc": "2.0", "id": message["id"], "error": "no"})


def answers(answer: Json) -> Act:
    return lambda agent, message: agent.result(message, answer)


V1 = answers(V1_ANSWER)


def script(*, one: Act = V1, two: Act = silent) -> Callable[[Agent, Json], bool]:
    def hear(agent: Agent, message: Json) -> bool:
        if message.get("method") != "initialize":
            return False
        (two if message["params"]["protocolVersion"] == 2 else one)(agent, message)
        return True

    return hear


def asked(rig: Rig) -> list[int]:
    """The version each process was asked for."""
    return [
        message["params"]["protocolVersion"]
        for agent in rig.agents.values()
        for message in agent.requests("initialize")
    ]


def opened(rig: Rig, caller: int, seconds: float = 0.0, **fields: Any) -> Any:
    request = rig.send(caller, create_request(protocol_version=2, **fields))
    rig.advance(seconds)
    return rig.reply(caller, request)


def left(rig: Rig, caller: int, *sessions: str) -> None:
    for session in sessions:
        rig.close(caller, session)
    rig.advance(30)
    rig.leave(caller)
    rig.assert_nothing_left()


@pytest.mark.parametrize("first", [silent, dies, null, garbage])
def test_an_agent_that_gives_version_2_no_answer_is_started_again_with_version_1(first: Act) -> None:
    rig = Rig(script(two=first))
    caller = rig.connect()
    reply = opened(rig, caller, 17)
    assert isinstance(reply, AcpSessionCreatedResponse)
    assert asked(rig) == [2, 1]
    first_agent, second = rig.agents.values()
    assert first_agent.exited
    assert not second.exited
    left(rig, caller, reply.session_id)


def test_silence_is_waited_for_as_long_as_negotiation_timeout_says() -> None:
    rig = Rig(script(), negotiation_timeout=4.0)
    caller = rig.connect()
    assert opened(rig, caller, 3.9) is None
    assert asked(rig) == [2]
    rig.advance(2)
    assert asked(rig) == [2, 1]
    left(rig, caller, *rig.engine._context.callers.connections[caller].caller.sessions)


@pytest.mark.parametrize(
    ("limits", "quirks"),
    [({"initialize_timeout": 3.0, "negotiation_timeout": 9.0}, Quirks()), ({}, Quirks(initialize_timeout=3.0))],
)
def test_a_slow_agent_and_a_short_patience_have_initialize_timeout_for_it(limits: Json, quirks: Quirks) -> None:
    rig = Rig(script(), **limits)
    rig.install("echo", quirks=quirks)
    caller = rig.connect()
    whole = limits.get("initialize_timeout", 30.0)
    opened(rig, caller, whole - 0.1)
    assert asked(rig) == [2]
    rig.advance(2)
    assert asked(rig) == [2, 1]
    left(rig, caller, *rig.engine._context.callers.connections[caller].caller.sessions)


def test_the_second_trial_has_all_of_initialize_timeout() -> None:
    rig = Rig(script(one=silent), negotiation_timeout=5.0, initialize_timeout=20.0)
    caller = rig.connect()
    assert opened(rig, caller, 24.9) is None
    rig.advance(3)
    assert asked(rig) == [2, 1]
    left(rig, caller)


@pytest.mark.parametrize(
    ("two", "one", "code", "texts"),
    [
        (
            silent,
            silent,
            "timeout",
            ("initialize_timeout", "before, it did not answer within 15 s (negotiation_timeout)"),
        ),
        (dies, dies, "execution", ("exited with code 3 before response", "before, it exited with code 3")),
        (silent, dies, "execution", ("exited with code 3 before", "before, it did not answer within 15 s")),
        (dies, silent, "timeout", ("unanswered after 30 s", "before, it exited with code 3")),
        (garbage, dies, "execution", ("exited with code 3", "before, it gave an answer that is none")),
    ],
)
def test_when_both_fail_the_last_error_is_told_and_the_first_one_mentioned(
    two: Act, one: Act, code: str, texts: tuple[str, ...]
) -> None:
    rig = Rig(script(one=one, two=two))
    caller = rig.connect()
    reply = opened(rig, caller, 60)
    assert isinstance(reply, AcpErrorResponse)
    assert reply.code == code
    for text in (*texts, "asked for ACP version 2 before"):
        assert text in reply.message
    assert asked(rig) == [2, 1]
    left(rig, caller)


def test_an_error_of_version_2_is_mentioned_when_version_1_fails_too() -> None:
    def refuses(agent: Agent, message: Json) -> None:
        agent.error(message, -32602, "params are wrong")

    rig = Rig(script(one=dies, two=refuses))
    caller = rig.connect()
    reply = opened(rig, caller, 60)
    assert "asked for ACP version 2 before, it answered with an error: params are wrong" in reply.message
    left(rig, caller)


def test_an_agent_of_version_2_that_was_only_slow_is_asked_for_it_again() -> None:
    """It answers nothing at first, and then in version 2 to whoever asks for 1."""
    waits = [True]

    def slow_once(agent: Agent, message: Json) -> None:
        if not waits:
            agent.result(message, V2_ANSWER)
        waits.clear()

    rig = Rig(script(one=answers(V2_ANSWER), two=slow_once))
    caller = rig.connect()
    reply = opened(rig, caller, 20)
    assert isinstance(reply, AcpSessionCreatedResponse)
    assert asked(rig) == [2, 1, 2]
    assert rig.agent.requests("session/new")
    left(rig, caller, reply.session_id)


def test_an_agent_that_is_never_started_is_not_tried_again() -> None:
    rig = Rig(script())
    rig.spawn_error = ("execution", "no such program")
    caller = rig.connect()
    reply = opened(rig, caller)
    assert reply == AcpErrorResponse("execution", "no such program")
    assert len(rig.spawned) == 1
    left(rig, caller)


def test_a_caller_that_leaves_during_the_first_trial_starts_no_second_one() -> None:
    rig = Rig(script())
    caller = rig.connect()
    rig.send(caller, create_request(protocol_version=2))
    rig.leave(caller)
    rig.advance(60)
    assert asked(rig) == [2]
    rig.assert_nothing_left()


def test_version_1_is_asked_for_once_whatever_comes_of_it() -> None:
    rig = Rig(script(one=dies))
    caller = rig.connect()
    reply = rig.ask(caller, create_request(protocol_version=1))
    assert isinstance(reply, AcpErrorResponse)
    assert asked(rig) == [1]
    left(rig, caller)


def test_a_crash_while_a_session_is_restored_is_no_reason_to_try_another_version() -> None:
    rig = Rig(script())
    caller = rig.connect()
    session = opened(rig, caller, 17).session_id
    rig.engine._context.spoken._versions.clear()  # forgotten among many others
    rig.script = script(one=dies, two=answers(V2_ANSWER))
    rig.agent.exit(1)
    rig.advance(30)
    assert asked(rig) == [2, 1, 1]
    assert rig.session(session) is None
    left(rig, caller)


# ---- memory


def test_what_an_agent_speaks_is_asked_first_the_next_time_and_by_the_next_daemon() -> None:
    shelf = Shelf()
    rig = Rig(script(), journal=shelf)
    caller = rig.connect("me")
    one = opened(rig, caller, 17).session_id
    rig.session_id = "another"
    two = opened(rig, caller).session_id
    assert asked(rig) == [2, 1, 1]
    left(rig, caller, one, two)
    later = Rig(script(), journal=shelf)
    caller = later.connect()
    session = opened(later, caller).session_id
    assert asked(later) == [1]
    left(later, caller, session)


def test_nothing_in_the_journal_says_which_agent_it_was() -> None:
    shelf = Shelf()
    rig = Rig(script(), journal=shelf)
    rig.install("/bin/agent --key=secret")
    caller = rig.connect()
    session = opened(rig, caller, 17, agent="/bin/agent --key=secret").session_id
    [digest] = shelf.versions
    assert len(digest) == 64
    assert set(digest) <= set("0123456789abcdef")
    left(rig, caller, session)


def test_another_revision_of_an_agent_is_another_agent() -> None:
    shelf = Shelf()
    rig = Rig(script(), journal=shelf)
    caller = rig.connect("me")
    one = opened(rig, caller, 17).session_id
    rig.install("echo", revision="2.0.0")
    rig.session_id = "another"
    two = opened(rig, caller, 17).session_id
    assert asked(rig) == [2, 1, 2, 1]
    assert len(shelf.versions) == 2
    left(rig, caller, one, two)


@pytest.mark.parametrize("no_more", [dies, silent, null, garbage, answers(V2_ANSWER)])
def test_a_memory_that_is_wrong_by_now_is_corrected(no_more: Act) -> None:
    shelf = Shelf()
    rig = Rig(script(), journal=shelf)
    caller = rig.connect("me")
    left(rig, caller, opened(rig, caller, 17).session_id)
    [before] = shelf.versions.values()
    later = Rig(script(one=no_more, two=answers(V2_ANSWER)), journal=shelf)
    caller = later.connect("me")
    session = opened(later, caller, 32).session_id
    assert asked(later) == [1, 2]
    assert (before, list(shelf.versions.values())) == (1, [2])
    left(later, caller, session)


def test_an_agent_known_to_speak_version_2_has_all_the_time_there_is() -> None:
    rig = Rig(script(two=answers(V2_ANSWER)))
    caller = rig.connect("me")
    one = opened(rig, caller).session_id
    rig.script = script()
    rig.session_id = "another"
    opened(rig, caller, 29)
    assert asked(rig) == [2, 2]
    rig.advance(3)
    assert asked(rig) == [2, 2, 1]
    left(rig, caller, one, "another")


def test_of_too_many_agents_the_one_learned_first_is_forgotten() -> None:
    shelf = Shelf()
    rig = Rig(script(two=null), journal=shelf, remembered_agents=2)
    caller = rig.connect("me")
    sessions = []
    for name in ("a", "b", "c", "b", "a"):
        rig.install(name)
        rig.session_id = f"s{len(sessions)}"
        sessions.append(opened(rig, caller, agent=name).session_id)
    assert asked(rig) == [2, 1, 2, 1, 2, 1, 1, 2, 1]
    assert len(rig.engine._context.spoken) == 2
    left(rig, caller, *sessions)


def test_without_a_journal_it_is_remembered_as_long_as_the_daemon_lives() -> None:
    rig = Rig(script())
    caller = rig.connect("me")
    one = opened(rig, caller, 17).session_id
    rig.session_id = "another"
    two = opened(rig, caller).session_id
    assert asked(rig) == [2, 1, 1]
    left(rig, caller, one, two)
