"""Decoding and encoding, on types of our own; tests/oracle compares those of the protocol with a second decoder."""

from __future__ import annotations

import contextlib
import json
from typing import Annotated, Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.errors import CodecError
from roost.wire import lenient
from roost.wire.decode import convert, decode, encode, encode_checked
from roost.wire.model import UNSET, FirstOf, Items, Lenient, Model, OpenUnion, Uint64, Unknown, UnsetType, Untagged


class Leaf(Model, frozen=True, kw_only=True, tag_field="type", tag="leaf"):
    size: int
    colour: Lenient[str | None] = None


class Twig(Model, frozen=True, kw_only=True, tag_field="type", tag="twig"):
    leaves: Items[Leaf]


Part = Annotated[Leaf | Twig, OpenUnion("type", {"leaf": Leaf, "twig": Twig})]
Either = Annotated[Untagged, FirstOf(Leaf, list[int])]


class Tree(Model, frozen=True, kw_only=True):
    name: str
    parts: Lenient[Items[Part]] = []
    crown: Lenient[Part | UnsetType | None] = UNSET
    either: Either | None = None
    named_parts: dict[str, Part] = {}
    rings: Lenient[Uint64 | None] = None
    anything: Lenient[Any] = None
    strict_list: list[int] = []


def told(kind: Any, data: bytes) -> tuple[Any, list[tuple[Any, str]]]:
    losses: list[tuple[Any, str]] = []
    return decode(kind, data, on_loss=lambda path, what: losses.append((path, what))), losses


@pytest.mark.parametrize("form", [bytes, bytearray, memoryview, msgspec.Raw])
def test_any_bytes_like_input_decodes(form: Any) -> None:
    for text in (b'{"name":"oak"}', '{"name":"ölbaum"}'.encode(), b'{"name":"oak","rings":-1}'):
        assert decode(Tree, form(text)) == decode(Tree, text)


def test_a_strict_success_tells_of_no_loss() -> None:
    value, losses = told(Tree, b'{"name":"oak","parts":[{"type":"leaf","size":1}]}')
    assert value == Tree(name="oak", parts=[Leaf(size=1)])
    assert losses == []


def test_losses_are_told_with_their_path_and_without_values() -> None:
    data = b'{"name":"oak","parts":[{"type":"leaf","size":"secret"},5],"rings":"secret","crown":{"type":"twig"}}'
    value, losses = told(Tree, data)
    assert value == Tree(name="oak")
    assert dict(losses) == {
        ("parts", 0): "item dropped: expected an integer (at size)",
        ("parts", 1): "item dropped: expected an object",
        ("rings",): "default used: expected an integer from 0 to 18446744073709551615",
        ("crown",): "default used: missing (at leaves)",
    }


def test_without_a_listener_the_value_is_the_same() -> None:
    assert decode(Tree, b'{"name":"oak","rings":"x"}') == Tree(name="oak")


def test_an_error_carries_the_path_from_the_outside_in() -> None:
    for data, path in [
        (b'{"name":5}', ("name",)),
        (b"{}", ("name",)),
        (b'{"name":"n","namedParts":{"a":{"type":"leaf"}}}', ("namedParts", "a", "size")),
        (b'{"name":"n","strictList":[1,2,"x"]}', ("strictList", 2)),
        (b'{"name":"n","either":{"size":"x"}}', ("either",)),
        (b"[]", ()),
    ]:
        with pytest.raises(CodecError) as refusal:
            decode(Tree, data)
        assert refusal.value.path == path


def test_error_messages_hold_no_values() -> None:
    for data in (b'{"name":{"secret":1}}', b'{"name":"n","namedParts":{"a":{"type":5,"x":"secret"}}}'):
        with pytest.raises(CodecError) as refusal:
            decode(Tree, data)
        assert "secret" not in str(refusal.value)
        assert refusal.value.__cause__ is None


def test_an_unknown_variant_is_kept_wherever_a_union_stands() -> None:
    data = b'{"name":"n","parts":[{"type":"root","a": 1.0}],"crown":{"b":[],"type":"root"}}'
    value, losses = told(Tree, data)
    assert value.parts == [Unknown(b'{"type":"root","a": 1.0}', "root")]
    assert value.crown == Unknown(b'{"b":[],"type":"root"}', "root")
    assert losses == []
    assert encode(value) == data


def test_an_alternative_is_read_leniently_before_the_next_is_tried() -> None:
    value, losses = told(Tree, b'{"name":"n","either":{"size":1,"colour":5}}')
    assert value.either == Leaf(size=1)
    assert [path for path, _ in losses] == [("either", "colour")]
    assert decode(Tree, b'{"name":"n","either":[1,2]}').either == [1, 2]
    assert decode(Tree, b'{"name":"n","either":null}').either is None


class Span(Model, frozen=True, kw_only=True):
    start: int
    end: int
    note: Lenient[str | None] = None

    def __post_init__(self) -> None:
        if self.end < self.start:
            raise ValueError("ends before it starts")


def test_what_a_struct_checks_about_its_fields_together_is_a_codec_error() -> None:
    for note in ('"n"', "5"):
        with pytest.raises(CodecError, match="ends before it starts"):
            decode(dict[str, Span], f'{{"s":{{"start":2,"end":1,"note":{note}}}}}'.encode())


def test_the_upper_half_of_an_unsigned_integer_is_no_loss() -> None:
    value, losses = told(Tree, b'{"name":"n","rings":18446744073709551615}')
    assert value.rings == 2**64 - 1
    assert losses == []


MALFORMED = [
    b"",
    b" ",
    b"{",
    b'{"name":"n"',
    b'{"name":"n"} x',
    b'{"name":"n",}',
    b"{'name':'n'}",
    b'{"name":"n","x":nul}',
    b'{"name":"n","x":NaN}',
    b'{"name":"n","x":01}',
    b'{"name":5,"x":[1,]}',
    b'{"name":"n","x":"\\q"}',
    b'{"name":"n","x":"a\nb"}',
    rb'{"name":"n","x":"\ud800"}',
    rb'{"name":"n","rings":"x","x":"\ud800"}',
    b'{"name":"n","x":"\xff"}',
    b'{"name":"n","\xff":1}',
    b'{"name":"n","x":"\xed\xa0\x80"}',
    b'\xef\xbb\xbf{"name":"n"}',
    '{"name":"n"}'.encode("utf-16"),
]


@pytest.mark.parametrize("data", MALFORMED, ids=range(len(MALFORMED)))
def test_text_that_is_not_json_is_a_codec_error_at_the_top(data: bytes) -> None:
    """Also where a strict decoder would never look."""
    with pytest.raises(CodecError, match=r"^not (JSON|UTF-8)") as refusal:
        decode(Tree, data)
    assert refusal.value.path == ()


@pytest.mark.parametrize("where", ["x", "anything", "parts", "name", "namedParts", "crown"])
@pytest.mark.parametrize("bracket", ["[]", "{}"])
def test_any_depth_is_a_value_or_a_codec_error(where: str, bracket: str) -> None:
    """C-38, SEC-8: how deep is the interpreter's choice (1,000 to 10,000), what happens beyond it is ours."""
    opening = bracket[0] if bracket == "[]" else '{"type":'

    def nested(depth: int) -> bytes:
        return f'{{"name":"n","{where}":{opening * depth}1{bracket[1] * depth}}}'.encode()

    for depth in (900, 1000, 5000, 10_000):
        with contextlib.suppress(CodecError):
            encode(decode(Tree, nested(depth)))
    with pytest.raises(CodecError):
        decode(Tree, nested(200_000))


def test_a_number_of_ten_thousand_digits_is_no_number() -> None:
    """C-38, SEC-8"""
    digits = b"9" * 10_000
    value, losses = told(Tree, b'{"name":"n","anything":%s,"rings":%s,"x":%s}' % (digits, digits, digits))
    assert (value.anything, value.rings) == (None, None)
    assert [path for path, _ in losses] == [("rings",), ("anything",)]
    with pytest.raises(CodecError):
        decode(Tree, b'{"name":"n","strictList":[%s]}' % digits)
    with pytest.raises(CodecError):
        decode(float, digits)


def test_a_string_of_many_megabytes_is_a_string() -> None:
    """C-38"""
    name = "x" * 20_000_000
    assert decode(Tree, encode(Tree(name=name))).name == name


def test_more_losses_than_the_bound_refuse_the_message() -> None:
    """SEC-8"""
    within = b'{"name":"n","parts":[%s]}' % b",".join([b"5"] * lenient.MAX_LOSSES)
    value, losses = told(Tree, within)
    assert value.parts == []
    assert len(losses) == lenient.MAX_LOSSES
    beyond = b'{"name":"n","parts":[%s]}' % b",".join([b"5"] * (lenient.MAX_LOSSES + 1))
    with pytest.raises(CodecError, match="malformed"):
        decode(Tree, beyond)


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(st.binary(max_size=40) | st.text(alphabet='{}[]":,\\u0123 eE.+-ntrfalsuptyme', max_size=40).map(str.encode))
def test_no_bytes_raise_anything_but_a_codec_error(data: bytes) -> None:
    for kind in (Tree, Part, Any, dict[str, int]):
        try:
            decode(kind, data)
        except CodecError:
            continue


def test_plain_data_converts_by_the_same_rules() -> None:
    assert convert(Tree, {"name": "n", "rings": "x", "parts": [{"type": "leaf", "size": 1}]}) == Tree(
        name="n", parts=[Leaf(size=1)]
    )
    with pytest.raises(CodecError):
        convert(Tree, {"name": float("nan")})


def test_what_equals_its_default_is_not_written() -> None:
    """W1"""
    assert encode(Tree(name="n")) == b'{"name":"n"}'
    assert encode(Tree(name="n", crown=None)) == b'{"name":"n","crown":null}'
    assert encode(Twig(leaves=[])) == b'{"type":"twig","leaves":[]}'


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (float("nan"), ()),
        ({"a": [1, float("inf")]}, ("a", 1)),
        (Tree(name="n", anything={"x": -float("inf")}), ("anything", "x")),
        (Tree(name="\udc00"), ("name",)),
        ({"a": {"\ud800": 1}}, ("a",)),
        ({"a": object()}, ("a",)),
        ([{1: 2, "b": {1j}}], (0, "b", 0)),
        (Tree(name="null", anything=float("nan")), ("anything",)),
    ],
)
def test_what_json_cannot_say_is_a_codec_error_with_its_path(value: Any, path: tuple[Any, ...]) -> None:
    """W7"""
    with pytest.raises(CodecError) as refusal:
        encode(value)
    assert refusal.value.path == path


def test_null_and_the_word_null_are_written() -> None:
    assert encode({"a": None, "b": "null", "c": [None, 1.5]}) == b'{"a":null,"b":"null","c":[null,1.5]}'


def test_a_structure_that_contains_itself_is_a_codec_error() -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(CodecError):
        encode(Tree(name="n", anything=loop))


@pytest.mark.parametrize("innermost", [object(), float("nan"), "\ud800"])
def test_a_fault_too_deep_to_find_is_a_codec_error_all_the_same(innermost: Any) -> None:
    value = innermost
    for _ in range(5000):
        value = [value]
    with pytest.raises(CodecError):
        encode(value)


def test_no_line_break_is_ever_written() -> None:
    """W7: a payload that was kept may have them between its tokens."""
    raw = b'{\r\n "type" : "root",\n "n": [1.0, 1e5, 12345678901234567890123, "a\\nb"]\n}'
    written = encode(Tree(name="a\nb\r", parts=[Unknown(raw, "root")]))
    assert b"\n" not in written
    assert b"\r" not in written
    assert b'{"type":"root","n":[1.0,1e5,12345678901234567890123,"a\\nb"]}' in written


@pytest.mark.parametrize("line_break", [b"\n", b"\r"])
def test_neither_kind_of_line_break_is_written(line_break: bytes) -> None:
    assert encode(Unknown(b'{"type":' + line_break + b'"x"}', "x")) == b'{"type":"x"}'


def test_a_payload_that_was_made_up_and_is_no_json_is_a_codec_error() -> None:
    with pytest.raises(CodecError):
        encode(Unknown(b'{"type":\n', "x"))


def test_big_integers_in_free_data_are_kept() -> None:
    data = b'{"name":"n","anything":[123456789012345678901234567890]}'
    assert encode(decode(Tree, data)) == data


def test_checked_encoding_refuses_what_a_strict_reader_would_refuse_or_forgive() -> None:
    assert encode_checked(Tree(name="n", parts=[Leaf(size=1), Unknown(b'{"type":"_x"}', "_x")]))
    for value, path in [
        (Tree(name=5), ("name",)),  # type: ignore[arg-type]
        (Tree(name="n", rings="many"), ("rings",)),  # type: ignore[arg-type]
        (Tree(name="n", parts=[Tree(name="untagged")]), ("parts", 0)),  # type: ignore[list-item]
        (Tree(name="n", crown=Unknown(b'{"type":"leaf"}', "leaf")), ("crown",)),
    ]:
        with pytest.raises(CodecError) as refusal:
            encode_checked(value)
        assert refusal.value.path == path


@settings(max_examples=200, deadline=None, derandomize=True, database=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
        max_leaves=20,
    )
)
def test_plain_json_data_survives_unless_a_string_cannot_be_written(value: Any) -> None:
    surrogates = any("\ud800" <= letter <= "\udfff" for letter in json.dumps(value, ensure_ascii=False))
    if surrogates:
        with pytest.raises(CodecError):
            encode(value)
    else:
        assert decode(Any, encode(value)) == value
