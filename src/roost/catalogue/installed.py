"""What is known of an installed agent: the package on the disk, and the record of how it came there.

    <root>/pkgs/<name>/<version>/roost-install.json

An agent that somebody put there by other means has no record, and runs all the same.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import msgspec

from roost.errors import CatalogueError
from roost.process.base import SpawnPlan
from roost.process.launch import plan_agent
from roost.process.packages import Package
from roost.process.runtimes.registry import Runtimes
from roost.process.runtimes.sniff import RUNTIME_KINDS, FileKind

RECORD_NAME: Final = "roost-install.json"

# A record is half a page. What is longer was not written by us.
MAX_RECORD_BYTES: Final = 64 * 1024

Kind = Literal["npm", "pypi", "binary", "folder", "command"]


class Record(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How an agent was installed. No secrets: URLs are without user and query.

    `spec` is what was asked for, and what an update asks for again. `package` is the name within its kind: of npm,
    of PyPI (with extras), an archive's URL, a folder, a command line. `registry_id`: the registry entry it is or
    is a package of. `command` and `args` are what the user chose; None: as the entry or the package has it.
    `entry` changes with what the registry says about how it is run.
    """

    name: str
    version: str
    kind: Kind
    package: str
    spec: str
    registry_id: str = ""
    pinned: bool = False
    command: str | None = None
    args: tuple[str, ...] | None = None
    entry: str = ""

    @property
    def origin(self) -> str:
        """Where it is from, in one word."""
        return f"{self.kind}:{self.package}" if self.kind in ("npm", "pypi") else self.package


@dataclass(frozen=True, slots=True)
class Installed:
    """An agent that has a name here. `record` is None when `roost install` did not bring it."""

    package: Package
    record: Record | None

    @property
    def name(self) -> str:
        return self.package.name

    @property
    def version(self) -> str:
        return self.package.version

    @property
    def registry_id(self) -> str:
        """The entry of the registry it belongs to; empty for none."""
        return "" if self.record is None else self.record.registry_id

    def plan(
        self,
        *,
        cwd: str,
        own_env: Mapping[str, str],
        runtimes: Runtimes,
        args: Sequence[str] | None = None,
        env: Mapping[str, str] | None = None,
        let_through: Iterable[str] = (),
    ) -> SpawnPlan:
        """Its command (`argv`), environment and directory, as a session would start it.

        `args` replace those it has. ProcessError when it cannot be run.
        """
        kind = self.package.kind
        return plan_agent(
            self.package,
            runtime=kind if kind in RUNTIME_KINDS else FileKind.JAVA_SCRIPT,
            args=self.package.launch_args if args is None else args,
            env=env or {},
            cwd=cwd,
            own_env=own_env,
            runtimes=runtimes,
            let_through=let_through,
        )


def with_record(package: Package) -> Installed:
    """The agent of this package. A record that cannot be read counts as none."""
    if package.folder is None:
        return Installed(package, None)
    try:
        return Installed(package, read_record(package.folder))
    except CatalogueError:
        return Installed(package, None)


def read_record(folder: Path) -> Record | None:
    """The record in a version's folder; None when there is none. CatalogueError `damaged` when it cannot be used."""
    path = folder / RECORD_NAME
    try:
        with open(path, "rb") as file:
            text = file.read(MAX_RECORD_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise CatalogueError(f"{path} cannot be read: {error.strerror}", "damaged") from error
    try:
        return msgspec.json.decode(text, type=Record)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise CatalogueError(f"{path} is no record of an installation: {error}", "damaged") from error


def write_record(folder: Path, record: Record) -> None:
    path = folder / RECORD_NAME
    path.write_bytes(msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n")
    os.chmod(path, 0o644)
