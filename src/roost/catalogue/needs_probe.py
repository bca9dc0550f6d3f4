"""A look at what would run an agent: which node or Python, of what version, and what its package asks for."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from roost.catalogue.needs import Found
from roost.catalogue.needs_ranges import version_in
from roost.catalogue.profiles_match import npm_folder_of
from roost.process.runtimes.base import which
from roost.process.runtimes.sniff import FileKind, interpreter_kind, sniff

# What a package says of itself is a few pages; more is not read. A range of versions is a few words.
_MANIFEST_BYTES: Final = 1024 * 1024
_RANGE_LENGTH: Final = 200

# A node tells its version in a few hundredths of a second. One that does not is not waited for: the daemon, which asks
# the usual one beforehand (`meet_node`), would wait too.
VERSION_TIMEOUT: Final = 1.0

_NODES: Final = ("node", "nodejs")

_versions: dict[tuple[str, int, int], str] = {}  # by path, time and size: a program is asked once


def look_at(argv: Sequence[str], environment: Mapping[str, str], cwd: str) -> Found:
    """What would run this command, in this environment. Starts nothing but `node --version`, once for each node."""
    if not argv:
        return Found()
    program, file = os.path.join(cwd, argv[0]), ""
    name = os.path.basename(program)
    if name in _NODES or interpreter_kind((program,)) is FileKind.PYTHON:
        file = next((os.path.join(cwd, word) for word in argv[1:] if not word.startswith("-")), "")
        return _of_node(program, file) if name in _NODES else _of_python(program)
    try:
        sniffed = sniff(program)
    except OSError:
        return Found()  # whoever starts it says what is wrong
    interpreter = sniffed.interpreter[0] if sniffed.interpreter else ""
    if os.path.basename(interpreter) in _NODES:
        node = interpreter if os.path.isabs(interpreter) else _which(interpreter, environment)
        return Found(lacks_node=True) if node is None else _of_node(node, program)
    if sniffed.kind is FileKind.PYTHON and os.path.isabs(interpreter):
        return _of_python(interpreter)
    return Found()


def node_version(path: str) -> str:
    """`22.14.0`; empty when it does not tell."""
    try:
        state = os.stat(path)
    except OSError:
        return ""
    key = (path, state.st_mtime_ns, state.st_size)
    if key not in _versions:
        _versions[key] = _ask_version(path)
    return _versions[key]


def meet_node(environment: Mapping[str, str]) -> threading.Thread | None:
    """Asks the node of an environment for its version on a thread of its own, so that nobody waits for it later."""
    node = _which(_NODES[0], environment)
    if node is None:
        return None
    thread = threading.Thread(target=node_version, args=(node,), name="roost-node-version", daemon=True)
    thread.start()
    return thread


def venv_version(python: str) -> str:
    """The version of the virtual environment that an interpreter is of; empty when it is of none."""
    folder = os.path.dirname(os.path.dirname(python))
    try:
        with open(os.path.join(folder, "pyvenv.cfg"), encoding="utf-8", errors="replace") as file:
            lines = file.read(64 * 1024).splitlines()
    except OSError:
        return ""
    for line in lines:
        name, found, value = line.partition("=")
        if found and name.strip() in ("version", "version_info"):
            return value.strip()
    return ""


def node_range_of(file: str) -> str:
    """Which versions of node the npm package of a file asks for; empty when it does not say."""
    folder = npm_folder_of(file)
    if not folder:
        return ""
    try:
        with open(os.path.join(folder, "package.json"), "rb") as manifest:
            whole: Any = msgspec.json.decode(manifest.read(_MANIFEST_BYTES))
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""
    engines = whole.get("engines") if isinstance(whole, dict) else None
    wanted = engines.get("node") if isinstance(engines, dict) else None
    return wanted if isinstance(wanted, str) and len(wanted) <= _RANGE_LENGTH and wanted.isprintable() else ""


def _of_node(node: str, file: str) -> Found:
    wanted = node_range_of(file) if file else ""
    return Found(node_range=wanted, node=node_version(node) if wanted else "", node_path=node)


def _of_python(python: str) -> Found:
    return Found(python=venv_version(python), python_path=python)


def _which(name: str, environment: Mapping[str, str]) -> str | None:
    return which(name, environment.get("PATH", os.defpath))


def _ask_version(path: str) -> str:
    try:
        told = subprocess.run(
            [path, "--version"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={"PATH": os.path.dirname(path) or os.defpath},
            timeout=VERSION_TIMEOUT,
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return ""
    words = told[:64].decode("ascii", "replace").split()
    version = words[0].removeprefix("v") if words else ""
    return version if version_in(version) is not None and version.isprintable() else ""
