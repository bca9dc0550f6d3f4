"""The agents that come with Roost: ordinary programs in `roost.agents`, packages without a folder on the disk."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping

# Name to the module that `python -m` runs. By name only: this layer knows no agent.
SHIPPED_AGENTS: Mapping[str, str] = {"wren": "roost.agents.wren"}


def shipped_command(module: str) -> tuple[str, ...]:
    """The command that runs a shipped agent on the daemon's interpreter.

    `-P` keeps the working directory out of the import path: it is the user's project, and a `json.py` in it must
    not be run.
    """
    return (sys.executable, "-P", "-m", module)


def shipped_file(module: str) -> str | None:
    """Where the module's source is, without importing it; None when it is not installed."""
    try:
        spec = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        return None
    return spec.origin if spec is not None else None
