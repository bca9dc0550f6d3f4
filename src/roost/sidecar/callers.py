"""Who speaks to the sidecar: callers own sessions, connections carry them.

A caller is an owner; a connection is one way of reaching it. A named caller may have several connections at once and
none for a while; an unnamed one is its single connection, and its sessions end with it. A connection hears the
sessions it has created, resumed or asked about, and no others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from roost.errors import SidecarError
from roost.sidecar.conversation import Conversation, Stage, Timer, Wait
from roost.sidecar.limits import Gauge

if TYPE_CHECKING:
    from roost.sidecar.callbacks import Ask, Asks
    from roost.sidecar.context import Context
    from roost.sidecar.link import Link
    from roost.sidecar.sessions import Session


class Caller:
    """An owner of sessions."""

    def __init__(self, context: Context, name: str, named: bool) -> None:
        self.name = name
        self.named = named
        self.connections: dict[int, Connection] = {}
        self.sessions: dict[str, Session] = {}
        self.opening = 0
        self.waking: dict[str, Wait] = {}  # kept sessions that are being woken, closed or deleted at rest, by id
        self.ending: dict[str, Wait] = {}  # sessions whose agents are being ended, by id
        self.resuming: dict[str, Wait] = {}  # sessions that are being resumed, by id
        self.session_count = Gauge("sessions_per_caller", context.limits.sessions_per_caller, context.warn)


class Connection:
    """One connection of a caller."""

    def __init__(self, context: Context, number: int, caller: Caller) -> None:
        self.number = number
        self.caller = caller
        self.hears: dict[Session, None] = {}  # not by id: while one closes, another may be opened with the same
        self.starting: dict[Link, Asks] = {}  # agents that open a session for it, and their questions
        self.asks: dict[int, Ask] = {}
        self.open_requests = 0
        self.request_count = Gauge("requests_per_connection", context.limits.requests_per_connection, context.warn)
        self.left = False
        self.blocked = False
        self.blocked_before = False
        self._unblocked: Wait | None = None  # settles when it is blocked no more, or has left
        self.stuck: Timer | None = None
        self.dropped_stderr = 0
        self._last_callback = 0

    def require_presence(self) -> None:
        """Raises SidecarError once it has left: a session opened for it now would be known to nobody."""
        if self.left:
            raise SidecarError("invalid_state", "the connection ended before the session was open")

    def unblock(self) -> None:
        """It reads again, or never will."""
        self.blocked = False
        if self._unblocked is not None:
            self._unblocked.resolve()
            self._unblocked = None

    def reads(self, stage: Stage) -> Conversation[None]:
        """Waits while it is blocked, for who has much to tell it."""
        while self.blocked:
            if self._unblocked is None:
                self._unblocked = stage.wait()
            yield self._unblocked

    def next_callback(self) -> int:
        """Non-zero, unique among the open ones, 32 bits wide."""
        self._last_callback = self._last_callback % 0xFFFF_FFFF + 1
        while self._last_callback in self.asks:
            self._last_callback = self._last_callback % 0xFFFF_FFFF + 1
        return self._last_callback


class Callers:
    """The callers that have a connection or a session, and every connection."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._callers: dict[str, Caller] = {}
        self.connections: dict[int, Connection] = {}

    def arrived(self, number: int, name: str, named: bool) -> Connection:
        caller = self._callers.get(name)
        if caller is None:
            caller = self._callers[name] = Caller(self._context, name, named)
        connection = Connection(self._context, number, caller)
        caller.connections[number] = connection
        self.connections[number] = connection
        return connection

    def left(self, number: int) -> Connection | None:
        connection = self.connections.pop(number, None)
        if connection is not None:
            connection.left = True
            connection.unblock()
            connection.caller.connections.pop(number, None)
            if connection.stuck is not None:
                connection.stuck.cancel()
            self.tidy(connection.caller)
        return connection

    def tidy(self, caller: Caller) -> None:
        """Forgets a caller that nothing refers to any more."""
        if caller.connections or caller.sessions or caller.opening or caller.waking or caller.ending:
            return
        if self._callers.get(caller.name) is caller:  # not who came back under the name meanwhile
            del self._callers[caller.name]

    def find(self, name: str) -> Caller | None:
        return self._callers.get(name)

    def __len__(self) -> int:
        return len(self._callers)
