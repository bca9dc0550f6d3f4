"""Text from the other side, made safe to show: terminal output without its escape sequences, and nothing hidden.

Two jobs, two answers. What a program printed is for reading, so what would act on the terminal is taken out
(`TerminalText`, `plain_terminal_text`; TRM-9). What a user decides upon must be seen whole, so what would not show is
spelt out (`reveal`; PER-12). Neither ever cuts anything short.
"""

from __future__ import annotations

import re
from typing import Final

_ESC: Final = "\x1b"

# ECMA-48. A control string starts with one of these after ESC, or as the C1 control beside it, and has a terminator.
_STRING_STARTS: Final = {"P": "dcs", "X": "sos", "^": "pm", "_": "apc", "]": "osc"}
_C1: Final = {"\x90": "P", "\x98": "X", "\x9e": "^", "\x9f": "_", "\x9d": "]", "\x9b": "["}

_control = re.compile(r"[\x00-\x1f\x7f-\x9f]").search
_parameters = re.compile(r"[\x20-\x3f]*").match
_end_of_string = re.compile(r"[\x18\x1a\x1b\x9c]").search
# xterm ends an operating system command with BEL too; a line break ends it because no title, link or clipboard text
# has one, and a stray introducer in a log shall not swallow the rest of it.
_end_of_osc = re.compile(r"[\x07\x18\x1a\x1b\x9c\n\r]").search
_is_colour = re.compile(r"[0-9;:]*\Z").match

# The longest colour sequence has some 20 parameters; what is longer is no colour, and is not kept while it arrives.
_MAX_COLOUR_CHARS: Final = 64


class TerminalText:
    """Terminal output in pieces, in; text that only prints, out.

    Kept: printable text, line breaks (a lone carriage return becomes one, so that nothing is overwritten), tabs, and
    with `colours` the SGR sequences. Gone: every other control and escape sequence, wherever the pieces are cut.
    """

    __slots__ = ("_after_return", "_parameters", "_state", "colours")

    def __init__(self, *, colours: bool = False) -> None:
        self.colours = colours
        self._state = "text"
        self._parameters = ""
        self._after_return = False

    def feed(self, text: str) -> str:
        """What this piece shows."""
        if self._state == "text" and text.isprintable():
            if text:
                self._after_return = False
            return text
        out: list[str] = []
        pos, end = 0, len(text)
        while pos < end:
            match self._state:
                case "text":
                    pos = self._read_text(text, pos, out)
                case "escape":
                    pos = self._read_escape(text, pos)
                case "sequence":
                    pos = self._read_sequence(text, pos, out)
                case _:
                    pos = self._skip_string(text, pos)
        return "".join(out)

    def _read_text(self, text: str, pos: int, out: list[str]) -> int:
        found = _control(text, pos)
        stop = found.start() if found else len(text)
        if stop > pos:
            out.append(text[pos:stop])
            self._after_return = False
        if found is None:
            return stop
        control = text[stop]
        if control == "\n":
            if not self._after_return:  # the one of CR LF was written for CR
                out.append("\n")
            self._after_return = False
        elif control == "\r":
            out.append("\n")
            self._after_return = True
        elif control == "\t":
            out.append("\t")
            self._after_return = False
        elif control == _ESC:
            self._state = "escape"
        elif control in _C1:
            self._introduce(_C1[control])
        return stop + 1

    def _read_escape(self, text: str, pos: int) -> int:
        following = text[pos]
        if following == _ESC:
            return pos + 1
        if "\x20" <= following <= "\x2f":  # intermediates; the sequence goes on
            return pos + 1
        self._state = "text"
        if following == "[" or following in _STRING_STARTS:
            self._introduce(following)
            return pos + 1
        if "\x30" <= following <= "\x7e" or following in "\x18\x1a":
            return pos + 1
        return pos  # no escape sequence has this: it is text again

    def _introduce(self, introducer: str) -> None:
        if introducer == "[":
            self._state, self._parameters = "sequence", ""
        else:
            self._state = _STRING_STARTS[introducer]

    def _read_sequence(self, text: str, pos: int, out: list[str]) -> int:
        found = _parameters(text, pos)
        stop = found.end() if found else pos
        if len(self._parameters) <= _MAX_COLOUR_CHARS:
            self._parameters += text[pos : min(stop, pos + _MAX_COLOUR_CHARS + 1)]
        if stop == len(text):
            return stop
        final = text[stop]
        self._state = "text"
        if "\x40" <= final <= "\x7e":
            if (
                self.colours
                and final == "m"
                and len(self._parameters) <= _MAX_COLOUR_CHARS
                and _is_colour(self._parameters)
            ):
                out.append(f"\x1b[{self._parameters}m")
            return stop + 1
        return stop + 1 if final in "\x18\x1a" else stop

    def _skip_string(self, text: str, pos: int) -> int:
        found = (_end_of_osc if self._state == "osc" else _end_of_string)(text, pos)
        if found is None:
            return len(text)
        terminator = found.group()
        if terminator == _ESC:  # the terminator is ESC \, and any other escape ends it as well
            self._state = "escape"
        else:
            self._state = "text"
            if terminator in "\n\r":
                return found.start()
        return found.end()


def plain_terminal_text(output: bytes | str, *, colours: bool = False) -> str:
    """Whole terminal output as text that only prints; bytes that are no UTF-8 show as U+FFFD."""
    text = output if isinstance(output, str) else output.decode("utf-8", "replace")
    return TerminalText(colours=colours).feed(text)


# Code points that print as nothing although Unicode counts them as printable: fillers, joiners and variation selectors.
_INVISIBLE: Final = frozenset(
    chr(code)
    for codes in (
        (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0),
        range(0x180B, 0x1810),
        range(0xFE00, 0xFE10),
        range(0xE0100, 0xE01F0),
    )
    for code in codes
)


def reveal(text: str, *, lines: bool = False) -> str:
    """The whole text on one line, with everything that would not show, or show elsewhere, spelt `<U+202E>`.

    That is: control, format and bidirectional characters, spaces other than the plain one, invisible letters, private
    and unassigned code points. With `lines` line breaks and tabs stay what they are. For titles, commands, names, URLs.
    """
    if text.isascii() and text.isprintable():
        return text
    kept = "\n\t" if lines else ""
    return "".join(
        character
        if (character.isprintable() and character not in _INVISIBLE) or character in kept
        else f"<U+{ord(character):04X}>"
        for character in text
    )
