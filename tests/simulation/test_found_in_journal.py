"""What the simulation found where sessions are kept, each as the shortest story that shows it."""

from __future__ import annotations

import json
from typing import Any

from roost.sidecar import events
from roost.sidecar.gen.messages import (
    AcpAgentExitedEvent,
    AcpErrorResponse,
    AcpResumeSessionRequest,
    AcpSessionClosedResponse,
    AcpSessionCreatedResponse,
    AcpSessionResumedResponse,
)
from tests.sidecar.rig import Rig, create_request
from tests.sidecar.scripted_agent import Agent, Json
from tests.sidecar.shelf import Shelf

NEW = "session/new"


def kept(script: Any = None, **limits: Any) -> tuple[Rig, Shelf]:
    shelf = Shelf()
    rig = Rig(script, journal=shelf, **limits)
    rig.capabilities = {"loadSession": True}
    return rig, shelf


def stored(rig: Rig, shelf: Shelf) -> None:
    """The journal has taken what it was told."""
    shelf.stuck = False
    waiting, shelf.waiting = shelf.waiting, []
    for ticket in waiting:
        rig.feed(events.ChangesStored(ticket, None))


def opening(rig: Rig, shelf: Shelf) -> tuple[int, int]:
    """A connection, and its request for a session that the journal has not taken yet."""
    connection = rig.connect("alice")
    shelf.stuck = True
    return connection, rig.send(connection, create_request())


def test_what_is_told_while_the_journal_takes_a_session_is_not_lost_in_silence() -> None:
    """Seed 741: over the bound of what is kept until then, all of it went, and the session was opened."""
    rig, shelf = kept(bootstrap_notifications=2)
    connection, request = opening(rig, shelf)
    for _ in range(3):
        rig.agent.update(sessionUpdate="agent_message_chunk")
    stored(rig, shelf)
    rig.advance(10)
    response = rig.reply(connection, request)
    assert isinstance(response, AcpErrorResponse)
    assert response.code == "limit_exceeded"
    rig.assert_nothing_left()


def test_a_session_may_be_closed_while_the_journal_takes_it() -> None:
    """Seed 867: it was ended twice."""
    rig, shelf = kept()
    connection, request = opening(rig, shelf)
    closing = rig.close(connection, rig.agent.session_id)
    stored(rig, shelf)
    rig.advance(20)
    assert isinstance(rig.reply(connection, request), AcpErrorResponse)
    assert isinstance(rig.reply(connection, closing), AcpSessionClosedResponse)
    rig.assert_nothing_left()


def test_a_session_whose_agent_exits_while_the_journal_takes_it_is_opened_first_and_lost_then() -> None:
    """Seed 904: a caller was told of the end of a session it did not know."""
    rig, shelf = kept(restarts=0)
    connection, _ = opening(rig, shelf)
    rig.agent.exit(7)
    stored(rig, shelf)
    told = [what[1] if isinstance(what, tuple) else what for number, what in rig.told if number == connection]
    assert [type(what) for what in told] == [AcpSessionCreatedResponse, AcpAgentExitedEvent]


def test_nobody_prompts_a_session_that_the_journal_has_not_taken() -> None:
    """Seed 76: its answer overtook what the agent had told, and that was lost with the session."""
    rig, shelf = kept()
    connection, _ = opening(rig, shelf)
    other = rig.connect("alice")
    prompt = rig.prompt(other, rig.agent.session_id)
    for ticket in shelf.waiting[1:]:  # all but the session
        rig.feed(events.ChangesStored(ticket, None))
    assert rig.agent.requests("session/prompt") == []
    stored(rig, shelf)
    assert rig.rpc(other, prompt)["result"] == {"stopReason": "end_turn"}
    rig.close(connection, rig.agent.session_id)


def test_a_question_names_no_session_that_its_caller_does_not_know_yet() -> None:
    """Seed 1523."""
    rig, shelf = kept()
    opening(rig, shelf)
    rig.agent.ask("session/request_permission", {"options": []})
    assert [callback.session_id for _, _, callback in rig.asked] == [""]


def test_a_session_that_falls_asleep_is_woken_when_its_agent_is_gone() -> None:
    """Seed 819: two agents ran it for a while, and both were written down."""
    rig, _ = kept(sleep_after=10.0)
    connection = rig.connect("alice")
    session = rig.create(connection).session_id
    first = rig.agent
    first.exits_on_eof = False
    rig.advance(10.1)
    assert first.input_closed
    prompt = rig.prompt(connection, session)
    first.update(sessionUpdate="agent_message_chunk")
    assert len(rig.agents) == 1
    first.exit(0)
    assert len(rig.agents) == 2
    assert rig.rpc(connection, prompt)["result"] == {"stopReason": "end_turn"}


def waking(rig: Rig) -> tuple[int, str, int]:
    """A connection, its session that is just being woken, and the prompt it is woken for."""
    connection = rig.connect("alice")
    session = rig.create(connection).session_id
    rig.advance(20)
    return connection, session, rig.prompt(connection, session)


def never_loads(agent: Agent, message: Json) -> bool:
    return message.get("method") == "session/load"


def test_a_session_that_is_being_woken_is_deleted_when_it_is_awake() -> None:
    """Seed 469: it lived on without a record, and its prompts were kept nowhere."""
    rig, shelf = kept(never_loads, sleep_after=10.0)
    connection, session, prompt = waking(rig)
    deletion = rig.request(connection, session, "_roost/delete")
    load = rig.agent.requests("session/load")[0]
    rig.agent.result(load, {})
    rig.advance(5)
    assert rig.rpc(connection, deletion)["result"] == {"deleted": True}
    assert rig.reply(connection, prompt) is not None
    assert session not in shelf.sessions
    rig.assert_nothing_left()


def test_a_session_that_is_being_woken_is_closed_when_it_is_awake() -> None:
    """Seed 390: it was closed, and lived."""
    rig, shelf = kept(never_loads, sleep_after=10.0)
    connection, session, _ = waking(rig)
    closing = rig.close(connection, session)
    rig.agent.result(rig.agent.requests("session/load")[0], {})
    rig.advance(5)
    assert isinstance(rig.reply(connection, closing), AcpSessionClosedResponse)
    assert shelf.sessions[session].closed
    rig.assert_nothing_left()


def test_the_end_of_an_agent_does_not_overtake_what_it_told() -> None:
    """Seed 794: the end of a turn waited for the journal, and was lost with the session."""
    rig, shelf = kept(restarts=0)
    connection = rig.connect("alice")
    session = rig.create(connection, protocol_version=2).session_id
    rig.prompt(connection, session)
    rig.agent.update(sessionUpdate="state_update", state="running")
    shelf.stuck = True
    rig.agent.update(sessionUpdate="state_update", state="idle", stopReason="end_turn")
    rig.agent.exit(1)
    stored(rig, shelf)
    states = [json.loads(told.notification) for told in rig.events(connection)[:-1]]
    assert states[-1]["params"]["update"]["state"] == "idle"
    assert isinstance(rig.events(connection)[-1], AcpAgentExitedEvent)


def test_what_follows_a_replay_is_kept_though_the_journal_is_slow() -> None:
    """Seed 140: what an agent told after it had attached a session was taken for a part of the replay."""
    rig, shelf = kept(sleep_after=10.0)
    connection = rig.connect("alice")
    session = rig.create(connection).session_id
    rig.advance(20)
    shelf.stuck = True
    rig.send(connection, AcpResumeSessionRequest(session, "echo", None, "/w", {}))
    rig.agent.update(sessionUpdate="agent_message_chunk")
    stored(rig, shelf)
    assert shelf.kinds(session).count("update") == 1


def test_no_agent_takes_the_session_that_sleeps_from_its_owner() -> None:
    """Seed 6640: that of an unnamed caller could by choosing its id, and the owner found his session to be unknown."""
    rig, _ = kept(sleep_after=10.0)
    rig.session_id = "same"
    alice = rig.connect("alice")
    rig.create(alice)
    rig.advance(20)
    assert rig.create(rig.connect()).session_id == "same"
    assert rig.state(alice, "same").session_id == "same"


def test_a_turn_that_its_agent_begins_by_itself_has_a_deadline() -> None:
    """Seed 4003: nobody watched it, so it went on for ever, and its session never slept."""
    rig, _ = kept(inactivity_timeout=100.0)
    connection = rig.connect("alice")
    rig.create(connection, protocol_version=2)
    rig.agent.update(sessionUpdate="state_update", state="running")
    rig.advance(101)
    assert rig.agent.heard[-1]["method"] == "session/cancel"


def test_a_turn_whose_prompt_failed_has_a_deadline() -> None:
    """Seed 1782: the answer was in a line too long."""

    def script(agent: Agent, message: Json) -> bool:
        if message.get("method") != "session/prompt":
            return False
        agent.update(sessionUpdate="state_update", state="running")
        agent.write(b"x" * 5000 + b"\n")
        return True

    rig, _ = kept(script, inactivity_timeout=100.0, line_bytes=1000)
    connection = rig.connect("alice")
    session = rig.create(connection, protocol_version=2).session_id
    prompt = rig.prompt(connection, session)
    assert isinstance(rig.reply(connection, prompt), AcpErrorResponse)
    rig.advance(101)
    assert rig.agent.heard[-1]["method"] == "session/cancel"


def test_what_the_next_agent_tells_comes_after_the_end_of_the_one_before() -> None:
    """Seed 3555: it came with what that one had told, while the journal was slow."""
    rig, shelf = kept()
    connection = rig.connect("alice")
    session = rig.create(connection, protocol_version=2).session_id
    rig.prompt(connection, session)
    rig.agent.update(sessionUpdate="state_update", state="running")
    shelf.stuck = True
    rig.agent.update(sessionUpdate="state_update", state="idle", stopReason="end_turn")
    rig.agent.exit(1)
    rig.agent.update(sessionUpdate="agent_message_chunk")
    stored(rig, shelf)
    rig.agent.update(sessionUpdate="agent_message_chunk")
    last, end, new = rig.events(connection)[-3:]
    assert json.loads(last.notification)["params"]["update"]["sessionUpdate"] == "state_update"
    assert isinstance(end, AcpAgentExitedEvent)
    assert json.loads(new.notification)["params"]["update"]["sessionUpdate"] == "agent_message_chunk"


def test_a_session_is_resumed_by_one_request_and_woken_by_no_other() -> None:
    """Seed 6948: a request that had looked it up before woke it with what it was then, and numbers came twice."""
    rig, _ = kept(never_loads, sleep_after=10.0)
    connection = rig.connect("alice")
    session = rig.create(connection).session_id
    rig.advance(20)
    resumption = rig.send(connection, AcpResumeSessionRequest(session, "echo", None, "/w", {}))
    prompt = rig.prompt(connection, session)
    assert len(rig.agents) == 2
    rig.agent.result(rig.agent.requests("session/load")[0], {})
    assert isinstance(rig.reply(connection, resumption), AcpSessionResumedResponse)
    assert rig.rpc(connection, prompt)["result"] == {"stopReason": "end_turn"}
    assert len(rig.agents) == 2


def test_no_session_is_opened_under_an_id_that_is_being_looked_up() -> None:
    """Seeds 2442, 43137: it was closed or woken, later, with what the look-up had found, and numbers came twice."""
    rig, shelf = kept(restarts=0)
    rig.session_id = "same"
    connection = rig.connect("alice")
    held: list[Any] = []
    follow, rig._follow = rig._follow, held.append  # type: ignore[method-assign]
    prompt = rig.prompt(connection, "same")
    rig._follow = follow  # type: ignore[method-assign]
    creation = rig.send(connection, create_request())
    assert shelf.sessions == {}
    rig.feed(held[0])
    assert isinstance(rig.reply(connection, prompt), AcpErrorResponse)
    assert isinstance(rig.reply(connection, creation), AcpSessionCreatedResponse)


def test_two_agents_that_open_each_others_session_do_not_wait_for_ever() -> None:
    """From reading: each resumption had its own id to itself, and waited for the other's."""
    rig, _ = kept(lambda agent, message: message.get("method") == "session/new")
    rig.capabilities = {}
    connection = rig.connect("alice")
    requests = [rig.send(connection, AcpResumeSessionRequest(name, "echo", None, "/w", {})) for name in ("x", "y")]
    for agent, name in zip(rig.agents.values(), ("y", "x"), strict=True):
        agent.result(agent.requests("session/new")[0], {"sessionId": name})
    rig.advance(59)
    assert [rig.reply(connection, request) for request in requests] == [None, None]
    rig.advance(2)
    answers = [rig.reply(connection, request) for request in requests]
    assert any(isinstance(answer, AcpErrorResponse) and answer.code == "timeout" for answer in answers)
    assert None not in answers


def test_a_session_is_not_resumed_before_its_end_is_kept_and_told() -> None:
    """Seed 1796085828402771906: it was told to be closed when it was there again."""
    rig, shelf = kept()
    connection = rig.connect("alice")
    session = rig.create(connection).session_id
    rig.agent.exits_on_eof = False
    closing = rig.close(connection, session)
    resumption = rig.send(connection, AcpResumeSessionRequest(session, "echo", None, "/w", {}))
    shelf.stuck = True
    rig.advance(1)
    assert rig.agents["acp-agent-1"].exited
    assert len(rig.agents) == 1
    stored(rig, shelf)
    assert isinstance(rig.reply(connection, closing), AcpSessionClosedResponse)
    assert isinstance(rig.reply(connection, resumption), AcpSessionResumedResponse)
