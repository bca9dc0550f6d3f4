"""Compaction as a store does it: entries in, what is to be done to them out."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Final

from roost.acp.compact import Compacted, compactor_of
from roost.acp.dialect import Dialect
from roost.sidecar.journal import Entry, Kind

# Subjects are the agent's words and may be long; only this is kept of them. 128 bits: nobody finds two alike.
_DIGEST_BYTES: Final = 16


class TurnCompactor:
    """Takes a stretch of entries, one by one; only updates are ever changed."""

    def __init__(self, dialect: Dialect, known: Callable[[bytes], bool]) -> None:
        self._compactor = compactor_of(dialect, lambda subject: known(subject_digest(subject)))
        self.size = 0

    def feed(self, entry: Entry) -> None:
        self.size += len(entry.body)
        if entry.kind is Kind.UPDATE:
            self._compactor.feed(entry.number, entry.body, entry.first)

    def finish(self) -> Compacted:
        return self._compactor.finish()


def subject_digest(subject: str) -> bytes:
    return hashlib.blake2b(subject.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).digest()
