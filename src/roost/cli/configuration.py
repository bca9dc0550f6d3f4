"""The configuration as the commands use it: read, complained about, and made into what a daemon is given."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from roost.cli.status import ExitStatus, Failure
from roost.daemon.config import Config, ConfigFaults, load

if TYPE_CHECKING:
    from roost.store.base import StoreWatcher
    from roost.store.sqlite import SqliteStore


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """Which sidecar a command wants. `socket` None: no daemon was named on the command line."""

    config: Config
    socket: str | None = None
    caller: str = ""  # "": the configured one
    journal: bool = True

    @property
    def owner(self) -> str:
        return self.caller or self.config.cli.caller

    @property
    def path(self) -> str:
        """Where the daemon listens."""
        from roost.host import default_socket

        configured = self.config.daemon.socket
        return self.socket or (str(placed(self.config, configured)) if configured else default_socket())


def wanted(config_file: str | None, socket: str | None, caller: str | None = None, *, journal: bool = True) -> Wanted:
    """Raises Failure for what is wrong with the configuration or the options."""
    from roost.sidecar.gate import CALLER_NAME, NAME_RULE

    config = read_config(config_file)
    name = config.cli.caller if caller is None else caller
    if not CALLER_NAME.match(name):
        where = f"{config.path}: cli.caller" if caller is None else "--caller"
        raise Failure(ExitStatus.USAGE, f"{where} {name}: {NAME_RULE}")
    return Wanted(config=config, socket=socket, caller=caller or "", journal=journal and config.store.enabled)


def read_config(config_file: str | None) -> Config:
    try:
        return load(config_file, os.environ)
    except ConfigFaults as error:
        if len(error.faults) == 1:
            raise Failure(ExitStatus.USAGE, f"{error.path}: {error.faults[0]}") from error
        sentence = f"{error.path}: {len(error.faults)} mistakes"
        raise Failure(ExitStatus.USAGE, sentence, "\n".join(error.faults)) from error


def daemon_settings(config: Config, environment: Mapping[str, str]) -> dict[str, Any]:
    """Arguments of Daemon, all but the store and the limits."""
    from roost.process.packages import default_roots
    from roost.process.runtimes.base import RuntimeSettings

    runtimes = config.runtimes
    settings = RuntimeSettings(javascript=runtimes.javascript, wasm_memory_bytes=runtimes.wasm_memory_bytes)
    if runtimes.python:
        settings = RuntimeSettings(
            javascript=runtimes.javascript, python=runtimes.python, wasm_memory_bytes=runtimes.wasm_memory_bytes
        )
    roots = [placed(config, root) for root in config.daemon.packages]
    return {
        "roots": (*roots, *default_roots(environment)),
        "let_through": config.daemon.let_through,
        "agent_files": config.daemon.agent_files,
        "agent_terminals": config.daemon.agent_terminals,
        "runtimes": settings,
        "quirks": config.quirks,
    }


def journal_of(config: Config, watcher: StoreWatcher | None = None) -> SqliteStore:
    """The configured journal, not opened. Raises StoreError when there is no place for it."""
    from roost.store.location import default_path
    from roost.store.sqlite import SqliteStore

    named = config.store.path
    path = placed(config, named) if named else default_path(os.environ)
    return SqliteStore(path, limits=config.store_limits, retention=config.retention, watcher=watcher)


def placed(config: Config, name: str) -> Path:
    """A path in the configuration: from the user's home with `~`, else from the file's folder."""
    path = Path(name).expanduser()
    return path if config.path is None else config.path.absolute().parent / path
