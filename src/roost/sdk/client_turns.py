"""Which idle ends which prompt. Pure: told what happens, in order, it says when a turn is over.

The protocol has no turn id (PRM-10), so a prompt's end is worked out. A turn is a prompt of ours from its sending to
the idle that ends it.

1. Turns end in the order they were sent, unless one idle ends several (PRM-13). Only the first turn, and any whose user
   message was reported, can have begun; it has when the agent is busy then, or becomes so.
2. An idle ends what has begun. If it says why it stopped it also ends what was reported but never became busy, and what
   was cancelled after the agent had accepted it (PRM-19). Any other idle is stale: it was there before the prompt.
3. Work that went on when the first prompt was sent, and is not ours, is a turn like any other: the next idle ends it.
4. A prompt that is not accepted yet may be waiting behind somebody else's work. What happens meanwhile counts for it
   once it is accepted, if a message reported meanwhile was this very prompt, or none was reported at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from roost.acp.v2.gen.content import ContentBlock
from roost.acp.v2.gen.state import IdleStateUpdate, StateUpdate, StopReason
from roost.acp.view_entries import Message

MAX_CANDIDATES: Final = 64  # messages reported before a prompt is accepted that may turn out to be it; ours


class TrackedTurn:
    """One prompt on its way. `ended` is called once, with the idle that ended it."""

    __slots__ = (
        "accepted",
        "begun",
        "cancelled",
        "candidates",
        "early",
        "ended",
        "is_over",
        "message",
        "prompt",
        "reported",
    )

    def __init__(self, prompt: Sequence[ContentBlock], ended: Callable[[IdleStateUpdate], None]) -> None:
        self.prompt = list(prompt)
        self.ended = ended
        self.accepted = False
        self.reported = False
        self.message: Message | None = None
        """What the agent reported it as."""
        self.begun = False
        self.cancelled = False
        self.is_over = False
        self.candidates: list[Message] = []
        self.early: StateUpdate | None = None
        """The latest state since it was first in line and since the latest candidate, before it was accepted; an idle
        only after something else."""

    def __repr__(self) -> str:
        return f"TrackedTurn(accepted={self.accepted}, reported={self.reported}, begun={self.begun})"


class TurnTracker:
    """The turns of one session."""

    def __init__(self) -> None:
        self._turns: list[TrackedTurn] = []
        self._busy = False

    @property
    def turns(self) -> list[TrackedTurn]:
        """Those that are not over, in order; work that is not ours included."""
        return list(self._turns)

    @property
    def is_busy(self) -> bool:
        """Whether the agent's last word was anything but idle."""
        return self._busy

    def send(self, turn: TrackedTurn) -> None:
        """A prompt is being sent."""
        if self._busy and not self._turns:
            self._turns.append(_foreign())
        self._turns.append(turn)

    def accept(self, turn: TrackedTurn) -> None:
        """The agent has answered the prompt's request."""
        if turn.is_over:
            return
        turn.accepted = True
        candidates, turn.candidates = turn.candidates, []
        turn.message = next((message for message in candidates if message.content == turn.prompt), None)
        turn.reported = turn.message is not None
        if self._busy and candidates and not turn.reported and turn is self._turns[0]:
            self._turns.insert(0, _foreign())  # one of those messages was what it is busy with
        if turn.early is not None and (turn.reported or not candidates):
            turn.begun = True
            if isinstance(turn.early, IdleStateUpdate):
                self._end(turn, turn.early)
        self._begin()

    def drop(self, turn: TrackedTurn) -> None:
        """The prompt was refused, or taken back in time."""
        turn.is_over = True
        if turn in self._turns:
            self._turns.remove(turn)
            self._begin()

    def cancel(self) -> list[TrackedTurn]:
        """session/cancel is being sent. Returns the turns it is about: those accepted by now."""
        concerned = [turn for turn in self._turns if turn.accepted]
        for turn in concerned:
            turn.cancelled = True
        return concerned

    def report(self, message: Message) -> None:
        """The agent has reported a message of the user, for the first time."""
        unreported = [turn for turn in self._turns if not turn.reported]
        for turn in unreported:
            if turn.accepted:
                turn.reported = True
                turn.message = message
                self._begin()
                return
        if unreported and len(unreported[0].candidates) < MAX_CANDIDATES:
            unreported[0].candidates.append(message)
            if isinstance(unreported[0].early, IdleStateUpdate):
                unreported[0].early = None

    def change(self, state: StateUpdate) -> None:
        """The agent has said what it is doing. An unknown state is busy (FWD-7)."""
        first = self._turns[0] if self._turns else None
        self._busy = not isinstance(state, IdleStateUpdate)
        if first is not None and not first.accepted and (self._busy or first.early is not None):
            first.early = state
        if not isinstance(state, IdleStateUpdate):
            self._begin()
            return
        for turn in [turn for turn in self._turns if turn.accepted and _ends(state, turn)]:
            self._end(turn, state)

    def end_all(self) -> None:
        """The session was closed or deleted: whatever ran was cancelled (SES-26)."""
        self._busy = False
        for turn in list(self._turns):
            self._end(turn, IdleStateUpdate(stop_reason=StopReason.CANCELLED))

    def _begin(self) -> None:
        if self._busy:
            for turn in self._turns:
                if turn.accepted and (turn.reported or turn is self._turns[0]):
                    turn.begun = True

    def _end(self, turn: TrackedTurn, idle: IdleStateUpdate) -> None:
        if turn in self._turns:
            self._turns.remove(turn)
        if not turn.is_over:
            turn.is_over = True
            turn.ended(idle)


def _foreign() -> TrackedTurn:
    turn = TrackedTurn([], lambda idle: None)
    turn.accepted = turn.reported = turn.begun = True
    return turn


def _ends(idle: IdleStateUpdate, turn: TrackedTurn) -> bool:
    return turn.begun or (idle.stop_reason is not None and (turn.reported or turn.cancelled))
