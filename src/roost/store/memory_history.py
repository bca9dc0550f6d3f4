"""One session of a store in memory: its entries, and what is done to them."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from operator import attrgetter
from typing import Final

import msgspec

from roost.acp.compact import Compacted
from roost.sidecar.journal import Entry, Kind, StoredPrompt, StoredSession, gap
from roost.store.compaction import subject_digest

# What an entry takes beside its body (CPython, 64 bit, rounded up).
ENTRY_BYTES: Final = 128

_number_of = attrgetter("number")


class History:
    """Entries in order. `settled` is where the last turn ended, `compacted` how far they were compacted."""

    __slots__ = ("compacted", "entries", "last", "prompts", "session", "settled", "size", "subjects", "updated_at")

    def __init__(self, session: StoredSession) -> None:
        self.session = session
        self.updated_at = session.updated_at
        self.entries: list[Entry] = []
        self.last = 0
        self.size = 0
        self.settled = 0
        self.compacted = 0
        self.subjects: set[bytes] = set()
        self.prompts: dict[str, StoredPrompt] = {}

    def stored(self) -> StoredSession:
        return msgspec.structs.replace(self.session, last_number=self.last, updated_at=self.updated_at)

    def after(self, number: int) -> int:
        """The index of the first entry with a larger number."""
        return bisect.bisect_right(self.entries, number, key=_number_of)

    def oldest(self) -> float | None:
        """When the first entry that is still there was written."""
        return next((entry.at for entry in self.entries if entry.kind is not Kind.GAP), None)

    def stretch(self, settled: int) -> list[Entry]:
        """What is to be compacted."""
        return self.entries[self.after(self.compacted) : self.after(settled)]

    def replace(self, lines: Sequence[Entry], settled: int, outcome: Compacted) -> int:
        """Puts the outcome in the place of the stretch it was made of; how much larger that made the history.

        Does nothing when some of the stretch was let go meanwhile.
        """
        low, high = self.after(self.compacted), self.after(settled)
        if high - low != len(lines) or (lines and self.entries[low] is not lines[0]):
            return 0
        changed = {line.number: line for line in outcome.changed}
        gone = {number for first, last in outcome.removed for number in range(first, last + 1)}
        kept = [
            msgspec.structs.replace(entry, body=changed[entry.number].body, first=changed[entry.number].first)
            if entry.number in changed
            else entry
            for entry in lines
            if entry.number not in gone
        ]
        self.subjects.update(map(subject_digest, outcome.subjects))
        self.compacted = settled
        return self._put(low, high, kept)

    def prune(self, until: float, reason: str) -> int | None:
        """Lets go of entries up to a time, none of an open turn; how much larger that made the history, None: nothing
        went."""
        last = -1
        for index, entry in enumerate(self.entries):
            if entry.kind is Kind.GAP:
                continue
            if entry.at > until or (self.session.turn_open and entry.number > self.settled):
                break
            last = index
        if last < 0:
            return None
        end = self.entries[last]
        return self._put(0, last + 1, [gap(end.session_id, 1, end.number, reason, end.at)])

    def _put(self, low: int, high: int, entries: list[Entry]) -> int:
        grown = _size(entries) - _size(self.entries[low:high])
        self.entries[low:high] = entries
        self.size += grown
        return grown


def _size(entries: Sequence[Entry]) -> int:
    return sum(len(entry.body) + ENTRY_BYTES for entry in entries)
