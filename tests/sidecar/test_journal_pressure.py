"""A journal that does not keep up: agents wait, and nothing is lost."""

from __future__ import annotations

from typing import Any

from roost.sidecar import events
from tests.sidecar.rig import Rig
from tests.sidecar.shelf import Shelf


def kept(**limits: Any) -> tuple[Rig, int]:
    rig = Rig(journal=Shelf(), **limits)
    rig.capabilities = {"loadSession": True}
    return rig, rig.connect("me")


def press(rig: Rig) -> None:
    rig.feed(events.JournalPressed())


def ease(rig: Rig) -> None:
    rig.feed(events.JournalEased())


def paused(rig: Rig) -> list[bool]:
    return [agent.paused for agent in rig.agents.values()]


def test_agents_of_kept_sessions_are_not_read_while_the_journal_is_behind() -> None:
    rig, me = kept()
    rig.create(me)
    rig.create(rig.connect())  # of an unnamed caller: it is not kept
    press(rig)
    assert paused(rig) == [True, False]
    rig.agents["acp-agent-1"].update(sessionUpdate="x")
    assert rig.notifications(me) == []
    ease(rig)
    assert paused(rig) == [False, False]
    assert len(rig.notifications(me)) == 1


def test_a_session_opened_meanwhile_waits_too() -> None:
    rig, me = kept()
    press(rig)
    rig.create(me)
    assert paused(rig) == [True]
    ease(rig)
    assert paused(rig) == [False]


def test_a_new_agent_after_a_crash_waits_too() -> None:
    rig, me = kept()
    rig.create(me)
    rig.agent.exit(1)
    rig._follow(events.JournalPressed())
    rig.agent.exit(1)  # read to its end first
    ease(rig)
    press(rig)
    rig.advance(5)
    assert rig.agent.process == "acp-agent-3"
    assert rig.agent.paused


def test_a_caller_that_does_not_read_and_a_journal_that_is_behind_are_waited_for_both() -> None:
    rig, me = kept()
    rig.create(me)
    press(rig)
    rig.feed(events.CallerBlocked(me))
    ease(rig)
    assert paused(rig) == [True]
    press(rig)
    rig.feed(events.CallerUnblocked(me))
    assert paused(rig) == [True]
    ease(rig)
    assert paused(rig) == [False]


def test_a_turn_behind_a_journal_that_never_catches_up_has_an_end_all_the_same() -> None:
    rig, me = kept()
    session = rig.create(me).session_id
    rig.agent.hear = lambda agent, message: True
    prompt = rig.prompt(me, session)
    press(rig)
    rig.advance(599)
    assert rig.reply(me, prompt) is None
    rig.advance(2)
    assert rig.rpc(me, prompt)["error"]["data"]["kind"] == "acp_timeout"


def test_of_an_agent_at_its_end_the_journal_is_not_given_more_than_the_limit() -> None:
    rig, me = kept(closing_output_bytes=1)
    session = rig.create(me).session_id
    rig.agent.exits_on_eof = False
    rig.close(me, session)
    rig.agent.update(sessionUpdate="x")
    press(rig)
    assert paused(rig) == [False]
    rig.agent.update(sessionUpdate="x")
    assert paused(rig) == [True]
    ease(rig)
    assert paused(rig) == [False]


def test_a_session_that_is_closed_meanwhile_is_read_to_its_end() -> None:
    rig, me = kept()
    session = rig.create(me).session_id
    press(rig)
    rig.close(me, session)
    assert not rig.agent.paused
    ease(rig)
    rig.assert_nothing_left()
