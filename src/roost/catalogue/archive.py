"""Agents that are archives or bare programs at a URL, one for each platform."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote, urlsplit

from roost.catalogue.download import download, is_private_way, shown_url
from roost.catalogue.entry import BinaryTarget
from roost.catalogue.installed import Kind
from roost.catalogue.machine import Machine
from roost.catalogue.source import Built, Say, checked_program
from roost.catalogue.unpack import REFUSED_ENDINGS, is_archive, unpack
from roost.errors import CatalogueError


class ArchiveSource:
    kind: Kind = "binary"

    def __init__(
        self, machine: Machine, target: BinaryTarget, version: str, args: tuple[str, ...] | None, say: Say
    ) -> None:
        self.package = shown_url(target.archive)
        self._machine = machine
        self._target = target
        self._version = version
        self._args = target.args if args is None else args
        self._say = say

    @property
    def exact(self) -> str:
        return self._version

    def version(self, folder: Path) -> str:
        return self._version

    def build(self, folder: Path, name: str, final: Path) -> Built:
        target = self._target
        file = unquote(urlsplit(target.archive).path).rpartition("/")[2] or "archive"
        if file.lower().endswith(REFUSED_ENDINGS):
            raise CatalogueError(f"{file} installs itself, and is not something Roost can unpack", "unsuitable")
        if not target.sha256 and not is_private_way(target.archive):
            raise CatalogueError(
                f"{self.package} comes over http and has no sha256, so anybody on the way could change it", "unsuitable"
            )
        self._say(f"downloading {self.package}")
        packed = folder.parent / "download"
        digest = download(target.archive, packed, self._machine.settings)
        if target.sha256 and digest != target.sha256:
            raise CatalogueError(
                f"{self.package} is not what the registry says: its sha256 is {digest}, and should be {target.sha256}",
                "checksum",
            )
        if is_archive(file):
            self._say(f"unpacking {file}")
            unpack(packed, file, folder, self._machine.settings)
            packed.unlink()
        else:
            packed.rename(folder / Path(target.command).name)
        program = target.command.removeprefix("./") if is_archive(file) else Path(target.command).name
        return Built(checked_program(folder, program, self.package), self._args, target.env)
