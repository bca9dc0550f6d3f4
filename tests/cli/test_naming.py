"""Short ids: what is printed is understood again, and what means several sessions is said to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.cli.inventory import Row
from roost.cli.naming import SHORTEST, find_session, short_ids
from roost.cli.status import ExitStatus, Failure


def rows(*ids: str) -> list[Row]:
    return [
        Row(
            session_id=ident,
            agent="a",
            state="asleep",
            title=None,
            cwd="/",
            created_at=0.0,
            updated_at=0.0,
            pid=None,
            env_names=[],
            protocol_version=2,
        )
        for ident in ids
    ]


IDS = st.one_of(
    st.text("ab_-", min_size=1, max_size=12),
    st.builds("sess_{}".format, st.text("01", min_size=1, max_size=10)),
    st.text(min_size=1, max_size=4),
)


@given(st.lists(IDS, unique=True, max_size=12))
def test_every_short_id_means_its_session_and_no_other(ids: list[str]) -> None:
    listed = rows(*ids)
    for ident, short in short_ids(listed).items():
        assert find_session(listed, short).session_id == ident


@pytest.mark.parametrize(
    ("ids", "short"),
    [
        (["sess_0123456789"], "012345"),
        (["0123456789"], "012345"),
        (["sess_0123456789", "sess_0123450000"], "0123456"),
        (["abc"], "abc"),
        (["session-1"], "1"),
    ],
)
def test_a_short_id_is_as_long_as_it_has_to_be(ids: list[str], short: str) -> None:
    assert short_ids(rows(*ids))[ids[0]] == short
    assert SHORTEST == 6


def test_the_beginning_of_an_id_is_enough_when_it_is_of_one_alone() -> None:
    listed = rows("sess_abc", "sess_abd", "sess_x")
    assert find_session(listed, "sess_x").session_id == "sess_x"
    assert find_session(listed, "abd").session_id == "sess_abd"


def test_an_id_that_another_one_begins_with_is_meant_itself() -> None:
    assert find_session(rows("abc", "abcd"), "abc").session_id == "abc"


def test_what_means_several_is_told_with_the_candidates() -> None:
    with pytest.raises(Failure) as caught:
        find_session(rows("sess_abc1", "sess_abc2", "sess_x"), "abc")
    assert caught.value.exit_code == ExitStatus.USAGE
    assert caught.value.message == "'abc' may be any of 2 sessions"
    assert [line.split()[0] for line in caught.value.detail.splitlines()] == ["abc1", "abc2"]


def test_of_very_many_candidates_a_few_are_told() -> None:
    with pytest.raises(Failure) as caught:
        find_session(rows(*(f"s_{number}" for number in range(30))), "s_")
    assert caught.value.detail.splitlines()[-1] == "and 20 more"


@pytest.mark.parametrize("name", ["", "zz"])
def test_what_means_nothing_is_told_with_a_hint(name: str) -> None:
    with pytest.raises(Failure, match="roost ps"):
        find_session(rows("abc"), name)
