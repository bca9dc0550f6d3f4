"""Wren's language: a prompt as the instructions in it, one on a line, and a fenced text behind `write`."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Final

VERBS: Final = ("todo", "find", "read", "write", "replace", "run", "say", "think", "ask")

_FENCE: Final = re.compile(r"\s*(`{3,}|~{3,})[^`]*$")
_QUOTED: Final = re.compile(r'"(?:[^"\\]|\\.)*"')
_NEEDS: Final = {
    "find": "a text: find TEXT",
    "read": "a path: read PATH",
    "write": "a path, and the text between fences (```) on the lines below it: write PATH",
    "replace": 'a path and two quoted texts: replace PATH "old" "new"',
    "run": "a command: run COMMAND",
    "say": "something to say: say TEXT",
    "think": "something to think about: think TEXT",
    "ask": "a question: ask QUESTION",
}


@dataclass(frozen=True)
class Instruction:
    """One thing to do. `rest` is what follows the verb; `texts` what it comes with: written, or old and new."""

    verb: str
    rest: str = ""
    texts: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        return f"{self.verb} {self.rest}".strip()


@dataclass(frozen=True)
class Misunderstood:
    """A line that is none of Wren's instructions, or lacks something; `needs` says what."""

    line: str
    needs: str | None = None


def instructions_in(text: str) -> list[Instruction | Misunderstood]:
    """What a prompt asks for, in order."""
    found: list[Instruction | Misunderstood] = []
    lines = text.split("\n")
    at = 0
    while at < len(lines):
        line = lines[at].strip()
        at += 1
        if not line:
            continue
        verb, _, rest = line.removeprefix("/").partition(" ")
        verb, rest = verb.lower(), rest.strip()
        if verb == "write":
            written, at = _fenced(lines, at)
            found.append(_instruction(line, verb, _unquoted(rest), None if written is None else (written,)))
        elif verb == "replace":
            path, texts = _path_and_two_texts(rest)
            found.append(_instruction(line, verb, path, texts))
        elif verb == "todo" and not rest:
            found.append(Instruction(verb))
        elif verb in VERBS and verb != "todo":
            found.append(_instruction(line, verb, _unquoted(rest) if verb == "read" else rest, ()))
        else:
            found.append(Misunderstood(line))
    return found


def _instruction(line: str, verb: str, rest: str, texts: tuple[str, ...] | None) -> Instruction | Misunderstood:
    if not rest or texts is None:
        return Misunderstood(line, f"{verb} needs {_NEEDS[verb]}")
    return Instruction(verb, rest, texts)


def _fenced(lines: list[str], at: int) -> tuple[str | None, int]:
    """The text between fences that begins at a line, or after blank ones; and the line behind it."""
    start = at
    while start < len(lines) and not lines[start].strip():
        start += 1
    opening = _FENCE.match(lines[start]) if start < len(lines) else None
    if opening is None:
        return None, at
    fence = opening.group(1)
    for end in range(start + 1, len(lines)):
        closing = lines[end].strip()
        if closing and set(closing) == {fence[0]} and len(closing) >= len(fence):
            return "".join(line + "\n" for line in lines[start + 1 : end]), end + 1
    return None, len(lines)


def _path_and_two_texts(rest: str) -> tuple[str, tuple[str, ...] | None]:
    if rest.startswith('"'):
        quoted = _QUOTED.match(rest)
        if quoted is None:
            return "", None
        path, rest = _string(quoted.group()), rest[quoted.end() :]
    else:
        path, _, rest = rest.partition(" ")
    pieces = _QUOTED.findall(rest)
    if len(pieces) != 2 or _QUOTED.sub("", rest).strip():
        return path, None
    old, new = map(_string, pieces)
    return path, (old, new) if old else None


def _unquoted(text: str) -> str:
    return _string(text) if _QUOTED.fullmatch(text) else text


def _string(quoted: str) -> str:
    r"""What stands between quotes, with \n, \t, \" and the like as JSON has them."""
    try:
        value = json.loads(quoted, strict=False)
    except ValueError:
        return quoted[1:-1]
    return value if isinstance(value, str) else quoted[1:-1]
