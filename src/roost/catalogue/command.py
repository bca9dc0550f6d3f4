"""Agents that are command lines with a name: a script of two lines that becomes the command."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

from roost.catalogue.installed import Kind
from roost.catalogue.source import Built
from roost.errors import CatalogueError, ConfigError, ProcessError
from roost.process.base import SpawnPlan
from roost.process.packages import parse_command_line
from roost.process.programs import checked
from roost.process.runtimes.sniff import FileKind, interpreter_kind

# These say nothing about which agent it is.
_LAUNCHERS: Final = ("env", "npx", "npm", "uvx", "uv", "pipx", "bunx", "pnpm", "yarn", "sh", "bash", "ruby", "java")


class CommandSource:
    """`words` as a shell would split them; a program's path and arguments that are files here become absolute."""

    kind: Kind = "command"

    def __init__(self, text: str, which: Callable[[str], str | None] = shutil.which) -> None:
        try:
            command = parse_command_line(text)
        except ConfigError as error:
            raise CatalogueError(str(error), "unknown") from error
        self.words = (_program(command.program, which), *map(_argument, command.launch_args))
        self.package = shlex.join(self.words)

    @property
    def name(self) -> str:
        """What it is called when nobody says; empty when the program is one that runs others."""
        program = os.path.basename(self.words[0])
        general = program in _LAUNCHERS or interpreter_kind((program,)) is not FileKind.SCRIPT
        return "" if general else program

    @property
    def exact(self) -> str:
        return f"command-{hashlib.sha256(self.package.encode()).hexdigest()[:8]}"

    def version(self, folder: Path) -> str:
        return self.exact

    def build(self, folder: Path, name: str, final: Path) -> Built:
        path = folder / "bin" / name
        path.parent.mkdir()
        path.write_text(f'#!/bin/sh\nexec {self.package} "$@"\n', encoding="utf-8")
        path.chmod(0o755)
        return Built(None)


def _program(program: str, which: Callable[[str], str | None]) -> str:
    found = os.path.abspath(program) if "/" in program else which(program)
    if found is None or not os.path.isfile(found):
        where = "" if "/" in program else " on PATH"
        raise CatalogueError(f"the program {program!r} was not found{where}", "unknown")
    try:
        checked(SpawnPlan(argv=(os.path.abspath(found),), env={}, cwd="/"))
    except ProcessError as error:
        raise CatalogueError(str(error), "unsuitable") from error
    return os.path.abspath(found)


def _argument(word: str) -> str:
    """A script's path is one from here; sessions have their own directories."""
    looks_like_a_path = "/" in word or "." in word
    return os.path.abspath(word) if looks_like_a_path and not word.startswith("-") and os.path.isfile(word) else word
