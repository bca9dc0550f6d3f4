"""All runtimes of one daemon, by the name of their AcpRuntimeKind."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from roost.process.runtimes.base import Runtime, RuntimeSettings
from roost.process.runtimes.javascript import JavaScriptRuntime
from roost.process.runtimes.python import PythonRuntime
from roost.process.runtimes.wasm import WebAssemblyRuntime

BUILT_IN: Mapping[str, Callable[[RuntimeSettings], Runtime]] = {
    "JAVA_SCRIPT": JavaScriptRuntime,
    "PYTHON": PythonRuntime,
    "WEB_ASSEMBLY": WebAssemblyRuntime,
}


class Runtimes:
    """Runtimes with their settings. `factories` replaces the built-in ones."""

    def __init__(
        self,
        settings: RuntimeSettings | None = None,
        factories: Mapping[str, Callable[[RuntimeSettings], Runtime]] = BUILT_IN,
    ) -> None:
        settings = settings or RuntimeSettings()
        self._runtimes = {kind: factory(settings) for kind, factory in factories.items()}

    def get(self, kind: str) -> Runtime | None:
        return self._runtimes.get(kind)

    def missing(self, kind: str) -> str | None:
        """Why programs of this kind cannot be run here, and what to do; None when they can."""
        runtime = self._runtimes.get(kind)
        if runtime is None:
            known = ", ".join(sorted(self._runtimes))
            return f"there is no runtime for {kind} programs here (there is one for: {known})"
        return runtime.missing()
