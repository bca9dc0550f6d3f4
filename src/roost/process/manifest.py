"""`agentos-package.json`: what a package says about itself, read with suspicion (sidecar section 9)."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from roost.errors import ConfigError

# A manifest is a page of text. More is a mistake, or an attack on whoever lists packages.
MANIFEST_LIMIT = 256 * 1024


@dataclass(frozen=True, slots=True)
class Manifest:
    """The parts that matter for running the package as an agent."""

    entrypoint: str
    version: str = ""
    env: dict[str, str] = field(default_factory=dict)
    launch_args: tuple[str, ...] = ()


class NotAnAgent(ConfigError):
    """A sound manifest of a package that is no agent."""


def read_manifest(path: Path) -> Manifest:
    """Read and check one file. ConfigError says what is wrong with it, for people."""
    try:
        with path.open("rb") as file:
            text = file.read(MANIFEST_LIMIT + 1)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from error
    if len(text) > MANIFEST_LIMIT:
        raise ConfigError(f"{path} is larger than {MANIFEST_LIMIT} bytes")
    return parse_manifest(text, str(path))


def parse_manifest(text: bytes, where: str) -> Manifest:
    """The same for text that was read already; `where` is named in errors."""
    try:
        whole: Any = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"{where} is not JSON: {error}") from error
    if not isinstance(whole, dict):
        raise ConfigError(f"{where} does not hold a JSON object")
    agent = whole.get("agent")
    if agent is None:
        raise NotAnAgent(f"{where} has no agent block, so the package is no agent")
    if not isinstance(agent, dict):
        raise ConfigError(f"{where}: agent is not an object")
    entrypoint = agent.get("acpEntrypoint")
    if entrypoint is None:
        raise NotAnAgent(f"{where} has no agent.acpEntrypoint, so the package is no agent")
    if not isinstance(entrypoint, str):
        raise ConfigError(f"{where}: agent.acpEntrypoint is not a string")
    if not entrypoint:
        raise NotAnAgent(f"{where} has an empty agent.acpEntrypoint, so the package is no agent")
    if fault := name_fault(entrypoint):
        raise ConfigError(f"{where}: agent.acpEntrypoint {entrypoint!r} {fault}")
    env = agent.get("env")
    if env is not None and not isinstance(env, dict):
        raise ConfigError(f"{where}: agent.env is not an object")
    launch_args = agent.get("launchArgs")
    if launch_args is None:
        launch_args = []
    if not isinstance(launch_args, list) or not all(isinstance(word, str) for word in launch_args):
        raise ConfigError(f"{where}: agent.launchArgs is not a list of strings")
    version = whole.get("version")
    return Manifest(
        entrypoint=entrypoint,
        version=version if isinstance(version, str) else "",
        env={name: value for name, value in (env or {}).items() if isinstance(value, str)},
        launch_args=tuple(launch_args),
    )


def name_fault(name: str) -> str | None:
    """Why this cannot be the name of a file in a folder of ours (`must not …`); None when it can."""
    if not name:
        return "must not be empty"
    if name.startswith("."):
        return "must not begin with a dot"
    if "/" in name or "\\" in name:
        return "must not contain a slash: it names a file, not a path"
    if any(ord(character) < 32 or ord(character) == 127 for character in name):
        return "must not contain control characters"
    if len(name.encode("utf-8", "surrogatepass")) > 255:
        return "must not be longer than 255 bytes"
    return None
