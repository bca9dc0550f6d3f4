"""JavaScript programs on node, or by configuration on bun or deno."""

from __future__ import annotations

import os

from roost.process.runtimes.base import ProgramFile, RuntimeSettings

_HOW_TO_GET = {
    "node": "install Node.js (Debian: apt install nodejs; else https://nodejs.org)",
    "bun": "install Bun (https://bun.sh)",
    "deno": "install Deno (https://deno.com)",
}

# What stands between the program and the file. Deno asks a person about every access, and there is none: an agent
# has all access, and a sandbox around it takes it away.
_BEFORE_FILE = {"bun": ("run",), "deno": ("run", "--allow-all", "--quiet")}


class JavaScriptRuntime:
    kind = "JAVA_SCRIPT"

    def __init__(self, settings: RuntimeSettings) -> None:
        self._settings = settings

    def missing(self) -> str | None:
        wanted = self._settings.javascript
        if self._settings.find(wanted) is not None:
            return None
        how = _HOW_TO_GET.get(os.path.basename(wanted), "install it, or choose node, bun or deno")
        return f"{wanted} was not found: {how}"

    def command(self, program: ProgramFile, args: tuple[str, ...], cwd: str) -> tuple[str, ...]:
        found = self._settings.find(self._settings.javascript) or self._settings.javascript
        flavour = os.path.basename(self._settings.javascript)
        return (found, *_BEFORE_FILE.get(flavour, ()), *_own_flags(program, flavour), program.path, *args)


def _own_flags(program: ProgramFile, flavour: str) -> tuple[str, ...]:
    """The flags of the file's own `#!` line (`node --no-warnings`), when it names what is going to run it."""
    words = program.sniffed.interpreter
    if flavour != "node" or not words or os.path.basename(words[0]) not in ("node", "nodejs"):
        return ()
    return words[1:]
