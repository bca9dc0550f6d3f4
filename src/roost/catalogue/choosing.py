"""From what a user asks for to the source that installs it, with what the registry knows about it."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from roost.catalogue.archive import ArchiveSource
from roost.catalogue.command import CommandSource
from roost.catalogue.entry import BinaryTarget, PackageDistribution, RegistryEntry
from roost.catalogue.folder import folder_source
from roost.catalogue.machine import Machine
from roost.catalogue.npm import NpmSource, is_exact, split_npm
from roost.catalogue.pypi import PypiSource, split_pypi
from roost.catalogue.registry import Registry, shipped_registry
from roost.catalogue.source import Choice, Say, Source, name_of_package
from roost.catalogue.spec import Spec
from roost.errors import CatalogueError, LimitError


@dataclass(frozen=True, slots=True)
class Chosen:
    """`name`: what the agent is called when nobody says; empty when somebody has to. `spec`: kept for updates.

    `entry` stands for what the registry says about how it is run, so that a change of that is seen.
    """

    source: Source
    name: str
    spec: str
    registry_id: str = ""
    pinned: bool = False
    entry: str = ""


def choose(
    spec: Spec,
    machine: Machine,
    registry: Callable[[], Registry],
    say: Say,
    *,
    command: str | None = None,
    args: tuple[str, ...] | None = None,
) -> Chosen:
    """`command` and `args` are the user's, and win over the registry's. CatalogueError when nothing can be chosen."""
    match spec.kind:
        case "registry":
            return _from_registry(registry().find(spec.name), spec.version, machine, say, command, args)
        case "npm" | "pypi":
            entry = _registry_at_hand(registry, say).of_package(spec.kind, spec.name)
            known = None if entry is None else entry.npx if spec.kind == "npm" else entry.uvx
            choice = _choice(known, command, args)
            source: Source = (
                NpmSource(machine, spec.name, spec.version, choice, say)
                if spec.kind == "npm"
                else PypiSource(machine, spec.name, spec.version, choice, say)
            )
            name = name_of_package(spec.name)
            pinned = is_exact(spec.version) if spec.kind == "npm" else bool(spec.version)
            mark = "@" if spec.kind == "npm" else "=="
            text = f"{spec.kind}:{spec.name}{f'{mark}{spec.version}' if spec.version else ''}"
            return Chosen(source, name, text, "" if entry is None else entry.id, pinned, _digest(known))
        case "folder":
            source, name = folder_source(machine, Path(spec.name), _choice(None, command, args), say)
            return Chosen(source, name, spec.name)
    words = CommandSource(f"{spec.name} {shlex.join(args)}" if args else spec.name, machine.runtimes.find)
    return Chosen(words, words.name, words.package)


def distribution_of(entry: RegistryEntry, machine: Machine) -> str:
    """`npx`, `uvx` or `binary`: the first that this machine can do something with; empty for none.

    Packages first: npm and pip check what they get, and archives often come without a checksum.
    """
    if entry.npx is not None and (machine.npm() is not None or (entry.uvx is None and not entry.binary)):
        return "npx"
    if entry.uvx is not None:
        return "uvx"
    if machine.platform in entry.binary:
        return "binary"
    return "npx" if entry.npx is not None else ""


def _from_registry(
    entry: RegistryEntry,
    version: str,
    machine: Machine,
    say: Say,
    command: str | None,
    args: tuple[str, ...] | None,
) -> Chosen:
    source: Source
    known: PackageDistribution | BinaryTarget
    match distribution_of(entry, machine):
        case "npx" if entry.npx is not None:
            known = entry.npx
            package, wanted = _split(entry, "npx", known)
            source = NpmSource(machine, package, version or wanted, _choice(entry.npx, command, args), say)
        case "uvx" if entry.uvx is not None:
            known = entry.uvx
            package, wanted = _split(entry, "uvx", known)
            source = PypiSource(machine, package, version or wanted, _choice(entry.uvx, command, args), say)
        case "binary":
            if version and version != entry.version:
                raise CatalogueError(f"the registry has {entry.id} {entry.version}, and no {version}", "unknown")
            known = entry.binary[machine.platform]
            source = ArchiveSource(machine, known, entry.version, args, say)
        case _:
            there = ", ".join(sorted(entry.binary))
            raise CatalogueError(
                f"{entry.id} is not there for {machine.platform}; the registry has it for {there}", "unsuitable"
            )
    text = f"{entry.id}@{version}" if version else entry.id
    return Chosen(source, entry.id, text, entry.id, bool(version), _digest(known))


def _digest(known: PackageDistribution | BinaryTarget | None) -> str:
    if isinstance(known, PackageDistribution):
        known = msgspec.structs.replace(known, package="")  # the version is told elsewhere
    return "" if known is None else hashlib.sha256(msgspec.json.encode(known, order="sorted")).hexdigest()[:12]


def _registry_at_hand(registry: Callable[[], Registry], say: Say) -> Registry:
    """A package can be installed without a registry; the one that is configured only knows more about it."""
    try:
        return registry()
    except (CatalogueError, LimitError) as error:
        say(f"{error}; going on without that registry")
        return shipped_registry()


def _split(entry: RegistryEntry, kind: str, distribution: PackageDistribution) -> tuple[str, str]:
    try:
        return (split_npm if kind == "npx" else split_pypi)(distribution.package)
    except CatalogueError as error:
        raise CatalogueError(f"entry {entry.id}, distribution.{kind}.package: {error}", "damaged") from error


def _choice(known: PackageDistribution | None, command: str | None, args: tuple[str, ...] | None) -> Choice:
    base = known or PackageDistribution(package="")
    # Another program of the package has other arguments.
    of_entry = base.args if command is None else ()
    return Choice(base.command if command is None else command, of_entry if args is None else args, base.env)
