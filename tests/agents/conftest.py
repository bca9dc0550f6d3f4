"""A workspace for Wren."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest


@pytest.fixture
def nest(tmp_path: Path) -> Path:
    """A copy of the example workspace."""
    source = Path(__file__).parents[2] / "examples" / "workspace"
    return Path(shutil.copytree(source, tmp_path / "nest-boxes"))
