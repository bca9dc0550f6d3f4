"""What is told to the journal, and the promises made on it. Without a store nothing is kept, and nothing waits.

A change without a promise is a stream: it becomes durable with its group, milliseconds later. A promise waits until
everything told so far is durable: a prompt before it reaches the agent, a decision before it is passed on, a turn's
end before it is told.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from roost.errors import SidecarError
from roost.sidecar.commands import Persist
from roost.sidecar.conversation import Conversation, Stage, TimedOut, Wait
from roost.sidecar.journal import Append, Change, ChangeSession, Entry, Kind
from roost.sidecar.limits import Limits

if TYPE_CHECKING:
    from roost.sidecar.link import Link

STORE = 0  # who an agent waits for that is paused for the journal's sake; connections count from 1
IDEMPOTENCY_KEY = "roost/idempotencyKey"  # in a prompt's `_meta`


class Keeper:
    """The way to the store. `emit` takes the commands."""

    def __init__(self, stage: Stage, limits: Limits, emit: Callable[[Any], None], *, enabled: bool) -> None:
        self._stage = stage
        self._limits = limits
        self._emit = emit
        self._told: list[Change] = []
        self._waits: dict[int, Wait] = {}
        self._last_ticket = 0
        self.enabled = enabled
        self.pressed = False  # the store asks for a pause
        self.tell = self._told.append

    def flush(self) -> None:
        """Hands on what was told and needs no promise."""
        if self._told:
            changes, self._told = tuple(self._told), []
            self.tell = self._told.append
            self._emit(Persist(changes, 0))

    def promise(self) -> Conversation[None]:
        """Returns when everything told so far is durable. Raises SidecarError `io` when it is not, and says why."""
        if not self.enabled:
            return
        self._last_ticket += 1
        ticket = self._last_ticket
        wait = self._waits[ticket] = self._stage.wait()
        changes, self._told = tuple(self._told), []
        self.tell = self._told.append
        self._emit(Persist(changes, ticket))
        timeout = self._limits.store_timeout
        try:
            failure = yield self._stage.within(timeout, wait)
        except TimedOut:
            raise SidecarError("io", f"the journal could not keep it within {timeout:g} s (store_timeout)") from None
        finally:
            self._waits.pop(ticket, None)
        if failure is not None:
            raise SidecarError("io", f"the journal could not keep it: {failure}")

    def stored(self, ticket: int, failure: str | None) -> None:
        wait = self._waits.get(ticket)
        if wait is not None:
            wait.resolve(failure)


class Journal:
    """The numbered record of one session. `last` is the number of its latest entry."""

    def __init__(self, keeper: Keeper, session_id: str, last: int) -> None:
        self._keeper = keeper
        self._session_id = session_id
        self.last = last
        self.promise = keeper.promise

    def slow_down(self, link: Link) -> None:
        """Has an agent read no further while the store does not keep up."""
        if self._keeper.pressed:
            link.brake.wait_for(STORE)

    def update(self, line: bytes) -> None:
        """One notification, as it is told to callers."""
        self.last += 1
        self._keeper.tell(Append(Entry(self._session_id, self.last, Kind.UPDATE, line)))

    def add(self, kind: Kind, body: dict[str, Any]) -> int:
        self.last += 1
        self._keeper.tell(Append(Entry(self._session_id, self.last, kind, msgspec.json.encode(body))))
        return self.last

    def change(self, **fields: object) -> None:
        """Fields of the StoredSession that are different now."""
        self._keeper.tell(ChangeSession(self._session_id, fields))
