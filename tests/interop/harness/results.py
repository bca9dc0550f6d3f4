"""What came of trying an agent, kept for the page about agents when `ROOST_INTEROP_RECORD` names a file."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from tools.interop.spec import SCENARIOS, Agent

RECORD = "ROOST_INTEROP_RECORD"


class Results:
    """Outcomes by agent and scenario. `save` replaces those of agents that were tried and leaves the others."""

    def __init__(self) -> None:
        self._found: dict[str, dict[str, dict[str, str]]] = {}
        self._pins: dict[str, str] = {}

    def add(self, agent: Agent, scenario: str, result: str, note: str) -> None:
        """`result`: works, fails, or lacks."""
        self._pins[agent.name] = agent.pin.spec
        entry = {"result": result, **({"note": note} if note else {})}
        self._found.setdefault(agent.name, {})[scenario] = entry

    def save(self) -> None:
        target = os.environ.get(RECORD)
        if not target or not self._found:
            return
        path = Path(target)
        whole: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
        for name, found in self._found.items():
            kept = whole.get(name, {})
            scenarios = kept.get("scenarios", {}) if kept.get("pin") == self._pins[name] else {}
            merged = {**scenarios, **found}
            ordered = {each: merged[each] for each in SCENARIOS if each in merged}
            whole[name] = {"pin": self._pins[name], "scenarios": ordered}
        path.write_text(json.dumps(dict(sorted(whole.items())), indent=2) + "\n")
