"""What every way of installing an agent is: it finds out the version, and fills a folder."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from roost.catalogue.installed import Kind
from roost.errors import CatalogueError

Say = Callable[[str], None]

_PROGRAM_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]*\Z")


@dataclass(frozen=True, slots=True)
class Choice:
    """What the user or the registry wants of a package: which program, with which arguments and environment."""

    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Built:
    """A folder that is ready. `program` is a file in it, relative; `None`: `bin/<name>` is there already."""

    program: str | None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)


class Source(Protocol):
    """One agent from one place. `version` first, then `build`, with the same empty folder.

    Both raise CatalogueError, LimitError, or OSError for what the disk does.
    """

    @property
    def kind(self) -> Kind: ...

    @property
    def package(self) -> str:
        """Its name within its kind, without version and secrets."""

    @property
    def exact(self) -> str:
        """The version that is wanted, when that is known without asking anybody; else empty."""

    def version(self, folder: Path) -> str:
        """Which version would be installed now. May put into the folder what building needs."""

    def build(self, folder: Path, name: str, final: Path) -> Built:
        """Fill the folder, which will be moved to `final`."""


def choose_program(programs: Mapping[str, str], wanted: str, known_as: str, package: str) -> str:
    """Which of a package's programs is the agent. CatalogueError `unsuitable` when that is anybody's guess.

    One that is asked for; the only one; the one that is called as the package; the one that says it is for ACP.
    """
    if wanted:
        if wanted in programs:
            return wanted
        raise CatalogueError(f"{package} has no program {wanted!r}{_there_are(programs)}", "unsuitable")
    if not programs:
        raise CatalogueError(f"{package} has no program that could be an agent", "unsuitable")
    if len(programs) == 1:
        return next(iter(programs))
    if known_as in programs:
        return known_as
    spoken = [program for program in programs if re.search(r"(^|[-_])acp([-_]|$)", program)]
    if len(spoken) == 1:
        return spoken[0]
    raise CatalogueError(
        f"{package} has several programs; choose one with --command{_there_are(programs)}", "unsuitable"
    )


def name_of_package(package: str) -> str:
    """What an agent is called when nobody says: `@scope/name` is `name`, `name[extra]` too."""
    return package.rpartition("/")[2].partition("[")[0]


def checked_program(folder: Path, program: str, package: str) -> str:
    """The path of a program in a folder, as it will be linked. CatalogueError `damaged` when it is not there."""
    path = folder / program
    try:
        real = path.resolve(strict=True)
    except OSError as error:
        raise CatalogueError(f"{package} says its program is {program}, which is not in it", "damaged") from error
    if not real.is_relative_to(folder.resolve()) or not real.is_file():
        raise CatalogueError(f"{package} says its program is {program}, which is no file of its own", "damaged")
    real.chmod(real.stat().st_mode | 0o755)
    return str(real.relative_to(folder.resolve()))


def _there_are(programs: Mapping[str, str]) -> str:
    known = [program for program in sorted(programs) if _PROGRAM_NAME.match(program)]
    return f" (there are: {', '.join(known)})" if known else ""
