"""The generated codecs against a plain schema-driven one, for every type of both schemas and of one with every kind."""

from __future__ import annotations

import math
import random
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roost.errors import CodecError
from roost.sidecar.gen import frames, messages
from tests.sidecar.gen.bare_oracle import Oracle, Wrong
from tools.gen_bare.module import render
from tools.gen_bare.schema import Named, Schema, parse

SCHEMAS = Path(__file__).parents[3] / "schema"

EVERY_KIND = """
type Flavour enum { SWEET SOUR = 7 SALTY BITTER = 2000 }
type Id u64
type Names list<str>
type Maybe optional<Names>
type Small struct { a: u8 b: Maybe }
type Same Small
type Other struct { x: i8 y: data[3] }
type Choice union { | Small = 3 | Other = 300 }
type Numbers struct {
  a: u8 b: u16 c: u32 d: u64 e: i8 f: i16 g: i32 h: i64 i: uint j: int k: f32 l: f64 m: bool
}
type Containers struct {
  from: Flavour   # a keyword
  n: Id pos: str at: data buf: Same end: Choice len: bool readUint: u8   # names the readers use
  range: optional<optionalless>
  fixed: list<i16>[3]
  nested: list<list<Small>>
  sparse: optional<list<optional<str>>>
  byId: map<Id><list<Other>>
  byFlavour: map<Flavour><data>
  byBool: map<bool><Choice>
  byText: map<str><map<i8><optional<Flavour>>>
}
""".replace("optionalless", "f64")


def module_of(schema: Schema, name: str) -> ModuleType:
    module = ModuleType(name)
    sys.modules[name] = module  # msgspec looks a class's module up
    exec(render(schema, {each.name: "For a test." for each in schema.declarations}), module.__dict__)
    return module


def oracles() -> Iterator[Oracle]:
    every_kind = parse(EVERY_KIND, "every_kind.bare")
    yield Oracle(every_kind, module_of(every_kind, "bare_every_kind"))
    for file, module in (("agentos_acp.v1.bare", messages), ("roost_frames.v1.bare", frames)):
        yield Oracle(parse((SCHEMAS / file).read_text(), file), module)


CASES = [pytest.param(oracle, each.name, id=each.name) for oracle in oracles() for each in oracle.schema.declarations]
every_type = pytest.mark.parametrize(("oracle", "name"), CASES)
# A fixture-free parametrized test is fine to run many examples in; the strategies of big structs are just slow to draw.
examples = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def codec(oracle: Oracle, name: str) -> tuple[Any, Any]:
    return oracle.module.TYPES[name]


@every_type
@given(data=st.data())
@examples
def test_a_value_has_the_bytes_of_the_schema_and_comes_back_from_them(oracle: Oracle, name: str, data: Any) -> None:
    encode, decode = codec(oracle, name)
    value = data.draw(oracle.values(Named(name)))
    encoded = encode(value)
    assert encoded == oracle.encode(Named(name), value)
    assert decode(encoded) == value
    assert type(decode(encoded)) is type(value)
    assert encode(value, b"front") == b"front" + encoded


@every_type
@given(data=st.data())
@examples
def test_every_prefix_and_every_extension_is_a_codec_error(oracle: Oracle, name: str, data: Any) -> None:
    encode, decode = codec(oracle, name)
    encoded = encode(data.draw(oracle.values(Named(name))))
    for stop in range(len(encoded)):
        with pytest.raises(CodecError):
            decode(encoded[:stop])
    with pytest.raises(CodecError, match="bytes follow the value: 2"):
        decode(encoded + b"\0\0")


def agree(oracle: Oracle, name: str, data: bytes) -> None:
    """Both codecs say the same of `data`; and what is accepted has no other spelling."""
    encode, decode = codec(oracle, name)
    try:
        expected = oracle.decode(Named(name), data)
    except Wrong:
        with pytest.raises(CodecError):
            decode(data)
        return
    value = decode(data)
    assert repr(value) == repr(expected)  # by repr: a NaN is not equal to itself
    if "nan" not in repr(value):
        assert encode(value) == data


@every_type
def test_every_single_byte_change_is_judged_as_the_oracle_judges_it(oracle: Oracle, name: str) -> None:
    for value in samples(oracle, name):
        encoded = codec(oracle, name)[0](value)
        for at in range(len(encoded)):
            for byte in (0, 1, 2, 3, 127, 128, 129, 255, encoded[at] ^ 1, encoded[at] ^ 128, (encoded[at] + 1) % 256):
                agree(oracle, name, encoded[:at] + bytes([byte]) + encoded[at + 1 :])


@every_type
@given(data=st.binary(max_size=40))
@examples
def test_any_bytes_are_judged_as_the_oracle_judges_them(oracle: Oracle, name: str, data: bytes) -> None:
    agree(oracle, name, data)


def samples(oracle: Oracle, name: str) -> list[Any]:
    """Two values of the type, by a fixed seed and not too small."""
    generator = random.Random(name)
    return [sample(oracle, Named(name), generator) for _ in range(2)]


def sample(oracle: Oracle, type_: Any, generator: random.Random) -> Any:
    from tools.gen_bare import schema as s

    match oracle.definition(type_):
        case s.Primitive("str"):
            return "".join(generator.choice("abé😀") for _ in range(generator.randrange(1, 5)))
        case s.Primitive("bool"):
            return generator.random() < 0.5
        case s.Primitive("f32" | "f64"):
            return generator.randrange(1000) / 8
        case s.Primitive():
            return generator.choice([0, 1, 100])
        case s.Data(length):
            return generator.randbytes(length or 3)
        case s.Optional(inner):
            return sample(oracle, inner, generator)
        case s.ListOf(item, length):
            return [sample(oracle, item, generator) for _ in range(length or 2)]
        case s.MapOf(key, value):
            return {sample(oracle, key, generator): sample(oracle, value, generator) for _ in range(2)}
        case s.Struct(fields):
            values = [sample(oracle, field.type, generator) for field in fields]
            return oracle.named(type_)(*values)
        case s.Enum():
            return generator.choice(list(oracle.named(type_)))
        case s.Union(members):
            return sample(oracle, generator.choice(members)[0], generator)


@every_type
@pytest.mark.parametrize("kind", [bytearray, memoryview, lambda data: memoryview(bytearray(b"x" + data + b"x"))[1:-1]])
def test_every_kind_of_buffer_decodes_to_the_same_value(oracle: Oracle, name: str, kind: Any) -> None:
    encode, decode = codec(oracle, name)
    for value in samples(oracle, name):
        assert decode(kind(encode(value))) == value


@every_type
@pytest.mark.parametrize("data", [None, "text", 5, [1], 10**12])
def test_what_is_no_buffer_is_a_codec_error(oracle: Oracle, name: str, data: Any) -> None:
    with pytest.raises(CodecError, match="expected bytes"):
        codec(oracle, name)[1](data)


def test_a_released_memoryview_is_a_codec_error() -> None:
    view = memoryview(b"\0")
    view.release()
    with pytest.raises(CodecError, match="released"):
        messages.decode_acp_request(view)


@every_type
@pytest.mark.parametrize("value", [object(), (), {"a": 1}, 1.5, "\ud800", -1, 2**64])
def test_a_wrong_value_is_a_codec_error(oracle: Oracle, name: str, value: Any) -> None:
    """Unless the type really takes it, then it comes back equal."""
    encode, decode = codec(oracle, name)
    try:
        encoded = encode(value)
    except CodecError:
        return
    assert decode(encoded) == (list(value) if isinstance(value, tuple) else value)


@every_type
def test_a_field_left_at_a_wrong_value_is_a_codec_error_at_that_field(oracle: Oracle, name: str) -> None:
    declared = oracle.schema.get(name).type
    for field in getattr(declared, "fields", ()):
        values = {each: getattr(samples(oracle, name)[0], each) for each in oracle.named(Named(name)).__struct_fields__}
        place = oracle.named(Named(name)).__struct_fields__[declared.fields.index(field)]
        with pytest.raises(CodecError) as caught:
            codec(oracle, name)[0](oracle.named(Named(name))(**{**values, place: object()}))
        assert caught.value.path[0] == field.name


HOSTILE = [2**14, 2**31, 2**32 - 1, 2**63 - 1, 2**64 - 1]


def uint(number: int) -> bytes:
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


@pytest.mark.parametrize("count", HOSTILE)
@pytest.mark.parametrize(
    ("name", "front", "path"),
    [
        ("AcpListAgentsResponse", b"", ("agents",)),  # a list
        ("AcpSessionClosedResponse", b"", ("sessionId",)),  # a str
        ("AcpDeliverAgentOutputRequest", b"\1p", ("chunk",)),  # data
        ("AcpResumeSessionRequest", b"\1s\1a\0\1c", ("env",)),  # a map
    ],
)
def test_a_hostile_length_is_refused_before_anything_is_allocated(
    count: int, name: str, front: bytes, path: tuple[str, ...]
) -> None:
    data = front + uint(count) + b"\0" * 64
    decode = messages.TYPES[name][1]
    tracemalloc.start()
    try:
        with pytest.raises(CodecError) as caught:
            decode(data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert caught.value.path == path
    assert peak < 20_000  # the exception and its traceback; nothing of the declared size


def test_a_count_that_the_remaining_bytes_cannot_hold_is_refused_at_once() -> None:
    # Three bytes is the least an AcpAgentEntry takes: 10 of them do not fit in 29 bytes, though 9 could be read.
    with pytest.raises(CodecError, match="10 items") as caught:
        messages.decode_acp_list_agents_response(b"\x0a" + b"\0" * 29)
    assert caught.value.path == ("agents",)
    assert len(messages.decode_acp_list_agents_response(b"\x0a" + b"\0" * 30).agents) == 10


def test_a_nan_survives() -> None:
    every_kind = sys.modules["bare_every_kind"]
    value = every_kind.Numbers(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, math.nan, math.nan, False)
    back = every_kind.decode_numbers(every_kind.encode_numbers(value))
    assert math.isnan(back.k)
    assert math.isnan(back.l)
