"""A few thousand schedules, always the same. `make soak N=…` goes on with others."""

from __future__ import annotations

import pytest

from tests.simulation.world import run

# About 20 ms each, so less than a minute in all; in parts, so that they share cores and one that fails names its part.
PARTS = 15
SCHEDULES_PER_PART = 140


@pytest.mark.parametrize("part", range(PARTS))
def test_every_promise_is_kept_whatever_happens(part: int) -> None:
    for seed in range(part * SCHEDULES_PER_PART, (part + 1) * SCHEDULES_PER_PART):
        run(seed)
