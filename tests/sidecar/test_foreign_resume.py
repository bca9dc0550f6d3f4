"""A foreign session that was resumed, later on: what its agent says of the decoy never tells it from a missing one."""

from __future__ import annotations

from typing import Any

import pytest

from roost.sidecar.gen.messages import AcpResumeSessionRequest, AcpSessionResumedResponse
from tests.sidecar.rig import Rig
from tests.sidecar.scripted_agent import Agent, Json
from tests.sidecar.shelf import Shelf

HERE, MISSING = "0123456789abcdef-one", "0123456789abcdef-two"


def talkative(agent: Agent, message: Json) -> bool:
    """An agent that opens whatever it is asked for, and names the session wherever it can."""
    asked = message.get("params", {}).get("sessionId")
    if asked is not None:
        agent.stderr(f"{message['method']} in {asked}\n".encode())
    if message.get("method") == "session/prompt":
        agent.notify("session/update", {"sessionId": asked, "update": {"sessionUpdate": "x", "text": f"I am {asked}"}})
        agent.ask("session/request_permission", {"sessionId": asked, "toolCall": {"title": f"of {asked}"}})
    return False


def resumption(session: str, agent: str = "echo", **fields: Any) -> AcpResumeSessionRequest:
    return AcpResumeSessionRequest(session, agent, None, **{"cwd": "/w", "env": {}, **fields})


def resumed(session: str, shelf: Shelf | None = None) -> tuple[Rig, int]:
    """A stranger's resumption; somebody else has `HERE`."""
    rig = Rig(talkative, journal=shelf)
    rig.capabilities, rig.session_id = {"loadSession": True}, HERE
    owner, stranger = rig.connect("owner"), rig.connect("stranger")
    rig.create(owner)
    rig.session_id = "fresh"
    assert rig.ask(stranger, resumption(session)) == AcpSessionResumedResponse(session, "native")
    rig.told.clear()
    rig.asked.clear()
    return rig, stranger


def heard(rig: Rig, stranger: int, session: str) -> str:
    told = [*rig.events(stranger), *(callback for connection, _, callback in rig.asked if connection == stranger)]
    return "\n".join(map(repr, told)).replace(session, "~")


def crash(rig: Rig, stranger: int, session: str) -> None:
    rig.agent.exit(1)
    rig.prompt(stranger, session)


def sleep(rig: Rig, stranger: int, session: str) -> None:
    rig.request(stranger, session, "_roost/sleep")
    rig.prompt(stranger, session)
    rig.agent.exit(1)
    rig.prompt(stranger, session)


def close(rig: Rig, stranger: int, session: str) -> None:
    rig.close(stranger, session)
    assert rig.ask(stranger, resumption(session)) == AcpSessionResumedResponse(session, "native")
    rig.prompt(stranger, session)


@pytest.mark.parametrize("what", [crash, sleep, close])
def test_what_comes_after_the_resume_of_a_foreign_session_is_what_comes_after_that_of_a_missing_one(what: Any) -> None:
    said = []
    for session in (HERE, MISSING):
        rig, stranger = resumed(session, Shelf())
        what(rig, stranger, session)
        assert HERE not in str(rig.agent.heard)
        said.append(heard(rig, stranger, session))
    assert "I am ~" in said[0]
    assert said[0] == said[1]


def test_without_a_journal_a_crash_does_not_give_the_decoy_away_either() -> None:
    said = []
    for session in (HERE, MISSING):
        rig, stranger = resumed(session)
        crash(rig, stranger, session)
        said.append(heard(rig, stranger, session))
    assert said[0] == said[1]


def test_an_agent_that_has_forgotten_the_decoy_is_not_spoken_for_any_more_when_it_wakes_with_a_new_session() -> None:
    rig, stranger = resumed(HERE, Shelf())
    rig.request(stranger, HERE, "_roost/sleep")
    rig.script = lambda agent, message: False
    rig.capabilities, rig.session_id = {}, "w"
    rig.prompt(stranger, HERE)
    rig.request(stranger, HERE, "_roost/sleep")
    rig.capabilities = {"loadSession": True}
    rig.told.clear()
    rig.prompt(stranger, HERE)
    rig.agent.stderr(b"how well it works\n")
    assert rig.agent.requests("session/load")[0]["params"]["sessionId"] == "w"
    assert "how well it works" in heard(rig, stranger, HERE)


def test_what_a_resume_has_changed_of_a_kept_session_is_what_the_next_daemon_starts_it_with() -> None:
    shelf = Shelf()
    rig = Rig(journal=shelf)
    rig.capabilities = {"loadSession": True}
    caller = rig.connect("me")
    session = rig.create(caller, env={"A": "1"}, args=["-x"]).session_id
    rig.close(caller, session)
    rig.ask(caller, resumption(session, cwd="/elsewhere", env={"B": "2"}))
    later = Rig(journal=shelf)
    later.capabilities = {"loadSession": True}
    later.prompt(later.connect("me"), session)
    assert later.agent.requests("session/load")[0]["params"]["cwd"] == "/elsewhere"
    assert later.agent.launch.args == ("-x",)
    assert shelf.sessions[session].launch.env_names == ("A", "B")


def test_a_kept_session_that_was_resumed_with_another_agent_wakes_with_that_one() -> None:
    shelf = Shelf()
    rig = Rig(journal=shelf)
    rig.capabilities = {"loadSession": True}
    caller = rig.connect("me")
    session = rig.create(caller).session_id
    rig.close(caller, session)
    rig.ask(caller, resumption(session, "other"))
    later = Rig(journal=shelf)
    later.prompt(later.connect("me"), session)
    assert later.agent.launch.agent_type == "other"


@pytest.mark.parametrize("asleep", [True, False])
def test_ones_own_session_is_no_way_to_anothers_of_the_same_id_with_another_agent(asleep: bool) -> None:
    """An agent may have been written to choose the id of somebody else's session."""
    rig = Rig(talkative, journal=Shelf())
    rig.capabilities, rig.session_id = {"loadSession": True}, HERE
    victim, caller = rig.connect("victim"), rig.connect("me")
    rig.create(victim, "other")
    rig.create(caller, "echo")
    if asleep:
        rig.request(victim, HERE, "_roost/sleep")
    rig.close(caller, HERE)
    assert rig.ask(caller, resumption(HERE, "other")) == AcpSessionResumedResponse(HERE, "native")
    assert rig.agent.launch.agent_type == "other"
    assert HERE not in str(rig.agent.heard)


def test_ones_own_session_is_resumed_by_its_own_id_though_somebody_else_has_one_of_that_id() -> None:
    rig = Rig(talkative, journal=Shelf())
    rig.capabilities, rig.session_id = {"loadSession": True}, HERE
    other, caller = rig.connect("other"), rig.connect("me")
    rig.create(other)
    rig.create(caller)
    rig.close(caller, HERE)
    assert rig.ask(caller, resumption(HERE)) == AcpSessionResumedResponse(HERE, "native")
    assert rig.agent.requests("session/load")[0]["params"]["sessionId"] == HERE
