"""Untyped JSON as the bridge handles it: read without trust, written strictly.

Payloads of v1 are plain JSON values; there is no second typed model. What becomes v2 passes through `strict`, so that
no reader ever has to forgive it (W1 to W7).
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from roost.acp.bridge.losses import Losses
from roost.errors import CodecError, RpcError, format_path
from roost.rpc.messages import INVALID_PARAMS, UNDECODABLE
from roost.wire.decode import decode, encode

Json: TypeAlias = dict[str, Any]

_decode = msgspec.json.Decoder().decode


def parse(data: bytes | msgspec.Raw | None) -> Any:
    """The JSON value, or None when Python cannot hold it. UTF-8 is checked by whoever took the message in."""
    if data is None:
        return None
    try:
        return _decode(data)
    except UNDECODABLE:
        return None


def parse_object(data: bytes | msgspec.Raw | None) -> Json:
    """The JSON object; an empty one for anything else."""
    return as_object(parse(data))


def as_object(value: Any) -> Json:
    return value if isinstance(value, dict) else {}


def objects(value: Any) -> list[Json]:
    """The objects of a list; nothing for anything else."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def as_text(value: Any, default: str = "") -> str:
    return value if isinstance(value, str) else default


def is_offered(value: Any) -> bool:
    """Whether a v1 capability says yes: `true`, or an object (INI-11, INI-12)."""
    return value is True or isinstance(value, dict)


def picked(source: Json, *names: str) -> Json:
    """Those members that are there and not null, by the same names."""
    return {name: source[name] for name in names if source.get(name) is not None}


def with_meta(target: Json, *sources: Any) -> Json:
    """`target` with the `_meta` of the objects it was made of (BR-4)."""
    for source in sources:
        meta = source.get("_meta") if isinstance(source, dict) else None
        if isinstance(meta, dict) and meta:
            target["_meta"] = {**target.get("_meta", {}), **meta}
    return target


def noted(target: Json, **facts: Any) -> Json:
    """`target` with a note of the bridge in its `_meta` (BR-4)."""
    meta = as_object(target.get("_meta"))
    target["_meta"] = {**meta, NOTE: {**as_object(meta.get(NOTE)), **facts}}
    return target


def note_of(value: Any) -> Json:
    """The note a bridge left in an object's `_meta`."""
    return as_object(as_object(as_object(value).get("_meta")).get(NOTE))


def without_note(value: Json) -> Json:
    """The same object, its `_meta` as it was before a bridge added its note."""
    meta = value.get("_meta")
    if not isinstance(meta, dict) or NOTE not in meta:
        return value
    rest = {name: item for name, item in meta.items() if name != NOTE}
    value = {name: item for name, item in value.items() if name != "_meta"}
    return {**value, "_meta": rest} if rest else value


NOTE = "_bridge"
"""The member of `_meta` that holds what a bridge has to say about an object."""


def strict(type: Any, value: Any, losses: Losses) -> bytes | None:
    """`value` as JSON that a strict reader takes for a `type`; None when no reader would.

    What a lenient reader would forgive is taken out here, and counted.
    """
    try:
        data = encode(value)
        forgiven: list[str] = []
        typed = decode(type, data, on_loss=lambda path, what: forgiven.append(what))
        if not forgiven:
            return data
        losses.count("malformed_field")
        return encode(typed)
    except CodecError:
        return None


def invalid_params(text: str, path: tuple[str | int, ...] = ()) -> RpcError:
    return RpcError(INVALID_PARAMS, f"Invalid params: {text}", {"path": format_path(path)} if path else None)
