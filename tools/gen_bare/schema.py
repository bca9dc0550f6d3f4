"""The BARE schema language: text to declarations.

The whole language of draft-devault-bare is read. Beyond its grammar these rules hold, each with its own error and the
line it broke on: a name is declared once and before it is used (so no type contains itself); struct fields, enum
members and numbers, union members and tags are unique within their type; nothing is empty; `void` stands in a union
only; a map key is an enum or a primitive that compares exactly.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn, TypeAlias

INTEGERS = ("u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64", "uint", "int")
PRIMITIVES = (*INTEGERS, "f32", "f64", "bool", "str", "void")
_NOT_A_KEY = ("f32", "f64", "void")
_MAX_NUMBER = 2**64 - 1


class SchemaError(Exception):
    """A schema that cannot be read; the text starts with file:line."""


@dataclass(frozen=True, slots=True)
class Primitive:
    name: str


@dataclass(frozen=True, slots=True)
class Data:
    length: int | None


@dataclass(frozen=True, slots=True)
class Optional:
    inner: Type


@dataclass(frozen=True, slots=True)
class ListOf:
    item: Type
    length: int | None


@dataclass(frozen=True, slots=True)
class MapOf:
    key: Type
    value: Type


@dataclass(frozen=True, slots=True)
class Named:
    name: str


@dataclass(frozen=True, slots=True)
class Field:
    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Struct:
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Enum:
    members: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Union:
    members: tuple[tuple[Type, int], ...]


Type: TypeAlias = Primitive | Data | Optional | ListOf | MapOf | Named | Struct | Enum | Union


@dataclass(frozen=True, slots=True)
class Declaration:
    name: str
    type: Type
    line: int


@dataclass(frozen=True, slots=True)
class Schema:
    """All declarations of one file, in order."""

    file: str
    declarations: tuple[Declaration, ...]

    def get(self, name: str) -> Declaration:
        return next(declaration for declaration in self.declarations if declaration.name == name)

    def resolve(self, type_: Type) -> Type:
        """The type behind aliases; a name that stands for a struct, enum or union stays a name."""
        while isinstance(type_, Named):
            target = self.get(type_.name).type
            if isinstance(target, (Struct, Enum, Union)):
                return type_
            type_ = target
        return type_

    def definition(self, type_: Type) -> Type:
        """The type behind every name."""
        type_ = self.resolve(type_)
        return self.get(type_.name).type if isinstance(type_, Named) else type_


def parse(text: str, file: str) -> Schema:
    """Reads a whole schema. Raises SchemaError."""
    return _Parser(text, file).schema()


_TOKEN = re.compile(
    r"(?P<space>[ \t\r]+|#[^\n]*)|(?P<line>\n)|(?P<word>[A-Za-z][A-Za-z0-9_]*)|(?P<number>[0-9]+)|(?P<mark>.)"
)
_MARKS = "{}<>[]:|="
_TYPE_NAME = re.compile(r"[A-Z][A-Za-z0-9]*")
_FIELD_NAME = re.compile(r"[a-z][A-Za-z0-9_]*")
_MEMBER_NAME = re.compile(r"[A-Z][A-Z0-9_]*")


class _Parser:
    def __init__(self, text: str, file: str) -> None:
        self.file = file
        self.tokens: list[tuple[str, int]] = []
        self.at = 0
        self.declared: dict[str, Declaration] = {}
        self.line = 1
        for match in _TOKEN.finditer(text):
            if match.lastgroup == "line":
                self.line += 1
            elif match.lastgroup != "space":
                if match.lastgroup == "mark" and match[0] not in _MARKS:
                    self.fail(f"unexpected character {match[0]!r}")
                self.tokens.append((match[0], self.line))

    def fail(self, message: str) -> NoReturn:
        raise SchemaError(f"{self.file}:{self.line}: {message}")

    def peek(self) -> str:
        return self.tokens[self.at][0] if self.at < len(self.tokens) else ""

    def next(self, wanted: str) -> str:
        """The next token; `wanted` says what should stand there, for the error."""
        if self.at == len(self.tokens):
            self.fail(f"the file ends where {wanted} should stand")
        token, self.line = self.tokens[self.at]
        self.at += 1
        return token

    def expect(self, mark: str) -> None:
        token = self.next(repr(mark))
        if token != mark:
            self.fail(f"expected {mark!r}, found {token!r}")

    def take(self, mark: str) -> bool:
        if self.peek() != mark:
            return False
        self.next(mark)
        return True

    def name(self, pattern: re.Pattern[str], what: str) -> str:
        token = self.next(what)
        if not pattern.fullmatch(token):
            self.fail(f"expected {what}, found {token!r}")
        return token

    def number(self, what: str, least: int) -> int:
        token = self.next(what)
        if not token.isdecimal() or not least <= int(token) <= _MAX_NUMBER:
            self.fail(f"expected {what}, found {token!r}")
        return int(token)

    def schema(self) -> Schema:
        while self.at < len(self.tokens):
            self.expect("type")
            line = self.line
            name = self.name(_TYPE_NAME, "a type name (an upper-case letter, then letters and digits)")
            if name in self.declared:
                self.fail(f"type {name} is declared on line {self.declared[name].line} already")
            type_ = self.type()
            self.refuse_void(type_, f"type {name}")
            self.declared[name] = Declaration(name, type_, line)
        if not self.declared:
            self.fail("the schema declares no type")
        return Schema(self.file, tuple(self.declared.values()))

    def type(self) -> Type:
        word = self.next("a type")
        if word in PRIMITIVES:
            return Primitive(word)
        match word:
            case "data":
                return Data(self.length())
            case "optional":
                return Optional(self.argument("an optional"))
            case "list":
                return ListOf(self.argument("a list"), self.length())
            case "map":
                key = self.argument("a map key")
                self.check_key(key)
                return MapOf(key, self.argument("a map value"))
            case "struct":
                return self.struct()
            case "enum":
                return self.enum()
            case "union":
                return self.union()
        if not _TYPE_NAME.fullmatch(word):
            self.fail(f"expected a type, found {word!r}")
        if word not in self.declared:
            self.fail(f"type {word} is not declared before its use")
        return Named(word)

    def argument(self, where: str) -> Type:
        self.expect("<")
        type_ = self.type()
        self.refuse_void(type_, where)
        self.expect(">")
        return type_

    def length(self) -> int | None:
        if not self.take("["):
            return None
        length = self.number("a length of at least 1", least=1)
        self.expect("]")
        return length

    def refuse_void(self, type_: Type, where: str) -> None:
        if type_ == Primitive("void"):
            self.fail(f"void in {where}: it stands in a union only")

    def check_key(self, key: Type) -> None:
        while isinstance(key, Named):
            key = self.declared[key.name].type
        if not isinstance(key, Enum) and not (isinstance(key, Primitive) and key.name not in _NOT_A_KEY):
            self.fail("a map key must be an enum, a str, a bool or an integer")

    def struct(self) -> Struct:
        self.expect("{")
        fields: dict[str, Field] = {}
        while not self.take("}"):
            name = self.name(_FIELD_NAME, "a field name (a lower-case letter, then letters and digits)")
            if name in fields:
                self.fail(f"field {name} occurs twice")
            self.expect(":")
            type_ = self.type()
            self.refuse_void(type_, f"field {name}")
            fields[name] = Field(name, type_)
        if not fields:
            self.fail("a struct needs a field")
        return Struct(tuple(fields.values()))

    def enum(self) -> Enum:
        self.expect("{")
        members: dict[str, int] = {}
        following = 0
        while not self.take("}"):
            name = self.name(_MEMBER_NAME, "an enum member (upper-case letters, digits and _)")
            if name in members:
                self.fail(f"enum member {name} occurs twice")
            number = self.number("an enum number", least=0) if self.take("=") else following
            if number in members.values():
                self.fail(f"enum number {number} occurs twice")
            members[name] = number
            following = number + 1
        if not members:
            self.fail("an enum needs a member")
        return Enum(tuple(members.items()))

    def union(self) -> Union:
        self.expect("{")
        members: list[tuple[Type, int]] = []
        following = 0
        self.take("|")
        while not members or self.take("|"):
            type_ = self.type()
            if any(type_ == other for other, _ in members):
                self.fail("a union member occurs twice")
            tag = self.number("a union tag", least=0) if self.take("=") else following
            if any(tag == other for _, other in members):
                self.fail(f"union tag {tag} occurs twice")
            members.append((type_, tag))
            following = tag + 1
        self.expect("}")
        return Union(tuple(members))
