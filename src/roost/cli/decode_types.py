"""What `roost decode` can read: the types of ACP v2 by name, and how a decoded value is shown.

Shown is what a program gets to see: a field that was not there, or was malformed and forgiven, with the default it has
now; a field without a value not at all. That is more than would be sent, where defaults are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw, Struct

from roost.acp import v2
from roost.acp.v2 import gen
from roost.errors import CodecError
from roost.wire.decode import decode, encode
from roost.wire.model import UNSET, Int32, Unknown

Path = tuple[str | int, ...]


class Seen(NamedTuple):
    """One line, read. `value` is JSON, or with `error`, there is none and `path` says where."""

    value: Raw | None
    error: str | None = None
    path: Path = ()
    losses: tuple[tuple[Path, str], ...] = ()


Readable = Callable[[bytes], Seen]


def names() -> list[str]:
    """Every name `find` knows: types, then methods."""
    types = sorted(name for name in gen.TOPIC_OF if name not in _TABLES)
    return [*types, *dict.fromkeys(method.name for method in v2.METHODS)]


def find(name: str) -> Readable | None:
    """The reader of a type, or of a method's params; of a request when there is a notification of that name too."""
    method = v2.REQUESTS.get(name) or v2.NOTIFICATIONS.get(name)
    name = name if method is None else method.params_name
    if name not in gen.TOPIC_OF or name in _TABLES:
        return None
    kind = getattr(v2, name)
    if isinstance(kind, type) and kind is not Any and not issubclass(kind, Struct | str | int | float | dict):
        # An open enum is a list of known values and no type of its own: any value of its kind will do.
        kind = Int32 if all(isinstance(value, int) for value in known_values(kind)) else str
    return lambda line: read(kind, line)


def known_values(enum: type) -> list[Any]:
    """The values an open enum has names for."""
    return [value for name, value in vars(enum).items() if name.isupper()]


def read(kind: Any, line: bytes) -> Seen:
    """One JSON text as a value of that type."""
    losses: list[tuple[Path, str]] = []
    try:
        value = decode(kind, line, on_loss=lambda path, what: losses.append((path, what)))
        plain = shown(value)
        if isinstance(plain, dict) and isinstance(value, Struct):
            _drop_added_tag(plain, value, line)
        return Seen(Raw(encode(plain)), losses=tuple(losses))
    except CodecError as error:
        return Seen(None, error.message, error.path)


def shown(value: Any) -> Any:
    """A decoded value as JSON data, its defaults written out."""
    if isinstance(value, Unknown):
        return Raw(value.raw)
    if isinstance(value, Struct):
        config = value.__struct_config__
        out: dict[str, Any] = {} if config.tag_field is None else {config.tag_field: config.tag}
        for field in msgspec.structs.fields(value):
            inner = getattr(value, field.name)
            # None that is the default says "nothing there"; None in a patch says "clear" and has another default.
            if inner is not UNSET and not (inner is None and field.default is None):
                out[field.encode_name] = shown(inner)
        return out
    if isinstance(value, dict):
        return {key: shown(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [shown(inner) for inner in value]
    return value


def _drop_added_tag(plain: dict[str, Any], value: Struct, line: bytes) -> None:
    """A variant read by its own name need not say which one it is; then it is not told either."""
    tag_field = value.__struct_config__.tag_field
    if tag_field is not None and tag_field not in msgspec.json.decode(line, type=dict[str, Raw]):
        del plain[tag_field]


_TABLES = {"METHODS", "REQUESTS", "NOTIFICATIONS"}
