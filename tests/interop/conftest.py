"""Keeps what came of trying the agents, and tries all of them when `ROOST_INTEROP` says so."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.interop.harness.results import Results

RESULTS = pytest.StashKey[Results]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[RESULTS] = Results()


@pytest.fixture(scope="session")
def results(pytestconfig: pytest.Config) -> Iterator[Results]:
    found = pytestconfig.stash[RESULTS]
    yield found
    found.save()
