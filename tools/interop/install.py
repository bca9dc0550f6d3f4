"""Installs what the interoperability tests drive: `python -m tools.interop.install [default | all | NAME…]`.

Each pin has a folder of its own in the checkout's cache and is installed once: into a draft beside it that takes its
place when it is whole. Nothing of a package is run (`--ignore-scripts`; wheels where there are any). What a run that
was killed has left of its drafts is cleared away by the next.

In CI nothing may be left out, and a registry that is slow or stumbles is no reason for red: there is more patience, a
few attempts (npm and pip keep what they have got), and a failure at the end of them, with the reason.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tarfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from roost.catalogue.tool import run_tool
from roost.errors import CatalogueError, LimitError
from tools.interop.agents import AGENTS, DEFAULT
from tools.interop.clients import CLIENTS
from tools.interop.pins import Npm, Pin, PyPI, Source, Unavailable, interpreter, npm_program, quiet_environment
from tools.interop.spec import Agent

INSTALL_TIMEOUT = 600.0  # of one pin, all attempts together


@dataclass(frozen=True)
class Patience:
    """How long a registry is waited for. `pauses` are between attempts, in seconds: one attempt more than pauses."""

    pauses: tuple[float, ...]
    npm: tuple[str, ...]
    pip: tuple[str, ...]


# Without a network the tests are skipped, and soon.
AT_HOME = Patience(
    pauses=(),
    npm=("--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000"),
    pip=("--retries=1", "--timeout=15"),
)
# npm waits five minutes for a connection that has died, unless it is told otherwise.
IN_CI = Patience(
    pauses=(5.0, 20.0, 40.0),
    npm=("--fetch-retries=4", "--fetch-retry-maxtimeout=20000", "--fetch-timeout=60000"),
    pip=("--retries=5", "--timeout=60"),
)


class Failed(Unavailable):
    """An installation that may go well another time."""


def main(names: list[str]) -> int:
    """What cannot be installed is said. At home its tests are skipped then; in CI this is the failure."""
    names = names or ["default"]
    wanted: dict[Pin | Source, list[str]] = {}
    for name in names:
        for agent in _named(name):
            wanted.setdefault(agent.pin, []).append(agent.program)
        for pin in CLIENTS.get(name, ()):
            wanted.setdefault(pin, [])
    absent = []
    for pin, programs in wanted.items():
        if pin.installed:
            continue
        print(f"installing {pin.spec} for the interoperability tests", file=sys.stderr, flush=True)
        started = time.monotonic()
        try:
            install(pin, programs)
        except Unavailable as error:
            absent.append(pin.spec)
            print(f"  not installed; it needs {error}", file=sys.stderr, flush=True)
        else:
            print(f"  {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    if absent:
        print(f"not installed, so not tried: {', '.join(absent)}", file=sys.stderr)
    return 1 if absent and os.environ.get("CI") else 0


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


def install(pin: Pin | Source, programs: Iterable[str] = (), pause: Callable[[float], None] = time.sleep) -> None:
    """Does nothing when it is there. `programs` have to be in it. Raises Unavailable."""
    if pin.installed:
        return
    patience = IN_CI if os.environ.get("CI") else AT_HOME
    deadline = time.monotonic() + INSTALL_TIMEOUT
    _sweep(pin.folder.parent)
    for seconds in (*patience.pauses, None):
        try:
            _attempt(pin, tuple(programs), patience, deadline)
            break
        except Failed as error:
            if seconds is None or time.monotonic() + seconds >= deadline:
                raise
            print(f"  {error}\n  once more in {seconds:g} s", file=sys.stderr, flush=True)
            pause(seconds)


def _attempt(pin: Pin | Source, programs: tuple[str, ...], patience: Patience, deadline: float) -> None:
    folder = pin.folder
    draft = folder.with_name(f".{folder.name}.draft.{os.getpid()}")
    folder.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(draft, ignore_errors=True)
    try:
        match pin:
            case Npm():
                _fill_with_npm(pin, draft, patience, deadline)
                made = draft
            case PyPI():
                _fill_with_pip(pin, draft, patience, deadline)
                made = draft
            case Source():
                made = _fill_with_source(pin, draft, patience, deadline)
        for program in programs:
            if not _is_in(pin, made, program):
                raise Failed(f"{pin.spec}, which came without its program {program}")
        _publish(made, folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _fill_with_npm(pin: Npm, draft: Path, patience: Patience, deadline: float) -> None:
    npm = npm_program()
    draft.mkdir()
    (draft / "package.json").write_text(json.dumps({"private": True}))
    command = [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error", *patience.npm]
    _run([*command, f"{pin.package}@{pin.version}"], draft, pin.spec, deadline)


def _fill_with_pip(pin: PyPI, draft: Path, patience: Patience, deadline: float) -> None:
    """A venv knows its own path, and is told the one where it will be."""
    _run([interpreter(pin.python), "-m", "venv", str(draft)], draft.parent, pin.spec, deadline)
    pip = [str(draft / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _run([*pip, *patience.pip, pin.spec.removeprefix("pypi:")], draft.parent, pin.spec, deadline)
    _move_venv(draft, pin.folder)


def _move_venv(draft: Path, folder: Path) -> None:
    """The programs of a venv name its python by path: they are told where it will be."""
    old, new = str(draft).encode(), str(folder).encode()
    for file in [*(draft / "bin").iterdir(), draft / "pyvenv.cfg"]:
        if file.is_file() and not file.is_symlink() and old in (text := file.read_bytes()) and b"\0" not in text:
            file.write_bytes(text.replace(old, new))


def _fill_with_source(pin: Source, draft: Path, patience: Patience, deadline: float) -> Path:
    """The one folder that is in an archive of sources."""
    draft.mkdir()
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", *patience.pip]
    _run([*command, "--dest", str(draft), f"{pin.package}=={pin.version}"], draft, pin.spec, deadline)
    [archive] = draft.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(draft, filter="data")
    [unpacked] = [path for path in draft.iterdir() if path.is_dir()]
    return unpacked


def _is_in(pin: Pin | Source, made: Path, program: str) -> bool:
    """Whether a program is in a draft: npm says nothing when an optional package, which may hold it, did not come."""
    if isinstance(pin, Source):
        return (made / program).exists()
    if "*" in program:
        return any((made / "node_modules").glob(program))
    return (made / pin.program(program).relative_to(pin.folder)).exists()


def _publish(draft: Path, folder: Path) -> None:
    """All or nothing, also when two runs install at once."""
    try:
        draft.rename(folder)
    except OSError:
        if not folder.is_dir():
            raise


def _sweep(place: Path) -> None:
    """Takes away the drafts of runs that are no more."""
    for left in place.glob(".*.draft.*"):
        pid = left.name.rpartition(".")[2]
        if pid.isdigit() and not _is_alive(int(pid)):
            shutil.rmtree(left, ignore_errors=True)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _run(command: list[str], cwd: Path, what: str, deadline: float) -> None:
    """Raises Failed. What was started has ended then."""
    timeout = max(1.0, deadline - time.monotonic())
    try:
        done = run_tool(command, cwd=cwd, env=quiet_environment(), timeout=timeout, setting="INSTALL_TIMEOUT")
    except (CatalogueError, LimitError) as error:
        raise Failed(f"{what}: {error}") from error
    if done.status != 0:
        raise Failed(f"{what}: {done.tail or f'exit status {done.status}'}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
