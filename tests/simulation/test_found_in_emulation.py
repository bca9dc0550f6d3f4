"""What the simulation found in what is made up for agents of v1, each as the shortest story that shows it."""

from __future__ import annotations

import pytest

from tests.sidecar.plain_agents import Plain, answer, begun, prompt
from tests.sidecar.replays import REPLAY, Talker, slow, told
from tests.sidecar.scripted_agent import Agent, Json
from tests.sidecar.shelf import Shelf
from tests.sidecar.v1_agents import ended
from tests.simulation.test_found_in_journal import stored


def test_a_caller_that_leaves_while_its_past_is_looked_up_is_told_nothing_more() -> None:
    """Seed 1102: the page that was asked for came, and was told to a connection that was gone."""
    rig, shelf, caller, session = slow(Talker())
    answer(rig, caller, session, "session/prompt", prompt("hello"))
    shelf.waits = True
    later = rig.connect("me")
    rig.request(later, session, "session/resume", REPLAY)
    rig.leave(later)
    count = len(rig.told)
    shelf.waits = False
    rig.give()
    assert [what for number, what in rig.told[count:] if number == later and not isinstance(what, tuple)] == []
    rig.advance(1)
    answer(rig, caller, session, "session/prompt", prompt("again"))
    assert not rig.agent.paused
    ended(rig, caller, session)


def test_what_an_agent_replays_does_not_overtake_the_end_of_a_turn_that_is_not_durable_yet() -> None:
    """Seed 3688: the end was held back for the journal, and the past was not."""

    def script(agent: Agent, message: Json) -> bool:
        if message.get("method") != "session/resume":
            return False
        agent.update(sessionUpdate="agent_message", messageId="m", content=[])
        agent.result(message, {})
        return True

    shelf = Shelf()
    rig, caller, session = begun(script, journal=shelf)  # type: ignore[arg-type]
    rig.agent.update(sessionUpdate="state_update", state="running")
    shelf.stuck = True
    rig.agent.update(sessionUpdate="state_update", state="idle")
    request = rig.request(caller, session, "session/resume", REPLAY)
    stored(rig, shelf)
    kinds = [line["params"]["update"]["sessionUpdate"] for line in told(rig, caller)]
    assert kinds == ["state_update", "state_update", "agent_message"]
    assert rig.rpc(caller, request)["result"] == {}
    ended(rig, caller, session)


@pytest.mark.parametrize("method", ["session/close", "auth/logout"])
def test_what_an_agent_refuses_is_not_told_before_what_it_had_told(method: str) -> None:
    """Seed 908099: the answer to a session/close overtook what was held back for the journal."""

    shelf = Shelf()
    refusing = Plain({"sessionCapabilities": {"close": {}}, "auth": {"logout": {}}})
    refusing.refuses = {"session/close", "logout"}
    rig, caller, session = begun(refusing, journal=shelf)
    request = rig.request(caller, session, "session/prompt", prompt())
    rig.advance(1)
    shelf.stuck = True
    rig.session(session)._hold()  # type: ignore[union-attr]  # as the end of a turn does
    rig.agent.update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": "late"})
    refused = rig.request(caller, session, method)
    assert rig.rpc(caller, request)["result"] is not None
    assert rig.reply(caller, refused) is None
    stored(rig, shelf)
    assert rig.reply(caller, refused) is not None
    assert "late" in str(told(rig, caller)[-1])
    ended(rig, caller, session)
