"""What a user says about the quirks of agents: `[quirks.AGENT]` in the configuration.

    [quirks.gemini]
    resume = "native"
    [quirks."@me/agent"]
    authenticate = { api-key = ["MY_KEY"] }

AGENT is any name the agent goes by: what it is installed as, its package on npm or PyPI, its program's file, or the
name it tells of itself. Whether there is such an agent is not asked: it may come later.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from roost.sidecar.quirks import Quirks

SECTION: Final = "quirks"

Overrides = Mapping[str, Mapping[str, Any]]

KINDS: Final[Mapping[str, str]] = {
    "authenticate": "a table of logins, each with a list of variables",
    "speaks": "1 or 2",
    "initialize_timeout": "a number",
    "save_grace": "a number",
    "input_close_grace": "a number",
    "resume": '"native" or "transcript"',
    "missing_file": '"error" or "empty"',
    "needs": '"checked" or "ignored"',
}


def read_overrides(
    table: Any, fault: Callable[[str], None], meant: Callable[[str, list[str]], str], shown: Callable[[Any], str]
) -> Overrides:
    """The quirks in the section, as they are in `Quirks`; what is wrong with it is told to `fault`."""
    if not isinstance(table, dict):
        fault(f"{SECTION} has one section for each agent, [{SECTION}.AGENT]")
        return {}
    found: dict[str, dict[str, Any]] = {}
    for agent, fields in table.items():
        if not isinstance(fields, dict):
            fault(f"{SECTION}.{agent} has to be a section, [{section_of(agent)}]")
            continue
        found[agent] = {}
        for name, value in fields.items():
            key = f"{SECTION}.{agent}.{name}"
            if name not in KINDS:
                fault(f"{key} is no setting{meant(key, [f'{SECTION}.{agent}.{known}' for known in KINDS])}")
                continue
            try:
                found[agent][name] = getattr(msgspec.convert({name: value}, Quirks), name)
            except msgspec.ValidationError:
                fault(f"{key} has to be {KINDS[name]}, not {shown(value)}")
    return found


def section_of(agent: str) -> str:
    """The section's title as it stands in the file."""
    bare = agent.isascii() and agent.replace("-", "").replace("_", "").isalnum()
    return f"{SECTION}.{agent if bare else quoted(agent)}"


def quoted(text: str) -> str:
    """JSON writes a TOML string too, but for DEL."""
    return msgspec.json.encode(text).decode().replace("\x7f", "\\u007f")
