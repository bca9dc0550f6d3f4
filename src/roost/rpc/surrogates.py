r"""Lone surrogate escapes: what a UTF-16 program writes when it cuts a string inside a character.

An agent that streams a string by UTF-16 units sends half an emoji in each of two chunks: `"\ud83d"`, then
`"\ude00"`. Each is JSON by its grammar and no Unicode text, so our decoder refuses the whole message. Losing a message
over that would cost a call its answer; so the halves become U+FFFD, as a browser shows them, and the message lives.
"""

from __future__ import annotations

import re

# Read left to right. Escaped backslashes are taken two by two, so that `\\ud800`, six plain characters, is no escape.
_ESCAPES = re.compile(
    rb"(?:\\\\)+"
    rb"|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    rb"|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)
_HINT = re.compile(rb"\\u[dD][89a-fA-F]")

REPLACEMENT = rb"\ufffd"


def mend(message: bytes) -> bytes:
    """The message with each lone surrogate escape replaced by U+FFFD; the same object when it has none."""
    if _HINT.search(message) is None:
        return message
    mended = _ESCAPES.sub(_mended, message)
    return message if mended == message else mended


def _mended(match: re.Match[bytes]) -> bytes:
    return match[0] if match[1] is None else REPLACEMENT
