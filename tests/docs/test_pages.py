"""The pages keep their promises: how short the shortest programs are, and where links lead."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from roost.acp.view import ViewLimits
from roost.sdk.client_limits import ClientLimits
from roost.sdk.limits import AgentLimits, ConnectionLimits
from roost.testing.conformance import Launch, check_agent
from roost.transport.child import ChildLimits
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
    code = first_example("writing-agents.md")
    assert len(code.splitlines()) <= FEW_LINES
    assert "agent.run()" in code


@pytest.mark.timeout(180)
async def test_the_agent_shown_first_breaks_no_must_of_the_protocol(tmp_path: Path) -> None:
    program = tmp_path / "echo.py"
    program.write_text(first_example("writing-agents.md"), encoding="utf-8")
    report = await check_agent(Launch(argv=(sys.executable, str(program))))
    assert report.conforms, report.findings


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


PAGES = [*sorted((DOCS / "writing-agents").glob("*.md")), *sorted((DOCS / "clients").glob("*.md"))]
PAGES += [DOCS / "writing-agents.md", DOCS / "clients.md"]


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(DOCS)) for page in PAGES])
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / link).exists(), link


@pytest.mark.parametrize("side", ["writing-agents", "clients"])
def test_each_topic_is_linked_from_its_side_s_page(side: str) -> None:
    text = (DOCS / f"{side}.md").read_text(encoding="utf-8")
    for page in (DOCS / side).glob("*.md"):
        assert f"]({side}/{page.name})" in text, page.name


LIMITS = {kind.__name__: kind for kind in (AgentLimits, ConnectionLimits, ClientLimits, ViewLimits, ChildLimits)}


def spelt(value: float) -> set[str]:
    """How a page may write the default of a limit."""
    if isinstance(value, float):
        return {f"{value:g} s"}
    mebi, kibi = value // 2**20, value // 2**10
    return {f"{value:,}"} | ({f"{mebi} MiB", f"{mebi} Mi"} if mebi else {f"{kibi} KiB"} if kibi else set())


@pytest.mark.parametrize("page", ["writing-agents/limits.md", "clients/limits.md"])
def test_the_tables_of_limits_tell_the_defaults(page: str) -> None:
    rows = re.findall(
        r"^\| (`\w+Limits\.\w+`[^|]*)\| ([^|]+) \|", (DOCS / page).read_text(encoding="utf-8"), re.MULTILINE
    )
    assert len(rows) > 5
    for names, told in rows:
        owner = re.findall(r"`(\w+Limits)\.", names)[0]
        fields = re.findall(r"`(?:\w+Limits\.)?(\w+)`", names)
        values = [getattr(LIMITS[owner](), field) for field in fields]
        parts = [told.strip().removesuffix(" each")] * len(values) if "each" in told else told.strip().split(", ")
        for field, value, part in zip(fields, values, parts, strict=True):
            if isinstance(value, int | float):
                assert part in spelt(value), f"{owner}.{field} is {value}, not {part}"


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(DOCS)) for page in PAGES])
def test_names_of_limits_and_modules_in_the_pages_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for owner, field in re.findall(r"`(\w+Limits)\.(\w+)", text):
        assert field in LIMITS[owner].__struct_fields__, f"{owner}.{field}"
    for module, name in re.findall(r"`(roost(?:\.[a-z_]+)+)\.(\w+)", text):
        assert hasattr(import_module(module), name) or import_module(f"{module}.{name}")
