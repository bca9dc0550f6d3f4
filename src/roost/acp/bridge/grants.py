"""What a v1 agent's tool calls say they are about, and what the user's yes to one of them covers.

Agents ask for permission with a tool call and then use a file or a terminal; the two are the same thing only when the
question itself named exactly that file or that command. Whatever else is asked about again. Pure.
"""

from __future__ import annotations

import shlex
from typing import Any, Final

from msgspec import Struct, field

from roost.acp.bridge.events import CommandRun, FileWrite, Wish
from roost.acp.bridge.payload import Json, as_object, as_text, objects
from roost.acp.paths import is_absolute

# As agents in the field name them in the input of their tools.
_PATH_NAMES: Final = ("path", "file_path", "filePath", "abs_path", "absolute_path")
# Variables that agents set, and that tell a program who reads it rather than what to do. Any other is asked about:
# LD_PRELOAD, PATH, GIT_PAGER and their like make another command of the same line.
_HARMLESS: Final = frozenset(
    ("CLAUDECODE", "GEMINI_CLI", "TERM", "COLORTERM", "NO_COLOR", "FORCE_COLOR", "CI", "COLUMNS", "LINES")
)


# What one tool call may say that is remembered; agents in the field stay far below. Longer paths are none (PATH_MAX of
# Linux), longer lines are asked about.
_FILES: Final = 64
_PATH_CHARACTERS: Final = 4096
_LINE_CHARACTERS: Final = 65_536
_KIND_CHARACTERS: Final = 64


class ToolFacts(Struct):
    """One tool call: its kind, the files it names, and those of them it has shown a diff of."""

    kind: str = ""
    paths: set[str] = field(default_factory=set)
    shown: set[str] = field(default_factory=set)

    def take(self, call: Json, cwd: str) -> None:
        """One more update of it."""
        self.kind = as_text(call.get("kind"), self.kind)[:_KIND_CHARACTERS]
        if isinstance(call.get("content"), list):
            self.shown = _diffs(call, cwd)
        found = self.shown | _named(call, cwd)
        if len(self.paths | found) <= _FILES:  # one that names more says nothing
            self.paths |= found


class Grant(Struct, frozen=True):
    """Covers one write of one of the files, or one run of one of the commands. Used once."""

    files: frozenset[str]
    commands: frozenset[str]
    directories: frozenset[str]

    def covers(self, wish: Wish) -> bool:
        if isinstance(wish, FileWrite):
            return wish.path in self.files or (wish.plain and wish.asked in self.files)
        assert isinstance(wish, CommandRun)
        is_there = wish.cwd in self.directories or (wish.asked_cwd.rstrip("/") or "/") in self.directories
        return wish.line in self.commands and is_there and wish.env.keys() <= _HARMLESS


def grant_of(call: Json, kind: str, cwd: str) -> Grant | None:
    """What a yes to a question with this tool call covers; `kind` is what the tool call is known to be.

    Only what stands in the question counts: nobody has seen more. Files are those of its diffs and, where it is an
    edit, those it names; a command is the one in its input, where it is no other kind of tool.
    """
    files: set[str] = _diffs(call, cwd)
    if kind == "edit":
        files |= _named(call, cwd)
    source = as_object(call.get("rawInput"))
    commands = _commands(source) if kind in ("execute", "") else set()
    if not files and not commands:
        return None
    directories = {as_text(source.get("cwd"), cwd).rstrip("/") or "/"}
    return Grant(frozenset(files), frozenset(commands), frozenset(directories))


def _diffs(call: Json, cwd: str) -> set[str]:
    return _absolute([item.get("path") for item in objects(call.get("content")) if item.get("type") == "diff"], cwd)


def _named(call: Json, cwd: str) -> set[str]:
    source = as_object(call.get("rawInput"))
    found = [location.get("path") for location in objects(call.get("locations"))]
    return _absolute([*found, *(source.get(name) for name in _PATH_NAMES)], cwd)


def _absolute(paths: list[Any], cwd: str) -> set[str]:
    texts = [path for path in paths if isinstance(path, str) and 0 < len(path) <= _PATH_CHARACTERS]
    if len(texts) > _FILES:
        return set()
    return {path if is_absolute(path) else f"{cwd.rstrip('/')}/{path}" for path in texts}


def _commands(source: Json) -> set[str]:
    command = source.get("command")
    words = source.get("args")
    if isinstance(command, str) and not words:
        line = command
    else:
        listed = command if isinstance(command, list) else [command, *(words if isinstance(words, list) else [None])]
        if not all(isinstance(word, str) for word in listed):
            return set()
        line = shlex.join(listed)
    return {line} if 0 < len(line) <= _LINE_CHARACTERS else set()
