"""Every store, whatever it keeps things in: what is promised is promised by each."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from roost.store.base import Store
from roost.store.memory import MemoryStore
from roost.store.sqlite import SqliteStore
from tests.contracts.stores import Make
from tests.store.values import (
    Clock,
    Ear,
)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ear() -> Ear:
    return Ear()


@pytest.fixture(params=["memory", "sqlite"])
def make(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock, ear: Ear) -> Make:
    """Makes the store under test; it is not open yet."""

    def make(**options: Any) -> Store:
        options = {"clock": clock, "watcher": ear, **options}
        if request.param == "memory":
            return MemoryStore(**options)
        return SqliteStore(tmp_path / "data" / "journal.db", **options)

    return make


@pytest.fixture
async def store(make: Make) -> AsyncIterator[Store]:
    store = make()
    await store.open()
    yield store
    await store.close()
