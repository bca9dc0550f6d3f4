"""BARE read and written by walking a schema: slow, plain, and sharing no code with what it checks."""

from __future__ import annotations

import re
import struct
from types import ModuleType
from typing import Any

from hypothesis import strategies as st

from tools.gen_bare.schema import Data, Enum, ListOf, MapOf, Named, Optional, Primitive, Schema, Struct, Type, Union

FORMATS = {"u8": "B", "u16": "H", "u32": "I", "u64": "Q", "i8": "b", "i16": "h", "i32": "i", "i64": "q"}
FLOATS = {"f32": "f", "f64": "d"}


class Wrong(Exception):
    """Bytes the oracle refuses."""


def attribute(name: str) -> str:
    """`sessionId` as `session_id`."""
    out = re.sub("[A-Z]", lambda match: "_" + match[0].lower(), name)
    return out + "_" if out == "from" else out


class Oracle:
    """One schema, and the generated module whose classes its values have."""

    def __init__(self, schema: Schema, module: ModuleType) -> None:
        self.schema = schema
        self.module = module

    def definition(self, type_: Type) -> Type:
        while isinstance(type_, Named):
            type_ = self.schema.get(type_.name).type
        return type_

    def named(self, type_: Type) -> Any:
        """The class of a named struct or enum, whatever aliases stand between."""
        while True:
            assert isinstance(type_, Named)
            found = getattr(self.module, type_.name)
            if isinstance(self.schema.get(type_.name).type, (Struct, Enum)):
                return found
            type_ = self.schema.get(type_.name).type

    # --- values

    def values(self, type_: Type) -> st.SearchStrategy[Any]:
        match self.definition(type_):
            case Primitive("str"):
                return st.text(max_size=6)
            case Primitive("bool"):
                return st.booleans()
            case Primitive("f32"):
                return st.floats(width=32, allow_nan=False)
            case Primitive("f64"):
                return st.floats(allow_nan=False)
            case Primitive("uint"):
                return st.integers(0, 2**64 - 1) | st.integers(0, 300)
            case Primitive("int"):
                return st.integers(-(2**63), 2**63 - 1) | st.integers(-200, 200)
            case Primitive(name):
                bits = int(name[1:])
                low = -(2 ** (bits - 1)) if name[0] == "i" else 0
                return st.integers(low, low + 2**bits - 1)
            case Data(length):
                return st.binary(min_size=length or 0, max_size=6 if length is None else length)
            case Optional(inner):
                return st.none() | self.values(inner)
            case ListOf(item, length):
                return st.lists(self.values(item), min_size=length or 0, max_size=4 if length is None else length)
            case MapOf(key, value):
                return st.dictionaries(self.values(key), self.values(value), max_size=4)
            case Struct(fields):
                return st.builds(
                    self.named(type_), **{attribute(field.name): self.values(field.type) for field in fields}
                )
            case Enum():
                return st.sampled_from(self.named(type_))
            case Union(members):
                return st.one_of([self.values(member) for member, _ in members])
        raise AssertionError(type_)

    # --- writing

    def encode(self, type_: Type, value: Any) -> bytes:
        match self.definition(type_):
            case Primitive("str"):
                return self.encode(Data(None), value.encode())
            case Primitive("bool"):
                return bytes([value])
            case Primitive("uint"):
                return varint(value)
            case Primitive("int"):
                return varint(2 * value if value >= 0 else -2 * value - 1)
            case Primitive(name):
                return struct.pack("<" + (FORMATS | FLOATS)[name], value)
            case Data(length):
                return (b"" if length else varint(len(value))) + value
            case Optional(inner):
                return b"\0" if value is None else b"\1" + self.encode(inner, value)
            case ListOf(item, length):
                return (b"" if length else varint(len(value))) + b"".join(self.encode(item, each) for each in value)
            case MapOf(key, held):
                pairs = (self.encode(key, name) + self.encode(held, value[name]) for name in value)
                return varint(len(value)) + b"".join(pairs)
            case Struct(fields):
                return b"".join(self.encode(field.type, getattr(value, attribute(field.name))) for field in fields)
            case Enum():
                return varint(int(value))
            case Union(members):
                for member, tag in members:
                    if type(value) is self.named(member):
                        return varint(tag) + self.encode(member, value)
        raise AssertionError(type_)

    # --- reading

    def decode(self, type_: Type, data: bytes) -> Any:
        """The value, or Wrong."""
        source = Source(data)
        value = self.read(type_, source)
        if source.data:
            raise Wrong("trailing")
        return value

    def read(self, type_: Type, source: Source) -> Any:
        match self.definition(type_):
            case Primitive("str"):
                try:
                    return source.take(source.varint()).decode()
                except UnicodeDecodeError:
                    raise Wrong("utf-8") from None
            case Primitive("bool"):
                return source.flag()
            case Primitive("uint"):
                return source.varint()
            case Primitive("int"):
                number = source.varint()
                return number // 2 if number % 2 == 0 else -(number // 2) - 1
            case Primitive(name):
                form = "<" + (FORMATS | FLOATS)[name]
                return struct.unpack(form, source.take(struct.calcsize(form)))[0]
            case Data(length):
                return source.take(length or source.varint())
            case Optional(inner):
                return self.read(inner, source) if source.flag() else None
            case ListOf(item, length):
                # Every value takes a byte at least, so a wrong count runs out of input soon.
                return [self.read(item, source) for _ in range(length or source.varint())]
            case MapOf(key, held):
                entries: dict[Any, Any] = {}
                for _ in range(source.varint()):
                    name = self.read(key, source)
                    if name in entries:
                        raise Wrong("duplicate")
                    entries[name] = self.read(held, source)
                return entries
            case Struct(fields):
                return self.named(type_)(**{attribute(f.name): self.read(f.type, source) for f in fields})
            case Enum(members):
                number = source.varint()
                if number not in [each for _, each in members]:
                    raise Wrong("enum")
                return self.named(type_)(number)
            case Union(members):
                tag = source.varint()
                for member, number in members:
                    if number == tag:
                        return self.read(member, source)
                raise Wrong("tag")
        raise AssertionError(type_)


class Source:
    def __init__(self, data: bytes) -> None:
        self.data = data

    def take(self, count: int) -> bytes:
        if count > len(self.data):
            raise Wrong("short")
        taken, self.data = self.data[:count], self.data[count:]
        return taken

    def flag(self) -> bool:
        byte = self.take(1)[0]
        if byte > 1:
            raise Wrong("flag")
        return byte == 1

    def varint(self) -> int:
        septets = []
        while True:
            byte = self.take(1)[0]
            septets.append(byte % 128)
            if byte < 128:
                break
        number = sum(septet * 128**place for place, septet in enumerate(septets))
        if varint(number) != varint_of(septets) or number >= 2**64:
            raise Wrong("varint")
        return number


def varint(number: int) -> bytes:
    septets = [number % 128]
    while number := number // 128:
        septets.append(number % 128)
    return varint_of(septets)


def varint_of(septets: list[int]) -> bytes:
    return bytes([*(septet + 128 for septet in septets[:-1]), septets[-1]])
