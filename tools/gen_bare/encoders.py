"""Encoders as Python text: one straight-line function for each declared type.

Each computes its parts in order and joins them once. `at` holds the field being written and its schema type, for the
error; the good path pays one store of a constant.
"""

from __future__ import annotations

from tools.gen_bare.names import bare, snake
from tools.gen_bare.schema import Data, Enum, ListOf, MapOf, Named, Optional, Primitive, Schema, Struct, Type, Union
from tools.gen_bare.text import Text

_PRESENT = 'b"\\x01"'
SMALL = 1024  # how many varints roost.wire.bare.UINTS holds


def encoder(schema: Schema, name: str, doc: str, out: Text) -> None:
    """The public `encode_x` of a declared type."""
    declared = schema.get(name)
    definition = declared.type
    if isinstance(definition, Union):
        writers = f"_{snake(name).upper()}_WRITERS"
        out.line(f"{writers}: Final[dict[type, tuple[bytes, Callable[[Any, bytes], bytes]]]] = {{")
        for member, tag in definition.members:
            assert isinstance(member, Named)
            out.line(f"    {member.name}: ({_varint(tag)!r}, encode_{snake(member.name)}),")
        out.line("}")
        out.gap()
        with out.block(f'def encode_{snake(name)}(value: {name}, prefix: bytes = b"") -> bytes:'):
            out.line(f'"""{doc}"""')
            out.line(f"writer = {writers}.get(type(value))")
            with out.block("if writer is None:"):
                out.line(f'raise wrong_type("{name}", value)')
            out.line("return writer[1](value, prefix + writer[0] if prefix else writer[0])")
        out.gap()
        return
    with out.block(f'def encode_{snake(name)}(value: {name}, prefix: bytes = b"") -> bytes:'):
        out.line(f'"""{doc}"""')
        body = _Body(schema, out)
        if isinstance(definition, Struct):
            with out.block(f"if type(value) is not {name}:"):
                out.line(f'raise wrong_type("{name}", value)')
            parts: list[str] = []
            first = definition.fields[0]
            out.line(f'at = "{first.name}", "{bare(first.type)}"')
            with out.block("try:"):
                for field in definition.fields:
                    if field is not first:
                        out.line(f'at = "{field.name}", "{bare(field.type)}"')
                    parts += body.value(field.type, f"value.{snake(field.name)}")
                out.call('return b"".join((', ["prefix", *parts], "))")
            with out.block("except UNENCODABLE as fault:"):
                out.line("raise unencodable(fault, *at) from None")
        else:
            with out.block("try:"):
                parts = body.value(Named(name) if isinstance(definition, Enum) else definition, "value")
                out.call('return b"".join((', ["prefix", *parts], "))")
            with out.block("except UNENCODABLE as fault:"):
                out.line(f'raise unencodable(fault, None, "{bare(Named(name))}") from None')
    out.gap()


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


class _Body:
    def __init__(self, schema: Schema, out: Text) -> None:
        self.schema = schema
        self.out = out
        self.temporaries = 0

    def fresh(self, stem: str) -> str:
        self.temporaries += 1
        return f"{stem}{self.temporaries}"

    def value(self, type_: Type, source: str) -> list[str]:
        """Checks and converts the value of `source`; returns the expressions that are its bytes."""
        out = self.out
        match self.schema.resolve(type_):
            case Primitive(name):
                return self.primitive(name, source)
            case Data(length):
                part = self.fresh("part")
                out.line(f"{part} = {source}")
                with out.block(f"if type({part}) is not bytes:"):
                    out.line(f"{part} = blob({part})")
                if length is None:
                    return [self.length(part), part]
                with out.block(f"if len({part}) != {length}:"):
                    out.line("raise ValueError")
                return [part]
            case Optional(inner):
                held, part = self.fresh("held"), self.fresh("part")
                out.line(f"{held} = {source}")
                with out.block(f"if {held} is None:"):
                    out.line(f'{part} = b"\\x00"')
                with out.block("else:"):
                    parts = self.value(inner, held)
                    out.call(f'{part} = b"".join((', [_PRESENT, *parts], "))")
                return [part]
            case ListOf(item, length):
                return self.list_of(item, length, source)
            case MapOf(key, value):
                return self.map_of(key, value, source)
            case Named(name):
                return self.named(name, source)
            case other:
                raise AssertionError(other)

    def named(self, name: str, source: str) -> list[str]:
        part = self.fresh("part")
        definition = self.schema.get(name).type
        if not isinstance(definition, Enum):
            self.out.line(f"{part} = encode_{snake(name)}({source})")
            return [part]
        self.out.line(f"{part} = {source}")
        with self.out.block(f"if type({part}) is not {name}:"):
            self.out.line("raise TypeError")
        return [f"UINTS[{part}]" if max(number for _, number in definition.members) < SMALL else f"uint({part})"]

    def primitive(self, name: str, source: str) -> list[str]:
        part = self.fresh("part")
        match name:
            case "str":
                self.out.line(f"{part} = utf8({source})")
                return [self.length(part), part]
            case "bool":
                self.out.line(f"{part} = {source}")
                with self.out.block(f"if {part} is not True and {part} is not False:"):
                    self.out.line("raise TypeError")
                return [f'b"\\x01" if {part} else b"\\x00"']
            case "uint":
                self.out.line(f"{part} = uint({source})")
            case "int":
                self.out.line(f"{part} = sint({source})")
            case _:
                self.out.line(f"{part} = pack_{name}({source})")
        return [part]

    def length(self, part: str) -> str:
        size = self.fresh("size")
        self.out.line(f"{size} = len({part})")
        return f"UINTS[{size}] if {size} < {SMALL} else uint({size})"

    def list_of(self, item: Type, length: int | None, source: str) -> list[str]:
        out = self.out
        items, parts, index, element = (self.fresh(stem) for stem in ("items", "parts", "index", "item"))
        out.line(f"{items} = {source}")
        with out.block(f"if not isinstance({items}, (list, tuple)):"):
            out.line("raise TypeError")
        if length is None:
            out.line(f"{parts} = [uint(len({items}))]")
        else:
            with out.block(f"if len({items}) != {length}:"):
                out.line("raise ValueError")
            out.line(f"{parts}: list[bytes] = []")
        out.line(f"{index} = 0")
        with out.block("try:"), out.block(f"for {index}, {element} in enumerate({items}):"):
            out.call(f"{parts} += (", self.value(item, element), ")")
        with out.block("except UNENCODABLE as fault:"):
            out.line(f'raise unencodable(fault, {index}, "{bare(item)}") from None')
        return [f"*{parts}"]

    def map_of(self, key: Type, value: Type, source: str) -> list[str]:
        out = self.out
        entries, parts, name, element = (self.fresh(stem) for stem in ("entries", "parts", "key", "held"))
        out.line(f"{entries} = {source}")
        with out.block(f"if not isinstance({entries}, dict):"):
            out.line("raise TypeError")
        out.line(f"{parts} = [uint(len({entries}))]")
        with out.block(f"for {name}, {element} in {entries}.items():"):
            with out.block("try:"):
                out.call(f"{parts} += (", self.value(key, name) + self.value(value, element), ")")
            with out.block("except UNENCODABLE as fault:"):
                out.line(f'raise unencodable(fault, key_step({name}), "{bare(key)} to {bare(value)}") from None')
        return [f"*{parts}"]
