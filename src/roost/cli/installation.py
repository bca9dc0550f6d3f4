"""Where commands install agents and from which registry, as the configuration has it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from roost.catalogue.download import is_url
from roost.catalogue.install import Installer
from roost.catalogue.machine import Machine
from roost.catalogue.registry import Registry, load_registry, shipped_registry
from roost.catalogue.source import Say
from roost.cli.catalogue import Agent
from roost.cli.configuration import daemon_settings, placed
from roost.cli.login_advice import look_closely
from roost.cli.status import ExitStatus, Failure
from roost.daemon.config import Config
from roost.errors import CatalogueError, LimitError, SidecarError
from roost.process.packages import SYSTEM_ROOT, Packages, default_roots
from roost.process.runtimes.registry import Runtimes

# What the user can put right by asking for something else; the rest has failed.
_MISUSE = ("unknown", "exists")


def installer_of(config: Config, environment: Mapping[str, str], root: str | None, say: Say) -> Installer:
    """Raises Failure when there is no place to install to."""
    roots: tuple[Path, ...] = daemon_settings(config, environment)["roots"]
    target = _root(config, environment, root)
    if target not in roots:
        say(f"{target} is not among the folders that agents are looked for in; daemon.packages can name it")
    earlier = roots[: roots.index(target)] if target in roots else ()
    machine = machine_of(config, environment)
    return Installer(target, machine, lambda: registry_of(config), say, earlier=earlier)


def machine_of(config: Config, environment: Mapping[str, str]) -> Machine:
    return Machine(environment, config.catalogue, daemon_settings(config, environment)["runtimes"])


def registry_of(config: Config) -> Registry:
    """The one that ships with Roost, and over it the one that is configured. Raises CatalogueError or LimitError."""
    named = config.catalogue.registry
    if not named:
        return shipped_registry()
    source = named if is_url(named) else placed(config, named)
    return load_registry(source, config.catalogue).over(shipped_registry())


def failure_of(error: CatalogueError | LimitError) -> Failure:
    """The end of a command for what went wrong."""
    if isinstance(error, LimitError):
        return Failure(ExitStatus.AGENT_FAILED, str(error))
    status = ExitStatus.USAGE if error.code in _MISUSE else ExitStatus.AGENT_FAILED
    return Failure(status, error.message, error.detail)


def _root(config: Config, environment: Mapping[str, str], root: str | None) -> Path:
    if root is not None:
        return Path(os.path.abspath(root))
    if config.catalogue.root:
        return placed(config, config.catalogue.root)
    usual = default_roots(environment)[-1]
    if usual == SYSTEM_ROOT:
        raise Failure(ExitStatus.USAGE, "there is neither $HOME nor $XDG_DATA_HOME; --root says where to install")
    return usual


def state_of(root: Path, name: str, config: Config) -> tuple[bool, str | None]:
    """Whether an installed agent can be run here, and what it lacks or may want."""
    runtimes = Runtimes(daemon_settings(config, os.environ)["runtimes"])
    try:
        package = Packages((root,), runtimes).find(name)
    except SidecarError as error:
        return False, "; ".join(getattr(error, "__notes__", ())) or str(error)
    if package.missing is not None:
        return False, package.missing
    agent = look_closely(config, os.environ)(package, Agent(name, package.version, "", True, None))
    return agent.installed, agent.hint if agent.installed else agent.reason
