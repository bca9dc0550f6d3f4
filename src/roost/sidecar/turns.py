"""Whether an agent works on a prompt, in either protocol version.

Version 1: a turn is an open `session/prompt`. Version 2: the prompt is answered when it is accepted; the turn goes on
until an idle that follows its `running`, or that carries a stop reason (PRM-10).
"""

from __future__ import annotations

import enum

from roost.sidecar.conversation import Stage, Wait


class _Seen(enum.Enum):
    """What was seen of a prompt's turn while its answer is still due: some agents give it at the end only."""

    NOTHING = enum.auto()
    START = enum.auto()
    END = enum.auto()


class Turns:
    """The turns of one session. `busy` is true from sending a prompt to the end of its turn."""

    def __init__(self, stage: Stage, *, by_state: bool) -> None:
        self._stage = stage
        self._by_state = by_state
        self._prompts: dict[int, _Seen] = {}
        self._accepted = False  # a prompt was accepted and no running was seen yet
        self._active = False  # the agent said running or requires_action
        self._reason: str | None = None  # of the last idle
        self._ended: Wait | None = None

    @property
    def busy(self) -> bool:
        return bool(self._prompts) or self._accepted or self._active

    def ended(self) -> Wait:
        """Resolves with the stop reason (None: not told) when no turn runs any more."""
        if self._ended is None:
            self._ended = self._stage.wait()
        return self._ended

    def prompt_sent(self, call: int) -> None:
        self._prompts[call] = _Seen.NOTHING

    def prompt_answered(self, call: int, stop_reason: str | None, *, failed: bool) -> None:
        seen = self._prompts.pop(call, None)
        if seen is None:
            return
        if self._by_state and not failed:
            if seen is _Seen.END:
                stop_reason = self._reason
            elif not self._active:
                self._accepted = True
        self._settle(stop_reason)

    def state_told(self, state: str, stop_reason: str | None) -> None:
        """A v2 state_update. Unknown states count as work: they are not idle (FWD-7)."""
        if state != "idle":
            if not self._active:
                self._saw(_Seen.NOTHING, _Seen.START)
            self._active, self._accepted = True, False
            return
        if self._active or stop_reason is not None:
            self._accepted = False
        self._saw(_Seen.START, _Seen.END)
        self._active, self._reason = False, stop_reason
        self._settle(stop_reason)

    def _saw(self, before: _Seen, after: _Seen) -> None:
        for call, seen in self._prompts.items():
            if seen is before:
                self._prompts[call] = after

    def reset(self, stop_reason: str | None = None) -> None:
        """The agent is gone, or its session closes, and its turns with it."""
        self._prompts.clear()
        self._accepted = self._active = False
        self._settle(stop_reason)

    def _settle(self, stop_reason: str | None) -> None:
        if not self.busy and self._ended is not None:
            ended, self._ended = self._ended, None
            ended.resolve(stop_reason)
