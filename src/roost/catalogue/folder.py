"""Agents that are folders here: a package of the reference, a package of npm, or a Python project."""

from __future__ import annotations

import os
import shutil
import tomllib
from pathlib import Path
from typing import Any, Final

from roost.catalogue.entry import is_version
from roost.catalogue.installed import Kind
from roost.catalogue.machine import Machine
from roost.catalogue.npm import NPM_NAME, check_node, install_with_npm, npm_program, programs_of, read_package_json
from roost.catalogue.pypi import PypiSource
from roost.catalogue.settings import CatalogueSettings
from roost.catalogue.source import Built, Choice, Say, Source, checked_program, name_of_package
from roost.errors import CatalogueError, ConfigError, LimitError
from roost.process.manifest import Manifest, read_manifest
from roost.process.packages import MANIFEST_NAME

# Of no use to whoever runs it, and often larger than the rest.
_LEFT_OUT: Final = (".git", ".hg", "__pycache__")

_NO_VERSION: Final = "0"


def folder_source(machine: Machine, path: Path, choice: Choice, say: Say) -> tuple[Source, str]:
    """The source, and what the agent is called when nobody says. CatalogueError `unsuitable` for any other folder."""
    if (path / MANIFEST_NAME).is_file():
        return PackageFolder(machine, path, choice, say), path.name
    if (path / "package.json").is_file():
        name = read_package_json(path).get("name")
        return NodeFolder(machine, path, choice, say), name_of_package(name) if isinstance(name, str) else path.name
    if (path / "pyproject.toml").is_file():
        name = _project_name(path)
        return PythonFolder(machine, str(path), "", choice, say, path), name or path.name
    raise CatalogueError(
        f"{path} is no agent: there is neither {MANIFEST_NAME} nor package.json nor pyproject.toml in it", "unsuitable"
    )


class PackageFolder:
    """A folder with a manifest, as the reference packs agents. It is copied as it is."""

    kind: Kind = "folder"
    exact = ""

    def __init__(self, machine: Machine, path: Path, choice: Choice, say: Say) -> None:
        self.package = str(path)
        self._path = path
        self._choice = choice
        self._say = say
        self._settings = machine.settings

    def version(self, folder: Path) -> str:
        version = self._manifest().version
        return version if is_version(version) else _NO_VERSION

    def build(self, folder: Path, name: str, final: Path) -> Built:
        manifest = self._manifest()
        self._say(f"copying {self._path}")
        copy_tree(self._path, folder, self._settings)
        program = self._program(folder, self._choice.command or manifest.entrypoint)
        args = self._choice.args or manifest.launch_args
        return Built(checked_program(folder, program, self.package), args, {**manifest.env, **self._choice.env})

    def _manifest(self) -> Manifest:
        try:
            return read_manifest(self._path / MANIFEST_NAME)
        except ConfigError as error:
            raise CatalogueError(str(error), "damaged") from error

    def _program(self, folder: Path, entrypoint: str) -> str:
        places = [f"bin/{entrypoint}", f"node_modules/.bin/{entrypoint}", entrypoint]
        if (folder / "package.json").is_file():
            declared = programs_of(read_package_json(folder), self.package).get(entrypoint)
            places = [declared, *places] if declared else places
        for place in places:
            if (folder / place).is_file():
                return place
        raise CatalogueError(f"{self._path} has no program {entrypoint} (looked for {', '.join(places)})", "damaged")


class NodeFolder:
    """A package of npm that is not published. npm packs it, and installs what it depends on."""

    kind: Kind = "folder"
    exact = ""

    def __init__(self, machine: Machine, path: Path, choice: Choice, say: Say) -> None:
        self.package = str(path)
        self._machine = machine
        self._path = path
        self._choice = choice
        self._say = say

    def version(self, folder: Path) -> str:
        manifest = read_package_json(self._path)
        engines = manifest.get("engines")
        wanted = engines.get("node") if isinstance(engines, dict) else None
        if isinstance(wanted, str) and wanted.strip():
            check_node(self._machine, self.package, wanted, "")
        version = manifest.get("version")
        return version if isinstance(version, str) and is_version(version) else _NO_VERSION

    def build(self, folder: Path, name: str, final: Path) -> Built:
        package = read_package_json(self._path).get("name")
        if not isinstance(package, str) or not NPM_NAME.match(package):
            raise CatalogueError(f"{self._path / 'package.json'} has no name that npm would take", "damaged")
        self._say(f"npm installs {self._path}")
        install_with_npm(self._machine, folder, str(self._path), self._say)
        if (folder / "node_modules" / package).is_symlink():
            raise CatalogueError(
                f"{self._machine.npm()} is too old to install a folder, it only links to it: npm 9 or later is needed "
                "(npm install -g npm)",
                "unsuitable",
            )
        return Built(npm_program(folder, package, self._choice.command), self._choice.args, self._choice.env)


class PythonFolder(PypiSource):
    """A Python project that is not published."""

    kind: Kind = "folder"


def copy_tree(source: Path, target: Path, settings: CatalogueSettings) -> None:
    """Files, folders and links that stay inside. CatalogueError `damaged` for anything else; LimitError for more."""
    base = os.path.realpath(source)
    files = size = 0
    for path, folders, names in os.walk(source):
        folders[:] = [name for name in folders if name not in _LEFT_OUT]
        here = target / os.path.relpath(path, source)
        for name in [*folders, *names]:
            origin, copy = Path(path, name), here / name
            files += 1
            if files > settings.unpacked_files:
                raise _too_much(source, "catalogue.unpacked_files", settings.unpacked_files)
            if origin.is_symlink():
                real = os.path.realpath(origin)
                if os.path.isabs(os.readlink(origin)) or not real.startswith(base + os.sep):
                    raise CatalogueError(f"{origin} is a link that leads out of {source}", "damaged")
                os.symlink(os.readlink(origin), copy)
            elif origin.is_dir():
                copy.mkdir()
            elif origin.is_file():
                size += origin.stat().st_size
                if size > settings.unpacked_bytes:
                    raise _too_much(source, "catalogue.unpacked_bytes", settings.unpacked_bytes)
                shutil.copy(origin, copy, follow_symlinks=False)
            else:
                raise CatalogueError(f"{origin} is neither file nor folder nor link", "damaged")


def _too_much(source: Path, limit: str, bound: int) -> LimitError:
    return LimitError(limit, bound, f"{source} holds more than {limit} of {bound}")


def _project_name(path: Path) -> str:
    try:
        whole: dict[str, Any] = tomllib.loads((path / "pyproject.toml").read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CatalogueError(f"{path / 'pyproject.toml'} cannot be read: {error}", "damaged") from error
    project = whole.get("project")
    name = project.get("name") if isinstance(project, dict) else None
    return name if isinstance(name, str) else ""
