"""A second, plain decoder of ACP v2 that interprets the JSON schema: slow, obvious, and written apart from the first.

It shares nothing with roost but the schema file, and the one thing the schema says only in prose: which fields are
patches. `read` gives an explicit value, the same shape `plain` gives of a decoded struct, so that the two can be
compared: objects as dicts with every known member, `UNSET` and `Other` as they are named here.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SCHEMA_FILE = Path(__file__).resolve().parents[2] / "schema" / "acp.v2.json"
DEFS: dict[str, dict[str, Any]] = json.loads(SCHEMA_FILE.read_text())["$defs"]

DOE = "x-deserialize-default-on-error"
SKIP = "x-deserialize-skip-invalid-items"
PATCHES = {"ToolCallUpdate", "TerminalUpdate", "UserMessage", "AgentMessage", "AgentThought", "SessionInfoUpdate"}
RANGES = {
    "uint16": (0, 2**16 - 1),
    "uint32": (0, 2**32 - 1),
    "uint64": (0, 2**64 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
}


class Bad(Exception):
    """The value is not what the schema says."""


@dataclass(frozen=True)
class Special:
    name: str

    def __repr__(self) -> str:
        return self.name


UNSET = Special("UNSET")
HUGE = Special("HUGE")
"""Stands for an integer token no Python int is made of."""


@dataclass(frozen=True)
class Other:
    """An unknown variant; `text` is its JSON with the order of members kept."""

    text: str


Path_ = tuple[str | int, ...]


@dataclass
class Reading:
    value: Any
    losses: list[Path_]


def parse(text: bytes) -> Any:
    """JSON by the letter: no NaN, no lone surrogates, UTF-8 only."""

    def refuse(token: str) -> None:
        raise Bad(token)

    def integer(token: str) -> Any:
        return int(token) if len(token) <= 4000 else HUGE

    try:
        value = json.loads(text.decode("utf-8"), parse_constant=refuse, parse_int=integer)
    except (ValueError, RecursionError) as error:
        raise Bad("not JSON") from error
    refuse_surrogates(value)
    return value


def refuse_surrogates(value: Any) -> None:
    if isinstance(value, str):
        if any("\ud800" <= letter <= "\udfff" for letter in value):
            raise Bad("surrogate")
    elif isinstance(value, dict):
        for key, inner in value.items():
            refuse_surrogates(key)
            refuse_surrogates(inner)
    elif isinstance(value, list):
        for inner in value:
            refuse_surrogates(inner)


def decode(name: str, text: bytes) -> Reading:
    """One definition of the schema, leniently."""
    return read({"$ref": f"#/$defs/{name}"}, parse(text), ())


def read(schema: dict[str, Any], value: Any, path: Path_, owner: str = "") -> Reading:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return read(DEFS[name], value, path, name)
    if "not" in schema and matches(schema["not"], value):
        raise Bad("excluded")
    if "properties" in schema:
        return read_object(schema, value, path, owner)
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return first(schema[key], value, path, owner)
    if "allOf" in schema:
        (only,) = schema["allOf"]
        return read(only, value, path, owner)
    kinds = schema.get("type")
    if kinds is None:
        refuse_unrepresentable(value)
        return Reading(value, [])
    if isinstance(kinds, list):
        if value is None and "null" in kinds:
            return Reading(None, [])
        (kinds,) = [kind for kind in kinds if kind != "null"]
    return read_kind(kinds, schema, value, path)


def first(options: list[dict[str, Any]], value: Any, path: Path_, owner: str) -> Reading:
    for option in options:
        try:
            return read(option, value, path, owner)
        except Bad:
            continue
    raise Bad("none of the alternatives")


def read_kind(kind: str, schema: dict[str, Any], value: Any, path: Path_) -> Reading:
    if "const" in schema and (value != schema["const"] or type(value) is not type(schema["const"])):
        raise Bad("another constant")
    if kind == "null":
        expect(value is None)
    elif kind == "string":
        expect(isinstance(value, str))
    elif kind == "boolean":
        expect(isinstance(value, bool))
    elif kind == "integer":
        low, high = RANGES[schema["format"]]
        expect(type(value) is int and low <= value <= high)
    elif kind == "number":
        expect(type(value) in (int, float))
        try:
            value = float(value)
        except OverflowError:
            raise Bad("too large") from None
        expect(math.isfinite(value))
    elif kind == "array":
        return read_array(schema, value, path)
    else:
        assert kind == "object"
        expect(isinstance(value, dict))
        if schema.get("additionalProperties") is True:
            refuse_unrepresentable(value)
            return Reading(value, [])
        inner = {key: read(schema["additionalProperties"], item, (*path, key)) for key, item in value.items()}
        return Reading(
            {key: item.value for key, item in inner.items()}, [loss for item in inner.values() for loss in item.losses]
        )
    return Reading(value, [])


def read_array(schema: dict[str, Any], value: Any, path: Path_) -> Reading:
    expect(isinstance(value, list))
    kept, losses = [], []
    for index, item in enumerate(value):
        try:
            reading = read(schema["items"], item, (*path, index))
        except Bad:
            if not schema.get(SKIP):
                raise
            losses.append((*path, index))
        else:
            kept.append(reading.value)
            losses += reading.losses
    return Reading(kept, losses)


def read_object(schema: dict[str, Any], value: Any, path: Path_, owner: str) -> Reading:
    expect(isinstance(value, dict))
    fields: dict[str, Any] = {}
    losses: list[Path_] = []
    for name, member in schema["properties"].items():
        reading = read_member(schema, name, member, value, path, owner)
        fields[name] = reading.value
        losses += reading.losses
    parts = [read(option, value, path) for option in schema.get("allOf", ())]
    if "anyOf" in schema:
        parts.append(first(schema["anyOf"], value, path, owner))
    if "not" in schema or any(isinstance(part.value, Other) for part in parts):
        return Reading(Other(json.dumps(value, default=repr)), [])
    for part in parts:
        fields |= part.value
        losses += part.losses
    return Reading(fields, losses)


def read_member(schema: dict[str, Any], name: str, member: Any, value: Any, path: Path_, owner: str) -> Reading:
    required = name in schema.get("required", ())
    if name not in value:
        if required:
            raise Bad(f"{name} is missing")
        return Reading(default(owner, member), [])
    try:
        return read(member, value[name], (*path, name))
    except Bad:
        if not member.get(DOE):
            raise
        return Reading([] if required else default(owner, member), [(*path, name)])


def default(owner: str, member: dict[str, Any]) -> Any:
    """What stands for a field that is not there, or whose value was forgiven."""
    if owner in PATCHES and member.get(DOE):
        return UNSET
    if "default" in member:
        return read(member, member["default"], ()).value
    if member.get("type") == "array":
        return []
    if member.get("type") == "object":
        return {}
    return None


def matches(schema: dict[str, Any], value: Any) -> bool:
    """Plain JSON schema matching, for the clauses that exclude known tags."""
    if "anyOf" in schema:
        return any(matches(option, value) for option in schema["anyOf"])
    if not isinstance(value, dict):
        return False
    return all(name in value and value[name] == schema["properties"][name]["const"] for name in schema["required"])


def refuse_unrepresentable(value: Any) -> None:
    if value is HUGE or (isinstance(value, float) and not math.isfinite(value)):
        raise Bad("a number Python cannot hold")
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            refuse_unrepresentable(inner)


def expect(holds: bool) -> None:
    if not holds:
        raise Bad("wrong type")
