"""docs/agents.md says what the runs say, and nothing else."""

from __future__ import annotations

import json
from typing import Any

from tests.interop.harness.results import RECORD, Results
from tools.interop.agents import AGENTS
from tools.interop.page import PAGE, RESULTS, page
from tools.interop.spec import CONVERSATION


def works(name: str, **changed: dict[str, str]) -> dict[str, Any]:
    scenarios = {each: {"result": "works"} for each in AGENTS[name].scenarios} | changed
    return {name: {"pin": AGENTS[name].pin.spec, "scenarios": scenarios}}


def row(text: str, title: str) -> list[str]:
    [line] = [line for line in text.splitlines() if line.startswith(f"| [{title}]")]
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_the_page_is_what_the_results_say() -> None:
    assert PAGE.read_text() == page(json.loads(RESULTS.read_text()))


def test_an_agent_that_was_tried_has_a_row() -> None:
    cells = row(page(works("gemini")), "Gemini CLI")
    assert cells[1:] == [AGENTS["gemini"].pin.version, *["yes"] * len(CONVERSATION)]


def test_what_does_not_work_is_said() -> None:
    text = page(works("gemini", run={"result": "fails"}))
    assert "**no**" in row(text, "Gemini CLI")
    assert "- Run: does not work." in text


def test_what_an_agent_lacks_is_said_with_the_reason() -> None:
    text = page(works("gemini", run={"result": "lacks", "note": "it has no shell"}))
    assert "n/a" in row(text, "Gemini CLI")
    assert "- Run: it has no shell." in text


def test_another_version_than_the_pinned_one_is_no_row() -> None:
    results = works("gemini")
    results["gemini"]["pin"] = "npm:@google/gemini-cli@0.1.0"
    assert "[Gemini CLI]" not in page(results)
    assert "Gemini CLI" in page(results).rpartition("## Not run yet")[2]


def test_a_scenario_that_was_not_run_is_not_said_to_work() -> None:
    results = works("gemini")
    del results["gemini"]["scenarios"]["two"]
    assert "not run" in row(page(results), "Gemini CLI")


def test_a_refusal_is_a_line_and_no_row() -> None:
    text = page(works("auggie", refusal={"result": "works", "note": "execution"}))
    assert "[Auggie]" not in text
    assert "It is refused with `execution`" in text


def test_results_of_other_agents_are_kept(tmp_path: Any, monkeypatch: Any) -> None:
    file = tmp_path / "results.json"
    file.write_text(json.dumps(works("gemini") | works("agentao")))
    monkeypatch.setenv(RECORD, str(file))
    results = Results()
    results.add(AGENTS["gemini"], "run", "fails", "")
    results.save()
    saved = json.loads(file.read_text())
    assert saved["agentao"] == works("agentao")["agentao"]
    assert saved["gemini"]["scenarios"]["run"] == {"result": "fails"}
    assert saved["gemini"]["scenarios"]["text"] == {"result": "works"}
