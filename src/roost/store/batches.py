"""What is on its way into a store: batches, and how much they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

import msgspec

from roost.errors import LimitError, StoreError
from roost.sidecar.journal import AdoptSession, Append, Change, ChangeSession, LearnVersion, OpenSession, Restore
from roost.store.base import Done

# What a change holds in memory beside its texts: objects, tuples, row values (CPython, 64 bit, rounded up).
_CHANGE_BYTES: Final = 512


class Lost(msgspec.Struct, frozen=True):
    """Entries that could not be kept; a gap shall say so."""

    session_id: str
    first: int
    last: int


Item: TypeAlias = Change | Lost


class Batch:
    """The changes of one write, to be kept whole or not at all."""

    __slots__ = ("at", "changes", "done", "size")

    def __init__(self, changes: Sequence[Item], done: Done | None, at: float, size: int) -> None:
        self.changes = changes
        self.done = done
        self.at = at
        self.size = size


class Report(msgspec.Struct):
    """What became of some batches, as the writer tells the loop."""

    durable: int = 0  # changes
    durable_bytes: int = 0
    refused: int = 0
    refused_bytes: int = 0
    told: list[tuple[Done, StoreError | LimitError | None]] = []
    complaints: list[StoreError] = []  # of refused batches that nobody waits for
    failure: StoreError | None = None


def size_of(changes: Sequence[Item]) -> int:
    total = 0
    for change in changes:
        total += _CHANGE_BYTES
        if type(change) is Append:
            total += len(change.entry.body)
        elif type(change) is Restore:
            total += sum(_CHANGE_BYTES + len(entry.body) for entry in change.entries)
        elif type(change) is ChangeSession:
            total += sum(len(value) for value in change.fields.values() if isinstance(value, str | bytes))
        elif type(change) is OpenSession:
            total += 4 * _CHANGE_BYTES
    return total


class Overflow:
    """What is left of changes there was no room for: which numbers are missing, and the latest of everything else."""

    def __init__(self) -> None:
        self._lost: dict[str, Lost] = {}
        self._fields: dict[str, dict[str, object]] = {}
        self._others: dict[str, Item] = {}
        self.entries = 0

    def __bool__(self) -> bool:
        return bool(self._lost or self._fields or self._others)

    def add(self, changes: Sequence[Item]) -> None:
        for change in changes:
            if isinstance(change, Append):
                entry = change.entry
                self._lose(entry.session_id, entry.number, entry.number)
            elif isinstance(change, Lost):
                self._lose(change.session_id, change.first, change.last)
            elif isinstance(change, ChangeSession):
                self._fields.setdefault(change.session_id, {}).update(change.fields)
            elif isinstance(change, LearnVersion):
                pass  # it is learned again
            elif isinstance(change, OpenSession | Restore | AdoptSession):
                pass  # was told to have failed; without it the session is unknown, and what follows is ignored
            else:
                self._lost.pop(change.session_id, None)
                self._fields.pop(change.session_id, None)
                self._others[change.session_id] = change

    def _lose(self, session_id: str, first: int, last: int) -> None:
        self.entries += last - first + 1
        known = self._lost.get(session_id)
        self._lost[session_id] = Lost(session_id, known.first if known else first, last)

    def lost(self) -> list[Lost]:
        return list(self._lost.values())

    def changes(self) -> list[Item]:
        fields = [ChangeSession(session_id, fields) for session_id, fields in self._fields.items()]
        return [*self._others.values(), *self._lost.values(), *fields]
