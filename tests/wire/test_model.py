"""The struct base, its markers, and the unknown variant."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from roost.errors import CodecError
from roost.wire.decode import encode
from roost.wire.model import UNSET, Lenient, Model, Unknown, UnsetType, check_one_of


class Point(Model, frozen=True, kw_only=True):
    first_axis: int
    the_other_axis: int = 0
    meta: Lenient[dict[str, Any] | UnsetType | None] = UNSET


def test_names_are_snake_case_here_and_camel_case_on_the_wire() -> None:
    assert encode(Point(first_axis=1, the_other_axis=2, meta={})) == b'{"firstAxis":1,"theOtherAxis":2,"_meta":{}}'


def test_values_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        Point(first_axis=1).first_axis = 2  # type: ignore[misc]


def test_a_repr_leaves_out_what_was_not_set() -> None:
    assert repr(Point(first_axis=1)) == "Point(first_axis=1)"


def test_an_unknown_variant_can_be_built_from_plain_data() -> None:
    unknown = Unknown.of({"type": "_acme/graph", "n": [1, None]})
    assert (unknown.tag, unknown.tag_field, unknown.is_custom) == ("_acme/graph", "type", True)
    assert unknown.value() == {"type": "_acme/graph", "n": [1, None]}
    assert encode({"x": unknown}) == b'{"x":{"type":"_acme/graph","n":[1,null]}}'


@pytest.mark.parametrize("value", [{}, {"type": 5}, {"kind": "x"}])
def test_an_unknown_variant_without_its_tag_cannot_be_built(value: dict[str, Any]) -> None:
    with pytest.raises(CodecError) as refusal:
        Unknown.of(value)
    assert refusal.value.path == ("type",)


def test_unknown_variants_are_equal_when_their_text_is() -> None:
    assert Unknown(b'{"t":"x"}', "x", "t") == Unknown(b'{"t":"x"}', "x", "t")
    assert len({Unknown(b"{}", "x"), Unknown(b"{}", "x"), Unknown(b"{}", "y")}) == 2
    assert Unknown(b"{}", "x") != Unknown(b"{ }", "x")
    assert Unknown(b"{}", "x") != "x"


def test_the_repr_of_an_unknown_variant_shows_no_payload() -> None:
    """SEC-2"""
    assert "secret" not in repr(Unknown(b'{"type":"sse","key":"secret"}', "sse"))


def test_an_unknown_variant_matches_by_its_tag() -> None:
    match Unknown(b"{}", "notice"):
        case Unknown("notice"):
            matched = True
        case _:
            matched = False
    assert matched


@pytest.mark.parametrize("raw", [b"[]", b"5", b'{"n":1e999}', b"{"])
def test_a_payload_python_cannot_hold_is_a_codec_error(raw: bytes) -> None:
    with pytest.raises(CodecError):
        Unknown(raw, "x").value()


class ByName(Model, frozen=True, kw_only=True):
    name: str
    nickname: str | None = None


class ByNumber(Model, frozen=True, kw_only=True):
    number: int | None


class Person(Model, frozen=True, kw_only=True):
    ONE_OF: ClassVar[tuple[type[Model], ...]] = (ByName, ByNumber)

    name: str | UnsetType = UNSET
    nickname: str | None = None
    number: int | UnsetType | None = UNSET

    def __post_init__(self) -> None:
        check_one_of(self)


@pytest.mark.parametrize("members", [{"name": "n"}, {"name": "n", "nickname": "k"}, {"number": 1}, {"number": None}])
def test_members_of_exactly_one_alternative_are_accepted(members: dict[str, Any]) -> None:
    Person(**members)


@pytest.mark.parametrize("members", [{}, {"nickname": "k"}, {"name": "n", "number": 1}, {"number": 1, "nickname": "k"}])
def test_members_of_none_or_of_two_alternatives_are_refused(members: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="exactly one of: name, number"):
        Person(**members)
