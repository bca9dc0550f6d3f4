"""Installing, updating and removing agents in one root: each is done or has changed nothing."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path

import msgspec

from roost.catalogue.choosing import Chosen, choose
from roost.catalogue.entry import ENTRY_ID, is_version
from roost.catalogue.installed import Record, read_record
from roost.catalogue.machine import Machine
from roost.catalogue.place import Place, link_program
from roost.catalogue.registry import Registry
from roost.catalogue.source import Say
from roost.catalogue.spec import parse_spec
from roost.errors import CatalogueError, LimitError
from roost.process.shipped import SHIPPED_AGENTS


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of it. `previous` is the version before, "" for none. `note` says why nothing has changed."""

    record: Record
    previous: str = ""
    changed: bool = True
    note: str = ""


class Installer:
    """`earlier` are roots that are looked into before this one: an agent of theirs would hide the one installed."""

    def __init__(
        self,
        root: Path,
        machine: Machine,
        registry: Callable[[], Registry],
        say: Say,
        *,
        earlier: tuple[Path, ...] = (),
    ) -> None:
        self.root = root
        self._machine = machine
        self._load_registry = registry
        self._say = say
        self._earlier = earlier

    @property
    def registry(self) -> Registry:
        """Loaded when it is first wanted. CatalogueError or LimitError when it cannot be; it is asked once."""
        if isinstance(self._loaded, Registry):
            return self._loaded
        raise self._loaded

    @cached_property
    def _loaded(self) -> Registry | CatalogueError | LimitError:
        try:
            return self._load_registry()
        except (CatalogueError, LimitError) as error:
            return error

    def install(
        self,
        text: str,
        *,
        name: str | None = None,
        command: str | None = None,
        args: tuple[str, ...] | None = None,
        force: bool = False,
    ) -> Outcome:
        """Install what `text` asks for. `force`: also what is there already, and in place of another agent.

        CatalogueError or LimitError; then what was there before is there still.
        """
        spec = parse_spec(text)
        if spec.kind == "registry" and spec.name in SHIPPED_AGENTS and not self.registry.knows(spec.name):
            raise CatalogueError(f"{spec.name} ships with Roost: there is nothing to install", "exists")
        chosen = choose(spec, self._machine, lambda: self.registry, self._say, command=command, args=args)
        called = name or chosen.name
        self._check_name(called, chosen)
        with self._locked(called) as place:
            have = place.record()
            if have is not None and not force and not _same(have, chosen):
                raise CatalogueError(
                    f"{called} is installed from {have.origin}: choose another --name, or replace it with --force",
                    "exists",
                )
            return self._put(place, chosen, have, command, args, force)

    def update(self, name: str) -> Outcome:
        """To what the registry has, or the newest; a pinned agent stays. CatalogueError as `install`."""
        self._check_known(name)
        with self._locked(name) as place:
            have = place.record()
            if have is None:
                raise CatalogueError(f"{name} was not installed by Roost, which cannot update it", "unknown")
            if have.pinned:
                return Outcome(have, have.version, False, _unpin(have))
            if have.kind == "command":
                return Outcome(have, have.version, False, "it is a command line, whose program is kept by others")
            spec = parse_spec(have.spec)
            if spec.kind == "registry" and not self.registry.knows(spec.name):
                return Outcome(have, have.version, False, f"it is no longer in {self.registry.where}")
            chosen = choose(
                spec,
                self._machine,
                lambda: self.registry,
                self._say,
                command=have.command,
                args=have.args,
            )
            return self._put(place, chosen, have, have.command, have.args, force=False)

    def remove(self, name: str) -> Record:
        """Take an agent away, all its versions. CatalogueError when it is not there, or not ours."""
        self._check_known(name)
        with self._locked(name) as place:
            have = place.record()
            if have is None:
                raise CatalogueError(
                    f"{place.package} was not installed by Roost, which does not take it away", "exists"
                )
            place.remove()
            return have

    def names(self) -> list[str]:
        """Of all agents that were installed here."""
        return [record.name for record in self.records()]

    def records(self) -> list[Record]:
        """Of all agents that were installed here; one whose record is damaged is left out."""
        found = []
        try:
            folders = sorted((self.root / "pkgs").iterdir())
        except OSError:
            return []
        for folder in folders:
            try:
                record = None if folder.name.startswith(".") else read_record(folder / "current")
            except CatalogueError:
                continue
            if record is not None:
                found.append(record)
        return found

    def _put(
        self,
        place: Place,
        chosen: Chosen,
        have: Record | None,
        command: str | None,
        args: tuple[str, ...] | None,
        force: bool,
    ) -> Outcome:
        source = chosen.source
        if have is not None and not force and have.version == source.exact:
            record = _record(place.name, chosen, source.exact, command, args)
            if _like(have, record):
                return self._keep(place, have, record)
        with place.staged() as folder:
            version = source.version(folder)
            if not is_version(version):
                raise CatalogueError(f"{version!r} is no version that could be the name of a folder", "damaged")
            record = _record(place.name, chosen, version, command, args)
            if have is not None and not force and have.kind != "folder" and _like(have, record):
                return self._keep(place, have, record)
            final = place.final(version)
            built = source.build(folder, place.name, final)
            if built.program is not None:
                link_program(folder, place.name, built.program)
            place.commit(folder, final, record, built)
        return Outcome(record, "" if have is None else have.version)

    def _keep(self, place: Place, have: Record, record: Record) -> Outcome:
        if have != record:
            place.note(record)  # pinned now, or no longer
        return Outcome(record, have.version, False, "it is installed already")

    @contextmanager
    def _locked(self, name: str) -> Iterator[Place]:
        place = Place(self.root, name)
        try:
            with place.lock(self._machine.settings.lock_timeout, self._say):
                place.clear()
                place.clear_after_others()
                place.check_free()
                yield place
        except OSError as error:
            where = error.filename or self.root
            raise CatalogueError(f"{name}: {where}: {error.strerror}", "failed") from error

    def _check_name(self, name: str, chosen: Chosen) -> None:
        if not name:
            raise CatalogueError(f"what is {chosen.source.package} to be called? --name says it", "unsuitable")
        if not ENTRY_ID.match(name):
            raise CatalogueError(
                f"{name!r} cannot be an agent's name: letters, digits, dots and dashes; --name chooses one",
                "unsuitable",
            )
        if name in SHIPPED_AGENTS:
            raise CatalogueError(f"{name} is an agent that ships with Roost; choose another --name", "exists")
        for root in self._earlier:
            if os.path.lexists(root / "pkgs" / name):
                raise CatalogueError(
                    f"{root} has an agent {name} already, and is looked into first; choose another --name", "exists"
                )

    def _check_known(self, name: str) -> None:
        if not ENTRY_ID.match(name) or not Place(self.root, name).holds():
            near = get_close_matches(name, self.names(), n=1)
            meant = f"; did you mean {near[0]}?" if near else ""
            raise CatalogueError(f"{name} is not installed in {self.root}{meant}", "unknown")


def _record(name: str, chosen: Chosen, version: str, command: str | None, args: tuple[str, ...] | None) -> Record:
    return Record(
        name=name,
        version=version,
        kind=chosen.source.kind,
        package=chosen.source.package,
        spec=chosen.spec,
        registry_id=chosen.registry_id,
        pinned=chosen.pinned,
        command=command,
        args=args,
        entry=chosen.entry,
    )


def _same(have: Record, chosen: Chosen) -> bool:
    """Whether it is the same agent, of whatever version."""
    if chosen.registry_id and have.registry_id == chosen.registry_id:
        return True
    return (have.kind, have.package) == (chosen.source.kind, chosen.source.package)


def _like(have: Record, record: Record) -> bool:
    """Whether nothing on the disk would be different."""
    return msgspec.structs.replace(have, spec=record.spec, pinned=record.pinned) == record


def _unpin(have: Record) -> str:
    mark = "==" if have.kind == "pypi" and have.spec.startswith("pypi:") else "@"
    loose = have.spec.rpartition(mark)[0] or have.spec
    return f"it is pinned to {have.version}; `roost install {loose}` lets it follow the newest again"
