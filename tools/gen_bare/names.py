"""Schema names and types as Python spells them."""

from __future__ import annotations

import keyword
import re

from tools.gen_bare.schema import (
    INTEGERS,
    Data,
    Declaration,
    Enum,
    ListOf,
    MapOf,
    Named,
    Optional,
    Primitive,
    Schema,
    SchemaError,
    Struct,
    Type,
    Union,
)

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_WIDTHS = {"8": 1, "16": 2, "32": 4, "64": 8}


def snake(name: str) -> str:
    """`sessionId` as `session_id`, `AcpRequest` as `acp_request`; a keyword gets a trailing underscore."""
    out = _HUMP.sub("_", name).lower()
    return out + "_" if keyword.iskeyword(out) else out


def annotation(type_: Type) -> str:
    """The type as a Python annotation; aliases keep their names."""
    match type_:
        case Named(name):
            return name
        case Primitive("str" | "bool" as name):
            return name
        case Primitive(name):
            return "int" if name in INTEGERS else "float"
        case Data():
            return "bytes"
        case Optional(inner):
            return f"{annotation(inner)} | None"
        case ListOf(item, _):
            return f"list[{annotation(item)}]"
        case MapOf(key, value):
            return f"dict[{annotation(key)}, {annotation(value)}]"
        case _:
            raise AssertionError(f"check() lets no {type(type_).__name__} through")


def bare(type_: Type) -> str:
    """The type as the schema spells it, for error texts."""
    match type_:
        case Named(name) | Primitive(name):
            return name
        case Data(length):
            return "data" if length is None else f"data[{length}]"
        case Optional(inner):
            return f"optional<{bare(inner)}>"
        case ListOf(item, length):
            return f"list<{bare(item)}>" + ("" if length is None else f"[{length}]")
        case MapOf(key, value):
            return f"map<{bare(key)}><{bare(value)}>"
        case _:
            return type(type_).__name__.lower()


def min_size(schema: Schema, type_: Type) -> int:
    """The fewest bytes a value of this type takes: what bounds a list's declared count."""
    match schema.definition(type_):
        case Primitive(name):
            return 0 if name == "void" else _WIDTHS.get(name.lstrip("uif"), 1)
        case Data(length):
            return 1 if length is None else length
        case ListOf(item, length):
            return 1 if length is None else length * min_size(schema, item)
        case Struct(fields):
            return sum(min_size(schema, field.type) for field in fields)
        case Union(members):
            return 1 + min(min_size(schema, member) for member, _ in members)
        case _:
            return 1


def tags(schema: Schema, name: str) -> list[tuple[str, int]]:
    """(union, tag) for each union the named type is a member of."""
    return [
        (declaration.name, tag)
        for declaration in schema.declarations
        if isinstance(declaration.type, Union)
        for member, tag in declaration.type.members
        if member == Named(name)
    ]


def check(schema: Schema, taken: frozenset[str]) -> None:
    """Refuses what BARE allows and the generated code has no form for. `taken` are the names a module uses itself."""
    functions: set[str] = set()
    for declaration in schema.declarations:
        _check_declaration(schema, declaration)
        if declaration.name in taken:
            _fail(schema, declaration, f"the generated module uses the name {declaration.name} itself")
        if snake(declaration.name) in functions:
            _fail(schema, declaration, f"two types would share the functions of {snake(declaration.name)}")
        functions.add(snake(declaration.name))


def _check_declaration(schema: Schema, declaration: Declaration) -> None:
    match declaration.type:
        case Struct(fields):
            for field in fields:
                _check_inner(schema, declaration, field.type)
            if len({snake(field.name) for field in fields}) < len(fields):
                _fail(schema, declaration, "two fields would share a Python name")
        case Union(members):
            for member, _ in members:
                if not (isinstance(member, Named) and isinstance(schema.get(member.name).type, Struct)):
                    _fail(schema, declaration, f"union member {bare(member)} is not a declared struct")
        case Enum():
            pass
        case other:
            _check_inner(schema, declaration, other)


def _check_inner(schema: Schema, declaration: Declaration, type_: Type) -> None:
    match type_:
        case Struct() | Enum() | Union():
            _fail(schema, declaration, f"{type(type_).__name__.lower()} without a name: declare it as a type")
        case Optional(inner):
            if isinstance(schema.resolve(inner), Optional):
                _fail(schema, declaration, "an optional in an optional has no Python form: both absences are None")
            _check_inner(schema, declaration, inner)
        case ListOf(item, _):
            _check_inner(schema, declaration, item)
        case MapOf(key, value):
            _check_inner(schema, declaration, key)
            _check_inner(schema, declaration, value)
        case _:
            pass


def _fail(schema: Schema, declaration: Declaration, message: str) -> None:
    raise SchemaError(f"{schema.file}:{declaration.line}: {declaration.name}: {message}")
