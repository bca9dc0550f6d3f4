"""What the protocol asks for, as data: the rules and the cases, each with the tests it must have.

A test names what it proves in its name, its docstring or a parameter's id: `PRM-16`, also spelt `prm_16`. A range
(`PRM-3 to PRM-8`, `prm_3_to_prm_8`) names what lies in it. `python -m tools.check_requirements` finds what no test
names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from tests.conformance.cases import CASES as _CASES
from tests.conformance.rules import RULES as _RULES

Later = Literal["bridge", "http"]
Side = Literal["agent", "client", "both", "daemon", "bridge", "codec"]
SIDES: dict[str, Side] = {"A": "agent", "C": "client", "B": "both", "D": "daemon", "G": "bridge", "K": "codec"}
LATER: dict[str | None, Later | None] = {None: None, "bridge": "bridge", "http": "http"}
SOURCES = {
    "schema": "the pinned schema",
    "docs": "the draft pages of the protocol",
    "rfd": "a request for discussion the drafts build on",
    "rpc": "JSON-RPC 2.0",
    "peers": "what implementations in the field do",
    "ours": "our own choice where the others leave one",
}


@dataclass(frozen=True)
class Requirement:
    """A rule (`PRM-16`) or a case (`P-13`). `refs` are the rules a case is about; `later` the work it waits for."""

    id: str
    side: Side
    source: tuple[str, ...]
    text: str
    refs: tuple[str, ...] = ()
    later: Later | None = None

    @property
    def is_case(self) -> bool:
        return "-" in self.id and len(self.id.partition("-")[0]) == 1


# `area-n side sources text`; a case has its rules in brackets behind the sources; `@later` marks later work.
_LINE = re.compile(r"(\S+) ([ABCDGK]) ([\w,]+)(?: \[([^]]*)\])?(?: @(\w+))? (.+)")


def _read(table: str) -> Iterator[Requirement]:
    for line in table.strip().splitlines():
        found = _LINE.fullmatch(line.strip())
        if found is None:
            raise ValueError(f"not a requirement: {line!r}")
        id, side, source, refs, later, text = found.groups()
        yield Requirement(id, SIDES[side], tuple(source.split(",")), text, tuple((refs or "").split()), LATER[later])


RULES: tuple[Requirement, ...] = tuple(_read(_RULES))
CASES: tuple[Requirement, ...] = tuple(_read(_CASES))
REQUIREMENTS: dict[str, Requirement] = {requirement.id: requirement for requirement in (*RULES, *CASES)}
