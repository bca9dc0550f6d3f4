"""How the command ends: its exit statuses, and the one sentence on stderr that goes with a bad one."""

from __future__ import annotations

import enum
import sys
from typing import IO, Any, TextIO

import click


class ExitStatus(enum.IntEnum):
    """What `roost` exits with; documented in docs/cli.md."""

    ENDED = 0
    USAGE = 1
    AGENT_FAILED = 2
    CUT_SHORT = 3


class Failure(click.ClickException):
    """Ends the command. `detail` are further lines: what the agent said last."""

    def __init__(self, status: ExitStatus, message: str, detail: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.detail = detail

    @property
    def exit_code(self) -> int:  # type: ignore[override]  # click has a constant for each class
        return self.status

    def show(self, file: IO[Any] | None = None) -> None:
        say(self.message)
        if self.detail:
            say_lines(self.detail)


def say(sentence: str) -> None:
    """One sentence on stderr. It may quote the agent, so what would not show is spelt out."""
    from roost.acp.view_text import reveal

    lines = [reveal(line) for line in sentence.splitlines()]  # an agent's own words may be several, set apart from ours
    _write("roost: " + "\n    ".join(lines) + "\n")


def say_lines(text: str) -> None:
    """Lines somebody else wrote, indented, on stderr."""
    from roost.acp.view_text import plain_terminal_text

    lines = plain_terminal_text(text).rstrip("\n").split("\n")
    _write("".join(f"  | {line}\n" for line in lines))


def _write(text: str) -> None:
    stream: TextIO | None = sys.stderr
    if stream is None:  # closed before we started
        return
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
        stream.flush()
    except (OSError, ValueError):
        return  # nobody reads it; the exit status still says it
