"""The configuration: one TOML file with every setting, and what becomes of it.

    [daemon]
    packages = ["/srv/agents"]
    [limits]
    sleep_after = 600

What is not in the file has its default. A key that is unknown, a value of the wrong type or one that cannot work is a
mistake of the whole file: a program that ran with half of what it says would be a surprise.
"""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from roost.catalogue.settings import CatalogueSettings
from roost.daemon.config_quirks import SECTION as QUIRKS
from roost.daemon.config_quirks import Overrides, read_overrides
from roost.errors import ConfigError
from roost.process.runtimes.base import DEFAULT_WASM_MEMORY_BYTES
from roost.sidecar.limits import MAY_BE_ZERO, Limits
from roost.store.base import Retention, StoreLimits

FILE_NAME: Final = "config.toml"

# No configuration is as long; something that is was not meant to be read.
MAX_FILE_BYTES: Final = 1024 * 1024

# 0 says: no bound.
_NO_BOUND: Final = frozenset(("file_bytes",))


class DaemonSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How `roost daemon` runs."""

    socket: str = ""  # where it listens, and is looked for; empty: roost/roost.sock in $XDG_RUNTIME_DIR
    packages: tuple[str, ...] = ()  # folders with agent packages, looked at before the usual ones
    log_level: Literal["debug", "info", "warning", "error"] = "info"  # what is logged, to stderr
    agent_files: bool = True  # whether agents of ACP v1 that are bridged may ask to read and write files
    agent_terminals: bool = True  # whether agents of ACP v1 that are bridged may ask to run commands
    let_through: tuple[str, ...] = ()  # variables of the daemon's own environment that agents get as well


class CliSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How the other commands run."""

    caller: str = "cli"  # the name that owns what they start, so that it is found again


class RuntimeChoice(msgspec.Struct, frozen=True, kw_only=True):
    """What programs without an own way to run are run with."""

    javascript: str = "node"  # node, bun or deno: a name on PATH, or a path
    python: str = ""  # a name on PATH, or a path; empty: the Python that runs Roost
    wasm_memory_bytes: int = DEFAULT_WASM_MEMORY_BYTES  # of one WebAssembly program


class StoreSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Where the journal is, and whether there has to be one."""

    path: str = ""  # the journal's file; empty: roost/journal.db in $XDG_DATA_HOME
    enabled: bool = True  # whether there is a journal at all
    durability: Literal["required", "optional"] = "required"  # optional: without a usable journal, go on without one


class Config(msgspec.Struct, frozen=True, kw_only=True):
    """Every setting. `given` are the keys that the file at `path` has; None: there is no file.

    `quirks` is what the user says of agents: agent -> fields of Quirks.
    """

    daemon: DaemonSettings = DaemonSettings()
    cli: CliSettings = CliSettings()
    runtimes: RuntimeChoice = RuntimeChoice()
    limits: Limits = Limits()
    store: StoreSettings = StoreSettings()
    store_limits: StoreLimits = StoreLimits()
    retention: Retention = Retention()
    catalogue: CatalogueSettings = CatalogueSettings()
    quirks: Overrides = {}
    path: Path | None = None
    given: frozenset[str] = frozenset()


# Table of the file -> field of Config.
SECTIONS: Final[Mapping[str, str]] = {
    "daemon": "daemon",
    "cli": "cli",
    "runtimes": "runtimes",
    "limits": "limits",
    "store": "store",
    "store.limits": "store_limits",
    "retention": "retention",
    "catalogue": "catalogue",
}


class ConfigFaults(ConfigError):
    """All that is wrong with one file. `faults` has a sentence for each."""

    def __init__(self, path: Path, faults: tuple[str, ...]) -> None:
        super().__init__(path, faults)
        self.path = path
        self.faults = faults

    def __str__(self) -> str:
        return f"{self.path}: {'; '.join(self.faults)}"


def default_file(environment: Mapping[str, str]) -> Path | None:
    """`$XDG_CONFIG_HOME/roost/config.toml`, or the same in `~/.config`; None where there is neither."""
    base = environment.get("XDG_CONFIG_HOME", "")
    if not os.path.isabs(base):  # XDG: a relative value is ignored
        base = os.path.join(environment.get("HOME", ""), ".config")
    return Path(base, "roost", FILE_NAME) if os.path.isabs(base) else None


def load(path: str | Path | None, environment: Mapping[str, str]) -> Config:
    """The file at `path`, which has to be there; with None the default one, which need not. Raises ConfigError."""
    if path is not None:
        return read(Path(path))
    found = default_file(environment)
    return Config() if found is None or not os.path.lexists(found) else read(found)


def read(path: Path) -> Config:
    """Raises ConfigFaults with everything that is wrong with the file."""
    try:
        with open(path, "rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise ConfigFaults(path, (f"it cannot be read: {error.strerror}",)) from error
    if len(data) > MAX_FILE_BYTES:
        raise ConfigFaults(path, (f"it has more than {MAX_FILE_BYTES} bytes",))
    try:
        tables = tomllib.loads(data.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigFaults(path, (f"it is no TOML: {error}",)) from error
    faults: list[str] = []
    quirks = read_overrides(tables.pop(QUIRKS, {}), faults.append, _meant, _shown)
    values: dict[str, dict[str, Any]] = {section: {} for section in SECTIONS}
    for section, name, value in _settings_in(tables, faults):
        _take(values, section, name, value, faults)
    built: dict[str, Any] = {}
    for section, field in SECTIONS.items():
        try:
            built[field] = _kind(section)(**values[section])
        except ConfigError as error:
            faults.append(f"{section}: {error}")
    if faults:
        raise ConfigFaults(path, tuple(faults))
    given = frozenset(f"{section}.{name}" for section, found in values.items() for name in found)
    return Config(**built, quirks=quirks, path=path, given=given)


def fields_of(section: str) -> dict[str, Any]:
    """The names of a section's settings, in order, with their types."""
    return {field.name: field.type for field in msgspec.structs.fields(_kind(section))}


def value_of(config: Config, section: str, name: str) -> Any:
    return getattr(getattr(config, SECTIONS[section]), name)


def default_of(section: str, name: str) -> Any:
    return value_of(_DEFAULTS, section, name)


def kind_words(kind: Any) -> str:
    """A type in words."""
    return _WORDS.get(kind) or " or ".join(f'"{word}"' for word in kind.__args__)


_DEFAULTS: Final = Config()
_WORDS: Final[Mapping[Any, str]] = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "a text",
    tuple[str, ...]: "a list of texts",
    int | None: "a whole number",
    float | None: "a number",
}


def _kind(section: str) -> Any:
    return type(getattr(_DEFAULTS, SECTIONS[section]))


def _settings_in(tables: Mapping[str, Any], faults: list[str]) -> Iterator[tuple[str, str, Any]]:
    """Section, name and value of everything that stands in a known section."""
    for title, table in tables.items():
        if title not in SECTIONS:
            faults.append(f"{title} is no section{_meant(title, [*SECTIONS, QUIRKS])}")
        elif not isinstance(table, dict):
            faults.append(f"{title} has to be a section, [{title}]")
        else:
            for name, value in table.items():
                inner = f"{title}.{name}"
                if inner not in SECTIONS:
                    yield title, name, value
                elif isinstance(value, dict):
                    yield from ((inner, deep, found) for deep, found in value.items())
                else:
                    faults.append(f"{inner} has to be a section, [{inner}]")


def _take(values: dict[str, dict[str, Any]], section: str, name: str, value: Any, faults: list[str]) -> None:
    key, fields = f"{section}.{name}", fields_of(section)
    if name not in fields:
        faults.append(f"{key} is no setting{_meant(key, _keys())}")
        return
    kind = fields[name]
    try:
        read = msgspec.convert(value, kind)
    except msgspec.ValidationError:
        faults.append(f"{key} has to be {kind_words(kind)}, not {_shown(value)}")
        return
    if isinstance(read, int | float) and not isinstance(read, bool):
        zero = isinstance(read, float) or name in MAY_BE_ZERO or name in _NO_BOUND
        if not math.isfinite(read) or read < (0 if zero else 1):
            faults.append(f"{key} has to be at least {0 if zero else 1}, not {_shown(value)}")
            return
    if "\0" in (read if isinstance(read, str) else ""):
        faults.append(f"{key} has a NUL in it")
        return
    values[section][name] = read


def _keys() -> list[str]:
    return [f"{section}.{name}" for section in SECTIONS for name in fields_of(section)]


def _meant(word: str, known: Mapping[str, Any] | list[str]) -> str:
    """The nearest that there is; the same name in another section is nearer than any other."""
    from difflib import get_close_matches

    name = word.rpartition(".")[2]
    same = [key for key in known if key.rpartition(".")[2] == name]
    near = same or get_close_matches(word, list(known), n=1, cutoff=0.6)
    return f"; did you mean {near[0]}?" if near else "; `roost config` lists what there is"


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    text = repr(value) if isinstance(value, int | float | str) else f"a {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:60]}…"
