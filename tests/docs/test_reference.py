"""The API reference is complete and can be made."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

from tests.docs.test_examples import ROOT
from tools.make_docs import PUBLIC, make


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_module_says_what_it_is_for(name: str) -> None:
    assert import_module(name).__doc__


def test_what_the_pages_import_is_public() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").glob("*.py")]
    found = set()
    for page in pages:
        for block in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
            found |= set(re.findall(r"^\s*from (roost[\w.]*) import", block, re.MULTILINE))
    packages = {"roost.acp", "roost.sdk", "roost.sidecar"}
    assert found <= {*PUBLIC, *packages}


@pytest.mark.timeout(240)
def test_every_page_of_the_reference_is_written(tmp_path: Path) -> None:
    pytest.importorskip("pdoc")
    make(tmp_path)
    for name in PUBLIC:
        page = tmp_path / (name.replace(".", "/") + ".html")
        assert page.exists() or (page.with_suffix("") / "index.html").exists(), name
    assert "class ClientTurn" in re.sub("<[^>]+>", "", (tmp_path / "roost/sdk/client_turn.html").read_text())
    assert (tmp_path / "roost/acp/v2/gen/updates.html").exists()
