"""The agents that can be run, with what is known about each: listed by `roost agents`, named by `roost run`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from roost.catalogue.installed import with_record
from roost.process.packages import Package, Packages, default_roots

if TYPE_CHECKING:
    from roost.sidecar.gen.messages import AcpAgentEntry

SHIPPED = "shipped with Roost"


@dataclass(frozen=True)
class Agent:
    """One line of the list. `reason` says why it cannot be run, `hint` what it may want besides.

    `origin` is what `roost install` had it from; None: it was put there by others. `pinned`: updates leave it.
    """

    name: str
    version: str
    source: str
    installed: bool
    reason: str | None
    hint: str | None = None
    origin: str | None = None
    pinned: bool = False


# Says more of an agent than its files do.
Look = Callable[[Package, Agent], Agent]


def agents_here(
    environment: Mapping[str, str], roots: Sequence[Path] | None = None, look: Look | None = None
) -> list[Agent]:
    """A look at this machine, as an embedded daemon would see it."""
    packages = Packages(default_roots(environment) if roots is None else roots)
    return _sorted([*(_agent(package, look) for package in packages.list()), *_damaged(packages, ())])


def agents_of(
    entries: Sequence[AcpAgentEntry], environment: Mapping[str, str], look: Look | None = None
) -> list[Agent]:
    """What a daemon says it has, and what the disk says about that: the daemon may look in other places than we do."""
    roots = dict.fromkeys([*filter(None, map(_root_of, entries)), *default_roots(environment)])
    packages = Packages(tuple(roots))
    known = {package.entrypoint: package for package in packages.list()}
    names = [entry.id for entry in entries]
    return _sorted([*(_entry(entry, known, look) for entry in entries), *_damaged(packages, names)])


def _entry(entry: AcpAgentEntry, known: Mapping[str, Package], look: Look | None) -> Agent:
    package = known.get(entry.adapter_entrypoint)
    if package is None or package.name != entry.id:
        reason = None if entry.installed else "the daemon says so"
        return Agent(entry.id, "", entry.adapter_entrypoint, entry.installed, reason)
    found = _agent(package, look)
    if found.installed == entry.installed:
        return found
    if entry.installed and package.installed:  # what the daemon would run it on may be another one than we would
        return replace(found, installed=True, reason=None, hint=found.reason)
    reason = None if entry.installed else "the daemon lacks what it needs; look at its PATH"
    return replace(found, installed=entry.installed, reason=reason, hint=None)


def _agent(package: Package, look: Look | None) -> Agent:
    source = SHIPPED if package.root is None else str(package.root)
    agent = Agent(package.name, package.version, source, package.installed, package.missing)
    record = with_record(package).record
    if record is not None:
        agent = replace(agent, origin=record.origin, pinned=record.pinned)
    return agent if look is None or not agent.installed else look(package, agent)


def _damaged(packages: Packages, but: Iterable[str]) -> list[Agent]:
    names = set(but)
    return [Agent(name, "", "", False, fault) for name, fault in packages.damaged().items() if name not in names]


def _root_of(entry: AcpAgentEntry) -> Path | None:
    """The root that an entrypoint `<root>/bin/<name>` is in."""
    folder, name = os.path.split(os.path.dirname(entry.adapter_entrypoint))
    return Path(folder) if name == "bin" and os.path.isabs(folder) else None


def _sorted(agents: list[Agent]) -> list[Agent]:
    return sorted(agents, key=lambda agent: agent.name)
