"""Keeps what came of trying the agents, and tries all of them when `ROOST_INTEROP` says so."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

pytest.register_assert_rewrite("tests.interop.harness.scenarios", "tests.interop.harness.stage")

from tests.interop.harness.results import Results  # noqa: E402

collect_ignore = [] if os.environ.get("ROOST_INTEROP") else ["test_installed_by_roost.py"]
RESULTS = pytest.StashKey[Results]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[RESULTS] = Results()


@pytest.fixture(scope="session")
def results(pytestconfig: pytest.Config) -> Iterator[Results]:
    found = pytestconfig.stash[RESULTS]
    yield found
    found.save()
