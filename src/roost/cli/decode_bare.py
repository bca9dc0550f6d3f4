"""What `roost decode --bare` can read: the sidecar's messages and frames, from hex."""

from __future__ import annotations

from enum import Enum
from typing import Any

from msgspec import Raw, Struct

from roost.cli.decode_types import Readable, Seen
from roost.errors import CodecError
from roost.sidecar.gen import frames, messages
from roost.wire.decode import encode

TYPES = {**messages.TYPES, **frames.TYPES}


def names() -> list[str]:
    """Every name `find` knows, in the schemas' order."""
    return list(TYPES)


def find(name: str) -> Readable | None:
    """The reader of a type of either schema."""
    if name not in TYPES:
        return None
    _, decode = TYPES[name]
    return lambda line: read(name, decode, line)


def read(name: str, decode: Any, line: bytes) -> Seen:
    """One value in hex, spaces allowed. A member of a union says in `type` which one it is."""
    try:
        data = bytes.fromhex(line.decode("ascii"))
    except ValueError:  # not ASCII included
        return Seen(None, "not hex")
    try:
        value = decode(data)
        plain = shown(value)
        if isinstance(value, Struct) and type(value).__name__ != name:
            plain = {"type": type(value).__name__, **plain}
        return Seen(Raw(encode(plain)))
    except CodecError as error:
        return Seen(None, error.message, error.path)


def shown(value: Any) -> Any:
    """A decoded value as JSON data: the schema's field names, bytes as hex, an absent optional as null."""
    if isinstance(value, Struct):
        return {camel(name): shown(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Enum):
        return value.name
    if isinstance(value, dict):
        return {key: shown(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [shown(inner) for inner in value]
    return value


def camel(attribute: str) -> str:
    """A field's name in the schema."""
    head, *rest = attribute.rstrip("_").split("_")
    return head + "".join(word.capitalize() for word in rest)
