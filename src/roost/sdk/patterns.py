"""Regular expressions that cannot run away: what a form's `pattern` is checked with (ELI-8).

The expression becomes a machine whose states are followed all at once, so the time is bounded by its size times the
text's length, whatever the two are. The dialect is what JSON Schema recommends of ECMA-262: characters, classes,
anchors, groups, alternatives, repetition. Back-references and look-around cannot be had at that price.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Final, NamedTuple

from roost.errors import CodecError

MAX_STATES: Final = 2000  # of one machine; `{1,1000}` of something small fits
MAX_STEPS: Final = 5_000_000  # states times characters: a few seconds at the very worst; ours

_Test = Callable[[str], bool]


class _Op(NamedTuple):
    """One instruction: consume a character that passes, go two ways, or hold at a place."""

    kind: str  # char, split, jump, begin, end, word, nonword, match
    test: _Test | None = None
    one: int = 0
    two: int = 0


def matches(pattern: str, text: str) -> bool | None:
    """Whether the pattern is found anywhere in the text; None when that cannot be told within bounds.

    CodecError: the pattern is malformed, or uses what this dialect lacks.
    """
    program = _compile(pattern)
    if len(program) * (len(text) + 1) > MAX_STEPS:
        return None
    current: set[int] = set()
    for at in range(len(text) + 1):
        if _follow(program, current, 0, text, at):
            return True
        if at == len(text):
            break
        following: set[int] = set()
        for state in current:
            op = program[state]
            if op.test is not None and op.test(text[at]) and _follow(program, following, state + 1, text, at + 1):
                return True
        current = following
    return False


def _follow(program: list[_Op], states: set[int], state: int, text: str, at: int) -> bool:
    """Adds a state and all it leads to without a character; returns whether one of them is the goal."""
    stack = [state]
    while stack:
        state = stack.pop()
        if state in states:
            continue
        op = program[state]
        if op.kind == "match":
            return True
        states.add(state)
        if op.kind == "split":
            stack += (op.two, op.one)
        elif op.kind == "jump":
            stack.append(op.one)
        elif op.kind != "char" and _holds(op.kind, text, at):
            stack.append(state + 1)
    return False


def _holds(place: str, text: str, at: int) -> bool:
    if place == "begin":
        return at == 0
    if place == "end":
        return at == len(text)
    before = at > 0 and _is_word(text[at - 1])
    after = at < len(text) and _is_word(text[at])
    return (before is not after) is (place == "word")


def _is_word(char: str) -> bool:
    return char == "_" or (char.isascii() and char.isalnum())


def _is_digit(char: str) -> bool:
    return "0" <= char <= "9"


@lru_cache(maxsize=64)
def _compile(pattern: str) -> list[_Op]:
    parser = _Parser(pattern)
    try:
        program = parser.alternatives()
    except RecursionError:
        raise CodecError("a pattern nested too deeply") from None
    if parser.more():
        raise CodecError("a pattern with a parenthesis too many")
    return [*program, _Op("match")]


_CLASSES: Final[dict[str, _Test]] = {
    "d": _is_digit,
    "D": lambda char: not _is_digit(char),
    "w": _is_word,
    "W": lambda char: not _is_word(char),
    "s": str.isspace,
    "S": lambda char: not char.isspace(),
}
_CONTROLS: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v", "0": "\0"}
_PLACES: Final = {"b": "word", "B": "nonword"}


def _equals(wanted: str) -> _Test:
    return lambda char: char == wanted


class _Parser:
    """Recursive descent; each method returns a piece of program whose jumps count from its own start."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0

    def more(self) -> bool:
        return self._at < len(self._pattern)

    def _peek(self) -> str:
        return self._pattern[self._at : self._at + 1]

    def _take(self) -> str:
        char = self._peek()
        if not char:
            raise CodecError("a pattern that ends too early")
        self._at += 1
        return char

    def _took(self, text: str) -> bool:
        if self._pattern.startswith(text, self._at):
            self._at += len(text)
            return True
        return False

    def alternatives(self) -> list[_Op]:
        program = self._sequence()
        while self._took("|"):
            other = self._sequence()
            # split(first, second) first jump(over second) second
            program = [
                _Op("split", one=1, two=len(program) + 2),
                *_moved(program, 1),
                _Op("jump", one=len(program) + 2 + len(other)),
                *_moved(other, len(program) + 2),
            ]
            _check(program)
        return program

    def _sequence(self) -> list[_Op]:
        program: list[_Op] = []
        while self.more() and self._peek() not in "|)":
            program += _moved(self._repeated(), len(program))
            _check(program)
        return program

    def _repeated(self) -> list[_Op]:
        piece = self._atom()
        while (bounds := self._bounds()) is not None:
            self._took("?")  # lazy or greedy: the same texts match
            piece = _repeat(piece, *bounds)
        return piece

    def _bounds(self) -> tuple[int, int | None] | None:
        for sign, bounds in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self._took(sign):
                return bounds
        end = self._pattern.find("}", self._at)
        if self._peek() != "{" or end < 0:
            return None
        low, comma, high = self._pattern[self._at + 1 : end].partition(",")
        if not low.isdecimal() or (high and not high.isdecimal()) or len(low) > 6 or len(high) > 6:
            return None  # a brace like any other character
        self._at = end + 1
        least = int(low)
        most = least if not comma else int(high) if high else None
        if most is not None and most < least:
            raise CodecError("a pattern that repeats at least more than at most")
        return least, most

    def _atom(self) -> list[_Op]:
        char = self._take()
        if char == "(":
            if self._took("?") and not self._took(":"):
                raise CodecError("a pattern with look-around or a named group")
            inner = self.alternatives()
            if not self._took(")"):
                raise CodecError("a pattern with a parenthesis too few")
            return inner
        if char == "[":
            return [_Op("char", self._class())]
        if char in "^$":
            return [_Op("begin" if char == "^" else "end")]
        if char == ".":
            return [_Op("char", lambda char: char not in "\n\r\u2028\u2029")]
        if char == "\\":
            place = _PLACES.get(self._peek())
            if place is not None:
                self._take()
                return [_Op(place)]
            escaped = self._escape()
            return [_Op("char", _equals(escaped) if isinstance(escaped, str) else escaped)]
        if char in "*+?":
            raise CodecError("a pattern that repeats nothing")
        return [_Op("char", _equals(char))]

    def _class(self) -> _Test:
        negated = self._took("^")
        singles: set[str] = set()
        ranges: list[tuple[str, str]] = []
        tests: list[_Test] = []
        while not self._took("]"):
            low = self._member()
            if not isinstance(low, str):
                tests.append(low)
            elif self._peek() == "-" and self._pattern[self._at + 1 : self._at + 2] not in ("]", ""):
                self._take()
                high = self._member()
                if not isinstance(high, str) or high < low:
                    raise CodecError("a pattern with a range that is none")
                ranges.append((low, high))
            else:
                singles.add(low)

        def test(char: str) -> bool:
            found = (
                char in singles
                or any(low <= char <= high for low, high in ranges)
                or any(inner(char) for inner in tests)
            )
            return found is not negated

        return test

    def _member(self) -> str | _Test:
        char = self._take()
        if char != "\\":
            return char
        return "\b" if self._took("b") else self._escape()

    def _escape(self) -> str | _Test:
        char = self._take()
        if char in _CLASSES:
            return _CLASSES[char]
        if char in "ux":
            digits = self._pattern[self._at : self._at + (4 if char == "u" else 2)]
            if len(digits) == (4 if char == "u" else 2) and all(digit in "0123456789abcdefABCDEF" for digit in digits):
                self._at += len(digits)
                return chr(int(digits, 16))
            raise CodecError("a pattern with a character code that is none")
        if char in _CONTROLS:
            return _CONTROLS[char]
        if char.isalnum():
            raise CodecError("a pattern with a back-reference or an unknown escape")
        return char


def _moved(program: list[_Op], by: int) -> list[_Op]:
    return [op._replace(one=op.one + by, two=op.two + by) if op.kind in ("split", "jump") else op for op in program]


def _repeat(piece: list[_Op], least: int, most: int | None) -> list[_Op]:
    copies = max(least, 1) if most is None else most
    if (len(piece) + 2) * max(copies, 1) > MAX_STATES:
        raise CodecError(f"a pattern of more than {MAX_STATES} states")
    program: list[_Op] = []
    for _ in range(least):
        program += _moved(piece, len(program))
    if most is None:
        start = len(program)
        # split(piece, out) piece jump(split)
        program += [_Op("split", one=start + 1, two=start + len(piece) + 2), *_moved(piece, start + 1)]
        program.append(_Op("jump", one=start))
    else:
        end = len(program) + (most - least) * (len(piece) + 1)
        for _ in range(most - least):
            start = len(program)
            program += [_Op("split", one=start + 1, two=end), *_moved(piece, start + 1)]
    return program


def _check(program: list[_Op]) -> None:
    if len(program) > MAX_STATES:
        raise CodecError(f"a pattern of more than {MAX_STATES} states")
