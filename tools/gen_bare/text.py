"""Python source being written, line by line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

WIDTH = 120  # as in pyproject.toml


class Text:
    """Lines with an indent that follows `block`."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = 0

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text if text else "")

    def call(self, head: str, items: list[str], tail: str) -> None:
        """`head`, the items with commas, `tail`: on one line when it fits, else one item a line."""
        whole = f"{head}{', '.join(items)}{',' if len(items) == 1 and head.endswith('(') else ''}{tail}"
        if self.depth * 4 + len(whole) <= WIDTH:
            self.line(whole)
            return
        self.line(head)
        for item in items:
            self.line(f"    {item},")
        self.line(tail)

    def gap(self) -> None:
        """Two blank lines, between top-level definitions."""
        self.lines += ["", ""]

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """A line that ends in a colon, and what it holds."""
        self.line(head)
        self.depth += 1
        yield
        self.depth -= 1

    def __str__(self) -> str:
        return "\n".join(self.lines).rstrip("\n") + "\n"
