"""docs/agents.md, from what came of trying the agents: `python -m tools.interop.page [--check]`.

`make interop` keeps the outcomes in `results.json` beside this file. An agent that was not tried in the version that
is pinned now has no row.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.interop.agents import AGENTS, DEFAULT
from tools.interop.spec import CONVERSATION, SCENARIOS, Agent

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "agents.md"
RESULTS = Path(__file__).resolve().with_name("results.json")

CELLS = {"works": "yes", "fails": "**no**", "lacks": "n/a"}
HEADINGS = {
    "cancel_asking": "cancel while asking",
    "cancel_running": "cancel while running",
    "switch": "change an option",
    "two": "two at once",
    "end": "close",
}

INTRO = """\
# Agents

Roost was tried on these agents, as they come from their registries, each of them pinned: whole conversations through
the sidecar in ACP version 2, whatever the agent speaks, with a scripted model in place of its vendor's and no network
but loopback. Every row is written by such a run (`make interop`), none by hand; what `make test` tries is marked †.
Any other agent that speaks ACP on stdio works as well as it keeps to the protocol: `roost check AGENT` tells.

What is tried:

"""


def main(arguments: list[str]) -> int:
    text = page(json.loads(RESULTS.read_text()))
    if arguments == ["--check"]:
        if PAGE.read_text() != text:
            print(f"{PAGE.relative_to(ROOT)} is not what {RESULTS.name} says; run make gen", file=sys.stderr)
            return 1
        return 0
    PAGE.write_text(text)
    return 0


def page(results: dict[str, Any]) -> str:
    """The whole text. `results`: by agent, the pin it was tried in and the outcome of each scenario."""
    tried = {name: found["scenarios"] for name, found in results.items() if _is_current(name, found["pin"])}
    talking = [AGENTS[name] for name in AGENTS if name in tried and AGENTS[name].refused is None]
    refused = [AGENTS[name] for name in AGENTS if name in tried and AGENTS[name].refused is not None]
    lines = [INTRO.rstrip("\n"), ""]
    lines += [f"- **{_heading(name)}**: {SCENARIOS[name]}" for name in CONVERSATION]
    lines += ["", *_table(talking, tried)]
    for agent in talking:
        lines += ["", *_section(agent, tried[agent.name])]
    if refused:
        lines += ["", "## Refused, as it should be", ""]
        for agent in refused:
            lines += [*_refusal(agent, tried[agent.name])]
    missing = [agent.title for agent in AGENTS.values() if agent.name not in tried]
    if missing:
        lines += ["", "## Not run yet", "", f"Known to `make interop`, and not tried so far: {', '.join(missing)}."]
    return "\n".join(lines) + "\n"


def _is_current(name: str, pin: str) -> bool:
    return name in AGENTS and AGENTS[name].pin.spec == pin


def _heading(scenario: str) -> str:
    return HEADINGS.get(scenario, scenario)


def _table(agents: list[Agent], tried: dict[str, Any]) -> Iterator[str]:
    columns = ["agent", "version", *map(_heading, CONVERSATION)]
    yield f"| {' | '.join(columns)} |"
    yield f"| {' | '.join('---' for _ in columns)} |"
    for agent in agents:
        found = tried[agent.name]
        cells = [CELLS[found[each]["result"]] if each in found else "not run" for each in CONVERSATION]
        mark = " †" if agent.name in DEFAULT else ""
        link = f"[{agent.title}](#{_anchor(agent.title)}){mark}"
        yield f"| {' | '.join([link, agent.pin.version, *cells])} |"


def _section(agent: Agent, found: dict[str, Any]) -> Iterator[str]:
    yield f"## {agent.title}"
    yield ""
    how = f"`{agent.pin.spec}`" if agent.is_file else f"`roost install {agent.name}` (`{agent.pin.spec}`)"
    yield f"{how}, run as `{_run_as(agent)}`. To set it up: {agent.setup}"
    points = [f"{quirk.text}." for quirk in agent.quirks]
    for name, outcome in found.items():
        note = outcome.get("note")
        if outcome["result"] == "fails":
            points.append(f"{_heading(name)}: does not work.")
        elif note:
            points.append(f"{_heading(name)}: {note}.")
    if points:
        yield ""
        for point in points:
            yield f"- {point[0].upper()}{point[1:]}"


def _run_as(agent: Agent) -> str:
    program = f"node {agent.program}" if agent.is_file else agent.program.rpartition("/")[2]
    return " ".join([program, *agent.args])


def _refusal(agent: Agent, found: dict[str, Any]) -> Iterator[str]:
    outcome = found.get("refusal", {})
    said = f" It is refused with `{outcome['note']}`." if outcome.get("note") else ""
    works = "" if outcome.get("result") == "works" else " **This does not work.**"
    quirks = " ".join(f"{quirk.text[0].upper()}{quirk.text[1:]}." for quirk in agent.quirks)
    yield f"- **{agent.title}** `{agent.pin.spec}`: {quirks}{said}{works} To set it up: {agent.setup}"


def _anchor(title: str) -> str:
    """As Markdown's readers make it of a heading."""
    kept = "".join(character for character in title.lower() if character.isalnum() or character in " -_")
    return kept.replace(" ", "-")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
