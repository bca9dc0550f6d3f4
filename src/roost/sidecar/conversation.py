"""Conversations: multi-step exchanges written top to bottom, suspended while they wait.

A conversation is a generator that yields a `Wait` and is resumed with its value, or with its error raised at the
`yield`. Nothing here knows what is waited for; time comes in as a number.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Generator
from typing import Any, TypeVar

from roost.errors import RoostError

T = TypeVar("T")
Conversation = Generator["Wait", Any, T]
Ended = Callable[[Any, "Exception | None"], None]


class TimedOut(RoostError):
    """A wait's deadline passed. `timeout` is in seconds."""

    def __init__(self, timeout: float) -> None:
        super().__init__(timeout)
        self.timeout = timeout


class Wait:
    """Something that happens once: settled by a value or by an error; several conversations may wait for it."""

    __slots__ = ("_mirrors", "_stage", "_tasks", "error", "settled", "value")

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._tasks: list[Task] = []
        self._mirrors: list[Wait] = []
        self.settled = False
        self.value: Any = None
        self.error: Exception | None = None

    def resolve(self, value: Any = None) -> None:
        """Settles it. The first settlement wins; later ones are ignored."""
        if not self.settled:
            self.settled, self.value = True, value
            self._wake()

    def fail(self, error: Exception) -> None:
        if not self.settled:
            self.settled, self.error = True, error
            self._wake()

    def _wake(self) -> None:
        self._stage.ready.extend(self._tasks)
        mirrors, self._tasks, self._mirrors = self._mirrors, [], []
        for mirror in mirrors:
            mirror.settle_like(self)

    def settle_like(self, other: Wait) -> None:
        if other.error is not None:
            self.fail(other.error)
        else:
            self.resolve(other.value)


class _Bounded(Wait):
    """A wait that mirrors another until its own deadline."""

    __slots__ = ("timer",)

    def __init__(self, stage: Stage) -> None:
        super().__init__(stage)
        self.timer: Timer | None = None

    def settle_like(self, other: Wait) -> None:
        if self.timer is not None:
            self.timer.cancel()
        super().settle_like(other)


class Timer:
    """One action at one moment. Cancelling is free; a fired timer is spent."""

    __slots__ = ("_stage", "action", "when")

    def __init__(self, stage: Stage, when: float, action: Callable[[], None]) -> None:
        self._stage = stage
        self.when = when
        self.action: Callable[[], None] | None = action

    def cancel(self) -> None:
        if self.action is not None:
            self.action = None
            self._stage.cancelled += 1


class Task:
    """A conversation under way."""

    __slots__ = ("conversation", "ended", "wait")

    def __init__(self, conversation: Conversation[Any], ended: Ended) -> None:
        self.conversation = conversation
        self.ended = ended
        self.wait: Wait | None = None


class Stage:
    """Where conversations run: resumes those whose wait is settled, and keeps the deadlines.

    `broken` hears of what was raised and nobody asked about: a conversation without an ending, an action of a timer.
    """

    def __init__(self, broken: Callable[[Exception], None]) -> None:
        self._broken = broken
        self.now = 0.0
        self.ready: deque[Task] = deque()
        self.running = 0
        self.cancelled = 0
        self.later = Wait(self)  # over as soon as everybody who is ready has had a turn
        self._timers: list[tuple[float, int, Timer]] = []
        self._sequence = 0

    @property
    def timers(self) -> int:
        """How many timers are still to fire."""
        return len(self._timers) - self.cancelled

    def start(self, conversation: Conversation[T], ended: Ended | None = None) -> None:
        """Begins a conversation; `ended(value, error)` is called exactly once, `value` being None on error.

        It runs up to its first wait before this returns.
        """
        self.running += 1
        self._step(Task(conversation, ended or self._unheard))

    def run(self) -> None:
        """Resumes conversations until all of them wait."""
        while self.ready:
            self._step(self.ready.popleft())

    def _step(self, task: Task) -> None:
        wait = task.wait
        value: Any = None
        try:
            while True:
                if wait is None:
                    wait = next(task.conversation)
                elif wait.error is not None:
                    wait = task.conversation.throw(wait.error)
                else:
                    wait = task.conversation.send(wait.value)
                if not wait.settled:
                    task.wait = wait
                    if wait is self.later:
                        self.ready.append(task)
                    else:
                        wait._tasks.append(task)
                    return
        except StopIteration as stop:
            value, error = stop.value, None
        except Exception as raised:
            error = raised
        self.running -= 1
        task.ended(value, error)

    def _unheard(self, value: Any, error: Exception | None) -> None:
        if error is not None and not isinstance(error, RoostError):
            self._broken(error)

    def wait(self) -> Wait:
        return Wait(self)

    def within(self, timeout: float, wait: Wait) -> Wait:
        """The same happening with a deadline of this conversation's own; `wait` itself is left alone."""
        bounded = _Bounded(self)
        if wait.settled:
            bounded.settle_like(wait)
            return bounded

        def late() -> None:
            wait._mirrors.remove(bounded)
            bounded.fail(TimedOut(timeout))

        wait._mirrors.append(bounded)
        bounded.timer = self.after(timeout, late)
        return bounded

    def after(self, seconds: float, action: Callable[[], None]) -> Timer:
        self._sequence += 1
        timer = Timer(self, self.now + seconds, action)
        heapq.heappush(self._timers, (timer.when, self._sequence, timer))
        if self.cancelled > 64 and self.cancelled * 2 > len(self._timers):
            self._timers = [entry for entry in self._timers if entry[2].action is not None]
            heapq.heapify(self._timers)
            self.cancelled = 0
        return timer

    def expire(self, now: float) -> None:
        """Fires every timer that is due, and resumes whom each of them wakes before the next one fires."""
        self.now = now
        while self._timers and self._timers[0][0] <= now:
            timer = heapq.heappop(self._timers)[2]
            action, timer.action = timer.action, None
            if action is None:
                self.cancelled -= 1
                continue
            try:
                action()
                self.run()
            except Exception as error:
                self._broken(error)

    def next_deadline(self) -> float | None:
        while self._timers and self._timers[0][2].action is None:
            heapq.heappop(self._timers)
            self.cancelled -= 1
        return self._timers[0][0] if self._timers else None
