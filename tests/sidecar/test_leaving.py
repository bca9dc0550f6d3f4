"""A caller that goes away, at every moment: nothing of it stays, and nobody else notices."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from roost.sidecar import commands, events
from roost.sidecar.gen.messages import AcpResumeSessionRequest
from tests.sidecar.rig import Rig, create_request

LOAD = {"loadSession": True}


def hung_on(*methods: str) -> Rig:
    """Agents that never answer these, and can re-attach a session."""
    rig = Rig(lambda agent, message: message.get("method") in methods)
    rig.capabilities = LOAD
    return rig


def opened(rig: Rig, caller: int) -> str:
    return rig.create(caller).session_id


def creating(rig: Rig, caller: int) -> None:
    rig.send(caller, create_request())


def resuming(rig: Rig, caller: int) -> None:
    rig.send(caller, AcpResumeSessionRequest("old", "echo", None, "/w", {}))


def prompting(rig: Rig, caller: int) -> None:
    rig.prompt(caller, opened(rig, caller))


def asking(rig: Rig, caller: int) -> None:
    prompting(rig, caller)
    rig.agent.ask("session/request_permission", {})
    rig.agent.ask("fs/read_text_file", {}, 2)


def cancelling(rig: Rig, caller: int) -> None:
    prompting(rig, caller)
    rig.request(caller, rig.agent.session_id, "session/cancel")
    rig.prompt(caller, rig.agent.session_id)  # waits for the outcome


def restarting(rig: Rig, caller: int) -> None:
    prompting(rig, caller)
    rig.agent.exit(1)
    rig.prompt(caller, "s-acp-agent-1")  # waits for the restart


def backing_off(rig: Rig, caller: int) -> None:
    opened(rig, caller)
    rig.agent.exit(1)
    rig.agent.exit(1)


def closing(rig: Rig, caller: int) -> None:
    session = opened(rig, caller)
    rig.agent.exits_on_eof = False
    rig.prompt(caller, session)
    rig.close(caller, session)


MOMENTS: list[tuple[Callable[[Rig, int], None], tuple[str, ...]]] = [
    (creating, ("initialize",)),
    (creating, ("session/new",)),
    (resuming, ("initialize",)),
    (resuming, ("session/load",)),
    (prompting, ("session/prompt",)),
    (asking, ("session/prompt",)),
    (cancelling, ("session/prompt",)),
    (restarting, ("session/prompt", "session/load")),
    (backing_off, ()),
    (closing, ("session/prompt",)),
]
moments = pytest.mark.parametrize(("moment", "hung"), MOMENTS, ids=[f"{m.__name__}-{'-'.join(h)}" for m, h in MOMENTS])


@moments
@pytest.mark.parametrize("stubborn", [False, True])
def test_an_unnamed_caller_that_leaves_takes_everything_along(
    moment: Callable[[Rig, int], None], hung: tuple[str, ...], stubborn: bool
) -> None:
    rig = hung_on(*hung)
    other = rig.connect()
    kept = opened(rig, other) if "session/new" not in hung and "initialize" not in hung else None
    caller = rig.connect()
    moment(rig, caller)
    if stubborn:
        for agent in list(rig.agents.values())[1 if kept else 0 :]:
            agent.exits_on_eof, agent.exits_on = False, frozenset((9,))
    rig.leave(caller)
    rig.advance(30)
    if kept is not None:
        assert rig.state(other, kept).closed is False
        assert rig.events(other) == []
    rig.leave(other)
    rig.advance(30)
    rig.assert_nothing_left()


@moments
def test_a_named_callers_sessions_stay_and_what_it_was_just_opening_does_not(
    moment: Callable[[Rig, int], None], hung: tuple[str, ...]
) -> None:
    rig = hung_on(*hung)
    caller = rig.connect("me")
    moment(rig, caller)
    rig.leave(caller)
    again = rig.connect("me")
    alive = [session.id for session in rig.engine._context.sessions]
    assert bool(alive) is (moment not in (creating, resuming, closing))
    rig.advance(2000)
    for session in alive:
        rig.close(again, session)
    rig.advance(30)
    rig.assert_nothing_left()


@moments
def test_a_shutdown_ends_everything_at_every_moment(moment: Callable[[Rig, int], None], hung: tuple[str, ...]) -> None:
    rig = hung_on(*hung)
    caller = rig.connect("me")
    moment(rig, caller)
    rig.feed(events.ShutdownRequested())
    rig.advance(30)
    rig.assert_nothing_left()
    refused = rig.ask(caller, create_request())
    assert (refused.code, refused.message) == ("invalid_state", "the daemon is shutting down")


class SlowCatalogue(Rig):
    """A rig that answers Loads only when told to."""

    def _do(self, command: commands.Command) -> None:
        if isinstance(command, commands.Load):
            self.load = command
        else:
            super()._do(command)

    def answer_load(self) -> None:
        self.feed(events.RecordLoaded(self.load.ticket, self.look_up(self.load.query)))


@pytest.mark.parametrize("name", [None, "me"])
@pytest.mark.parametrize("ending", ["leave", "shutdown"])
def test_nothing_is_started_for_who_left_while_the_agent_was_looked_up(name: str | None, ending: str) -> None:
    rig = SlowCatalogue()
    caller = rig.connect(name)
    creating(rig, caller)
    if ending == "leave":
        rig.leave(caller)
    else:
        rig.feed(events.ShutdownRequested())
    rig.answer_load()
    assert not rig.spawned
    rig.assert_nothing_left()


def test_an_agent_that_opens_its_session_while_it_is_being_ended_opens_none() -> None:
    rig = hung_on("session/new")
    caller = rig.connect("me")
    creating(rig, caller)
    rig.agent.exits_on_eof, rig.agent.exits_on = False, frozenset((9,))
    rig.leave(caller)
    rig.agent.result({"id": 2}, {"sessionId": "s"})
    assert len(rig.engine._context.sessions) == 0
    rig.advance(30)
    rig.assert_nothing_left()


def test_the_last_one_asked_to_leave_leaves_a_refusal_and_not_before() -> None:
    options = [{"optionId": "n", "kind": "reject_once"}, {"optionId": "y", "kind": "allow_once"}]
    rig = Rig()
    one, two = rig.connect("me"), rig.connect("me")
    session = opened(rig, one)
    rig.state(two, session)
    rig.agent.ask("session/request_permission", {"options": options})
    assert [connection for connection, _, _ in rig.asked] == [one, two]
    rig.leave(one)
    assert rig.agent.answers() == []
    rig.leave(two)
    assert rig.agent.answers()[0]["result"] == {"outcome": {"outcome": "selected", "optionId": "n"}}
    rig.agent.ask("session/request_permission", {"options": options}, "q2")  # nobody is there
    assert rig.agent.answers()[1]["result"] == {"outcome": {"outcome": "selected", "optionId": "n"}}


def test_a_caller_with_nothing_is_forgotten() -> None:
    rig = Rig()
    for _ in range(5):
        rig.leave(rig.connect())
        rig.leave(rig.connect("me"))
    rig.leave(99)
    assert len(rig.engine._context.callers) == 0
    rig.assert_nothing_left()
