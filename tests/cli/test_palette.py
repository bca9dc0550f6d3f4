"""Colours only where they belong."""

from __future__ import annotations

import io
import os
import pty
import sys
from collections.abc import Iterator
from typing import TextIO

import pytest

from roost.cli.palette import PLAIN, Role, palette_for


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[TextIO]:
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w") as stream:
        yield stream
    os.close(ours)


def test_a_terminal_has_colours(terminal: TextIO) -> None:
    palette = palette_for(terminal)
    assert palette[Role.ADDED].before.startswith("\x1b[")
    assert palette[Role.ADDED].after == "\x1b[0m"
    assert Role.MESSAGE not in palette


def test_no_colour_where_none_is_wanted(terminal: TextIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert "32" not in palette_for(terminal)[Role.ADDED].before
    monkeypatch.setenv("TERM", "dumb")
    assert palette_for(terminal) is PLAIN


def test_no_colour_without_rich(terminal: TextIO, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rich.console", None)
    assert palette_for(terminal) is PLAIN


def test_what_is_no_terminal_has_none_and_does_not_even_load_rich(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "rich.console", raising=False)
    assert palette_for(io.StringIO()) is PLAIN
    assert "rich.console" not in sys.modules
