"""What is seen: blocks of text that may grow while they are the last, one below the other."""

from __future__ import annotations

from roost.cli.output import Output
from roost.cli.palette import NO_STYLE, PLAIN, Palette, Role

GUTTERS = {Role.THOUGHT: "~ ", Role.OUTPUT: "| ", Role.PATCH: "| ", Role.ADDED: "| ", Role.REMOVED: "| "}


class Screen:
    """Writes lines and growing text. The text given must be safe to print; the screen adds gutters and colours."""

    def __init__(self, output: Output, palette: Palette = PLAIN) -> None:
        self._output = output
        self._palette = palette
        self._block: object = None
        self._group: object = None
        self._at_line_start = True
        self._empty = True

    def lines(self, role: Role, text: str, group: object) -> None:
        """Whole lines. What is of the same group stands together, other groups have a line between."""
        self._enter(group, None)
        for line in text.split("\n"):
            self._write(role, line)
            self._newline()

    def grow(self, role: Role, text: str, block: object) -> None:
        """More of a block's text, which is a group of its own; one that was interrupted goes on below."""
        if not text:
            return
        if self._block != block:
            self._enter(block, block)
        first, *rest = text.split("\n")
        self._write(role, first)
        for line in rest:
            self._newline()
            self._write(role, line)

    def is_last(self, group: object) -> bool:
        """Whether what was shown last is of this group."""
        return self._group == group

    def finish(self) -> None:
        """Everything is out, and the cursor at the start of a line."""
        self._finish_line()
        self._output.flush()

    def _enter(self, group: object, block: object) -> None:
        self._finish_line()
        if group != self._group and not self._empty:
            self._output.write("\n")
        self._group, self._block = group, block

    def _write(self, role: Role, text: str) -> None:
        if not text:
            return
        before, after = self._palette.get(role, NO_STYLE)
        gutter = GUTTERS.get(role, "") if self._at_line_start else ""
        self._output.write(f"{before}{gutter}{text}{after}")
        self._at_line_start = self._empty = False

    def _newline(self) -> None:
        self._output.write("\n")
        self._at_line_start, self._empty = True, False

    def _finish_line(self) -> None:
        if not self._at_line_start:
            self._newline()
