"""How long an agent is given for each step of its end. All in seconds, all to be chosen by the operator."""

from __future__ import annotations

from dataclasses import dataclass

from roost.process.base import DEFAULT_CLOSE_GRACE


@dataclass(frozen=True, slots=True)
class Graces:
    """The defaults suit real agents; see each for what it was chosen by."""

    # From the beginning of a close to SIGKILL, where `close` is not told otherwise (sidecar decision "close").
    close_grace: float = DEFAULT_CLOSE_GRACE

    # From the end of its stdin to SIGTERM. Agents that leave by themselves do so at once, or take seconds over it.
    leave_grace: float = 0.5

    # What an agent that ended by itself leaves running gets SIGTERM at once and SIGKILL after this.
    leftover_grace: float = 1.0

    # How long the end of an agent may be held back by a descendant that keeps its pipes open and may write more.
    output_grace: float = 0.25

    # An agent that closed its stdout can say nothing any more: it is ended when it has not gone by itself after this.
    mute_grace: float = 5.0

    # SIGKILL is not obeyed at once by a process that waits for a disk or a dead network share.
    kill_grace: float = 5.0
