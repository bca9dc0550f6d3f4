"""JSON bytes to typed values and back: strict in C first, the lenient walk only when that fails.

Why did a bad optional field not fail? Because its annotation says `Lenient` or `Items`; `on_loss` tells when that
happened. What is written is always strict (W1 to W7).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, TypeAlias, TypeVar, overload

import msgspec
from msgspec import Raw, Struct
from msgspec.json import Decoder, Encoder

from roost.errors import CodecError
from roost.wire import model

T = TypeVar("T")

JsonBytes: TypeAlias = bytes | bytearray | memoryview | Raw
OnLoss: TypeAlias = Callable[[tuple[str | int, ...], str], None]

_strict_decoders: dict[Any, Callable[[Any], Any]] = {}
_plans: dict[Any, Any] = {}
_whole: Final = Decoder(Raw).decode


@overload
def decode(type: type[T], data: JsonBytes, *, on_loss: OnLoss | None = None) -> T: ...
@overload
def decode(type: Any, data: JsonBytes, *, on_loss: OnLoss | None = None) -> Any: ...
def decode(type: Any, data: JsonBytes, *, on_loss: OnLoss | None = None) -> Any:
    """One JSON text as a value of `type` (a generated type or alias).

    `on_loss(path, what)` is told of each field that fell to its default and each list item that was dropped, never with
    values (L20). CodecError, with the path: the text is not JSON, or what is wrong may not be forgiven.
    """
    strict = _strict_decoders.get(type)
    if strict is None:
        strict = _strict_decoders[type] = Decoder(type).decode
    try:
        # msgspec does not look at the UTF-8 of what it skips.
        if not (data if data.__class__ is bytes else bytes(data)).isascii():
            str(data, "utf-8")
        return strict(data)
    except UnicodeDecodeError as error:
        raise CodecError(f"not UTF-8 (byte {error.start})") from None
    except (msgspec.DecodeError, RecursionError):
        pass
    return _walk(type, data, on_loss)


def convert(type: Any, value: Any, *, on_loss: OnLoss | None = None) -> Any:
    """JSON data that is already parsed (dicts, lists, …) as a value of `type`, by the same rules as `decode`."""
    return decode(type, encode(value), on_loss=on_loss)


def _walk(type: Any, data: JsonBytes, on_loss: OnLoss | None) -> Any:
    from roost.wire import lenient

    try:
        raw = _whole(data)
    except msgspec.DecodeError as error:
        raise CodecError(f"not JSON: {error}") from None
    except RecursionError:
        raise CodecError("nested too deeply") from None
    losses = lenient.Losses()
    plan = _plans.get(type)
    if plan is None:
        plan = _plans[type] = lenient.node_of(type)
    try:
        value = plan.walk(raw, (), losses)
    except lenient.TooManyLosses:
        raise CodecError(f"more than {lenient.MAX_LOSSES} malformed fields and items") from None
    if on_loss is not None:
        for loss in losses.entries:
            on_loss(loss.path, str(loss))
    return value


def _encode_unknown(value: Any) -> Raw:
    if isinstance(value, model.Unknown):
        return Raw(value.raw)
    raise TypeError(f"{type(value).__name__} is not JSON")


_encode: Final = Encoder(enc_hook=_encode_unknown).encode


def encode(value: Any) -> bytes:
    """A generated value, or plain JSON data, as JSON on one line.

    CodecError, with the path where it can be found: a number that is not finite, a lone surrogate, a Python object that
    JSON does not know, or a structure nested too deeply.
    """
    try:
        data = _encode(value)
    except RecursionError:
        raise CodecError("nested too deeply") from None
    except (TypeError, ValueError, OverflowError, msgspec.MsgspecError) as error:
        raise _fault(value) or CodecError(str(error)) from None
    # msgspec writes NaN and the infinities as null.
    if b"null" in data and (fault := _fault(value)) is not None:
        raise fault
    if b"\n" in data or b"\r" in data:  # only kept payloads can have them, between their tokens
        try:
            data = msgspec.json.format(data, indent=-1)
        except (msgspec.DecodeError, RecursionError) as error:
            raise CodecError(f"a kept payload is not JSON: {error}") from None
    return data


def encode_checked(value: Struct) -> bytes:
    """`encode`, and the proof that a strict reader takes the result for a value of the same type.

    CodecError, with the path, also where a field holds what its annotation does not allow, such as an arm of a union
    without its tag. Costs one strict decode.
    """
    data = encode(value)
    losses: list[tuple[tuple[str | int, ...], str]] = []
    decode(type(value), data, on_loss=lambda path, what: losses.append((path, what)))
    if losses:
        path, what = losses[0]
        raise CodecError(f"not strict, {what}", path)
    return data


def _fault(value: Any) -> CodecError | None:
    """The first thing in `value` that cannot be written."""
    try:
        return _fault_inside(value, ())
    except RecursionError:
        return CodecError("nested too deeply")


def _fault_inside(value: Any, path: tuple[str | int, ...]) -> CodecError | None:
    if isinstance(value, float):
        return None if math.isfinite(value) else CodecError("a number that is not finite", path)
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return CodecError("a lone surrogate", path)
        return None
    if isinstance(value, Struct):
        fields = zip(value.__struct_encode_fields__, value.__struct_fields__, strict=True)
        steps: Any = ((wire, getattr(value, name)) for wire, name in fields)
    elif isinstance(value, dict):
        steps = value.items()
    elif isinstance(value, list | tuple | set | frozenset):
        steps = enumerate(value)
    else:
        try:
            _encode(value)
        except Exception as error:
            return CodecError(str(error), path)
        return None
    for step, inner in steps:
        if inner is model.UNSET:
            continue
        if isinstance(step, str):
            try:
                step.encode()
            except UnicodeEncodeError:
                return CodecError("a lone surrogate in a key", path)
        if (fault := _fault_inside(inner, (*path, step))) is not None:
            return fault
    return None
