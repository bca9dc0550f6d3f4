"""The pages keep their promises: how short the shortest programs are, and where links lead."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.test_examples import MARK, ROOT

DOCS = ROOT / "docs"
FEW_LINES = 15  # of issue 3
TIMEOUT = 30


def first_example(page: str) -> str:
    found = re.search(MARK, (DOCS / page).read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return found[1]


def code_lines(path: Path) -> int:
    """Without the module's docstring and empty lines."""
    text = path.read_text(encoding="utf-8")
    first = ast.parse(text).body[0]
    assert isinstance(first, ast.Expr)
    assert first.end_lineno is not None
    return len([line for line in text.splitlines()[first.end_lineno :] if line.strip()])


def test_the_agent_shown_first_is_whole_and_short() -> None:
    code = first_example("agents.md")
    assert len(code.splitlines()) <= FEW_LINES
    assert "agent.run()" in code


def test_the_client_shown_first_is_whole_and_short() -> None:
    code = first_example("clients.md")
    assert len(code.splitlines()) <= FEW_LINES
    assert "print(end.text)" in code


@pytest.mark.parametrize("name", ["agent.py", "client.py"])
def test_the_examples_are_short(name: str) -> None:
    assert code_lines(ROOT / "examples" / name) <= FEW_LINES


def test_the_client_example_talks_to_the_agent_example() -> None:
    command = [sys.executable, ROOT / "examples" / "client.py", sys.executable, ROOT / "examples" / "agent.py"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=True)
    assert result.stdout == "SAY HELLO\n"


PAGES = [*sorted((DOCS / "agents").glob("*.md")), *sorted((DOCS / "clients").glob("*.md"))]
PAGES += [DOCS / "agents.md", DOCS / "clients.md"]


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(DOCS)) for page in PAGES])
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / link).exists(), link


@pytest.mark.parametrize("side", ["agents", "clients"])
def test_each_topic_is_linked_from_its_side_s_page(side: str) -> None:
    text = (DOCS / f"{side}.md").read_text(encoding="utf-8")
    for page in (DOCS / side).glob("*.md"):
        assert f"]({side}/{page.name})" in text, page.name


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(DOCS)) for page in PAGES])
def test_names_of_limits_and_modules_in_the_pages_exist(page: Path) -> None:
    import importlib

    text = page.read_text(encoding="utf-8")
    homes = {
        "AgentLimits": "roost.sdk.limits",
        "ConnectionLimits": "roost.sdk.limits",
        "ClientLimits": "roost.sdk.client_limits",
        "ViewLimits": "roost.acp.view",
        "ChildLimits": "roost.transport.child",
    }
    for owner, field in re.findall(r"`(\w+Limits)\.(\w+)", text):
        assert field in getattr(importlib.import_module(homes[owner]), owner).__struct_fields__, f"{owner}.{field}"
    for module, name in re.findall(r"`(roost(?:\.[a-z_]+)+)\.(\w+)", text):
        assert hasattr(importlib.import_module(module), name) or importlib.import_module(f"{module}.{name}")
