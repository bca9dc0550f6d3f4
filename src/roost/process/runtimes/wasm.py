"""WebAssembly programs: WASI modules in a small runner process of their own, on the `wasmtime` package."""

from __future__ import annotations

import importlib.util
import sys

from roost.process.runtimes.base import ProgramFile, RuntimeSettings


class WebAssemblyRuntime:
    kind = "WEB_ASSEMBLY"

    def __init__(self, settings: RuntimeSettings) -> None:
        self._settings = settings

    def missing(self) -> str | None:
        if importlib.util.find_spec("wasmtime") is not None:
            return None
        return 'the wasmtime package was not found: install it with Roost (pip install "roost[wasm]")'

    def command(self, program: ProgramFile, args: tuple[str, ...], cwd: str) -> tuple[str, ...]:
        """The module sees the session's root and nothing else of this machine's files."""
        settings = self._settings
        return (
            sys.executable,
            "-m",
            "roost.process.wasm_runner",
            f"--root={cwd}",
            f"--memory={settings.wasm_memory_bytes}",
            program.path,
            *args,
        )
