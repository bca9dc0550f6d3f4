"""Both stores of an agent's sessions."""

from __future__ import annotations

from pathlib import Path

import pytest

from roost.sdk.store import MemorySessionStore
from roost.sdk.store_directory import DirectorySessionStore

from .agent_history import NewStore


@pytest.fixture(params=["memory", "directory"])
def new_store(request: pytest.FixtureRequest, tmp_path: Path) -> NewStore:
    """The same store each time it is called, as a new process would open it."""
    if request.param == "directory":
        return lambda: DirectorySessionStore(tmp_path / "sessions")
    memory = MemorySessionStore()
    return lambda: memory
