"""Ids that nobody has."""

from __future__ import annotations

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from roost.sidecar.decoy import decoy_for

SALTS = st.text(max_size=10)


@given(st.uuids(), SALTS)
def test_the_decoy_of_a_uuid_is_another_one(session: UUID, salt: str) -> None:
    decoy = decoy_for(str(session), salt)
    assert UUID(decoy) != session
    assert len(decoy) == 36


@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=16, max_size=200), SALTS)
def test_a_long_id_keeps_its_length_and_what_is_no_letter_or_digit(session: str, salt: str) -> None:
    decoy = decoy_for(session, salt)
    assert decoy != session
    if any(character.isalnum() for character in session):
        assert len(decoy) in (len(session), 64)
        if len(decoy) == len(session):
            for old, new in zip(session, decoy, strict=True):
                assert (old.isdigit(), old.islower(), old.isupper()) == (new.isdigit(), new.islower(), new.isupper())
                assert old.isalnum() or old == new


STRANGE = st.characters(min_codepoint=0xA0, exclude_categories=("Cs",))  # no id on the wire holds half a character


@given(st.text(max_size=15) | st.text(STRANGE, min_size=1, max_size=300), SALTS)
def test_a_short_or_a_strange_id_has_a_decoy_that_is_plain_ascii(session: str, salt: str) -> None:
    decoy = decoy_for(session, salt)
    assert decoy != session
    assert decoy.isascii()
    assert decoy.isalnum()


@given(st.text(max_size=15) | st.uuids().map(str))  # one with hardly a letter has few decoys: those may be the same
def test_it_cannot_be_told_from_the_id_alone(session: str) -> None:
    assert decoy_for(session, "1") != decoy_for(session, "2")
