"""Sessions by short names: the beginning of an id that no other session's id has.

Agents like to begin all their ids with the same word (`sess_…`); a name may leave it out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from roost.cli.status import ExitStatus, Failure

if TYPE_CHECKING:
    from roost.cli.inventory import Row

# A shorter name would be another session's soon.
SHORTEST = 6

# As many candidates are told of a name that means several sessions.
_CANDIDATES = 10

_word = re.compile(r"[A-Za-z]+[-_](?=.)").match


def short_ids(rows: Iterable[Row]) -> dict[str, str]:
    """The shortest name of each id: SHORTEST characters, or as many more as tell it from all others."""
    ids = {row.session_id for row in rows}
    spellings = sorted({(spelling, ident) for ident in ids for spelling in _spellings(ident)})
    names = {}
    for place, (spelling, ident) in enumerate(spellings):
        if spelling != _spellings(ident)[-1]:
            continue
        around = (reversed(spellings[max(0, place - 2) : place]), spellings[place + 1 : place + 3])
        others = (other for side in around for other in _first_of_another(side, ident))
        needed = 1 + max((_shared(spelling, other) for other in others), default=0)
        names[ident] = spelling[: max(SHORTEST, needed)] if needed <= len(spelling) else ident
    return names


def find_session(rows: Sequence[Row], name: str) -> Row:
    """The session of that id, or whose id begins so. Raises Failure when there is none, or more than one."""
    found = [row for row in rows if any(spelling.startswith(name) for spelling in _spellings(row.session_id))]
    exact = [row for row in found if row.session_id == name]
    if name and (len(found) == 1 or exact):
        return (exact or found)[0]
    if not name or not found:
        raise Failure(ExitStatus.USAGE, f"there is no session {name!r}; `roost ps --all` lists what there is")
    short = short_ids(rows)
    lines = [f"{short[row.session_id]}  {row.state}  {row.title or row.agent}" for row in found[:_CANDIDATES]]
    if len(found) > _CANDIDATES:
        lines.append(f"and {len(found) - _CANDIDATES} more")
    raise Failure(ExitStatus.USAGE, f"{name!r} may be any of {len(found)} sessions", "\n".join(lines))


def _spellings(ident: str) -> tuple[str, ...]:
    """The id, and the id without the word it begins with."""
    word = _word(ident)
    return (ident,) if word is None else (ident, ident[word.end() :])


def _first_of_another(spellings: Iterable[tuple[str, str]], ident: str) -> Iterator[str]:
    """An id has two spellings at most, so one of two neighbours is another's."""
    for spelling, other in spellings:
        if other != ident:
            yield spelling
            return


def _shared(one: str, other: str) -> int:
    """How many characters two begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))
