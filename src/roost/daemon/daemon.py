"""The composition root: an engine, a runner, a catalogue and a driver, put together in one event loop."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import roost
from roost.daemon.catalogue import LocalCatalogue
from roost.daemon.connection import Reception
from roost.daemon.driver import Driver
from roost.daemon.mcp_relay import McpRelays
from roost.daemon.services import AgentServices
from roost.process.local import LocalRunner
from roost.process.packages import Packages, default_roots
from roost.process.runtimes.base import RuntimeSettings
from roost.process.runtimes.registry import Runtimes
from roost.process.tokens import sweep
from roost.sidecar.engine import Engine
from roost.sidecar.events import VersionsRecalled
from roost.sidecar.limits import Limits
from roost.transport.claimed_folder import FILES, ClaimedFolder, sweep_folders, temporary_bases
from roost.transport.unix import UnixServer, serve_unix

if TYPE_CHECKING:
    from roost.store.base import Store

log = logging.getLogger("roost.daemon")


class Daemon:
    """A sidecar that runs. Make it inside a running event loop, and `close` it there."""

    def __init__(
        self,
        *,
        limits: Limits | None = None,
        roots: Sequence[Path] | None = None,
        environment: Mapping[str, str] | None = None,
        let_through: Iterable[str] = (),
        state_dir: Path | None = None,
        store: Store | None = None,
        runtimes: RuntimeSettings | None = None,
        quirks: Mapping[str, Mapping[str, Any]] | None = None,
        agent_files: bool = True,
        agent_terminals: bool = True,
    ) -> None:
        """`state_dir`: where it is noted which agents may exist, so that the next daemon ends what this one cannot.

        `store`: the journal, not opened yet; see `open`. `agent_files`, `agent_terminals`: whether bridged agents are
        offered them.
        """
        own_env = dict(os.environ if environment is None else environment)
        self.limits = limits or Limits()
        self._own_env = own_env
        self._has_met_node = False
        for folder in sweep_folders(temporary_bases(own_env)):
            log.info("took away %s, which a daemon that died had left behind", folder)
        self._folder = ClaimedFolder(_scratch_base(own_env), FILES)
        known = Runtimes(runtimes)
        packages = Packages(default_roots(own_env) if roots is None else roots, known)
        catalogue = LocalCatalogue(
            packages, known, own_env=own_env, let_through=let_through, quirks=quirks, folder=self._folder
        )
        self.runner = LocalRunner(state_dir=state_dir)
        services = AgentServices(
            self.runner, self.limits, files=agent_files, terminals=agent_terminals, own_env=own_env
        )
        engine = Engine(
            self.limits,
            version=roost.__version__,
            folder=self._folder.path,
            journal=store is not None,
            services=services.capabilities,
        )
        self._store = store
        if state_dir is not None:
            for pid in sweep(state_dir):
                log.warning("ended process %d, which a daemon that died had left behind", pid)
        self.driver = Driver(engine, self.runner, catalogue, store, services)
        self._relays = McpRelays(engine, self.driver, self.limits, own_env)
        self._servers: list[UnixServer] = []
        self._receptions: list[Reception] = []

    async def open(self) -> None:
        """Opens the journal, marks what an earlier daemon left in mid-turn and recalls what it learned of agents.

        Raises StoreError with the way out.
        """
        if self._store is not None:
            await self._store.open()
            for session_id in await self._store.recover():
                log.warning("session %s was in mid-turn when its daemon ended", session_id)
            self.driver.feed(VersionsRecalled(await self._store.versions()))

    def reception(self, *, uid: int | None, token: str | None = None) -> Reception:
        """A way in: for the given user only, or for who knows the token."""
        server = f"roost/{roost.__version__}"
        reception = Reception(self.driver, self.limits, server=server, uid=uid, token=token)
        self._receptions.append(reception)
        return reception

    async def listen_unix(self, path: str) -> None:
        """Serves frames at a unix socket, to this daemon's user. Raises TransportError saying why it cannot."""
        reception = self.reception(uid=os.getuid())
        reception.greeted = self._meet_node
        limits = self.limits
        server = await serve_unix(
            path, reception.accept, limit=limits.max_frame_bytes, high_water=limits.caller_output_bytes
        )
        self._servers.append(server)

    def _meet_node(self) -> None:
        """Once, with the first caller, who may be about to start an agent that node runs."""
        if not self._has_met_node:
            from roost.catalogue.needs_probe import meet_node

            self._has_met_node = True
            meet_node(self._own_env)

    async def close(self) -> None:
        """Listens no more, closes every session and every agent, then the connections."""
        servers, self._servers = self._servers, []
        for server in servers:
            server.close()
        await self.driver.shutdown()
        self._relays.close()
        for reception in self._receptions:
            for connection in list(reception.connections):
                connection.close()
        await asyncio.sleep(0)
        if self._store is not None:
            await self._store.close()
        self._folder.remove()


def default_state_dir(environment: Mapping[str, str]) -> Path | None:
    """`$XDG_STATE_HOME/roost`, or the same under the home folder; None where there is neither."""
    base = environment.get("XDG_STATE_HOME", "")
    if not os.path.isabs(base):
        base = os.path.join(environment.get("HOME", ""), ".local", "state")
    return Path(base, "roost") if os.path.isabs(base) else None


def _scratch_base(environment: Mapping[str, str]) -> str:
    """Where files for agents go. `tempfile` would tell, and cost a daemon 2 MB of modules it has no other use for."""
    base = environment.get("TMPDIR", "")
    return base if os.path.isabs(base) else "/tmp"  # noqa: S108
