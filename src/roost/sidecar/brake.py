"""When an agent's output is not read: while those who hear it cannot take more."""

from __future__ import annotations

from collections.abc import Callable

from roost.sidecar.commands import PauseAgent, ResumeAgent
from roost.sidecar.context import Context
from roost.sidecar.keeper import STORE


class Brake:
    """Who an agent waits for: connections, by number, and STORE. `released` is called when it is read again.

    An agent whose end is near is read even so, for a program that cannot write does not end; but no more of it than
    `closing_output_bytes`, for it may never have done with talking. Then it is stopped again until it is gone.
    """

    def __init__(self, context: Context, process: str, released: Callable[[], None]) -> None:
        self._context = context
        self._process = process
        self._released = released
        self._waits_for: set[int] = set()
        self._last_words = context.limits.closing_output_bytes
        self._over = False
        self.doomed = False

    @property
    def on(self) -> bool:
        """Its output is not read."""
        return bool(self._waits_for) and not (self.doomed and self._last_words > 0)

    @property
    def by_caller(self) -> bool:
        """Its silence is that of a caller who does not read, and who is disconnected for it after a while."""
        return self.on and self._waits_for != {STORE}

    def wait_for(self, waiter: int) -> None:
        was_on = self.on
        self._waits_for.add(waiter)
        self._act(was_on)

    def go_on_for(self, waiter: int) -> None:
        was_on = self.on
        self._waits_for.discard(waiter)
        self._act(was_on)

    def doom(self) -> None:
        """Its end is near."""
        was_on = self.on
        self.doomed = True
        self._act(was_on)

    def heard(self, size: int) -> None:
        """That much of a doomed agent's output has come."""
        if self._waits_for:
            was_on = self.on
            self._last_words -= size
            self._act(was_on)

    def end(self) -> None:
        """The agent is gone."""
        self._over = True

    def _act(self, was_on: bool) -> None:
        if self.on is was_on or self._over:
            return
        if was_on:
            self._released()
        self._context.emit(ResumeAgent(self._process) if was_on else PauseAgent(self._process))
