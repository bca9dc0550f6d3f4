"""Whether a version fits a range, as npm's `engines` and Python's `Requires-Python` write them.

Only what can be understood counts: a range that is written in another way says nothing, and nobody is stopped by it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

Version = tuple[int, int, int]

_NUMBER = r"[0-9]{1,9}"
_VERSION = re.compile(rf"\s*v?({_NUMBER})(?:\.({_NUMBER}))?(?:\.({_NUMBER}))?(?![0-9])")
_PART = rf"(?:{_NUMBER}|[xX*])"
_COMPARATOR = re.compile(rf"(>=|<=|==|~=|!=|=|>|<|\^|~)?v?({_PART}(?:\.{_PART}){{0,2}})(?:[-+][0-9A-Za-z.+-]*)?\Z")
_HYPHEN = re.compile(r"(\S+)\s+-\s+(\S+)\Z")
_SPACED_OPERATOR = re.compile(r"(>=|<=|==|~=|!=|=|>|<|\^|~)\s+")
_WILD = ("x", "X", "*")


def version_in(text: str) -> Version | None:
    """The first three numbers of a version, `v22.14.0` or `3.12`; what comes after them does not count."""
    found = _VERSION.match(text)
    return None if found is None else (int(found[1]), int(found[2] or 0), int(found[3] or 0))


def fits(version: Version, wanted: str) -> bool | None:
    """Whether the version is in the range; None when the range cannot be understood."""
    answers = [_fits_all(version, part) for part in wanted.split("||")]
    if True in answers:
        return True
    return None if None in answers else False


def _fits_all(version: Version, part: str) -> bool | None:
    part = part.strip()
    if part in ("", "*"):
        return True
    hyphen = _HYPHEN.match(part)
    if hyphen is not None:
        return _all([_fits_one(version, f">={hyphen[1]}"), _fits_one(version, f"<={hyphen[2]}")])
    words = _SPACED_OPERATOR.sub(r"\1", part).replace(",", " ").split()
    return _all([_fits_one(version, word) for word in words])


def _all(answers: Sequence[bool | None]) -> bool | None:
    if False in answers:
        return False
    return None if None in answers else True


def _fits_one(version: Version, word: str) -> bool | None:
    found = _COMPARATOR.match(word)
    if found is None:
        return None
    operator, given = found[1] or "=", found[2].split(".")
    while given and given[-1] in _WILD:
        del given[-1]
    if not all(number.isdigit() for number in given):
        return None
    numbers = [int(number) for number in given]
    if not numbers:
        return True if operator in ("=", "==", ">=", "<=", "^", "~") else None
    low = (*numbers, 0, 0)[:3]
    return _COMPARISONS[operator](version, low, numbers)


def _after(numbers: Sequence[int], place: int) -> Version:
    """The first version that differs in that place."""
    raised = [*numbers[:place], numbers[place] + 1, 0, 0][:3]
    return (raised[0], raised[1], raised[2])


def _caret(version: Version, low: tuple[int, ...], numbers: Sequence[int]) -> bool:
    """No change of the first number that is not 0."""
    place = next((place for place, number in enumerate(numbers) if number), len(numbers) - 1)
    return low <= version < _after(numbers, place)


def _compatible(version: Version, low: tuple[int, ...], numbers: Sequence[int]) -> bool:
    """Python's `~=`: all numbers but the last stay."""
    return low <= version and (len(numbers) < 2 or version < _after(numbers, len(numbers) - 2))


_COMPARISONS: dict[str, Callable[[Version, tuple[int, ...], Sequence[int]], bool]] = {
    "=": lambda version, low, numbers: list(version[: len(numbers)]) == list(numbers),
    "==": lambda version, low, numbers: list(version[: len(numbers)]) == list(numbers),
    "!=": lambda version, low, numbers: list(version[: len(numbers)]) != list(numbers),
    ">=": lambda version, low, numbers: version >= low,
    "<": lambda version, low, numbers: version < low,
    ">": lambda version, low, numbers: version >= _after(numbers, len(numbers) - 1),
    "<=": lambda version, low, numbers: version < _after(numbers, len(numbers) - 1),
    "^": _caret,
    "~": lambda version, low, numbers: low <= version < _after(numbers, min(1, len(numbers) - 1)),
    "~=": _compatible,
}
