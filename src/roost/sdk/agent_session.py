"""A session as its agent has it while a client is attached: what an author's code reads, changes and tells.

Every update of the session goes out through here, in one order, and is remembered for a replay.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from roost.acp import v2
from roost.acp.calls import Request
from roost.acp.paths import is_absolute
from roost.acp.view import SessionView
from roost.errors import ConnectionClosed, LimitError, LocalProtocolError, StoreError
from roost.sdk.agent_config import ConfigOptions
from roost.sdk.history import History
from roost.sdk.store import SessionRecord, StoredSession
from roost.wire.decode import encode
from roost.wire.model import JsonObject

if TYPE_CHECKING:
    from roost.sdk.agent_link import AgentLink
    from roost.sdk.agent_turns import TurnQueue
    from roost.sdk.mcp_channel import McpChannel
    from roost.sdk.permissions import Permission

R = TypeVar("R")

log = logging.getLogger("roost.agent")


class AgentSession:
    """One session, attached. It becomes detached at close; updates then go nowhere.

    `data` is the author's own, any JSON, kept with the session. `scratch` is the author's too, and lasts until close.
    """

    def __init__(self, link: AgentLink, record: SessionRecord, history: History, config: ConfigOptions) -> None:
        self.link = link
        self.id = record.session_id
        self.cwd = record.cwd
        self.additional_directories: list[str] = []
        self.mcp_servers: list[v2.McpServer] = []
        self.config = config
        self.data: dict[str, Any] = record.data
        self.scratch: dict[str, Any] = {}
        self.remembered: dict[str, Permission] = {}
        """What the user answered with always or never, by what it was about."""
        self.meta: JsonObject | None = None
        """`_meta` of the request that attached it."""
        self.attached = True
        self.turns: TurnQueue
        self._record = record
        self._history = history
        self._commands: list[v2.AvailableCommand] = []
        self._offered_to: AgentLink | None = None
        self._held: list[bytes] | None = []  # updates wait here: nothing is told before the response (SES-4)
        self._replaying: asyncio.Event | None = None  # while a replay is being sent: producers wait for its end
        self._moved: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._asking = 0
        self._next_id = 0
        self._saving = asyncio.Lock()
        self._mcp: set[McpChannel] = set()

    # ---- what it is

    @property
    def history(self) -> SessionView:
        """What was said and done so far, live: to be read, not written."""
        return self._history.view

    @property
    def roots(self) -> list[str]:
        """Where its work may take place: its directory, and the additional ones (SES-7)."""
        return [self.cwd, *self.additional_directories]

    @property
    def title(self) -> str | None:
        """What the session is called; None while it has no name."""
        return self._history.view.title

    @property
    def commands(self) -> list[v2.AvailableCommand]:
        """The slash commands on offer."""
        return list(self._commands)

    def resolve(self, path: str) -> str:
        """An absolute path; a relative one starts at the session's directory, wherever the agent runs (SES-6)."""
        return os.path.normpath(path if is_absolute(path) else os.path.join(self.cwd, path))

    def contains(self, path: str) -> bool:
        """Whether the path, links followed, lies inside one of the roots (SES-7)."""
        real = os.path.realpath(self.resolve(path))
        for root in self.roots:
            base = os.path.realpath(root)
            if real == base or real.startswith(base.rstrip(os.sep) + os.sep):
                return True
        return False

    def new_id(self, kind: str) -> str:
        """An id that this session never had: `msg-2-7` is the seventh of its second attachment (MSG-1, TRM-2)."""
        self._next_id += 1
        return f"{kind}-{self._record.epoch}-{self._next_id}"

    # ---- what it tells

    async def update(self, update: v2.SessionUpdate) -> None:
        """Tells of any change. Waits while the client does not read. Legal while idle too (PRM-12)."""
        self.emit(update)
        if self._replaying is not None:
            await self._replaying.wait()
        try:
            await self.link.connection.drain()
        except ConnectionClosed:
            pass  # the turn is cancelled for it; here it would only hide that

    def emit(self, update: v2.SessionUpdate) -> None:
        """`update` for those who cannot wait. CodecError: it has no JSON form, and was not told."""
        data = encode(v2.UpdateSessionNotification(session_id=self.id, update=update))
        self._history.record(update)
        if self._held is not None:
            self._held.append(data)
        elif self.attached:
            self._send(data)

    def _send(self, data: bytes) -> None:
        try:
            self.link.connection.notify_raw("session/update", data)
        except ConnectionClosed:
            pass  # nobody hears it; it is remembered
        except LimitError as error:
            self.link.connection.abort(error)  # never without a word: all of it, or the end

    async def set_title(self, title: str | None) -> None:
        """Names the session, in lists and everywhere; None takes the name away."""
        await self.update(v2.SessionInfoUpdate(title=title, updated_at=self.touch()))

    async def set_commands(self, commands: Iterable[v2.AvailableCommand]) -> None:
        """Offers these slash commands, and no others (MSC-1)."""
        self.offer(commands)
        with suppress(ConnectionClosed):
            await self.link.connection.drain()

    def offer(self, commands: Iterable[v2.AvailableCommand]) -> None:
        """`set_commands` for those who cannot wait."""
        self._commands = list(commands)
        self._offered_to = self.link
        self.emit(v2.AvailableCommandsUpdate(available_commands=list(self._commands)))

    def offered_to(self, link: AgentLink) -> bool:
        """Whether this client has been told the commands."""
        return self._offered_to is link

    async def publish_config(self) -> None:
        """Tells the client of settings that changed by themselves: all of them, as ever (CFG-8, CFG-1)."""
        await self.update(v2.ConfigOptionUpdate(config_options=self.config.listed()))

    def touch(self) -> str:
        """Something happened just now; returns the time."""
        self._record.updated_at = self.link.agent.now()
        return self._record.updated_at

    # ---- what it asks

    async def ask(self, request: Request[R]) -> R:
        """Asks the client on behalf of the session. Raises as `Connection.call` does.

        While the session works it shows that it waits for the user (PRM-7). A client that takes the session over is
        asked again, the former one's question is withdrawn (SES-25).
        """
        self._begin_asking()
        try:
            while True:
                call = asyncio.ensure_future(self.link.connection.call(request))
                try:
                    waited: set[asyncio.Future[Any]] = {call, self._moved}
                    await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
                    if call.done():
                        return call.result()
                finally:
                    call.cancel()
        finally:
            self._end_asking()

    def _begin_asking(self) -> None:
        self._asking += 1
        if self._asking == 1 and self.turns.working:
            self.emit(v2.RequiresActionStateUpdate())

    def _end_asking(self) -> None:
        self._asking -= 1
        if self._asking == 0 and self.turns.working:
            self.emit(v2.RunningStateUpdate())

    @property
    def state(self) -> v2.StateUpdate:
        """What the session is doing, as it would be told now."""
        if not self.turns.busy:
            return v2.IdleStateUpdate()
        return v2.RequiresActionStateUpdate() if self._asking else v2.RunningStateUpdate()

    async def open_mcp(self, server: v2.McpServerAcp) -> McpChannel:
        """A channel to an MCP server the client hosts; it closes with the session at the latest (MCP-2, MCP-7)."""
        from roost.sdk.mcp_channel import connect_mcp

        limit = self.link.limits.mcp_connections
        if len(self._mcp) >= limit:
            raise LimitError("mcp_connections", limit)
        if server not in self.mcp_servers:
            raise LocalProtocolError("the session was not given this MCP server")
        channel = await connect_mcp(self.link, server.server_id)
        self._mcp.add(channel)
        channel.on_closed = lambda: self._mcp.discard(channel)
        return channel

    # ---- attachment

    def hold(self) -> list[v2.SessionUpdate]:
        """From here on updates wait for `release`. Returns what the session amounts to until here (SES-17)."""
        self._held = []
        self._replaying = asyncio.Event()
        return self._history.updates()

    def release(self) -> None:
        """Sends what waited, and from now on as it comes."""
        held, self._held = self._held, None
        if self._replaying is not None:
            self._replaying.set()
            self._replaying = None
        if self.attached:
            for data in held or ():
                self._send(data)

    def move_to(self, link: AgentLink) -> None:
        """Another connection takes the session over; what is being asked is asked there again."""
        if link is not self.link:
            self.link = link
            moved, self._moved = self._moved, asyncio.get_running_loop().create_future()
            moved.set_result(None)

    async def detach(self) -> None:
        """Nothing is told or asked any more; channels are closed."""
        closing = [asyncio.ensure_future(channel.close()) for channel in self._mcp]
        if closing:
            _, late = await asyncio.wait(closing, timeout=self.link.limits.cancel_grace)
            for task in late:
                task.cancel()
        self.attached = False

    # ---- storing

    @property
    def record(self) -> SessionRecord:
        """The session as a list shows it and a store keeps it."""
        record = self._record
        record.title = self._history.view.title
        record.config = self.config.values()
        record.data = self.data
        record.additional_directories = list(self.additional_directories)
        return record

    async def save(self) -> bool:
        """Keeps the session in the agent's store. Returns whether it worked; a failure is logged, work goes on."""
        async with self._saving:
            try:
                await self.link.agent.store.save(StoredSession(record=self.record, history=self._history.stored()))
            except StoreError as error:
                log.error("session %s was not stored: %s", self.id, error)
                return False
            return True

    def settle(self) -> None:
        """Work has come to an end."""
        self._history.settle()
