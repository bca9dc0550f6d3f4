"""The BARE primitives: one spelling for each number, and faults that say where they are."""

from __future__ import annotations

import struct
from enum import IntEnum

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.errors import CodecError
from roost.wire import bare

GOLDEN = [
    (0, "00"),
    (1, "01"),
    (127, "7f"),
    (128, "8001"),
    (300, "ac02"),
    (16383, "ff7f"),
    (16384, "808001"),
    (2**32, "8080808010"),
    (2**63, "80808080808080808001"),
    (2**64 - 1, "ffffffffffffffffff01"),
]


@pytest.mark.parametrize(("number", "golden"), GOLDEN)
def test_a_uint_has_these_bytes(number: int, golden: str) -> None:
    data = bytes.fromhex(golden)
    assert bare.uint(number) == data
    assert bare.read_uint(b"\xff" + data + b"\xff", 1) == (number, 1 + len(data))


@pytest.mark.parametrize(
    ("number", "golden"),
    [(0, "00"), (-1, "01"), (1, "02"), (-2, "03"), (2**63 - 1, "feffffffffffffffff01"), (-(2**63), "ff" * 9 + "01")],
)
def test_an_int_is_zigzag(number: int, golden: str) -> None:
    assert bare.sint(number).hex() == golden


@given(st.integers(0, 2**64 - 1))
@settings(deadline=None)
def test_a_uint_comes_back_and_no_prefix_of_it_does(number: int) -> None:
    data = bare.uint(number)
    assert bare.read_uint(data, 0) == (number, len(data))
    for stop in range(len(data)):
        with pytest.raises(IndexError):
            bare.read_uint(data[:stop], 0)


@given(st.integers(0, 2**64 - 1), st.integers(1, 12))
@settings(deadline=None)
def test_a_longer_spelling_is_refused(number: int, extra: int) -> None:
    data = bare.uint(number)
    padded = data[:-1] + bytes([data[-1] | 128]) + b"\x80" * (extra - 1) + b"\0"
    with pytest.raises(CodecError, match="not the shortest" if len(padded) <= 10 else "10 bytes"):
        bare.read_uint(padded, 0)


@pytest.mark.parametrize("last", range(2, 128))
def test_a_uint_of_more_than_64_bits_is_refused(last: int) -> None:
    with pytest.raises(CodecError, match="more than 64 bits"):
        bare.read_uint(b"\x80" * 9 + bytes([last]), 0)


def test_a_uint_without_an_end_is_refused_after_ten_bytes() -> None:
    with pytest.raises(CodecError, match="more than 10 bytes"):
        bare.read_uint(b"\xff" * 1_000_000, 0)


@pytest.mark.parametrize("number", [-1, 2**64])
def test_a_number_that_fits_in_no_uint_is_a_value_error(number: int) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - it has no text: the generated encoder gives it one
        bare.uint(number)


@pytest.mark.parametrize("number", [-(2**63) - 1, 2**63])
def test_a_number_that_fits_in_no_int_is_a_value_error(number: int) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - as above
        bare.sint(number)


@pytest.mark.parametrize("write", [bare.uint, bare.sint, bare.blob])
@pytest.mark.parametrize("value", [None, "1", 1.0])
def test_a_wrong_type_is_a_type_error(write: object, value: object) -> None:
    assert callable(write)
    with pytest.raises(TypeError):
        write(value)


def test_the_short_varints_are_the_varints() -> None:
    assert list(bare.UINTS) == [bare.uint(number) for number in range(len(bare.UINTS))]


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        (IndexError(), "the input ends too early"),
        (struct.error(), "the input ends too early"),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "why"), "text that is not UTF-8"),
    ],
)
def test_a_readers_fault_becomes_a_codec_error_at_its_place(fault: Exception, message: str) -> None:
    error = bare.located(fault, "agents", 2)
    assert (error.message, error.path) == (message, ("agents", 2))
    assert bare.located(error, "root").path == ("root", "agents", 2)
    assert bare.located(error) is error


def test_a_writers_fault_becomes_a_codec_error_at_its_place() -> None:
    error = bare.unencodable(TypeError(), "cwd", "str")
    assert (error.message, error.path) == ("expected str", ("cwd",))
    assert bare.unencodable(error, 3, "ignored").path == (3, "cwd")
    assert bare.unencodable(ValueError(), None, "uint").path == ()


class Colour(IntEnum):
    RED = 1


@pytest.mark.parametrize(
    ("key", "step"), [("a", "a"), (7, 7), (True, "True"), (Colour.RED, "RED"), ("k" * 65, "k" * 64 + "…")]
)
def test_a_map_key_is_a_step_of_a_path(key: object, step: str | int) -> None:
    assert bare.key_step(key) == step
    assert type(bare.key_step(key)) is type(step)


def test_the_exported_names_exist() -> None:
    assert all(hasattr(bare, name) for name in bare.__all__)
    assert len(set(bare.__all__)) == len(bare.__all__)
