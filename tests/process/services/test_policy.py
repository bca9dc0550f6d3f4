"""Nothing is allowed that nobody allowed."""

from __future__ import annotations

import logging

import pytest

from roost.process.services.policy import allow_all, is_allowed


async def test_without_a_decision_nothing_is_allowed():
    assert not await is_allowed(None, "/a")


@pytest.mark.parametrize("answer", [None, 1, "yes", "no", [True], False, object()])
async def test_only_true_is_a_yes(answer):
    async def decide(asked):
        return answer

    assert not await is_allowed(decide, "/a")


async def test_a_decision_that_fails_is_a_no_and_is_logged(caplog):
    async def decide(asked):
        raise ValueError("out of order")

    with caplog.at_level(logging.ERROR):
        assert not await is_allowed(decide, "/a")
    assert "not allowed" in caplog.text


async def test_a_decision_is_asked_with_what_is_wanted():
    asked = []

    async def decide(what):
        asked.append(what)
        return True

    assert await is_allowed(decide, "/a")
    assert asked == ["/a"]


async def test_allow_all_allows_all():
    assert await is_allowed(allow_all, "/a")
