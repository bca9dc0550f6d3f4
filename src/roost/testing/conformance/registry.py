"""The checks by name, in the order they are run. Each is an ordinary coroutine function that takes a Bench."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from importlib import import_module
from typing import TYPE_CHECKING, Final, TypeAlias

from msgspec import Struct

from roost.testing.conformance.findings import MUST, Level

if TYPE_CHECKING:
    from roost.testing.conformance.bench import Bench

Run: TypeAlias = "Callable[[Bench], Awaitable[None]]"


class Check(Struct, frozen=True, kw_only=True):
    """One check. `rules` are what it is about, the first one the rule a silent agent is told to have broken."""

    id: str
    title: str
    level: Level
    rules: tuple[str, ...]
    run: Run


_checks: Final[dict[str, Check]] = {}

# In the order of a connection's life.
_MODULES: Final = (
    "initialize",
    "capabilities",
    "envelope",
    "requests",
    "batches",
    "auth",
    "sessions",
    "listing",
    "resume",
    "ending",
    "prompts",
    "queue",
    "cancel",
    "permissions",
    "config",
    "unstable",
    "stdio",
)


def check(id: str, *rules: str, level: Level = MUST) -> Callable[[Run], Run]:
    """Decorator: makes a function a check. Its docstring's first line is the title: what a good agent does."""

    def register(run: Run) -> Run:
        if id in _checks:
            raise ValueError(f"there are two checks {id}")
        title = (run.__doc__ or "").strip().partition("\n")[0]
        _checks[id] = Check(id=id, title=title, level=level, rules=rules, run=run)
        return run

    return register


def all_checks() -> tuple[Check, ...]:
    """All of them."""
    for module in _MODULES:
        import_module(f"roost.testing.conformance.checks.{module}")
    return tuple(_checks.values())
