"""Python programs on the interpreter they were installed for, else on the daemon's own."""

from __future__ import annotations

import os

from roost.process.runtimes.base import ProgramFile, RuntimeSettings

# In the package's folder, best first.
_VENV_INTERPRETERS = ("venv/bin/python", ".venv/bin/python")


class PythonRuntime:
    kind = "PYTHON"

    def __init__(self, settings: RuntimeSettings) -> None:
        self._settings = settings

    def missing(self) -> str | None:
        if self._settings.find(self._settings.python) is not None:
            return None
        wanted = self._settings.python or "a Python interpreter"
        return f"{wanted} was not found: install Python (Debian: apt install python3; else https://www.python.org)"

    def command(self, program: ProgramFile, args: tuple[str, ...], cwd: str) -> tuple[str, ...]:
        return (self._interpreter(program), program.path, *args)

    def _interpreter(self, program: ProgramFile) -> str:
        if program.package is not None:
            for name in _VENV_INTERPRETERS:
                path = os.path.join(program.package, name)
                if os.access(path, os.X_OK):
                    return path
        # A console script names the interpreter of the environment it was installed into; elsewhere its imports fail.
        words = program.sniffed.interpreter
        if words and os.path.isabs(words[0]) and os.access(words[0], os.X_OK):
            return words[0]
        return self._settings.find(self._settings.python) or self._settings.python
