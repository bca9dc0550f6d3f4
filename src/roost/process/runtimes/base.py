"""What a runtime is: it turns a program file into a command, and says what it lacks on this machine."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from roost.process.runtimes.sniff import Sniffed

# What a WASI module may allocate in all; a 32-bit one could address four times as much.
DEFAULT_WASM_MEMORY_BYTES = 1024 * 1024 * 1024

Which = Callable[[str, str], str | None]


def which(name: str, path: str) -> str | None:
    """`shutil.which`, which brings half a megabyte that an idle daemon does without."""
    import shutil

    return shutil.which(name, path=path)


@dataclass(frozen=True, slots=True)
class ProgramFile:
    """A file that is to be run. `package` is the folder it came with, None for one that came alone."""

    path: str
    package: str | None
    sniffed: Sniffed


@dataclass(frozen=True, slots=True)
class RuntimeSettings:
    """What an operator may choose. Programs are names to be found on `path` (the daemon's own PATH), or paths.

    `javascript` is node, bun or deno: each wants its own arguments, and is known by its file's name.
    """

    javascript: str = "node"
    python: str = sys.executable
    wasm_memory_bytes: int = DEFAULT_WASM_MEMORY_BYTES
    path: str = field(default_factory=lambda: os.environ.get("PATH", os.defpath))
    which: Which = which

    def find(self, program: str) -> str | None:
        """Where a program is, or None."""
        return self.which(program, self.path) if program else None


class Runtime(Protocol):
    """One way of running programs. Pure but for looking whether files exist."""

    @property
    def kind(self) -> str:
        """The name of the AcpRuntimeKind it serves."""

    def missing(self) -> str | None:
        """What this machine lacks, and how to get it; None when nothing."""

    def command(self, program: ProgramFile, args: tuple[str, ...], cwd: str) -> tuple[str, ...]:
        """The command that runs the program with these arguments. Only asked for when nothing is missing."""
