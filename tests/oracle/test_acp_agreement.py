"""Our decoder against the reference decoder, for every definition of the schema."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roost.acp import v2
from roost.errors import CodecError
from roost.wire.decode import decode, encode
from tests.oracle import acp_reference as reference
from tests.oracle.acp_instances import GENERATED, mutated, odd_tokens, of_definition, single_faults
from tests.oracle.acp_plain import plain_as, same


def is_constants(name: str) -> bool:
    """Open enumerations are read as `str`; their class only holds names."""
    kind = getattr(v2, name)
    return isinstance(kind, type) and kind.__module__.startswith("roost.") and not hasattr(kind, "__struct_fields__")


# Their classes also hold what stands beside the union, so they only mean the same inside SessionConfigOption.
ARMS_ONLY = {"SessionConfigSelect", "SessionConfigBoolean"}
DECODABLE = [name for name in GENERATED if name in v2.gen.TOPIC_OF and name not in ARMS_ONLY and not is_constants(name)]


def compare(name: str, text: bytes) -> None:
    """Same verdict, same value, same losses; and what we would write again is strictly valid and means the same."""
    losses: list[Any] = []
    try:
        expected: reference.Reading | None = reference.decode(name, text)
    except reference.Bad:
        expected = None
    try:
        value = decode(getattr(v2, name), text, on_loss=lambda path, what: losses.append(path))
    except CodecError:
        assert expected is None, f"{name}: refused {text!r}, expected {expected}"
        return
    assert expected is not None, f"{name}: accepted {text!r} as {value}"
    got = plain_as(name, value)
    assert same(got, expected.value), f"{name}: {text!r}\n  got      {got}\n  expected {expected.value}"
    assert sorted(map(str, losses)) == sorted(map(str, expected.losses)), f"{name}: {text!r} {losses} {expected.losses}"
    written = encode(value)
    again = reference.decode(name, written)
    assert not again.losses, f"{name}: we wrote {written!r}, which needs forgiveness"
    assert encode(decode(getattr(v2, name), written)) == written


@pytest.mark.parametrize("name", DECODABLE)
def test_one_fault_anywhere_reads_as_the_reference_reads_it(name: str) -> None:
    for text in single_faults(name):
        compare(name, text)


@pytest.mark.parametrize("name", DECODABLE)
def test_tokens_that_libraries_disagree_about_read_as_the_reference_reads_them(name: str) -> None:
    for text in odd_tokens(name):
        compare(name, text)


@settings(max_examples=600, deadline=None, derandomize=True, database=None)
@given(st.data())
def test_valid_instances_lose_nothing_and_survive_a_round_trip(data: st.DataObject) -> None:
    """C-02, C-45"""
    name = data.draw(st.sampled_from(DECODABLE))
    text = json.dumps(data.draw(of_definition(name))).encode()
    assert not reference.decode(name, text).losses
    compare(name, text)


@settings(max_examples=2500, deadline=None, derandomize=True, database=None)
@given(st.data())
def test_broken_instances_read_as_the_reference_reads_them(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(DECODABLE))
    compare(name, json.dumps(data.draw(mutated(name))).encode())
