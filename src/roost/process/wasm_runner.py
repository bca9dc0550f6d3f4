"""Runs one WASI module as a process: `python -m roost.process.wasm_runner --root=DIR --memory=BYTES MODULE [ARG …]`.

The module gets this process's stdin, stdout, stderr and environment, the root under its own path, and nothing else: no
other file, no socket, no process. What it may allocate is bounded. Compiled code is kept in the user's cache by
wasmtime, so that the second start costs next to nothing.

Exit status: the module's own; 70 when it trapped; 66 when the module cannot be read or is none.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import wasmtime

EXIT_NO_MODULE = 66  # EX_NOINPUT of sysexits.h
EXIT_TRAP = 70  # EX_SOFTWARE


def main(arguments: Sequence[str]) -> int:
    root, memory, module_path, rest = parse(arguments)
    import wasmtime

    engine = wasmtime.Engine(configuration())
    try:
        module = wasmtime.Module.from_file(engine, module_path)
    except (OSError, wasmtime.WasmtimeError) as error:
        return fail(EXIT_NO_MODULE, f"{module_path} is no WebAssembly module that can be run: {first_line(error)}")
    linker = wasmtime.Linker(engine)
    linker.define_wasi()
    store = wasmtime.Store(engine)
    store.set_limits(memory_size=memory)
    store.set_wasi(surroundings(root, (module_path, *rest)))
    try:
        start = linker.instantiate(store, module).exports(store).get("_start")
        if not isinstance(start, wasmtime.Func):
            return fail(EXIT_NO_MODULE, f"{module_path} has no _start: it is a library, not a WASI program")
        start(store)
    except wasmtime.ExitTrap as ended:
        return int(ended.code)
    except wasmtime.Trap as trap:
        return fail(EXIT_TRAP, f"{module_path} trapped: {first_line(trap)}")
    except wasmtime.WasmtimeError as error:
        return fail(EXIT_NO_MODULE, f"{module_path} cannot be started: {first_line(error)}")
    return 0


def parse(arguments: Sequence[str]) -> tuple[str, int, str, tuple[str, ...]]:
    """Written by `runtimes/wasm.py` only, so anything else is a mistake of ours."""
    root, memory, module, *rest = arguments
    return root.removeprefix("--root="), int(memory.removeprefix("--memory=")), module, tuple(rest)


def configuration() -> wasmtime.Config:
    import wasmtime

    config = wasmtime.Config()
    folder = cache_folder(os.environ)
    if folder is not None:
        settings = os.path.join(folder, "cache.toml")
        write_once(settings, f"[cache]\ndirectory = {toml_string(os.path.join(folder, 'modules'))}\n")
        config.cache = settings
    return config


def surroundings(root: str, argv: Sequence[str]) -> wasmtime.WasiConfig:
    import wasmtime

    wasi = wasmtime.WasiConfig()
    wasi.argv = list(argv)
    wasi.env = list(os.environ.items())
    wasi.inherit_stdin()
    wasi.inherit_stdout()
    wasi.inherit_stderr()
    wasi.preopen_dir(root, root)
    wasi.preopen_dir(root, ".")
    return wasi


def cache_folder(environment: Mapping[str, str]) -> str | None:
    """Ours alone: what is read from it is run. None when it cannot be made so, and then nothing is kept."""
    base = environment.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):
        base = os.path.join(environment.get("HOME", ""), ".cache")
    if not os.path.isabs(base):
        return None
    folder = os.path.join(base, "roost", "wasm")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        found = os.stat(folder)
    except OSError:
        return None
    return folder if found.st_uid == os.getuid() and not found.st_mode & 0o022 else None


def write_once(path: str, text: str) -> None:
    try:
        with open(path, encoding="utf-8") as file:
            if file.read() == text:
                return
    except OSError:
        pass
    temporary = f"{path}.{os.getpid()}"
    with open(temporary, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(temporary, path)


def toml_string(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def first_line(error: BaseException) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__


def fail(status: int, text: str) -> int:
    print(f"roost: {text}", file=sys.stderr, flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
