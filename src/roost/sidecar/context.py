"""What the parts of the engine share: the limits, the stage, the tables, and the way out for commands."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from roost.errors import SidecarError
from roost.sidecar.commands import Command, Load, Note, Query
from roost.sidecar.conversation import Conversation, Stage, TimedOut, Wait
from roost.sidecar.journal import LearnVersion
from roost.sidecar.keeper import Keeper
from roost.sidecar.launch import Launch
from roost.sidecar.limits import Gauge, Limits
from roost.sidecar.spoken import Spoken

if TYPE_CHECKING:
    from roost.sidecar.callers import Callers
    from roost.sidecar.link import Link
    from roost.sidecar.sessions import Sessions


class Context:
    """One engine's surroundings. `version` is Roost's own, told to v2 agents; `folder` is where files for agents go."""

    callers: Callers
    sessions: Sessions
    relays_mcp = False
    """The driver has programs that connect bridged agents to MCP servers of callers."""
    services: dict[str, Any]
    """The `fs` and `terminal` of a v1 client's capabilities that bridged agents are offered; set by the engine."""
    kill: Callable[[Link], None]
    """Ends an agent that cannot be gone on with; what follows is a crash like any other."""

    def __init__(self, limits: Limits, version: str, folder: str, *, journal: bool) -> None:
        self.limits = limits
        self.version = version
        self.folder = folder
        self.stage = Stage(self.broken)
        self.links: dict[str, Link] = {}
        self.processes = Gauge("processes", limits.processes, self.warn)
        self.shutting_down = False
        self._commands: list[Command] = []
        self._loads: dict[int, Wait] = {}
        self._last_ticket = 0
        self._last_process = 0
        self.emit = self._commands.append
        self.keeper = Keeper(self.stage, limits, self.emit, enabled=journal)
        self.spoken = Spoken(limits.remembered_agents, self._learned)
        self.logged_out: set[str] = set()  # sleeping sessions that wait for a login, by their keys
        self.secrets: dict[str, Launch] = {}  # launches of sleeping sessions, whose secrets the journal does not have

    def drain(self) -> list[Command]:
        self.keeper.flush()
        commands = self._commands[:]
        self._commands.clear()
        return commands

    def _learned(self, change: LearnVersion) -> None:
        if self.keeper.enabled:
            self.keeper.tell(change)

    def note(self, level: str, text: str, *, bug: bool = False) -> None:
        self.emit(Note(level, text, bug))

    def broken(self, error: Exception) -> None:
        """An error that only a mistake of ours explains: it is told, and everything else goes on."""
        trace = "".join(traceback.format_exception(error))
        self.note("error", f"internal error:\n{trace}", bug=True)

    def warn(self, limit: str, observed: int, bound: int) -> None:
        self.note("warning", f"{limit} is {observed * 100 // bound} % full: {observed} of {bound}")

    def load(self, query: Query) -> Conversation[Any]:
        """Asks the driver: the record, or None."""
        self._last_ticket += 1
        ticket, timeout = self._last_ticket, self.limits.load_timeout
        wait = self._loads[ticket] = self.stage.wait()
        self.emit(Load(ticket, query))
        try:
            return (yield self.stage.within(timeout, wait))
        except TimedOut:
            raise SidecarError("timeout", f"no record was found within {timeout:g} s (load_timeout)") from None
        finally:
            self._loads.pop(ticket, None)

    def loaded(self, ticket: int, value: object) -> None:
        wait = self._loads.get(ticket)
        if wait is not None:
            wait.resolve(value)

    @property
    def loading(self) -> int:
        """How many Loads are not answered yet."""
        return len(self._loads)

    def next_process(self) -> str:
        """`acp-agent-<n>`: one counter for create, resume and restarts, from 1."""
        self._last_process += 1
        return f"acp-agent-{self._last_process}"
