"""Installs what the interoperability tests drive: `python -m tools.interop.install [default | all | NAME…]`.

Each pin has a folder of its own in the checkout's cache and is installed once: into a draft beside it that takes its
place when it is whole. Nothing of a package is run (`--ignore-scripts`; wheels where there are any).
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import time
from pathlib import Path

from tools.interop.agents import AGENTS, DEFAULT
from tools.interop.clients import CLIENTS
from tools.interop.pins import Npm, Pin, PyPI, Unavailable, interpreter, npm_program, quiet_environment
from tools.interop.spec import Agent

INSTALL_TIMEOUT = 600.0
ERROR_TAIL = 600
# Without a network the tests are skipped, and soon.
NPM_RETRIES = ["--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000"]
PIP_RETRIES = ["--retries=1", "--timeout=15"]


def main(names: list[str]) -> int:
    """What cannot be installed is said; that its tests do not run is then their matter."""
    names = names or ["default"]
    agents = [agent.pin for name in names for agent in _named(name)]
    for pin in dict.fromkeys([*agents, *(pin for name in names for pin in CLIENTS.get(name, ()))]):
        if pin.installed:
            continue
        print(f"installing {pin.spec} for the interoperability tests", file=sys.stderr, flush=True)
        started = time.monotonic()
        try:
            install(pin)
        except Unavailable as error:
            print(f"  not installed, so it is not tried; it needs {error}", file=sys.stderr)
        else:
            print(f"  {time.monotonic() - started:.0f} s", file=sys.stderr)
    return 0


def _named(name: str) -> list[Agent]:
    if name == "all":
        return list(AGENTS.values())
    if name == "default":
        return [AGENTS[each] for each in DEFAULT]
    if "," in name:
        return [agent for each in name.split(",") for agent in _named(each)]
    if name not in AGENTS:
        sys.exit(f"there is no agent {name}; there are {', '.join(sorted(AGENTS))}")
    return [AGENTS[name]]


def install(pin: Pin) -> None:
    """Does nothing when it is there. Raises Unavailable."""
    if pin.installed:
        return
    if isinstance(pin, Npm):
        install_npm(pin)
    else:
        install_venv(pin)


def install_npm(pin: Npm) -> None:
    npm = npm_program()
    draft = _draft(pin.folder)
    draft.mkdir(parents=True)
    (draft / "package.json").write_text(json.dumps({"private": True}))
    command = [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error", *NPM_RETRIES]
    try:
        _run([*command, f"{pin.package}@{pin.version}"], draft, pin.spec)
        _publish(draft, pin.folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def install_venv(pin: PyPI) -> None:
    """A venv knows its own path, so it is made in its place; until it is whole its python has another name."""
    python = interpreter(pin.python)
    folder = pin.folder
    draft = _draft(folder)
    try:
        _run([python, "-m", "venv", str(draft)], folder.parent, pin.spec)
        install_into = [str(draft / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        install_into += PIP_RETRIES
        _run([*install_into, pin.spec.removeprefix("pypi:")], folder.parent, pin.spec)
        _move_venv(draft, folder)
        _publish(draft, folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _move_venv(draft: Path, folder: Path) -> None:
    """The programs of a venv name its python by path: they are told where it will be."""
    old, new = str(draft).encode(), str(folder).encode()
    for file in [*(draft / "bin").iterdir(), draft / "pyvenv.cfg"]:
        if file.is_file() and not file.is_symlink() and old in (text := file.read_bytes()) and b"\0" not in text:
            file.write_bytes(text.replace(old, new))


def source_of(package: str, version: str) -> Path:
    """An unpacked source distribution from PyPI, for what only that one has. Raises Unavailable."""
    folder = PyPI(package, version).folder.parents[1] / "pypi" / f"{package}-{version}"
    if folder.is_dir():
        return folder
    draft = _draft(folder)
    draft.mkdir(parents=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
    try:
        _run([*command, "--dest", str(draft), f"{package}=={version}"], draft, f"pypi:{package}=={version}")
        [archive] = draft.glob("*.tar.gz")
        with tarfile.open(archive) as tar:
            tar.extractall(draft, filter="data")
        [unpacked] = [path for path in draft.iterdir() if path.is_dir()]
        _publish(unpacked, folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return folder


def _draft(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.{os.getpid()}")


def _publish(draft: Path, folder: Path) -> None:
    """All or nothing, also when two runs install at once."""
    try:
        draft.rename(folder)
    except OSError:
        if not folder.is_dir():
            raise


def _run(command: list[str], cwd: Path, what: str) -> None:
    cwd.mkdir(parents=True, exist_ok=True)
    try:
        subprocess.run(
            command,
            cwd=cwd,
            env=quiet_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=INSTALL_TIMEOUT,
            check=True,
        )
    except subprocess.TimeoutExpired:
        raise Unavailable(f"{what}, which was not installed within {INSTALL_TIMEOUT:g} s") from None
    except (OSError, subprocess.CalledProcessError) as error:
        said = str(getattr(error, "stderr", "") or error).strip()[-ERROR_TAIL:]
        raise Unavailable(f"{what}: {said}") from None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
