"""The lifecycle of a session."""

from __future__ import annotations

import enum


class Life(enum.Enum):
    """The lifecycle of a session, as a table in LIFE_MOVES."""

    LIVE = "live"
    RECOVERING = "recovering"  # its agent is gone, a new one is being started
    CLOSING = "closing"
    ENDED = "ended"


LIFE_MOVES = {
    Life.LIVE: (Life.RECOVERING, Life.CLOSING),
    Life.RECOVERING: (Life.LIVE, Life.CLOSING, Life.ENDED),
    Life.CLOSING: (Life.ENDED,),
    Life.ENDED: (),
}
