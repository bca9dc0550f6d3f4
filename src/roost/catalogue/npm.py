"""Agents from npm, by the machine's own npm: one exact version, no install scripts, node's version looked at before."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, Final

import msgspec

from roost.catalogue.installed import Kind
from roost.catalogue.machine import Machine
from roost.catalogue.needs_ranges import fits, version_in
from roost.catalogue.npm_natives import missing_natives
from roost.catalogue.source import Built, Choice, Say, checked_program, choose_program, name_of_package
from roost.catalogue.tool import Finished, run_tool
from roost.errors import CatalogueError

NPM_NAME: Final = re.compile(r"(?:@[A-Za-z0-9~_.-]+/)?[A-Za-z0-9~_][A-Za-z0-9~_.-]*\Z")
# A version, a range or a tag.
NPM_VERSION: Final = re.compile(r"[A-Za-z0-9^~<>=*|. +_-]+\Z")
_EXACT: Final = re.compile(r"v?\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]+)?\Z")

_UNREACHABLE: Final = (
    "ENOTFOUND",
    "ECONNREFUSED",
    "ECONNRESET",
    "ETIMEDOUT",
    "EAI_AGAIN",
    "ENETUNREACH",
    "ERR_SOCKET_TIMEOUT",
)

# A package.json is some pages.
_MANIFEST_BYTES: Final = 1024 * 1024


def is_exact(version: str) -> bool:
    return _EXACT.match(version) is not None


def split_npm(text: str) -> tuple[str, str]:
    """Name and wanted version, "" for the newest. CatalogueError `unknown` for what is neither."""
    at = text.find("@", 1)
    name, version = (text, "") if at < 0 else (text[:at], text[at + 1 :])
    if not NPM_NAME.match(name) or (at >= 0 and not (NPM_VERSION.match(version) and not version.startswith("-"))):
        raise CatalogueError(f"{text!r} is no package of npm: NAME, NAME@VERSION or @SCOPE/NAME@VERSION", "unknown")
    return name, version


class NpmSource:
    kind: Kind = "npm"

    def __init__(self, machine: Machine, package: str, wanted: str, choice: Choice, say: Say) -> None:
        self.package = package
        self._machine = machine
        self._wanted = wanted
        self._choice = choice
        self._say = say
        self._version = ""

    @property
    def exact(self) -> str:
        return self._wanted.removeprefix("v") if is_exact(self._wanted) else ""

    def version(self, folder: Path) -> str:
        self._say(f"asking npm about {self.package}{f'@{self._wanted}' if self._wanted else ''}")
        found = self._view(folder)
        version = found.get("version")
        if not isinstance(version, str) or not is_exact(version):
            raise CatalogueError(f"npm tells no version of {self.package}", "damaged")
        self._check_node(version, found.get("engines"))
        self._version = version
        return version

    def build(self, folder: Path, name: str, final: Path) -> Built:
        self._say(f"npm installs {self.package}@{self._version}")
        install_with_npm(self._machine, folder, f"{self.package}@{self._version}", self._say)
        return Built(npm_program(folder, self.package, self._choice.command), self._choice.args, self._choice.env)

    def _view(self, folder: Path) -> dict[str, Any]:
        spec = f"{self.package}@{self._wanted or 'latest'}"
        done = run_npm(self._machine, ["view", spec, "name", "version", "engines", "--json"], folder, lookup=True)
        if done.status != 0:
            raise self._view_failed(spec, done)
        try:
            found = msgspec.json.decode(done.stdout) if done.stdout.strip() else None
        except msgspec.DecodeError as error:
            raise CatalogueError(f"npm does not tell about {spec} in JSON: {error}", "damaged") from error
        if isinstance(found, list):  # a range fits several; npm tells them in no order it would promise
            found = max((one for one in found if isinstance(one, dict)), key=_order, default=None)
        if not isinstance(found, dict):
            raise CatalogueError(f"npm knows no version {self._wanted} of {self.package}", "unknown")
        return found

    def _view_failed(self, spec: str, done: Finished) -> CatalogueError:
        said = done.stdout + done.stderr
        if b"E404" in said or b"ETARGET" in said:
            return CatalogueError(f"there is no {spec} in npm's registry", "unknown", done.tail)
        if any(code.encode() in said for code in _UNREACHABLE):
            return CatalogueError(
                "npm does not reach its registry; is there a network, or a proxy to set?", "unreachable", done.tail
            )
        return CatalogueError(f"npm tells nothing about {spec}: it exited with code {done.status}", "failed", done.tail)

    def _check_node(self, version: str, engines: Any) -> None:
        wanted = engines.get("node") if isinstance(engines, dict) else None
        if isinstance(wanted, str) and wanted.strip():
            check_node(self._machine, f"{self.package}@{version}", wanted, self.package)


def check_node(machine: Machine, named: str, wanted: str, package: str) -> None:
    """CatalogueError `unsuitable` when the node that would run it is not one the package wants."""
    told = machine.node_version()
    have = version_in(told)
    if have is None or fits(have, wanted) is not False:
        return
    older = f", or ask for an older version (npm:{package}@VERSION)" if package else ""
    raise CatalogueError(
        f"{named} needs node {wanted}, and {machine.runtimes.javascript} is {told}: install one that fits "
        f"(https://nodejs.org) and name it as runtimes.javascript{older}",
        "unsuitable",
    )


def run_npm(machine: Machine, args: list[str], folder: Path, *, lookup: bool = False) -> Finished:
    """npm in a folder that has no project of anybody. CatalogueError `unsuitable` when there is no npm."""
    npm = machine.npm()
    if npm is None:
        raise CatalogueError(
            f"{machine.settings.npm} was not found: install Node.js with npm (Debian: apt install npm; "
            "else https://nodejs.org)",
            "unsuitable",
        )
    name = "lookup_timeout" if lookup else "install_timeout"
    return run_tool(
        [npm, *args],
        cwd=folder,
        env=machine.npm_environment(),
        timeout=getattr(machine.settings, name),
        setting=f"catalogue.{name}",
    )


def install_with_npm(machine: Machine, folder: Path, spec: str, say: Say) -> None:
    """One package with all it needs into `folder/node_modules`. Scripts of packages are not run."""
    (folder / "package.json").write_text('{"private": true}\n')  # so that npm looks for no project above
    _install(machine, folder, spec)
    node = machine.node_version()
    if missing_natives(folder, node):
        _install(machine, folder, spec)  # npm fetches what it has not got
    if missing := missing_natives(folder, node):
        say(
            f"npm could not get {' and '.join(missing)}, made for machines like this one; if the agent does not run, "
            "install it again with --force"
        )


def _install(machine: Machine, folder: Path, spec: str) -> None:
    done = run_npm(
        machine,
        [
            "install",
            "--prefix",
            str(folder),
            "--ignore-scripts",
            "--no-audit",
            "--no-fund",
            "--no-progress",
            "--omit=dev",
            "--save-exact",
            "--install-links",
            "--loglevel=error",
            "--",
            spec,
        ],
        folder,
    )
    if done.status != 0:
        raise CatalogueError(f"npm could not install {spec}: it exited with code {done.status}", "failed", done.tail)


def npm_program(folder: Path, package: str, wanted: str) -> str:
    """The file of a package's program, relative to the folder it was installed into."""
    if "/" in wanted:
        return _program_beside(folder, package, wanted)
    home = f"node_modules/{package}"
    manifest = read_package_json(folder / home)
    programs = programs_of(manifest, package)
    program = choose_program(programs, wanted, name_of_package(package), package)
    return checked_program(folder, os.path.join(home, programs[program]), package)


def _program_beside(folder: Path, package: str, pattern: str) -> str:
    """A file of what came along for this machine, where the package's own program is put in place by a script."""
    if os.path.isabs(pattern) or ".." in pattern.split("/"):
        raise CatalogueError(f"{pattern} leads out of what was installed", "unsuitable")
    found = sorted((folder / "node_modules").glob(pattern))
    if not found:
        raise CatalogueError(f"{package} has nothing for this machine: there is no {pattern}", "unsuitable")
    return checked_program(folder, str(found[0].relative_to(folder)), package)


def programs_of(manifest: dict[str, Any], package: str) -> dict[str, str]:
    """The `bin` of a package.json: name -> path."""
    programs = manifest.get("bin")
    if isinstance(programs, str):
        return {name_of_package(package): programs}
    if not isinstance(programs, dict):
        return {}
    return {name: path for name, path in programs.items() if isinstance(path, str)}


def read_package_json(folder: Path) -> dict[str, Any]:
    path = folder / "package.json"
    try:
        with open(path, "rb") as file:
            found = msgspec.json.decode(file.read(_MANIFEST_BYTES))
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise CatalogueError(f"{path} cannot be read: {error}", "damaged") from error
    if not isinstance(found, dict):
        raise CatalogueError(f"{path} does not hold an object", "damaged")
    return found


def _order(found: dict[str, Any]) -> tuple[int, int, int]:
    return version_in(str(found.get("version"))) or (0, 0, 0)
