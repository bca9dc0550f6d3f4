"""Reading JSON that an agent wrote: what cannot be read counts as absent.

Such JSON is well-formed by its grammar, in UTF-8, and no more: a number may be out of any range, a structure deeper
than whoever reads it can follow. What is only passed on stays raw and keeps every digit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

Json = Mapping[str, msgspec.Raw]

# What decoding can raise. Older msgspec lets Python's own error out for a string that is not UTF-8.
UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)

_decode_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_items = msgspec.json.Decoder(list[msgspec.Raw]).decode


def decoded(raw: bytes | msgspec.Raw | None) -> Any:
    """The value, or None."""
    try:
        return None if raw is None else msgspec.json.decode(raw)
    except UNREADABLE:
        return None


def members(raw: bytes | msgspec.Raw | None) -> dict[str, msgspec.Raw] | None:
    """The members of an object, each of them raw; None for anything else."""
    try:
        return None if raw is None else _decode_members(raw)
    except UNREADABLE:
        return None


def items(raw: bytes | msgspec.Raw | None) -> list[msgspec.Raw] | None:
    """The elements of an array, each of them raw and a copy; None for anything else."""
    try:
        return None if raw is None else [item.copy() for item in _decode_items(raw)]
    except UNREADABLE:
        return None


def text(raw: msgspec.Raw | None) -> str | None:
    """The JSON itself."""
    return None if raw is None else bytes(raw).decode()


def string(raw: msgspec.Raw | None) -> str | None:
    """The value when it is a string."""
    value = decoded(raw)
    return value if isinstance(value, str) else None


def member(raw: msgspec.Raw | None, name: str) -> Any:
    """The value of one member of an object, or None."""
    found = members(raw)
    return None if found is None else decoded(found.get(name))


def encoded(value: Any) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(value))


def compact(raw: str) -> bytes:
    """A caller's JSON text, checked, on one line. Raises ValueError saying what is wrong with it."""
    try:
        return msgspec.json.format(raw.encode(), indent=-1)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        raise ValueError(str(error)) from None


def compacted(raw: msgspec.Raw) -> str:
    """An agent's JSON without blanks between its tokens, as far as it can be followed."""
    found = bytes(raw).decode()
    try:
        return compact(found).decode()
    except ValueError:
        return found


class _Notice(msgspec.Struct):
    class Params(msgspec.Struct):
        update: dict[str, msgspec.Raw]

    params: Params


def update_body(line: bytes) -> dict[str, msgspec.Raw]:
    """`params.update` of a session/update line, each member raw."""
    try:
        return msgspec.json.decode(line, type=_Notice).params.update
    except UNREADABLE:
        return {}


def renamed(line: bytes, live_id: str, session_id: str) -> bytes:
    """A line of an agent that knows the session under another id than its owner does."""
    message = members(line)
    params = None if message is None else members(message.get("params"))
    if message is None or params is None or string(params.get("sessionId")) != live_id:
        return line
    params["sessionId"] = encoded(session_id)
    message["params"] = encoded(params)
    return msgspec.json.encode(message)
