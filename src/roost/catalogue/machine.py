"""What this machine has for installing and running agents: platform, node, npm, Pythons, environment."""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from roost.catalogue.needs_probe import node_version
from roost.catalogue.settings import CatalogueSettings
from roost.catalogue.tool import Finished, run_tool
from roost.errors import CatalogueError
from roost.process.runtimes.base import RuntimeSettings

# Newer than what Roost itself runs on is looked for by name, newest first.
_PYTHONS: Final = ("python3.14", "python3.13", "python3.12", "python3.11", "python3", "python")

# What would make pip or Python look at something else than the venv; the rest of PIP_* is the user's wish.
_NOT_FOR_PIP: Final = (
    "PYTHONHOME",
    "PYTHONPATH",
    "PIP_TARGET",
    "PIP_PREFIX",
    "PIP_ROOT",
    "PIP_PYTHON",
    "PIP_REQUIREMENT",
    "PIP_QUIET",
    "PIP_VERBOSE",
    "PIP_REPORT",
    "PIP_DRY_RUN",
)

# Is asked of a Python about itself: its version, whether it has a pip that knows `--python` and `--report`, and whether
# it can make a venv with one.
_ABOUT: Final = """
import importlib.util, sys
try:
    import importlib.metadata
    pip = tuple(int(word) for word in importlib.metadata.version("pip").split(".")[:2]) >= (22, 3)
except Exception:
    pip = False
print(*sys.version_info[:3], sep=".")
print(int(pip), int(sys.version_info >= (3, 11) and importlib.util.find_spec("ensurepip") is not None))
"""


@dataclass(frozen=True, slots=True)
class Python:
    """An interpreter that agents could run on."""

    path: str
    version: str
    has_pip: bool
    has_ensurepip: bool


@dataclass(frozen=True)
class Machine:
    """Looked at anew each time, so that what was just installed counts."""

    environment: Mapping[str, str]
    settings: CatalogueSettings = field(default_factory=CatalogueSettings)
    runtimes: RuntimeSettings = field(default_factory=RuntimeSettings)

    @property
    def platform(self) -> str:
        """As the registry calls it: `linux-x86_64`, `darwin-aarch64`."""
        machine = platform.machine().lower()
        processor = {"amd64": "x86_64", "arm64": "aarch64"}.get(machine, machine)
        return f"{'darwin' if sys.platform == 'darwin' else 'linux'}-{processor}"

    def npm(self) -> str | None:
        return self._find(self.settings.npm)

    def node_version(self) -> str:
        """Of the node that runs agents; empty when it is another program, or none."""
        if os.path.basename(self.runtimes.javascript) not in ("node", "nodejs"):
            return ""
        found = self._find(self.runtimes.javascript)
        return "" if found is None else node_version(found)

    def pythons(self) -> Iterator[Python]:
        """The one that is configured, then others, no version twice."""
        seen: set[str] = set()
        for path in self._python_paths():
            python = self._python(path)
            if python is not None and python.version not in seen:
                seen.add(python.version)
                yield python

    def _python_paths(self) -> Iterator[str]:
        """Everywhere on PATH: the first of a name may be a stand-in that finds nothing."""
        configured = self._find(self.runtimes.python)
        if configured is not None:
            yield configured
        for name in _PYTHONS:
            for folder in filter(os.path.isabs, self.runtimes.path.split(os.pathsep)):
                path = os.path.join(folder, name)
                if os.path.isfile(path) and os.access(path, os.X_OK):
                    yield path

    def ask(self, argv: list[str]) -> Finished:
        return run_tool(
            argv,
            cwd=Path("/"),
            env=self.environment,
            timeout=self.settings.lookup_timeout,
            setting="catalogue.lookup_timeout",
        )

    def npm_environment(self) -> dict[str, str]:
        return {
            **self.environment,
            "NO_COLOR": "1",
            "npm_config_color": "false",
            "npm_config_global": "false",  # whatever the user's settings say
            "npm_config_update_notifier": "false",
        }

    def pip_environment(self) -> dict[str, str]:
        env = {name: value for name, value in self.environment.items() if name not in _NOT_FOR_PIP}
        return {
            **env,
            "NO_COLOR": "1",
            "PIP_NO_COLOR": "1",
            "PIP_NO_INPUT": "1",
            "PIP_USER": "0",  # whatever the user's pip.conf says
            "PIP_REQUIRE_VIRTUALENV": "0",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_PROGRESS_BAR": "off",
        }

    def _find(self, program: str) -> str | None:
        """Absolute, since it is run from elsewhere."""
        found = self.runtimes.find(program)
        return None if found is None else os.path.abspath(found)

    def _python(self, path: str) -> Python | None:
        try:
            said = self.ask([path, "-I", "-c", _ABOUT])
        except CatalogueError:
            return None
        lines = said.stdout.decode("ascii", "replace").splitlines()
        if said.status != 0 or len(lines) != 2 or not re.fullmatch(r"\d+\.\d+\.\d+", lines[0]):
            return None
        return Python(path, lines[0], lines[1].startswith("1"), lines[1].endswith("1"))
