"""What the simulation found in the engine, each as the shortest story that shows it."""

from __future__ import annotations

from typing import Any

from roost.sidecar import events
from tests.sidecar.rig import Rig, create_request
from tests.sidecar.shelf import Shelf


def test_the_agent_of_a_caller_that_left_while_it_started_asks_nobody_and_is_answered() -> None:
    """Seed 520: the question went to the connection that was gone, and stayed open."""
    rig = Rig(lambda agent, message: True)
    connection = rig.connect()
    rig.send(connection, create_request())
    rig.agent.exits_on = rig.agent.exits_on - {15}
    rig.agent.exits_on_eof = False
    rig.leave(connection)
    rig.agent.ask("session/request_permission", {"options": [{"optionId": "no", "kind": "reject_once"}]})
    rig.agent.stderr(b"bye\n")
    assert rig.asked == []
    assert [told for told in rig.told if not isinstance(told[1], tuple)] == []
    assert [answer["result"]["outcome"]["outcome"] for answer in rig.agent.answers()] == ["selected"]
    rig.advance(10)
    rig.assert_nothing_left()


def test_a_session_opened_under_the_id_of_one_that_is_closing_is_heard_on_when_that_one_is_gone() -> None:
    """Seed 117: the end of the first took the second off the table of its connection."""
    rig = Rig()
    rig.session_id = "same"
    connection = rig.connect("alice")
    rig.create(connection)
    first = rig.agent
    first.exits_on_eof = False
    rig.close(connection, "same")
    rig.create(connection)
    second = rig.agent
    first.exit(0)
    rig.feed(events.CallerBlocked(connection))
    assert second.paused
    rig.leave(connection)
    second.paused = False
    told = len(rig.told)
    second.update(sessionUpdate="agent_message_chunk")
    assert len(rig.told) == told


def test_a_second_connection_joins_the_new_session_of_an_id_while_it_still_hears_the_old_one() -> None:
    """Seed 117 again: what it heard was looked up by id, and the old one was found."""
    rig = Rig()
    rig.session_id = "same"
    alice, again = rig.connect("alice"), rig.connect("alice")
    rig.create(alice)
    rig.state(again, "same")
    rig.agent.exits_on_eof = False
    rig.close(alice, "same")
    rig.create(alice)
    rig.state(again, "same")
    rig.agent.update(sessionUpdate="agent_message_chunk")
    assert [number for number, told in rig.told if hasattr(told, "notification")] == [alice, again]


def test_a_grace_of_nothing_ends_a_turn_whose_caller_does_not_read() -> None:
    """Seed 2384: the grace was over at once, was given again because the agent is paused, and so on for ever."""
    rig = Rig(lambda agent, message: message.get("method") == "session/prompt", cancel_grace=0.0)
    connection = rig.connect()
    session = rig.create(connection).session_id
    prompt = rig.prompt(connection, session)
    rig.feed(events.CallerBlocked(connection))
    rig.request(connection, session, "session/cancel")
    rig.advance(70)
    assert rig.rpc(connection, prompt)["result"] == {"stopReason": "cancelled"}


def test_a_caller_that_comes_back_while_its_last_session_ends_keeps_what_it_opens_then() -> None:
    """Seed 1893: the end of the old session made the sidecar forget the caller of that name, the new one."""
    rig = Rig()
    first = rig.connect("alice")
    session = rig.create(first).session_id
    agent = rig.agent
    agent.exits_on_eof = False
    rig.close(first, session)
    rig.leave(first)
    second = rig.connect("alice")
    kept = rig.create(second).session_id
    agent.exit(0)
    third = rig.connect("alice")
    assert rig.state(third, kept).session_id == kept


def test_two_requests_to_a_sleeping_session_wake_it_once() -> None:
    """Seed 904: both had looked it up before either had begun to wake it."""
    rig = Rig(journal=Shelf(), sleep_after=10.0)
    rig.capabilities = {"loadSession": True}
    connection = rig.connect("alice")
    session = rig.create(connection).session_id
    rig.advance(20)
    held: list[Any] = []
    follow, rig._follow = rig._follow, held.append  # type: ignore[method-assign]
    first, second = rig.prompt(connection, session), rig.prompt(connection, session)
    rig._follow = follow  # type: ignore[method-assign]
    for event in held:
        rig.feed(event)
    for prompt in (first, second):
        assert rig.rpc(connection, prompt)["result"] == {"stopReason": "end_turn"}
    assert len(rig.agents) == 2


def test_a_caller_may_leave_while_the_journal_takes_its_session() -> None:
    """Seed 1000: it was taken off the audience of its session twice."""
    rig = Rig(journal=Shelf())
    assert rig.shelf is not None
    rig.shelf.stuck = True
    connection = rig.connect("alice")
    rig.send(connection, create_request())
    rig.leave(connection)
    rig.advance(60)
    rig.assert_nothing_left()
