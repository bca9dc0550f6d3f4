"""Decoders as Python text: one straight-line reader for each struct, union and enum.

Every reader has the shape `_read_x(buf, pos, end) -> (value, pos)`. Containers nest in place; structs and unions call
their own reader. `at` holds the field being read, so a fault knows its place and the good path pays one store.
"""

from __future__ import annotations

from roost.wire import bare as primitives
from tools.gen_bare.names import annotation, min_size, snake
from tools.gen_bare.schema import Data, Enum, ListOf, MapOf, Named, Optional, Primitive, Schema, Struct, Type, Union
from tools.gen_bare.text import Text

# A local of one of these names would hide what the reader itself uses.
_TAKEN = frozenset({"buf", "pos", "end", "n", "stop", "at", "fault", "len", "range", *primitives.__all__})


def reader(schema: Schema, name: str, out: Text) -> None:
    """The reader of a declared type."""
    definition = schema.get(name).type
    if isinstance(definition, Union):
        out.line(
            f"_{snake(name).upper()}_READERS: Final[dict[int, Callable[[bytes, int, int], tuple[{name}, int]]]] = {{"
        )
        for member, tag in definition.members:
            assert isinstance(member, Named)
            out.line(f"    {tag}: _read_{snake(member.name)},")
        out.line("}")
        out.gap()
    with out.block(f"def _read_{snake(name)}(buf: bytes, pos: int, end: int) -> tuple[{name}, int]:"):
        steps = ""
        if isinstance(definition, Struct):
            steps = ", at"
            out.line(f'at = "{definition.fields[0].name}"')
        body = _Body(schema, out)
        with out.block("try:"):
            match definition:
                case Struct(fields):
                    names = [body.field(field.name, field.type, first=not index) for index, field in enumerate(fields)]
                    out.line(f"return {name}({', '.join(names)}), pos")
                case Union():
                    body.varint()
                    with out.block(f"if n in _{snake(name).upper()}_READERS:"):
                        out.line(f"return _{snake(name).upper()}_READERS[n](buf, pos, end)")
                    out.line(f'raise wrong_number("{name}", n)')
                case Enum():
                    body.value(Named(name), "value")
                    out.line("return value, pos")
                case other:
                    body.value(other, "value")
                    out.line("return value, pos")
        with out.block("except UNREADABLE as fault:"):
            out.line(f"raise located(fault{steps}) from None")
    out.gap()


class _Body:
    def __init__(self, schema: Schema, out: Text) -> None:
        self.schema = schema
        self.out = out
        self.temporaries = 0

    def field(self, name: str, type_: Type, *, first: bool) -> str:
        """Reads one field; returns the local that holds it."""
        target = snake(name)
        if target in _TAKEN:
            target += "_"
        if not first:
            self.out.line(f'at = "{name}"')
        self.value(type_, target)
        return target

    def varint(self) -> None:
        self.out.line("n = buf[pos]")
        self.out.line("pos += 1")
        with self.out.block("if n > 127:"):
            self.out.line("n, pos = read_uint(buf, pos - 1)")

    def fresh(self, stem: str) -> str:
        self.temporaries += 1
        return f"_{stem}{self.temporaries}"

    def value(self, type_: Type, target: str) -> None:
        """Reads a value of `type_` at `pos` into `target`."""
        out = self.out
        match self.schema.resolve(type_):
            case Primitive(name):
                self.primitive(name, target)
            case Data(length):
                self.sized(length)
                out.line(f"{target} = buf[pos:stop]")
                out.line("pos = stop")
            case Optional(inner):
                out.line(f"{target}: {annotation(inner)} | None = None")
                out.line("n = buf[pos]")
                out.line("pos += 1")
                with out.block("if n == 1:"):
                    self.value(inner, target)
                with out.block("elif n:"):
                    out.line('raise wrong_byte("an optional", n)')
            case ListOf(item, length):
                self.list_of(item, length, target)
            case MapOf(key, value):
                self.map_of(key, value, target)
            case Named(name):
                if isinstance(self.schema.get(name).type, Enum):
                    self.varint()
                    with out.block(f"if n not in _{snake(name).upper()}_MEMBERS:"):
                        out.line(f'raise wrong_number("{name}", n)')
                    out.line(f"{target} = _{snake(name).upper()}_MEMBERS[n]")
                else:
                    out.line(f"{target}, pos = _read_{snake(name)}(buf, pos, end)")

    def primitive(self, name: str, target: str) -> None:
        out = self.out
        match name:
            case "str":
                self.sized(None)
                out.line(f"{target} = buf[pos:stop].decode()")
                out.line("pos = stop")
            case "bool":
                out.line("n = buf[pos]")
                with out.block("if n > 1:"):
                    out.line('raise wrong_byte("a bool", n)')
                out.line(f"{target} = n == 1")
                out.line("pos += 1")
            case "uint":
                self.varint()
                out.line(f"{target} = n")
            case "int":
                self.varint()
                out.line(f"{target} = (n >> 1) ^ -(n & 1)")
            case "u8":
                out.line(f"{target} = buf[pos]")
                out.line("pos += 1")
            case _:
                out.line(f"{target} = unpack_{name}(buf, pos)[0]")
                out.line(f"pos += {min_size(self.schema, Primitive(name))}")

    def sized(self, length: int | None) -> None:
        """Sets `stop` to the end of a length-prefixed (or fixed) run of bytes that is surely there."""
        if length is None:
            self.varint()
        self.out.line(f"stop = pos + {'n' if length is None else length}")
        with self.out.block("if stop > end:"):
            self.out.line("raise cut_short()")

    def count(self, least: int) -> None:
        """Reads a count into `n` and refuses one that the remaining bytes cannot hold, before anything is built."""
        self.varint()
        with self.out.block(f"if n > (end - pos) // {least}:" if least > 1 else "if n > end - pos:"):
            self.out.line("raise too_many(n)")

    def list_of(self, item: Type, length: int | None, target: str) -> None:
        out = self.out
        if length is None:
            self.count(min_size(self.schema, item))
        # Declared apart: the target of an optional list has a wider type already.
        items, element = self.fresh("items"), self.fresh("item")
        out.line(f"{items}: list[{annotation(item)}] = []")
        with out.block("try:"), out.block(f"for _ in range({'n' if length is None else length}):"):
            self.value(item, element)
            out.line(f"{items}.append({element})")
        with out.block("except UNREADABLE as fault:"):
            out.line(f"raise located(fault, len({items})) from None")
        out.line(f"{target} = {items}")

    def map_of(self, key: Type, value: Type, target: str) -> None:
        out = self.out
        self.count(min_size(self.schema, key) + min_size(self.schema, value))
        entries, key_at, key_name, element = (self.fresh(stem) for stem in ("entries", "at", "key", "value"))
        out.line(f"{entries}: dict[{annotation(key)}, {annotation(value)}] = {{}}")
        out.line(f"{key_at}: {annotation(key)} | None = None")
        with out.block("try:"), out.block("for _ in range(n):"):
            out.line(f"{key_at} = None")
            self.value(key, key_name)
            out.line(f"{key_at} = {key_name}")
            with out.block(f"if {key_name} in {entries}:"):
                out.line("raise duplicate_key()")
            self.value(value, element)
            out.line(f"{entries}[{key_name}] = {element}")
        with out.block("except UNREADABLE as fault:"):
            # A key that could not be read has no name: its place among the entries stands for it.
            out.line(f"raise located(fault, len({entries}) if {key_at} is None else key_step({key_at})) from None")
        out.line(f"{target} = {entries}")
