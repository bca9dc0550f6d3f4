"""The tracker of turns, over any order of events."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from roost.acp import v2
from roost.acp.v2.gen.state import IdleStateUpdate, RunningStateUpdate
from roost.acp.view_entries import Message
from roost.sdk.client_turns import MAX_CANDIDATES, TrackedTurn, TurnTracker

RUNNING = RunningStateUpdate()
BUSY = v2.Unknown.of({"sessionUpdate": "state_update", "state": "_dreaming"}, "state")


def idle(reason: str | None = "end_turn") -> IdleStateUpdate:
    return IdleStateUpdate(stop_reason=reason)


def message(words: str) -> Message:
    made = Message("user_message", words)
    made.content.append(v2.TextContent(text=words))
    return made


class Ended:
    """A turn, and how often and by what it was ended."""

    def __init__(self, words: str) -> None:
        self.idles: list[IdleStateUpdate] = []
        self.tracked = TrackedTurn([v2.TextContent(text=words)], self.idles.append)


def sent(tracker: TurnTracker, words: str = "hi", *, accepted: bool = True) -> Ended:
    turn = Ended(words)
    tracker.send(turn.tracked)
    if accepted:
        tracker.accept(turn.tracked)
    return turn


def test_an_unknown_state_is_busy() -> None:  # FWD-7
    tracker = TurnTracker()
    turn = sent(tracker)
    tracker.change(BUSY)
    assert tracker.is_busy
    tracker.change(idle(None))
    assert turn.idles == [idle(None)]


def test_a_dropped_turn_lets_the_next_one_begin() -> None:
    tracker = TurnTracker()
    first, second = sent(tracker, "a", accepted=False), sent(tracker, "b")
    tracker.change(RUNNING)
    tracker.drop(first.tracked)
    tracker.change(idle())
    assert (first.idles, second.idles) == ([], [idle()])


def test_a_dropped_turn_is_not_accepted_afterwards() -> None:
    tracker = TurnTracker()
    turn = sent(tracker, accepted=False)
    tracker.drop(turn.tracked)
    tracker.accept(turn.tracked)
    tracker.change(RUNNING)
    tracker.change(idle())
    assert turn.idles == []


def test_a_turn_accepted_while_somebody_elses_prompt_runs_waits_for_its_own() -> None:
    tracker = TurnTracker()
    turn = sent(tracker, "mine", accepted=False)
    tracker.report(message("theirs"))
    tracker.change(RUNNING)
    tracker.accept(turn.tracked)
    tracker.change(idle())
    assert turn.idles == []
    tracker.report(message("mine"))
    tracker.change(RUNNING)
    tracker.change(idle("max_tokens"))
    assert turn.idles == [idle("max_tokens")]


def test_messages_that_may_be_the_prompt_are_bounded() -> None:
    tracker = TurnTracker()
    turn = sent(tracker, accepted=False)
    for number in range(2 * MAX_CANDIDATES):
        tracker.report(message(str(number)))
    assert len(turn.tracked.candidates) == MAX_CANDIDATES
    tracker.accept(turn.tracked)
    assert turn.tracked.candidates == []


def test_a_cancelled_turn_needs_a_reason_to_end_without_having_run() -> None:
    tracker = TurnTracker()
    turn = sent(tracker)
    assert tracker.cancel() == [turn.tracked]
    tracker.change(idle(None))
    assert turn.idles == []
    tracker.change(idle("cancelled"))
    assert turn.idles == [idle("cancelled")]


def test_cancel_is_about_what_was_accepted() -> None:
    tracker = TurnTracker()
    first, _ = sent(tracker, "a"), sent(tracker, "b", accepted=False)
    assert tracker.cancel() == [first.tracked]


class Agent(RuleBasedStateMachine):
    """A client and an agent that keeps the rules, prompts one after the other: each ends with its own idle."""

    def __init__(self) -> None:
        super().__init__()
        self.tracker = TurnTracker()
        self.queue: list[Ended] = []  # sent, not accepted: the agent holds them
        self.running: Ended | None = None
        self.reported = self.busy = False
        self.finished: list[Ended] = []
        self.count = 0

    @rule()
    def prompt(self) -> None:
        self.count += 1
        self.queue.append(sent(self.tracker, str(self.count), accepted=False))

    @precondition(lambda self: self.queue and self.running is None)
    @rule()
    def accept(self) -> None:
        self.running = self.queue.pop(0)
        self.tracker.accept(self.running.tracked)
        self.reported = self.busy = False

    @precondition(lambda self: self.running is not None and not self.reported)
    @rule()
    def report(self) -> None:
        assert self.running is not None
        self.reported = True
        self.tracker.report(message(self.running.tracked.prompt[0].text))  # type: ignore[union-attr]

    @precondition(lambda self: self.running is not None and self.reported)
    @rule(state=st.sampled_from([RUNNING, BUSY, v2.RequiresActionStateUpdate()]))
    def work(self, state: Any) -> None:
        self.busy = True
        self.tracker.change(state)

    @precondition(lambda self: self.running is not None and self.busy)
    @rule(reason=st.sampled_from(["end_turn", None, "_x"]))
    def finish(self, reason: str | None) -> None:
        assert self.running is not None
        self.tracker.change(idle(reason))
        assert self.running.idles == [idle(reason)]
        self.finished.append(self.running)
        self.running, self.busy = None, False

    @precondition(lambda self: self.running is None)
    @rule()
    def stale(self) -> None:
        self.tracker.change(idle(None))

    @precondition(lambda self: self.queue)
    @rule()
    def refuse(self) -> None:
        self.tracker.drop(self.queue.pop().tracked)

    @invariant()
    def nothing_else_has_ended(self) -> None:
        assert all(not turn.idles for turn in self.queue)
        assert all(len(turn.idles) == 1 for turn in self.finished)
        assert self.running is None or not self.running.idles


TestAgent = Agent.TestCase
TestAgent.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)

events = st.sampled_from(
    ["send", "accept", "accept last", "drop", "report", "running", "busy", "idle", "stale", "cancel", "end"]
)


@given(st.lists(events, max_size=40))
@settings(deadline=None)
def test_no_order_of_events_raises_or_ends_a_turn_twice(order: list[str]) -> None:
    tracker = TurnTracker()
    turns: list[Ended] = []
    for event in order:
        match event:
            case "send":
                turns.append(sent(tracker, str(len(turns)), accepted=False))
            case "accept" if turns:
                tracker.accept(turns[0].tracked)
            case "accept last" if turns:
                tracker.accept(turns[-1].tracked)
            case "drop" if turns:
                tracker.drop(turns[-1].tracked)
            case "report":
                tracker.report(message(str(len(turns))))
            case "running":
                tracker.change(RUNNING)
            case "busy":
                tracker.change(BUSY)
            case "idle":
                tracker.change(idle())
            case "stale":
                tracker.change(idle(None))
            case "cancel":
                tracker.cancel()
            case "end":
                tracker.end_all()
    assert all(len(turn.idles) <= 1 for turn in turns)
    assert all(turn.tracked.is_over or turn.tracked in tracker.turns for turn in turns)
