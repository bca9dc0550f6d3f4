"""Agents from PyPI, by pip, each in a venv of its own, on a Python that the package wants."""

from __future__ import annotations

import re
import shutil
from importlib.metadata import Distribution, EntryPoint, distributions
from pathlib import Path
from typing import Any, Final

import msgspec

from roost.catalogue.installed import Kind
from roost.catalogue.machine import Machine, Python
from roost.catalogue.source import Built, Choice, Say, choose_program, name_of_package
from roost.catalogue.tool import Finished, run_tool
from roost.errors import CatalogueError

_NAME: Final = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?"
PYPI_SPEC: Final = re.compile(rf"({_NAME})(\[{_NAME}(?:,{_NAME})*\])?(?:(?:==|@)([0-9A-Za-z.!+_-]+))?\Z")

# pip, asked with -v, names each file that is for another Python.
_OTHER_PYTHON: Final = re.compile(rb"Link requires a different Python \(\S+ not in: '([^']*)'\): (\S+)")

_UNREACHABLE: Final = (
    b"NewConnectionError",
    b"ConnectTimeoutError",
    b"ReadTimeoutError",
    b"NameResolutionError",
    b"ProxyError",
)

_ATTRIBUTE: Final = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*\Z")


def split_pypi(text: str) -> tuple[str, str]:
    """Name with extras, and wanted version, "" for the newest. CatalogueError `unknown` for what is neither."""
    found = PYPI_SPEC.match(text.replace(" ", ""))
    if found is None:
        raise CatalogueError(f"{text!r} is no package of PyPI: NAME, NAME==VERSION or NAME[EXTRA]==VERSION", "unknown")
    return found[1] + (found[2] or ""), found[3] or ""


class PypiSource:
    """`where`: a folder with a project instead of a package of the index."""

    kind: Kind = "pypi"

    def __init__(
        self, machine: Machine, package: str, wanted: str, choice: Choice, say: Say, where: Path | None = None
    ) -> None:
        self.package = package
        self._machine = machine
        self._wanted = wanted
        self._choice = choice
        self._say = say
        self._where = where
        self._python: Python | None = None
        self._name = name_of_package(package)
        self._version = ""

    @property
    def _shown(self) -> str:
        return f"{self.package}=={self._wanted}" if self._wanted else self.package

    @property
    def exact(self) -> str:
        return self._wanted

    def version(self, folder: Path) -> str:
        """Makes the venv: the first Python of this machine that the newest, or the wanted, version is for."""
        self._say(f"asking pip about {self._shown}")
        unsuited: list[str] = []
        for python in self._machine.pythons():
            try:
                self._make_venv(folder, python)
            except CatalogueError as error:  # another may be able to
                shutil.rmtree(folder / "venv", ignore_errors=True)
                unsuited.append(str(error))
                continue
            found = self._look_up(folder, python, unsuited)
            if found is not None:
                self._python = python
                self._name, self._version = found
                return self._version
            shutil.rmtree(folder / "venv")
        if not unsuited:
            raise CatalogueError("there is no Python here that could run it", "unsuitable")
        raise CatalogueError(
            f"{self._shown} fits no Python here: {'; '.join(unsuited)}. Install one that does, to be found as "
            f"python3.N on PATH or by runtimes.python{self._older}",
            "unsuitable",
        )

    @property
    def _older(self) -> str:
        return "" if self._wanted or self._where else f", or ask for an older version (pypi:{self.package}==VERSION)"

    def build(self, folder: Path, name: str, final: Path) -> Built:
        python = self._python
        if python is None:
            raise RuntimeError("version() comes first")
        wanted = str(self._where) if self._where else f"{self.package}=={self._version}"
        self._say(f"pip installs {self._name} {self._version} on Python {python.version}")
        done = self._pip(folder, python, ["install", "--prefer-binary", "--quiet", "--", wanted], "install_timeout")
        if done.status != 0:
            raise self._failed(f"pip could not install {wanted}", done)
        self._write_launcher(folder, name, final)
        move_venv(folder / "venv", folder, final)
        return Built(None, self._choice.args, self._choice.env)

    def _make_venv(self, folder: Path, python: Python) -> None:
        # A pip of its own takes longer and is only needed where the interpreter has none to lend.
        without = ["--without-pip"] if python.has_pip else []
        if not python.has_pip and not python.has_ensurepip:
            raise CatalogueError(
                f"{python.path} has no pip of 22.3 or later, and no ensurepip (Debian: apt install python3-venv)",
                "unsuitable",
            )
        done = run_tool(
            [python.path, "-I", "-m", "venv", *without, str(folder / "venv")],
            cwd=folder,
            env=self._machine.pip_environment(),
            timeout=self._machine.settings.install_timeout,
            setting="catalogue.install_timeout",
        )
        if done.status != 0:
            raise CatalogueError(
                f"{python.path} could not make a venv (Debian: apt install python3-venv)", "unsuitable", done.tail
            )

    def _look_up(self, folder: Path, python: Python, unsuited: list[str]) -> tuple[str, str] | None:
        """Name and version of what pip would install; None, and why, when that is for another Python."""
        report = folder / "report.json"
        wanted = str(self._where) if self._where else self._shown
        args = ["-v", "install", "--dry-run", "--no-deps", "--ignore-installed", "--prefer-binary"]
        done = self._pip(folder, python, [*args, "--report", str(report), "--", wanted], "lookup_timeout")
        others = _for_other_pythons(done.stdout, self._name)
        if done.status != 0:
            if self._wanted in others or (not self._wanted and others):
                version, needs = _newest(others) if not self._wanted else (self._wanted, others[self._wanted])
                unsuited.append(f"{version} is for Python {needs}, and {python.path} is {python.version}")
                return None
            requires = re.search(rb"requires a different Python: \S+ not in '([^']*)'", done.stdout + done.stderr)
            if requires is not None:
                needs = requires[1].decode()
                unsuited.append(f"it is for Python {needs}, and {python.path} is {python.version}")
                return None
            raise self._look_up_failed(done)
        name, version = _reported(report, self.package)
        report.unlink()
        newer = {other: needs for other, needs in others.items() if _order(other) > _order(version)}
        if newer and not self._wanted:
            newest, needs = _newest(newer)
            unsuited.append(f"{newest} is for Python {needs}, and {python.path} is {python.version}")
            return None
        return name, version

    def _look_up_failed(self, done: Finished) -> CatalogueError:
        said = done.stdout + done.stderr
        if any(word in said for word in _UNREACHABLE):
            return CatalogueError(
                "pip does not reach its index; is there a network, or a proxy to set?", "unreachable", done.tail
            )
        if b"No matching distribution" in said:
            return CatalogueError(f"there is no {self._shown} in pip's index", "unknown", done.tail)
        return self._failed(f"pip finds no {self._shown}", done)

    def _failed(self, sentence: str, done: Finished) -> CatalogueError:
        return CatalogueError(f"{sentence}: it exited with code {done.status}", "failed", done.tail)

    def _pip(self, folder: Path, python: Python, args: list[str], setting: str) -> Finished:
        inside = str(folder / "venv/bin/python")
        pip = [python.path, "-I", "-m", "pip", "--python", inside] if python.has_pip else [inside, "-I", "-m", "pip"]
        return run_tool(
            [*pip, *args],
            cwd=folder,
            env=self._machine.pip_environment(),
            timeout=getattr(self._machine.settings, setting),
            setting=f"catalogue.{setting}",
        )

    def _write_launcher(self, folder: Path, name: str, final: Path) -> None:
        """A program of our own: what pip writes names a folder that will have been moved."""
        entries = _console_scripts(folder / "venv", self._name)
        chosen = choose_program(
            {entry: value.value for entry, value in entries.items()}, self._choice.command, self._name, self.package
        )
        module, attribute = entries[chosen].module, entries[chosen].attr
        if not _ATTRIBUTE.match(module) or not _ATTRIBUTE.match(attribute):
            raise CatalogueError(f"{self.package} has a program {chosen} that cannot be called", "damaged")
        interpreter = final / "venv/bin/python"
        shebang = "/usr/bin/env python3" if re.search(r"\s", str(interpreter)) else str(interpreter)
        path = folder / "bin" / name
        path.parent.mkdir()
        first = attribute.partition(".")[0]
        path.write_text(
            f"#!{shebang}\nimport sys\n\nfrom {module} import {first}\n\nsys.exit({attribute}())\n", encoding="utf-8"
        )
        path.chmod(0o755)


def move_venv(venv: Path, folder: Path, final: Path) -> None:
    """Names the place where the venv will be in the files that name the one where it was made."""
    before, after = str(folder).encode(), str(final).encode()
    for path in [*(venv / "bin").iterdir(), venv / "pyvenv.cfg"]:
        if path.is_symlink() or not path.is_file():
            continue
        content = path.read_bytes()
        if before in content and b"\0" not in content:
            path.write_bytes(content.replace(before, after))


def _console_scripts(venv: Path, name: str) -> dict[str, EntryPoint]:
    sites = [str(site) for site in venv.glob("lib*/python*/site-packages")]
    for distribution in distributions(path=sites):
        if _normal(_name_of(distribution)) == _normal(name):
            return {entry.name: entry for entry in distribution.entry_points if entry.group == "console_scripts"}
    raise CatalogueError(f"pip installed {name}, and it is not there", "failed")


def _name_of(distribution: Distribution) -> str:
    return str(distribution.metadata["Name"] or "")


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _reported(report: Path, package: str) -> tuple[str, str]:
    try:
        whole: Any = msgspec.json.decode(report.read_bytes())
        metadata = whole["install"][0]["metadata"]
        name, version = metadata["name"], metadata["version"]
    except (OSError, msgspec.DecodeError, KeyError, IndexError, TypeError) as error:
        raise CatalogueError(f"pip tells no version of {package}", "damaged") from error
    if not isinstance(name, str) or not isinstance(version, str):
        raise CatalogueError(f"pip tells no version of {package}", "damaged")
    return name, version


def _for_other_pythons(said: bytes, name: str) -> dict[str, str]:
    """Released versions that are for another Python: version -> which."""
    found = {}
    wanted = re.escape(_normal(name)).replace("\\-", "-").replace("-", "[-_.]+")
    of_file = re.compile(rf"(?i){wanted}-(\d+(?:\.\d+)*)(?:-|\.tar\.gz|\.zip)")
    for needs, link in _OTHER_PYTHON.findall(said):
        version = of_file.match(link.decode("utf-8", "replace").partition("#")[0].rpartition("/")[2])
        if version is not None:
            found[version[1]] = needs.decode("utf-8", "replace")
    return found


def _newest(versions: dict[str, str]) -> tuple[str, str]:
    version = max(versions, key=_order)
    return version, versions[version]


def _order(version: str) -> tuple[int, ...]:
    numbers = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(map(int, numbers[0].split("."))) if numbers else ()
