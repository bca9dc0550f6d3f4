"""The parts of an npm package that are made for one kind of machine, and which of those for this one did not come.

npm calls them optional: when one cannot be fetched, because the registry stumbles, it leaves it out, says nothing and
has succeeded. For several agents that part is the program itself. What npm wanted is in its package-lock.json.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from roost.catalogue.needs_ranges import fits, version_in

# The lock of an agent with a thousand packages is about 1 MB.
_LOCK_BYTES: Final = 32 * 1024 * 1024

_PROCESSORS: Final[Mapping[str, str]] = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64", "i686": "ia32"}


def missing_natives(folder: Path, node: str) -> list[str]:
    """The names of those that are for this machine and not in `folder`; `node` is the version that would run them.

    Only what says which machine it is for, and fits: another optional package may be left out for many reasons. What
    cannot be read says nothing.
    """
    try:
        with open(folder / "package-lock.json", "rb") as file:
            lock: Any = msgspec.json.decode(file.read(_LOCK_BYTES))
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []
    packages = lock.get("packages") if isinstance(lock, dict) else None
    return [
        path.rpartition("node_modules/")[2]
        for path, entry in (packages.items() if isinstance(packages, dict) else ())
        if path and isinstance(entry, dict) and _is_for_us(entry, node) and not (folder / path).exists()
    ]


def _is_for_us(entry: Mapping[str, Any], node: str) -> bool:
    if entry.get("optional") is not True or not (entry.get("os") or entry.get("cpu")):
        return False
    system = "darwin" if sys.platform == "darwin" else "linux"
    machine = platform.machine().lower()
    libc = platform.libc_ver()[0] or "musl"
    known = ("os", system), ("cpu", _PROCESSORS.get(machine, machine)), ("libc", libc)
    return all(_allows(entry.get(name), here) for name, here in known) and _runs_on(entry.get("engines"), node)


def _allows(wanted: Any, here: str) -> bool:
    """As npm reads its lists: some, or all but some."""
    if not isinstance(wanted, list) or not wanted:
        return True
    return f"!{here}" not in wanted and (here in wanted or all(str(word).startswith("!") for word in wanted))


def _runs_on(engines: Any, node: str) -> bool:
    wanted = engines.get("node") if isinstance(engines, dict) else None
    version = version_in(node)
    return not isinstance(wanted, str) or version is None or fits(version, wanted) is not False
