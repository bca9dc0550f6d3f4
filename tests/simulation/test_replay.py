"""A failing seed is worth something only when it fails again."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.simulation.accounts import Violation
from tests.simulation.world import WatchedEngine, run

TIMEOUT = 50.0


@pytest.mark.parametrize("seed", [3, 14, 59, 117])
def test_a_seed_replays_exactly(seed: int) -> None:
    first, second = run(seed, tracing=True), run(seed, tracing=True)
    assert len(first.log) > first.taken
    assert first.log == second.log


def test_what_ran_before_it_does_not_matter() -> None:
    alone = run(5, tracing=True).log
    run(6)
    assert run(5, tracing=True).log == alone


def test_it_replays_in_another_process_whose_hashes_differ() -> None:
    wanted = "\n".join(run(14, tracing=True).log)
    for hash_seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-m", "tests.simulation.run", "14", "-v"],
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=True,
        )
        assert done.stdout.startswith(wanted)


class _Silent(WatchedEngine):
    def meddle(self, emitted: list) -> list:  # type: ignore[type-arg]
        return []


def test_a_failure_says_how_to_see_it_again() -> None:
    with pytest.raises(Violation) as caught:
        run(1, engine=_Silent)
    assert any("python -m tests.simulation.run 1 -v" in note for note in caught.value.__notes__)
