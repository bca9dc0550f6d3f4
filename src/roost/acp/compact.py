"""The updates of an ended turn as fewer ones that fold to the same view: 20,000 chunks become a few hundred lines.

    compactor = compactor_of(V2, known)
    for number, line in updates:
        compactor.feed(number, line)
    compacted = compactor.finish()

What a run of updates comes to stands at the number of its last one, and says all of it, so a reader who stopped
anywhere before reads on and ends up with the same view. Where that is impossible (text that only appends) the line's
`first` tells from which number on it repeats. Lines that are not understood stay as they are, where they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple, Protocol, TypeAlias

from msgspec import Struct

from roost.acp.dialect import V2, Dialect

# What a merged line may come to: half of the largest line an agent may write (16 MiB), so that it can be sent on.
MERGED_BYTES: Final = 8 * 1024 * 1024

Known: TypeAlias = Callable[[str], bool]
"""Whether a subject (a message, tool call or terminal, see `Compacted.subjects`) was there before this turn."""


class Line(NamedTuple):
    """A line to stand at `number`. `first` is 0, or the first number whose text this line repeats."""

    number: int
    body: bytes
    first: int = 0


class Compacted(Struct, frozen=True):
    """What is to be done to the lines that were fed: runs of numbers to remove (both ends included), lines to change.

    `subjects` are those the lines were about: known from now on.
    """

    removed: tuple[tuple[int, int], ...]
    changed: tuple[Line, ...]
    subjects: tuple[str, ...]

    def apply(self, lines: Iterable[Line]) -> list[Line]:
        """The lines as they are now."""
        changed = {line.number: line for line in self.changed}
        gone = {number for first, last in self.removed for number in range(first, last + 1)}
        return [changed.get(line.number, line) for line in lines if line.number not in gone]


class Compactor(Protocol):
    """Takes the lines of one stretch of a session, in order; in linear time, and holds about what it was fed."""

    def feed(self, number: int, body: bytes, first: int = 0) -> None:
        """`first` is that of the line, if it was compacted before."""

    def finish(self) -> Compacted:
        """To be called once, after the last line."""


class Outcome:
    """What has become of each line so far; what every compactor writes into."""

    __slots__ = ("_changed", "_firsts", "_gone", "_numbers")

    def __init__(self) -> None:
        self._numbers: list[int] = []
        self._firsts: list[int] = []
        self._gone = bytearray()
        self._changed: dict[int, Line] = {}

    def add(self, number: int, first: int) -> int:
        """Takes note of a line, which stays as it is for the time being; its index."""
        self._numbers.append(number)
        self._firsts.append(first or number)
        self._gone.append(0)
        return len(self._numbers) - 1

    def drop(self, index: int) -> None:
        self._gone[index] = 1

    def put(self, index: int, body: bytes, first: int | None = None) -> None:
        number = self._numbers[index]
        self._gone[index] = 0
        self._changed[index] = Line(number, body, 0 if first is None else self._firsts[first])

    def compacted(self, subjects: Iterable[str]) -> Compacted:
        removed: list[tuple[int, int]] = []
        for index, number in enumerate(self._numbers):
            if self._gone[index]:
                if removed and removed[-1][1] == number - 1:
                    removed[-1] = (removed[-1][0], number)
                else:
                    removed.append((number, number))
        changed = tuple(line for index, line in sorted(self._changed.items()) if not self._gone[index])
        return Compacted(tuple(removed), changed, tuple(subjects))


def compactor_of(dialect: Dialect, known: Known, *, merged_bytes: int = MERGED_BYTES) -> Compactor:
    """A compactor for the lines of a session that speaks `dialect`."""
    if dialect is V2:
        from roost.acp.compact_v2 import TypedCompactor

        return TypedCompactor(known, merged_bytes)
    from roost.acp.compact_v1 import TextCompactor

    return TextCompactor(merged_bytes)


def compact(
    lines: Iterable[Line], known: Known, dialect: Dialect = V2, *, merged_bytes: int = MERGED_BYTES
) -> Compacted:
    """All at once."""
    compactor = compactor_of(dialect, known, merged_bytes=merged_bytes)
    for line in lines:
        compactor.feed(*line)
    return compactor.finish()
