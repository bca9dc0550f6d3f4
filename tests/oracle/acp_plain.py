"""Decoded values in the shape the reference decoder gives, so that the two can be compared."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from roost.acp import v2
from roost.wire.model import Unknown
from tests.oracle.acp_reference import DEFS, UNSET, Other


def plain(value: Any) -> Any:
    """A decoded value as dicts and lists with every member named as on the wire."""
    if isinstance(value, Unknown):
        return Other(json.dumps(json.loads(value.raw, parse_int=_integer), default=repr))
    if isinstance(value, msgspec.Struct):
        names = zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True)
        members = {wire: plain(getattr(value, name)) for wire, name in names}
        if tag_field := value.__struct_config__.tag_field:
            members = {tag_field: value.__struct_config__.tag, **members}
        for alternative in getattr(type(value), "ONE_OF", ()):
            if any(members[wire] is UNSET for wire in _required(alternative)):
                for wire in alternative.__struct_encode_fields__:
                    members.pop(wire)
        return members
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [plain(inner) for inner in value]
    return UNSET if value is v2.UNSET else value


def plain_as(name: str, value: Any) -> Any:
    """`plain`, without the tag a struct carries when its definition alone has none."""
    members = plain(value)
    schema = DEFS[name]
    if name == "StateUpdate" and isinstance(members, dict):
        members.pop("sessionUpdate")  # its arms are made for SessionUpdate
    if isinstance(members, dict) and "properties" in schema and "anyOf" not in schema:
        return {wire: member for wire, member in members.items() if wire in schema["properties"]}
    return members


def same(one: Any, other: Any) -> bool:
    """Equality that tells 1, 1.0 and True apart, as JSON does."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def _required(cls: Any) -> list[str]:
    return [field.encode_name for field in msgspec.structs.fields(cls) if field.required]


def _integer(token: str) -> Any:
    from tests.oracle.acp_reference import HUGE

    return int(token) if len(token) <= 4000 else HUGE
