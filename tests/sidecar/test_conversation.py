"""Stage, Wait, Timer: suspended conversations and deadlines."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.errors import RoostError
from roost.sidecar.conversation import Conversation, Stage, TimedOut, Wait


class Ending:
    """Hears how conversations end, in order."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.errors: list[Exception] = []

    def __call__(self, value: Any, error: Exception | None) -> None:
        if error is None:
            self.values.append(value)
        else:
            self.errors.append(error)


def stage() -> tuple[Stage, list[Exception]]:
    broken: list[Exception] = []
    return Stage(broken.append), broken


def waiting(*waits: Wait) -> Conversation[list[Any]]:
    """Waits for one after the other; what each was worth."""
    values = []
    for wait in waits:
        try:
            values.append((yield wait))
        except RoostError as error:
            values.append(error)
    return values


def test_a_conversation_runs_up_to_its_first_wait_at_once() -> None:
    here, _ = stage()
    reached = []

    def conversation() -> Conversation[None]:
        reached.append("start")
        yield here.wait()
        reached.append("end")

    here.start(conversation())
    assert reached == ["start"]
    assert here.running == 1


def test_a_settled_wait_resumes_everybody_who_waits_for_it_in_order() -> None:
    here, _ = stage()
    ending, wait = Ending(), here.wait()
    for _ in range(3):
        here.start(waiting(wait), ending)
    wait.resolve("now")
    assert ending.values == []  # nobody runs before `run`
    here.run()
    assert ending.values == [["now"]] * 3
    assert here.running == 0


def test_the_first_settlement_wins() -> None:
    here, _ = stage()
    wait = here.wait()
    wait.resolve(1)
    wait.fail(RoostError("late"))
    wait.resolve(2)
    assert (wait.value, wait.error) == (1, None)
    failed = here.wait()
    failed.fail(RoostError("first"))
    failed.resolve(3)
    assert isinstance(failed.error, RoostError)
    assert failed.value is None


def test_a_wait_that_is_over_does_not_suspend() -> None:
    here, _ = stage()
    ending, done, failed = Ending(), here.wait(), here.wait()
    done.resolve(5)
    error = RoostError("no")
    failed.fail(error)
    here.start(waiting(done, failed, done), ending)
    assert ending.values == [[5, error, 5]]


def test_the_error_of_a_conversation_goes_to_its_ending() -> None:
    here, broken = stage()
    ending, wait = Ending(), here.wait()

    def conversation() -> Conversation[None]:
        yield wait
        raise KeyError("mistake")

    here.start(conversation(), ending)
    wait.resolve()
    here.run()
    assert [type(error) for error in ending.errors] == [KeyError]
    assert broken == []


@pytest.mark.parametrize(("error", "heard"), [(KeyError("mistake"), 1), (RoostError("expected"), 0)])
def test_a_mistake_nobody_asked_about_is_not_silent(error: Exception, heard: int) -> None:
    here, broken = stage()

    def conversation() -> Conversation[None]:
        raise error
        yield here.wait()

    here.start(conversation())
    assert len(broken) == heard


def test_a_deadline_fails_a_wait_and_leaves_the_happening_alone() -> None:
    here, _ = stage()
    ending, happening = Ending(), here.wait()
    here.start(waiting(here.within(5.0, happening)), ending)
    here.expire(4.999)
    assert ending.values == []
    here.expire(5.0)
    assert isinstance(ending.values[0][0], TimedOut)
    assert ending.values[0][0].timeout == 5.0
    assert not happening.settled
    happening.resolve("late")
    here.run()
    assert len(ending.values) == 1


def test_a_happening_in_time_cancels_the_deadline() -> None:
    here, _ = stage()
    ending, happening = Ending(), here.wait()
    here.start(waiting(here.within(5.0, happening)), ending)
    happening.resolve("x")
    here.run()
    assert ending.values == [["x"]]
    assert here.timers == 0
    assert here.next_deadline() is None


def test_a_happening_that_is_over_needs_no_deadline() -> None:
    here, _ = stage()
    happening = here.wait()
    happening.fail(RoostError("gone"))
    bounded = here.within(5.0, happening)
    assert bounded.settled
    assert here.timers == 0


def test_several_deadlines_for_one_happening_are_independent() -> None:
    here, _ = stage()
    ending, happening = Ending(), here.wait()
    for seconds in (3.0, 1.0, 2.0):
        here.start(waiting(here.within(seconds, happening)), ending)
    here.expire(1.5)
    assert len(ending.values) == 1
    happening.resolve("x")
    here.run()
    assert ending.values[1:] == [["x"], ["x"]]
    assert here.timers == 0


def test_a_polite_conversation_lets_everybody_ready_go_first() -> None:
    here, _ = stage()
    order: list[str] = []
    wait = here.wait()

    def other() -> Conversation[None]:
        yield wait
        order.append("other")

    def polite() -> Conversation[None]:
        wait.resolve()
        yield here.later
        order.append("polite")

    here.start(other())
    here.start(polite())
    here.run()
    assert order == ["other", "polite"]
    assert not here.later.settled


def test_conversations_may_start_conversations_and_settle_each_other() -> None:
    here, _ = stage()
    ending, question, answer = Ending(), here.wait(), here.wait()

    def inner() -> Conversation[None]:
        yield question
        answer.resolve(42)

    def outer() -> Conversation[int]:
        here.start(inner())
        question.resolve()
        value: int = yield answer
        return value

    here.start(outer(), ending)
    here.run()
    assert ending.values == [42]
    assert here.running == 0


def test_timers_fire_in_order_of_time_then_of_making() -> None:
    here, _ = stage()
    fired: list[str] = []
    for name, seconds in (("c", 2.0), ("a", 1.0), ("b", 1.0), ("d", 9.0)):
        here.after(seconds, lambda name=name: fired.append(name))  # type: ignore[misc]
    assert here.next_deadline() == 1.0
    here.expire(2.0)
    assert fired == ["a", "b", "c"]
    assert here.next_deadline() == 9.0


def test_whom_a_timer_wakes_runs_before_the_next_timer() -> None:
    here, _ = stage()
    order: list[str] = []
    wait = here.wait()

    def conversation() -> Conversation[None]:
        yield wait
        order.append("woken")

    here.start(conversation())
    here.after(1.0, wait.resolve)
    here.after(1.0, lambda: order.append("second timer"))
    here.expire(1.0)
    assert order == ["woken", "second timer"]


def test_a_timer_may_make_a_timer_that_is_due() -> None:
    here, _ = stage()
    fired: list[int] = []

    def again() -> None:
        fired.append(len(fired))
        if len(fired) < 3:
            here.after(0.0, again)

    here.after(1.0, again)
    here.expire(1.0)
    assert fired == [0, 1, 2]


def test_a_broken_action_does_not_keep_the_next_timer_from_firing() -> None:
    here, broken = stage()
    fired: list[str] = []

    def mistake() -> None:
        raise KeyError("mistake")

    here.after(1.0, mistake)
    here.after(2.0, lambda: fired.append("x"))
    here.expire(3.0)
    assert fired == ["x"]
    assert [type(error) for error in broken] == [KeyError]


def test_cancelled_timers_do_not_pile_up() -> None:
    here, _ = stage()
    for _ in range(10_000):
        here.after(100.0, lambda: None).cancel()
    assert len(here._timers) < 200
    assert here.timers == 0
    assert here.next_deadline() is None


def test_cancelling_twice_and_after_firing_changes_nothing() -> None:
    here, _ = stage()
    timer = here.after(1.0, lambda: None)
    timer.cancel()
    timer.cancel()
    assert here.timers == 0
    spent = here.after(1.0, lambda: None)
    here.expire(5.0)
    spent.cancel()
    assert here.timers == 0
    assert here.next_deadline() is None


@given(st.lists(st.tuples(st.floats(0, 100), st.booleans()), max_size=200), st.lists(st.floats(0, 120), max_size=10))
def test_exactly_the_timers_that_are_due_fire(timers: list[tuple[float, bool]], moments: list[float]) -> None:
    here, _ = stage()
    fired: list[int] = []
    for index, (seconds, cancelled) in enumerate(timers):
        timer = here.after(seconds, lambda index=index: fired.append(index))  # type: ignore[misc]
        if cancelled:
            timer.cancel()
    now = 0.0
    for now in sorted(moments):
        here.expire(now)
    due = [index for index, (seconds, cancelled) in enumerate(timers) if seconds <= now and not cancelled]
    assert sorted(fired) == (due if moments else [])
    assert here.timers == sum(not cancelled for _, cancelled in timers) - len(fired)
