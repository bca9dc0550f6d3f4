"""Whether JSON is exactly what a type says: no leniency, no members of somebody's own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from msgspec import Struct

from roost.acp import v2
from roost.errors import CodecError, format_path
from roost.wire.decode import convert

LATER: Final[dict[type, tuple[str, ...]]] = {v2.PromptResponse: ("messageId",)}
"""Members that a later draft requires: an agent that serves its clients too sends them, and ours ignore them."""


class Strictness(NamedTuple):
    """What was found. `value` is the typed value, None when there is none."""

    value: Any
    faults: tuple[str, ...]
    """What a lenient reader would drop, default or refuse: `content[0]: missing (at changes)`."""
    foreign: tuple[str, ...]
    """Paths of members the type does not have."""


def examine(kind: Any, plain: Any) -> Strictness:
    """One parsed JSON value as that type."""
    faults: list[str] = []
    try:
        value = convert(kind, plain, on_loss=lambda path, what: faults.append(f"{format_path(path)}: {what}"))
    except CodecError as error:
        return Strictness(None, (str(error),), ())
    # Where items were dropped, the rest does not line up any more.
    foreign = () if faults else tuple(format_path(path) for path in _foreign(value, plain, ()))
    return Strictness(value, tuple(faults), foreign)


def _foreign(value: Any, plain: Any, path: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
    if isinstance(value, Struct) and isinstance(plain, dict):
        names = dict(zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True))
        tag_field = value.__struct_config__.tag_field
        for key, inner in plain.items():
            if key in names:
                yield from _foreign(getattr(value, names[key]), inner, (*path, key))
            elif key != tag_field and key not in LATER.get(type(value), ()):
                yield (*path, key)
    elif isinstance(value, list) and isinstance(plain, list):
        for index, (one, other) in enumerate(zip(value, plain, strict=False)):
            yield from _foreign(one, other, (*path, index))
