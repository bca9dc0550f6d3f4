"""All agents that can be installed by a name: the registry that ships with Roost, and one that is configured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib import resources
from pathlib import Path
from typing import Any, Final

import msgspec

from roost.catalogue.download import fetch, is_url, shown_url
from roost.catalogue.entry import RegistryEntry, entry_fault, read_entry
from roost.catalogue.settings import CatalogueSettings
from roost.errors import CatalogueError, CodecError, LimitError

SHIPPED: Final = "registry.json"

# The public registry has some dozens. What is longer was not meant to be one.
MAX_ENTRIES: Final = 10_000


@dataclass(frozen=True, slots=True)
class Registry:
    """Entries by id. `faults`: a sentence for every entry that cannot be used, by its id or its number."""

    where: str
    entries: Mapping[str, RegistryEntry] = field(default_factory=dict)
    faults: Mapping[str, str] = field(default_factory=dict)

    def find(self, name: str) -> RegistryEntry:
        """CatalogueError `unknown`, with the names that are near, or `damaged` when there is one that is no good."""
        entry = self.entries.get(name)
        if entry is not None:
            return entry
        if name in self.faults:
            raise CatalogueError(f"{self.where}: {self.faults[name]}", "damaged")
        near = get_close_matches(name, self.entries, n=3, cutoff=0.5)
        meant = f"did you mean {' or '.join(near)}? " if near else ""
        raise CatalogueError(
            f"there is no agent {name!r} in {self.where}; {meant}`roost agents --available` lists what there is, "
            "and a package has npm: or pypi: before its name",
            "unknown",
        )

    def knows(self, name: str) -> bool:
        """Whether there is an entry of that id, if only one that is no good."""
        return name in self.entries or name in self.faults

    def of_package(self, kind: str, package: str) -> RegistryEntry | None:
        """The entry that installs this package of npm or PyPI, whatever its version."""
        for entry in self.entries.values():
            distribution = entry.npx if kind == "npm" else entry.uvx
            if distribution is not None and bare_name(kind, distribution.package) == package:
                return entry
        return None

    def over(self, other: Registry) -> Registry:
        """Both; where both have an id, this one's entry, also when it is no good."""
        return Registry(
            f"{self.where} and {other.where}",
            {**{name: entry for name, entry in other.entries.items() if name not in self.faults}, **self.entries},
            {**{name: fault for name, fault in other.faults.items() if name not in self.entries}, **self.faults},
        )

    def __iter__(self) -> Iterator[RegistryEntry]:
        return iter(sorted(self.entries.values(), key=lambda entry: entry.id))


def bare_name(kind: str, package: str) -> str:
    """A package without its version: `@a/b@1.2` is `@a/b`, `x[y]==1` is `x[y]`."""
    if kind == "npm":
        at = package.find("@", 1)
        return package if at < 0 else package[:at]
    return package.partition("==")[0].strip()


def shipped_registry() -> Registry:
    text = resources.files("roost.catalogue").joinpath(SHIPPED).read_bytes()
    return read_registry(text, "the registry of Roost")


def load_registry(source: str | Path, settings: CatalogueSettings) -> Registry:
    """The registry at a URL or a path. CatalogueError or LimitError, naming it."""
    if isinstance(source, str) and is_url(source):
        where = shown_url(source)
        text = fetch(source, settings.registry_bytes, "catalogue.registry_bytes", settings)
    else:
        where = str(source)
        text = _read(Path(source), settings.registry_bytes)
    return read_registry(text, where)


def read_registry(text: bytes, where: str) -> Registry:
    """CatalogueError `damaged` when the whole is no registry; an entry that is none is among the faults."""
    try:
        whole: Any = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise CatalogueError(f"{where} is no registry: it is not JSON: {error}", "damaged") from error
    values = whole.get("agents") if isinstance(whole, dict) else None
    if not isinstance(values, list):
        raise CatalogueError(f"{where} is no registry: there is no list of agents in it", "damaged")
    if len(values) > MAX_ENTRIES:
        raise LimitError("entries of a registry", MAX_ENTRIES, f"{where} has more than {MAX_ENTRIES} agents")
    entries: dict[str, RegistryEntry] = {}
    faults: dict[str, str] = {}
    for index, value in enumerate(values):
        try:
            entry = read_entry(value)
            if entry.id in entries:
                raise CodecError("there is an entry of that id before it", ("id",))
        except CodecError as error:
            faults[_key(value, index, entries)] = entry_fault(value, index, error)
        else:
            entries[entry.id] = entry
    return Registry(where, entries, faults)


def _key(value: Any, index: int, entries: Mapping[str, RegistryEntry]) -> str:
    identity = value.get("id") if isinstance(value, dict) else None
    return identity if isinstance(identity, str) and identity not in entries else f"number {index + 1}"


def _read(path: Path, limit: int) -> bytes:
    try:
        with open(path, "rb") as file:
            text = file.read(limit + 1)
    except OSError as error:
        raise CatalogueError(f"the registry {path} cannot be read: {error.strerror}", "unreachable") from error
    if len(text) > limit:
        raise LimitError("catalogue.registry_bytes", limit, f"the registry {path} has more than {limit} bytes")
    return text
