"""The table of losses: what users read is what is counted."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from roost.acp.bridge.losses import LOSSES, Losses, losses_table

ROOT = Path(__file__).parents[3]
PAGES = ("bridge.md", "supported.md")
SOURCE = ROOT / "src" / "roost" / "acp" / "bridge"


@pytest.mark.parametrize("name", PAGES)
def test_the_pages_have_the_tables_as_they_are(name: str) -> None:
    """The tables come from `losses_table`."""
    page = (ROOT / "docs" / name).read_text()
    assert losses_table(2) in page
    assert losses_table(1) in page


def test_every_loss_is_counted_somewhere_and_none_is_unknown() -> None:
    counted = {name for file in SOURCE.glob("*.py") for name in re.findall(r'count\(\s*"(\w+)"', file.read_text())}
    assert counted <= LOSSES.keys()
    assert LOSSES.keys() - counted == {"replay_cursor"}  # v1 cannot ask, so nothing happens


def test_a_loss_is_told_once_and_counted_each_time() -> None:
    losses = Losses()
    losses.count("mcp_sse")
    losses.count("mcp_sse")
    assert losses.fresh() == ["mcp_sse"]
    assert losses.fresh() == []
    assert losses.counts == {"mcp_sse": 2}


def test_a_loss_that_is_not_in_the_table_is_a_mistake() -> None:
    with pytest.raises(KeyError):
        Losses().count("something")
