"""The BARE primitives that generated codecs are made of.

Generated code (`python -m tools.gen_bare`) reads and writes straight from these and from nothing else. Conventions:

- A reader takes the whole input as `bytes` and a position. Where the input ends too early it lets `IndexError` or
  `struct.error` rise; the generated reader around it turns every member of `UNREADABLE` into a CodecError with
  `located`, adding the step it stands at. So the good path pays for no checks that C makes anyway.
- A writer lets TypeError and its kin rise likewise; `unencodable` makes each member of `UNENCODABLE` a CodecError.
- No message contains a value: values may be secrets. A path contains map keys, cut to `MAX_KEY_IN_PATH` characters.

Varints have one spelling: the shortest, at most ten bytes and 64 bits. A longer spelling of the same number is refused,
so equal values have equal bytes and a filter on bytes cannot be fooled.
"""

from __future__ import annotations

import struct
from enum import Enum
from typing import Final, TypeAlias

from roost.errors import CodecError

__all__ = [
    "UINTS",
    "UNENCODABLE",
    "UNREADABLE",
    "WITHHELD",
    "Buffer",
    "as_bytes",
    "blob",
    "cut_short",
    "duplicate_key",
    "key_step",
    "located",
    "pack_f32",
    "pack_f64",
    "pack_i16",
    "pack_i32",
    "pack_i64",
    "pack_i8",
    "pack_u16",
    "pack_u32",
    "pack_u64",
    "pack_u8",
    "read_uint",
    "sint",
    "too_many",
    "trailing",
    "uint",
    "unencodable",
    "unpack_f32",
    "unpack_f64",
    "unpack_i16",
    "unpack_i32",
    "unpack_i64",
    "unpack_i8",
    "unpack_u16",
    "unpack_u32",
    "unpack_u64",
    "utf8",
    "wrong_byte",
    "wrong_number",
    "wrong_type",
]

Buffer: TypeAlias = bytes | bytearray | memoryview

MAX_UINT: Final = 2**64 - 1  # BARE: a uint has at most 64 bits
MAX_KEY_IN_PATH: Final = 64  # keeps an error's text small when the key is hostile; ours
WITHHELD: Final = "<withheld>"  # what a repr shows of a secret field

UNREADABLE: Final = (CodecError, IndexError, UnicodeDecodeError, struct.error)
UNENCODABLE: Final = (CodecError, TypeError, ValueError, AttributeError, OverflowError, struct.error)

# --- writing ---------------------------------------------------------------------------------------------------------

utf8 = str.encode  # unbound: a value that is no str is a TypeError in C

pack_u8 = struct.Struct("<B").pack
pack_u16 = struct.Struct("<H").pack
pack_u32 = struct.Struct("<I").pack
pack_u64 = struct.Struct("<Q").pack
pack_i8 = struct.Struct("<b").pack
pack_i16 = struct.Struct("<h").pack
pack_i32 = struct.Struct("<i").pack
pack_i64 = struct.Struct("<q").pack
pack_f32 = struct.Struct("<f").pack
pack_f64 = struct.Struct("<d").pack


def uint(number: int) -> bytes:
    """A varint. Out of 0 … 2**64-1: ValueError; no int: TypeError."""
    if not isinstance(number, int):
        raise TypeError
    if not 0 <= number <= MAX_UINT:
        raise ValueError
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def sint(number: int) -> bytes:
    """A signed varint, zigzag: 0, -1, 1, -2 … become 0, 1, 2, 3 …"""
    if not isinstance(number, int):
        raise TypeError
    return uint(number << 1 if number >= 0 else (-number << 1) - 1)


UINTS: Final = tuple(uint(number) for number in range(1024))
"""The varints of 0 … 1023, for lengths: most strings are short."""


def blob(value: object) -> bytes:
    """The bytes of any bytes-like value a `data` field may hold."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    raise TypeError


# --- reading ---------------------------------------------------------------------------------------------------------

unpack_u16 = struct.Struct("<H").unpack_from
unpack_u32 = struct.Struct("<I").unpack_from
unpack_u64 = struct.Struct("<Q").unpack_from
unpack_i8 = struct.Struct("<b").unpack_from
unpack_i16 = struct.Struct("<h").unpack_from
unpack_i32 = struct.Struct("<i").unpack_from
unpack_i64 = struct.Struct("<q").unpack_from
unpack_f32 = struct.Struct("<f").unpack_from
unpack_f64 = struct.Struct("<d").unpack_from


def as_bytes(data: object) -> bytes:
    """The input as `bytes`; the one copy a bytearray or memoryview costs. Anything else is a CodecError."""
    if isinstance(data, bytes):
        return data
    if not isinstance(data, (bytearray, memoryview)):
        raise CodecError(f"expected bytes, got {type(data).__name__}")
    try:
        return bytes(data)
    except ValueError:
        raise CodecError("the memoryview was released") from None


def read_uint(buf: bytes, pos: int) -> tuple[int, int]:
    """The varint at `pos`, and the position after it."""
    byte = buf[pos]
    if byte < 128:
        return byte, pos + 1
    high = buf[pos + 1]
    if 0 < high < 128:  # 128 … 16383: nearly every length there is
        return byte - 128 + (high << 7), pos + 2
    number = shift = 0
    while byte > 127:
        if shift > 63:
            raise CodecError("a varint of more than 10 bytes")
        byte = buf[pos]
        pos += 1
        number |= (byte & 127) << shift
        shift += 7
    if byte == 0:
        raise CodecError("a varint that is not the shortest")
    if number > MAX_UINT:
        raise CodecError("a varint of more than 64 bits")
    return number, pos


# --- faults ----------------------------------------------------------------------------------------------------------


_CUT_SHORT: Final = "the input ends too early"


def cut_short() -> CodecError:
    return CodecError(_CUT_SHORT)


def trailing(count: int) -> CodecError:
    return CodecError(f"bytes follow the value: {count}")


def wrong_byte(kind: str, byte: int) -> CodecError:
    return CodecError(f"byte {byte} where {kind} has 0 or 1")


def wrong_number(kind: str, number: int) -> CodecError:
    return CodecError(f"{kind} has no member {number}")


def too_many(count: int) -> CodecError:
    return CodecError(f"{count} items are declared, more than the input can hold")


def duplicate_key() -> CodecError:
    return CodecError("a key occurs twice")


def wrong_type(expected: str, value: object) -> CodecError:
    return CodecError(f"expected {expected}, got {type(value).__name__}")


def key_step(key: object) -> str | int:
    """A map key as a step of a path."""
    if isinstance(key, Enum):
        return key.name
    if isinstance(key, int) and not isinstance(key, bool):
        return key
    text = str(key)
    return text if len(text) <= MAX_KEY_IN_PATH else text[:MAX_KEY_IN_PATH] + "…"


def located(fault: Exception, *steps: str | int) -> CodecError:
    """A member of UNREADABLE as a CodecError whose path starts with `steps`."""
    if isinstance(fault, CodecError):
        return fault.inside(*steps) if steps else fault
    if isinstance(fault, UnicodeDecodeError):
        return CodecError("text that is not UTF-8", steps)
    return CodecError(_CUT_SHORT, steps)


def unencodable(fault: Exception, step: str | int | None, expected: str) -> CodecError:
    """A member of UNENCODABLE as a CodecError at `step` (None: here), where the schema has the type `expected`."""
    steps = () if step is None else (step,)
    if isinstance(fault, CodecError):
        return fault.inside(*steps)
    if isinstance(fault, UnicodeEncodeError):
        return CodecError("text with a lone surrogate, which UTF-8 cannot carry", steps)
    return CodecError(f"expected {expected}", steps)
