"""What is installed for the interoperability tests: a name, a version, a registry, and what it takes."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

CACHE = Path(__file__).resolve().parents[2] / ".cache" / "interop"

# Names a Python goes by; `python3` last, because it may be any version.
PYTHONS = ("python3.12", "python3.13", "python3.14", "python3")
LOOK_TIMEOUT = 20.0


class Unavailable(Exception):
    """Something cannot be installed here; the text names what is missing."""


@dataclass(frozen=True)
class Npm:
    """A package of npm, with one exact version."""

    package: str
    version: str

    @property
    def spec(self) -> str:
        return f"npm:{self.package}@{self.version}"

    @property
    def folder(self) -> Path:
        return CACHE / "npm" / f"{self.package.replace('/', '+')}@{self.version}"

    @property
    def modules(self) -> Path:
        return self.folder / "node_modules"

    @property
    def installed(self) -> bool:
        return (self.modules / self.package / "package.json").is_file()

    @property
    def lacking(self) -> str | None:
        """What this machine's node is too old for, once it is installed; npm only warns."""
        about = json.loads((self.modules / self.package / "package.json").read_text())
        wanted = re.search(r"\d+", str(about.get("engines", {}).get("node", "")))
        if wanted is None or node_major() >= int(wanted[0]):
            return None
        return f"node {wanted[0]} or later for {self.spec}"

    def program(self, name: str) -> Path:
        """A program of the package. With a slash in it, a file of the package; with a star, one beside it."""
        if "*" in name:
            return next(iter(sorted(self.modules.glob(name))), self.modules / name)
        return self.modules / self.package / name if "/" in name else self.modules / ".bin" / name


@dataclass(frozen=True)
class PyPI:
    """A package of PyPI in a venv of its own, with one exact version. `python`: the least version it runs on."""

    package: str
    version: str
    extra: str = ""
    python: tuple[int, int] = (3, 11)

    @property
    def spec(self) -> str:
        extra = f"[{self.extra}]" if self.extra else ""
        return f"pypi:{self.package}{extra}=={self.version}"

    @property
    def folder(self) -> Path:
        return CACHE / "venv" / f"{self.package}-{self.version}"

    @property
    def installed(self) -> bool:
        return (self.folder / "bin" / "python").exists()

    @property
    def lacking(self) -> str | None:
        return None  # it has a Python of its own

    def program(self, name: str) -> Path:
        return self.folder / "bin" / name


Pin = Npm | PyPI


@dataclass(frozen=True)
class Source:
    """An unpacked source distribution of PyPI, for what only that one has."""

    package: str
    version: str

    @property
    def spec(self) -> str:
        return f"the sources of pypi:{self.package}=={self.version}"

    @property
    def folder(self) -> Path:
        return CACHE / "pypi" / f"{self.package}-{self.version}"

    @property
    def installed(self) -> bool:
        return self.folder.is_dir()


def interpreter(least: tuple[int, int]) -> str:
    """A Python of at least this version: this one, or the first on PATH that runs. Unavailable when there is none."""
    if sys.version_info[:2] >= least:
        return sys.executable
    for name in PYTHONS:
        found = shutil.which(name)
        if found is not None and _version(found) >= least:
            return found
    raise Unavailable(f"Python {least[0]}.{least[1]} or later on PATH")


@cache
def _version(python: str) -> tuple[int, int]:
    """(0, 0) for one that does not run, as a version manager's placeholder may not."""
    command = [python, "-I", "-S", "-c", "import sys; print(*sys.version_info[:2])"]
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=LOOK_TIMEOUT, check=True)
        major, minor = result.stdout.split()
        return int(major), int(minor)
    except (OSError, ValueError, subprocess.SubprocessError):
        return 0, 0


@cache
def node_major() -> int:
    """0 where there is none."""
    try:
        command = ["node", "--version"]
        said = subprocess.run(command, capture_output=True, text=True, timeout=LOOK_TIMEOUT, check=True).stdout
        return int(said.strip().lstrip("v").partition(".")[0])
    except (OSError, ValueError, subprocess.SubprocessError):
        return 0


def npm_program() -> str:
    """Unavailable without npm and node."""
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        raise Unavailable("node and npm (Debian: apt-get install nodejs npm)")
    return npm


def quiet_environment() -> dict[str, str]:
    """This environment without what would make an installer install elsewhere."""
    unwanted = ("PYTHONHOME", "PYTHONPATH", "VIRTUAL_ENV", "PIP_TARGET", "PIP_PREFIX", "NODE_PATH")
    return {name: value for name, value in os.environ.items() if name not in unwanted}
