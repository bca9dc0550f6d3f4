"""Where agents are installed: a root with `pkgs` and `bin`, changed one rename at a time.

    <root>/pkgs/<name>/<version>/      a version, whole; a second installation of it is <version>-r2
    <root>/pkgs/<name>/current         a link to the one that is used: what it leads to changes at once, or not
    <root>/pkgs/<name>/previous        a link to the one before, kept for sessions that still run on it
    <root>/bin/<name>                  a link through `current` to the program
    <root>/pkgs/.staging, .locks       what is being made, and who makes it

A version is made in `.staging` and renamed to its place when it is complete and on the disk. Whatever a program that
was killed has left there is cleared away by the next one that works in this root.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from roost.catalogue.installed import RECORD_NAME, Record, read_record, write_record
from roost.catalogue.lock import locked, locked_if_free
from roost.catalogue.source import Built
from roost.errors import CatalogueError
from roost.process.manifest import MANIFEST_LIMIT
from roost.process.packages import MANIFEST_NAME

# With more files than these it is quicker to have everything written that waits to be.
_FILES_ONE_BY_ONE: Final = 500


@dataclass(frozen=True, slots=True)
class Place:
    """The root, for one agent. All but `record` and `holds` is for the one that has the lock."""

    root: Path
    name: str

    @property
    def package(self) -> Path:
        return self.root / "pkgs" / self.name

    @property
    def _staging(self) -> Path:
        return self.root / "pkgs" / ".staging"

    @property
    def _entrypoint(self) -> Path:
        return self.root / "bin" / self.name

    @property
    def _locks(self) -> Path:
        return self.root / "pkgs" / ".locks"

    def lock(self, timeout: float, say: Callable[[str], None]) -> AbstractContextManager[None]:
        return locked(self._locks / self.name, self.name, timeout, say)

    def holds(self) -> bool:
        """Whether there is anything of this name."""
        return os.path.lexists(self.package)

    def record(self) -> Record | None:
        """Of the current version; None when there is none, or it was put there by others. CatalogueError as read."""
        return read_record(self.package / "current")

    def check_free(self) -> None:
        """CatalogueError `exists` when something is there that was not installed by Roost."""
        if self.holds() and self.record() is None and _names_in(self.package):
            raise CatalogueError(
                f"{self.package} is there and was not installed by Roost: take it away, or choose another --name",
                "exists",
            )
        if os.path.lexists(self._entrypoint) and not self._is_ours(self._entrypoint):
            raise CatalogueError(f"{self._entrypoint} is there and was not made by Roost", "exists")

    def clear(self) -> None:
        """Takes away what was left by one that was killed: folders half made, and versions that are not used."""
        if self._staging.is_dir():
            for left in self._staging.glob(f"{self.name}@*"):
                shutil.rmtree(left, ignore_errors=True)
        used = {self._linked("current"), self._linked("previous")}
        for name in _names_in(self.package):
            path = self.package / name
            if path.is_symlink():
                if name not in ("current", "previous"):
                    path.unlink(missing_ok=True)
            elif name not in used and (path / RECORD_NAME).is_file():
                shutil.rmtree(path, ignore_errors=True)

    def clear_after_others(self) -> None:
        """The same for what was half made of agents that nobody works on now: none may ever be asked for again."""
        for left in _names_in(self._staging):
            name = left.rpartition("@")[0]
            if name and name != self.name:
                with locked_if_free(self._locks / name) as free:
                    if free:
                        shutil.rmtree(self._staging / left, ignore_errors=True)

    @contextmanager
    def staged(self) -> Iterator[Path]:
        """An empty folder beside where the version will be; gone at the end, unless it was moved."""
        self._staging.mkdir(parents=True, exist_ok=True)
        made = Path(tempfile.mkdtemp(prefix=f"{self.name}@", dir=self._staging))
        folder = made / "made"
        folder.mkdir()
        try:
            yield folder
        finally:
            shutil.rmtree(made, ignore_errors=True)

    def final(self, version: str) -> Path:
        """The folder this version will have."""
        folder, number = self.package / version, 1
        while os.path.lexists(folder):
            number += 1
            folder = self.package / f"{version}-r{number}"
        return folder

    def commit(self, folder: Path, final: Path, record: Record, built: Built) -> None:
        """Makes a complete folder the current version. Before the last rename nothing has changed, after it all has."""
        _write_manifest(folder, record, built)
        write_record(folder, record)
        flush_tree(folder)
        self._link_entrypoint()
        if not self.holds():
            whole = folder.parent / "package"
            whole.mkdir()
            os.rename(folder, whole / final.name)
            os.symlink(final.name, whole / "current")
            _flush_folder(whole)
            os.rename(whole, self.package)
        else:
            before = self._linked("current")
            os.rename(folder, final)
            if before is not None:
                self._relink("previous", before)
            self._relink("current", final.name)
        _flush_folder(self.package)
        _flush_folder(self.package.parent)
        self.clear()

    def note(self, record: Record) -> None:
        """Another record for the current version, of which nothing else changes."""
        folder = self.package.joinpath("current").resolve()
        with tempfile.TemporaryDirectory(dir=folder) as made:
            write_record(Path(made), record)
            os.replace(os.path.join(made, RECORD_NAME), folder / RECORD_NAME)

    def remove(self) -> None:
        """Takes away all versions; the name is free in one rename."""
        self._staging.mkdir(parents=True, exist_ok=True)
        away = Path(tempfile.mkdtemp(prefix=f"{self.name}@", dir=self._staging))
        os.rename(self.package, away / "removed")
        if self._is_ours(self._entrypoint):
            self._entrypoint.unlink(missing_ok=True)
        shutil.rmtree(away, ignore_errors=True)

    def _linked(self, name: str) -> str | None:
        try:
            return os.readlink(self.package / name)
        except OSError:
            return None

    def _relink(self, name: str, target: str) -> None:
        made = self.package / f".{name}@{os.getpid()}"
        made.unlink(missing_ok=True)
        os.symlink(target, made)
        os.replace(made, self.package / name)

    def _link_entrypoint(self) -> None:
        self._entrypoint.parent.mkdir(parents=True, exist_ok=True)
        if not os.path.lexists(self._entrypoint):
            os.symlink(f"../pkgs/{self.name}/current/bin/{self.name}", self._entrypoint)

    def _is_ours(self, link: Path) -> bool:
        try:
            return os.readlink(link) == f"../pkgs/{self.name}/current/bin/{self.name}"
        except OSError:
            return False


def link_program(folder: Path, name: str, program: str) -> None:
    """`bin/<name>` in a version's folder, leading to its program."""
    link = folder / "bin" / name
    if program == f"bin/{name}":
        return
    if not os.path.lexists(link.parent):
        link.parent.mkdir()
    if not link.parent.is_dir():
        raise CatalogueError("the package has a bin that is no folder, so its agent cannot be put there", "damaged")
    if os.path.lexists(link):
        if os.path.realpath(link) == os.path.realpath(folder / program):
            return
        raise CatalogueError(f"the package has a bin/{name} that is not its agent; choose another --name", "exists")
    os.symlink(os.path.relpath(os.path.realpath(folder / program), os.path.realpath(link.parent)), link)


def flush_tree(folder: Path) -> None:
    """Everything in a folder is on the disk when this returns."""
    files, folders = [], []
    for path, _, names in os.walk(folder):
        folders.append(path)
        files += [os.path.join(path, name) for name in names]
    if len(files) > _FILES_ONE_BY_ONE:
        os.sync()
        return
    for file in files:
        if not os.path.islink(file):
            _flush(file, os.O_RDONLY)
    for path in reversed(folders):
        _flush(path, os.O_RDONLY | os.O_DIRECTORY)


def _flush_folder(folder: Path) -> None:
    _flush(str(folder), os.O_RDONLY | os.O_DIRECTORY)


def _flush(path: str, flags: int) -> None:
    try:
        handle = os.open(path, flags)
    except PermissionError:
        return  # a file that may not be read; its folder is flushed
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _write_manifest(folder: Path, record: Record, built: Built) -> None:
    """What `roost.process.packages` and the reference read. What a package's own manifest says besides is kept."""
    path = folder / MANIFEST_NAME
    whole = _own_manifest(path) | {
        "name": record.name,
        "version": record.version,
        "agent": {"acpEntrypoint": record.name, "env": dict(built.env), "launchArgs": list(built.args)},
    }
    for ours in (path, folder / RECORD_NAME):
        ours.unlink(missing_ok=True)  # it may be a link to another file of the package, in one way or the other
    text = msgspec.json.format(msgspec.json.encode(whole), indent=2) + b"\n"
    if len(text) > MANIFEST_LIMIT:
        raise CatalogueError(f"the package's {path.name} is larger than {MANIFEST_LIMIT} bytes", "damaged")
    path.write_bytes(text)


def _own_manifest(path: Path) -> dict[str, object]:
    """What the package came with; CatalogueError `damaged` when that is none."""
    for ours in (path, path.with_name(RECORD_NAME)):
        if ours.is_dir() and not ours.is_symlink():
            raise CatalogueError(f"the package has a folder {ours.name}, where a file should be", "damaged")
    if not path.is_file():
        return {}
    try:
        with open(path, "rb") as file:
            found = msgspec.json.decode(file.read(MANIFEST_LIMIT))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise CatalogueError(f"the package's {path.name} cannot be read: {error}", "damaged") from error
    return found if isinstance(found, dict) else {}


def _names_in(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []
