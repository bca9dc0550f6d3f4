"""What the simulation found in what is made up for agents of v1, each as the shortest story that shows it."""

from __future__ import annotations

from tests.sidecar.test_emulation import answer, prompt
from tests.sidecar.test_replay import REPLAY, Talker, slow
from tests.sidecar.test_v1_side import ended


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
