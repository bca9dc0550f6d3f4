"""What each setting means: the comments beside the settings, read from the source that is installed with them."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from roost.daemon.config import SECTIONS, Config, default_of, fields_of, kind_words, value_of
from roost.daemon.config_quirks import KINDS, quoted, section_of
from roost.sidecar.quirks import Quirks


class Setting(NamedTuple):
    """One setting. `value` and `default` None: not set. A quirk has no default: it is known of the agent, or not."""

    section: str
    name: str
    kind: str
    default: Any
    value: Any
    meaning: str
    given: bool

    @property
    def key(self) -> str:
        return f"{self.section}.{self.name}"


def settings(config: Config) -> Iterator[Setting]:
    """Every setting, in the order of the sections, then the quirks that the user tells of agents."""
    for section, field in SECTIONS.items():
        meanings = meanings_of(type(getattr(config, field)))
        for name, kind in fields_of(section).items():
            yield Setting(
                section,
                name,
                kind_words(kind),
                default_of(section, name),
                value_of(config, section, name),
                meanings.get(name, ""),
                f"{section}.{name}" in config.given,
            )
    meanings = meanings_of(Quirks)
    for agent, fields in config.quirks.items():
        for name, value in fields.items():
            yield Setting(section_of(agent), name, KINDS[name], None, value, meanings.get(name, ""), True)


def meanings_of(kind: type[msgspec.Struct]) -> Mapping[str, str]:
    """The comment on each field's line; nothing where the source is not at hand."""
    try:
        source = inspect.getsource(sys.modules[kind.__module__])
    except OSError:
        return {}
    lines = source.splitlines()
    found = {}
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef) and node.name == kind.__name__:
            for statement in node.body:
                if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                    found[statement.target.id] = lines[statement.lineno - 1].partition("  # ")[2]
    return found


def toml_value(value: Any) -> str:
    """As it stands in the file."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, tuple):
        return f"[{', '.join(map(quoted, value))}]"
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{quoted(name)} = {toml_value(found)}' for name, found in value.items())} }}"
    return repr(value)
