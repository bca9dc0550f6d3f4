"""A text that is edited from afar: positions in three encodings, and edits applied in order (NES-3, NES-4).

A position is a line and a character, from zero. What one character counts depends on the encoding: code points
(utf-32), 16-bit units (utf-16) or bytes (utf-8). A position behind a line's end means its end, one behind the last line
the end of the text, one inside a character its start; that is how the Language Server Protocol, where they come from,
has it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from roost.acp import v2

_LINE_END: Final = re.compile(r"\r\n|\n|\r")


class TextDocument:
    """One open document. `text` is None when it is not known any more: an edit was lost on the way (NES-10)."""

    def __init__(self, uri: str, language_id: str, version: int, text: str, encoding: str = "utf-16") -> None:
        self.uri = uri
        self.language_id = language_id
        self.version = version
        self.encoding = encoding
        self.text: str | None = text
        self.focus: v2.Position | None = None
        """Where the user looks, if the client told."""
        self.visible: v2.Range | None = None

    def edit(self, version: int, changes: Iterable[v2.TextDocumentContentChangeEvent]) -> None:
        """Applies changes one after the other, each to what the one before it left."""
        for change in changes:
            if change.range is None:
                self.text = change.text
            elif self.text is not None:
                start = offset_at(self.text, change.range.start, self.encoding)
                end = max(start, offset_at(self.text, change.range.end, self.encoding))
                self.text = self.text[:start] + change.text + self.text[end:]
        self.version = version

    def lose(self) -> None:
        """Nobody knows what it says until it comes whole again."""
        self.text = None

    def offset(self, position: v2.Position) -> int:
        """Where a position is in `text`, in Python's characters. ValueError: the text is not known."""
        if self.text is None:
            raise ValueError(f"the text of {self.uri} is not known")
        return offset_at(self.text, position, self.encoding)

    def position(self, offset: int) -> v2.Position:
        """The position of a place in `text`. ValueError as for `offset`."""
        if self.text is None:
            raise ValueError(f"the text of {self.uri} is not known")
        return position_at(self.text, offset, self.encoding)

    def range(self, start: int, end: int) -> v2.Range:
        """The range between two places in `text`."""
        return v2.Range(start=self.position(start), end=self.position(end))


def offset_at(text: str, position: v2.Position, encoding: str) -> int:
    """The index in `text` of a position."""
    start, end = _line(text, position.line)
    line = text[start:end]
    if encoding == "utf-32" or line.isascii():
        return start + min(position.character, len(line))
    counted = 0
    for index, char in enumerate(line):
        counted += _units(char, encoding)
        if counted > position.character:
            return start + index
    return end


def position_at(text: str, offset: int, encoding: str) -> v2.Position:
    """The position of an index in `text`; an index outside means the nearest end."""
    offset = min(max(offset, 0), len(text))
    number, start = 0, 0
    for found in _LINE_END.finditer(text):
        if found.end() > offset:
            offset = min(offset, found.start())  # between the two characters of one line end
            break
        number, start = number + 1, found.end()
    return v2.Position(line=number, character=length(text[start:offset], encoding))


def length(text: str, encoding: str) -> int:
    """How much a text counts."""
    if encoding == "utf-32" or text.isascii():
        return len(text)
    return len(text.encode("utf-8", "surrogatepass")) if encoding == "utf-8" else sum(map(_utf16_units, text))


def _line(text: str, number: int) -> tuple[int, int]:
    """Where a line starts and ends, without its line end; the end of the text for one that is not there."""
    start = 0
    for index, found in enumerate(_LINE_END.finditer(text)):
        if index == number:
            return start, found.start()
        start = found.end()
        if index > number:
            break
    lines = len(_LINE_END.findall(text))
    return (start, len(text)) if number == lines else (len(text), len(text))


def _units(char: str, encoding: str) -> int:
    return len(char.encode("utf-8", "surrogatepass")) if encoding == "utf-8" else _utf16_units(char)


def _utf16_units(char: str) -> int:
    return 2 if ord(char) > 0xFFFF else 1
