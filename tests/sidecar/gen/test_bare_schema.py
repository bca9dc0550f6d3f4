"""The schema parser: the whole language, and an error with its line for whatever is not in it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from tools.gen_bare.module import render
from tools.gen_bare.names import snake
from tools.gen_bare.schema import (
    PRIMITIVES,
    Data,
    Declaration,
    Enum,
    Field,
    ListOf,
    MapOf,
    Named,
    Optional,
    Primitive,
    SchemaError,
    Struct,
    Type,
    Union,
    parse,
)

STR, U8 = Primitive("str"), Primitive("u8")


def only(text: str) -> Type:
    return parse(f"type Last {text}", "t.bare").declarations[-1].type


@pytest.mark.parametrize("name", [name for name in PRIMITIVES if name != "void"])
def test_a_primitive_is_a_type(name: str) -> None:
    assert only(name) == Primitive(name)


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("data", Data(None)),
        ("data[16]", Data(16)),
        ("optional<str>", Optional(STR)),
        ("list<u8>", ListOf(U8, None)),
        ("list<u8>[3]", ListOf(U8, 3)),
        ("list<list<u8>[3]>", ListOf(ListOf(U8, 3), None)),
        ("map<str><u8>", MapOf(STR, U8)),
        ("map < str > < optional < data > >", MapOf(STR, Optional(Data(None)))),
        ("enum{A B C}", Enum((("A", 0), ("B", 1), ("C", 2)))),
        ("enum { A = 5 B\nC = 1 D }", Enum((("A", 5), ("B", 6), ("C", 1), ("D", 2)))),
        ("union { str | u8 }", Union(((STR, 0), (U8, 1)))),
        ("union { | str = 7\n | u8\n | void }", Union(((STR, 7), (U8, 8), (Primitive("void"), 9)))),
        ("struct{a:str b:u8}", Struct((Field("a", STR), Field("b", U8)))),
        ("struct { a: struct { b: u8 } }", Struct((Field("a", Struct((Field("b", U8),))),))),
        ("struct { type: u8 struct: str }", Struct((Field("type", U8), Field("struct", STR)))),
    ],
)
def test_a_type_is_read(text: str, type_: Type) -> None:
    assert only(text) == type_


def test_comments_and_line_ends_are_space_and_lines_are_counted() -> None:
    text = "# type Not u8\r\n\r\ntype A u8 # here\n\ntype\tB # and\n list<A>#here"
    assert parse(text, "t.bare").declarations == (
        Declaration("A", U8, 3),
        Declaration("B", ListOf(Named("A"), None), 5),
    )


def test_aliases_resolve_to_what_they_stand_for() -> None:
    schema = parse("type A str type B A type C struct { a: B } type D C", "t.bare")
    assert schema.resolve(Named("B")) == STR
    assert schema.resolve(Named("D")) == Named("C")
    assert isinstance(schema.definition(Named("D")), Struct)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", 1, "declares no type"),
        ("# nothing\n", 2, "declares no type"),
        ("tipe A u8", 1, "expected 'type', found 'tipe'"),
        ("type a u8", 1, "expected a type name"),
        ("type A_b u8", 1, "expected a type name"),
        ("type A", 1, "the file ends where a type should stand"),
        ("type A struct {\n a: u8\n", 2, "the file ends where a field name"),
        ("type A\n\nu9", 3, "expected a type, found 'u9'"),
        ("type A string", 1, "expected a type, found 'string'"),
        ("type A B", 1, "type B is not declared before its use"),
        ("type A struct {\n a: optional<A>\n}", 2, "type A is not declared before its use"),
        ("type A u8\ntype A u8", 2, "type A is declared on line 1 already"),
        ("type A struct { }", 1, "a struct needs a field"),
        ("type A struct {\na: u8\na: u8 }", 3, "field a occurs twice"),
        ("type A struct { A: u8 }", 1, "expected a field name"),
        ("type A struct { a u8 }", 1, "expected ':', found 'u8'"),
        ("type A struct { a: u8, b: u8 }", 1, "unexpected character ','"),
        ("type A enum { }", 1, "an enum needs a member"),
        ("type A enum { a }", 1, "expected an enum member"),
        ("type A enum { B B }", 1, "enum member B occurs twice"),
        ("type A enum { B = 1 C = 1 }", 1, "enum number 1 occurs twice"),
        ("type A enum { B = 1 C = 0 D }", 1, "enum number 1 occurs twice"),
        ("type A enum { B = C }", 1, "expected an enum number, found 'C'"),
        (f"type A enum {{ B = {2**64} }}", 1, "expected an enum number"),
        ("type A union { }", 1, "expected a type, found '}'"),
        ("type A union { u8 | }", 1, "expected a type, found '}'"),
        ("type A union { u8 u16 }", 1, "expected '}', found 'u16'"),
        ("type A union { u8 | u8 }", 1, "a union member occurs twice"),
        ("type A union { u8 = 1 | u16 = 1 }", 1, "union tag 1 occurs twice"),
        ("type A list", 1, "the file ends where '<' should stand"),
        ("type A list<u8", 1, "the file ends where '>' should stand"),
        ("type A list<u8>[0]", 1, "expected a length of at least 1, found '0'"),
        ("type A data[x]", 1, "expected a length of at least 1, found 'x'"),
        ("type A data<16>", 1, "expected 'type', found '<'"),
        ("type A map<str>", 1, "the file ends where '<' should stand"),
        ("type A map<data><u8>", 1, "a map key must be"),
        ("type A map<f64><u8>", 1, "a map key must be"),
        ("type A map<list<u8>><u8>", 1, "a map key must be"),
        ("type B data type A map<B><u8>", 1, "a map key must be"),
        ("type A void", 1, "void in type A"),
        ("type A optional<void>", 1, "void in an optional"),
        ("type A list<void>", 1, "void in a list"),
        ("type A map<u8><void>", 1, "void in a map value"),
        ("type A struct { a: void }", 1, "void in field a"),
        ("type A é", 1, "unexpected character 'é'"),
    ],
)
def test_what_is_not_in_the_language_is_an_error_with_its_line(text: str, line: int, message: str) -> None:
    with pytest.raises(SchemaError) as caught:
        parse(text, "t.bare")
    assert str(caught.value).startswith(f"t.bare:{line}: ")
    assert message in str(caught.value)


@pytest.mark.parametrize("file", ["agentos_acp.v1.bare", "roost_frames.v1.bare"])
def test_every_prefix_of_a_schema_is_a_schema_or_a_schema_error(file: str) -> None:
    lines = (Path(__file__).parents[3] / "schema" / file).read_text().splitlines(keepends=True)
    assert len(parse("".join(lines), file).declarations) in (30, 9)
    for count in range(len(lines)):
        with suppress(SchemaError):
            parse("".join(lines[:count]), file)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("type A struct {\n a: struct { b: u8 } }", "t.bare:1: A: struct without a name"),
        ("type A list<enum { B }>", "enum without a name"),
        ("type A map<str><union { u8 }>", "union without a name"),
        ("\ntype A union { u8 | str }", "t.bare:2: A: union member u8 is not a declared struct"),
        ("type A optional<optional<u8>>", "an optional in an optional"),
        ("type A optional<u8> type B list<optional<A>>", "an optional in an optional"),
        ("type A struct { ab: u8 aB: u8 a_b: u8 }", "two fields would share a Python name"),
        ("type Final u8", "the generated module uses the name Final"),
        ("type Ab u8 type AB u8", "two types would share"),
    ],
)
def test_what_has_no_python_form_is_refused(text: str, message: str) -> None:
    schema = parse(text, "t.bare")
    with pytest.raises(SchemaError) as caught:
        render(schema, {each.name: "For a test." for each in schema.declarations})
    assert message in str(caught.value)


def test_a_type_without_a_sentence_is_refused() -> None:
    with pytest.raises(SchemaError, match=r"t\.bare:1: B has no sentence"):
        render(parse("type A u8 type B u8", "t.bare"), {"A": "One."})


@pytest.mark.parametrize(
    ("name", "python"),
    [
        ("sessionId", "session_id"),
        ("mcpServers", "mcp_servers"),
        ("JsonUtf8", "json_utf8"),
        ("AcpListAgentsRequest", "acp_list_agents_request"),
        ("HTTPServer", "http_server"),
        ("class", "class_"),
        ("cwd", "cwd"),
    ],
)
def test_a_name_becomes_snake_case(name: str, python: str) -> None:
    assert snake(name) == python
