"""How each kind of text is set off: by a gutter in plain text, by colours too on a terminal that has them."""

from __future__ import annotations

import enum
import os
from collections.abc import Mapping
from typing import NamedTuple, TextIO

from roost.cli.keyboard import is_terminal


class Role(enum.Enum):
    """What a piece of text is."""

    MESSAGE = enum.auto()
    THOUGHT = enum.auto()
    PLAN = enum.auto()
    TOOL = enum.auto()
    DETAIL = enum.auto()
    COMMAND = enum.auto()
    OUTPUT = enum.auto()
    PATCH = enum.auto()
    ADDED = enum.auto()
    REMOVED = enum.auto()
    PERMISSION = enum.auto()
    GOOD = enum.auto()
    BAD = enum.auto()
    END = enum.auto()


class Style(NamedTuple):
    """What stands before and after a piece of text of one line."""

    before: str = ""
    after: str = ""


NO_STYLE = Style()

Palette = Mapping[Role, Style]
PLAIN: Palette = {}

_COLOURS = {
    Role.THOUGHT: "dim italic",
    Role.PLAN: "bold",
    Role.TOOL: "cyan",
    Role.DETAIL: "dim",
    Role.COMMAND: "bold",
    Role.OUTPUT: "dim",
    Role.PATCH: "dim",
    Role.ADDED: "green",
    Role.REMOVED: "red",
    Role.PERMISSION: "yellow",
    Role.GOOD: "green",
    Role.BAD: "red",
    Role.END: "dim",
}


def palette_for(stream: TextIO | None) -> Palette:
    """Colours when the stream is a terminal that has them and rich is there to know how it wants them; else none."""
    if stream is None or not is_terminal(stream) or os.environ.get("TERM") == "dumb":
        return PLAIN
    try:
        from rich.console import Console
        from rich.text import Text
    except ImportError:
        return PLAIN
    console = Console(file=stream, highlight=False, markup=False, emoji=False)
    styles = {}
    for role, style in _COLOURS.items():
        with console.capture() as captured:
            console.print(Text("x", style=style), end="")
        before, _, after = captured.get().partition("x")
        styles[role] = Style(before, after)
    return styles
