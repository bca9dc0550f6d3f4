from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.catalogue.rig import House, Web, web


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path / "root")


@pytest.fixture
def served() -> Iterator[Web]:
    with web() as made:
        yield made
