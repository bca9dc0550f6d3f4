"""What a check says: which rule an agent broke, what was expected and what came instead."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

Level = Literal["MUST", "SHOULD"]
MUST: Final[Level] = "MUST"
SHOULD: Final[Level] = "SHOULD"

Status = Literal["passed", "failed", "warned", "skipped"]

# Of an offending message, what is shown: enough to recognise it, too little to flood a report. Characters; ours.
SHOWN_LENGTH: Final = 300
# Findings kept of one check; an agent that does the same thing wrong a thousand times needs to hear it a few times.
MAX_FINDINGS: Final = 20


class Finding(Struct, frozen=True, kw_only=True):
    """One broken rule."""

    rule: str
    level: Level
    expected: str
    came: str


class Result(Struct, frozen=True, kw_only=True):
    """One check: what it is about, and how it went. `reason` says why it was skipped."""

    id: str
    title: str
    rules: tuple[str, ...]
    status: Status
    findings: tuple[Finding, ...] = ()
    reason: str | None = None
    seconds: float = 0.0


class Report(Struct, frozen=True, kw_only=True):
    """All of them. `speaks` is the version the agent answered; None when it never got that far."""

    agent: str
    speaks: int | None
    name: str | None
    version: str | None
    results: tuple[Result, ...]
    trouble: str | None = None
    """Why there was nothing to check: it could not be started, or speaks another version of the protocol."""

    def count(self, status: Status) -> int:
        """How many checks ended so."""
        return sum(result.status == status for result in self.results)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Everything that was found, check by check."""
        return tuple(finding for result in self.results for finding in result.findings)

    @property
    def conforms(self) -> bool:
        """No MUST was seen broken; says nothing about what was skipped."""
        return self.trouble is None and all(finding.level != MUST for finding in self.findings)


class Findings:
    """Collects the findings of one check, each once, up to a bound."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str], Finding] = {}

    def add(self, rule: str, expected: str, came: Any, level: Level = MUST) -> None:
        if len(self._found) < MAX_FINDINGS:
            # What came differs from time to time (ids, texts); what was expected does not.
            self._found.setdefault(
                (rule, expected), Finding(rule=rule, level=level, expected=expected, came=shown(came))
            )

    @property
    def all(self) -> tuple[Finding, ...]:
        return tuple(self._found.values())


def status_of(findings: Iterable[Finding]) -> Status:
    levels = {finding.level for finding in findings}
    return "failed" if MUST in levels else "warned" if levels else "passed"


def shown(value: Any) -> str:
    """A message, or words about one, on one line of bounded length."""
    if isinstance(value, bytes):
        text = value.decode("utf-8", "backslashreplace")
    elif isinstance(value, str):
        text = value
    else:
        text = msgspec.json.encode(value).decode()
    if len(text) > SHOWN_LENGTH:
        text = f"{text[:SHOWN_LENGTH]}… ({len(text)} characters)"
    return text
