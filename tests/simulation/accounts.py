"""What the ledger keeps of a session, a request, a crash and a process."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec

Place = tuple[str, str]  # of a session: whose it is, and the id it has there
UNKNOWN = ""  # a process that is not known any more


class Violation(AssertionError):
    """A rule of the simulation was broken."""


class Owned(msgspec.Struct):
    """A session that was opened. Only its owner closes it; a crash may end it unseen."""

    process: str


class Asked(msgspec.Struct):
    """A request that is not answered yet. `base`: the process its session runs on, and how much of it was heard."""

    unknown: str | None = None  # the session it names is not the caller's: the only answer there is
    base: tuple[str, int] | None = None
    live: bool = False  # its session runs
    place: Place | None = None  # of a session request: its session
    method: str = ""
    bridged: bool = False  # to a kept session, to end it here too, and nobody else ends that
    emulated: bool = False  # and the agent cannot do it
    past: list[tuple[str, int]] | None = None  # of a replay: what the journal had when it was asked for, in order
    replayed: int = 0  # how much of that has been told
    told: set[tuple[str, int]] = msgspec.field(default_factory=set)  # and what else since it was asked for
    logged_out: bool = False  # its session was logged out, and nobody had begun to log in


class Ended(msgspec.Struct):
    """A crash that was told. `successor` runs the session now."""

    session_id: str
    successor: str | None


class Heard(msgspec.Struct):
    """One process, as the engine knows it."""

    owner: str = ""
    bridged: bool = False
    killed: bool = False
    gone: bool = False  # its end was told, or it never started
    forgotten: bool = False
    opened: bool = False  # for its owner, who may use it
    closed: bool = False  # its session was closed, and it may still have something to say
    heard: int = 0  # bytes of stdout
    last_words: int = 0  # those among them that came after its end had begun, while somebody could not take more
    number: int = 0  # of the last notification among them
    before: int = 0  # the same, before the last chunk
    told: set[str] = msgspec.field(default_factory=set)  # methods of requests it was sent
    last_call: int = 0
    owed: Counter[Any] = msgspec.field(default_factory=Counter)  # questions without an answer, by the key of their id
    asked: dict[Any, set[str]] = msgspec.field(default_factory=dict)  # the questions that had this id
    replays: dict[Any, list[float]] = msgspec.field(default_factory=dict)  # first and last number, by the call for it

    def attached_again(self, call: Any, number: int) -> None:
        """It answers a request for a session, after so many notifications."""
        if call in self.replays:
            self.replays[call][1] = number

    def is_replay(self, number: int) -> bool:
        """It was told between being asked for a session and answering: that may be the past, which is not kept."""
        return any(first < number <= last for first, last in self.replays.values())
