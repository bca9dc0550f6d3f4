"""A v1 agent behind a link that speaks v2: the bridge between them, with the engine's clock.

Everything above the link sees v2 only. What the bridge has for the link is taken one message at a time, never from
within a call of the link's own: who sends something has gone on waiting before an answer comes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from roost.acp.bridge.events import LoggedOut, Note
from roost.acp.bridge.limits import BridgeLimits
from roost.acp.bridge.mcp_events import McpRelayEvent
from roost.acp.bridge.v1_agent import V1AgentBridge
from roost.errors import RpcError
from roost.rpc.messages import LIMIT_EXCEEDED, error_bytes
from roost.sidecar.context import Context
from roost.sidecar.conversation import Conversation, Timer
from roost.sidecar.mcp_relay import RelayEvent, relay_command, tell_relays
from roost.sidecar.services import Services

if TYPE_CHECKING:
    from roost.sidecar.events import ServiceEvent
    from roost.sidecar.link import Link


class _Head(msgspec.Struct, gc=False):
    id: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    method: str | None = None


class V1Side:
    """`take` gets each message in v2; `flush` is called when there may be something to send."""

    def __init__(self, context: Context, link: Link, take: Callable[[bytes], None], flush: Callable[[], None]) -> None:
        process = link.process
        # Unlike those of earlier runs, as far as that can be had without a source of chance.
        nonce = f"{process.rpartition('-')[2]}.{int(context.stage.now * 1000):x}."
        self._context = context
        self._process = process
        patience = context.limits.cancel_grace + context.limits.stuck_caller_timeout
        self._bridge = V1AgentBridge(
            limits=BridgeLimits(cancel_timeout=patience),  # the sidecar's own comes first: it starts the agent again
            services=context.services,
            name=link.launch.agent_type,
            nonce=nonce,
            relays_mcp=context.relays_mcp,
        )
        self.services = Services(context, process, self._bridge, nonce, lambda: link.quirks.missing_file)
        self._take = take
        self._flush = flush
        self._north: deque[bytes] = deque()
        self._delivering = False
        self._scheduled = False
        self._timer: Timer | None = None
        self._ended = False

    def heard(self, line: bytes) -> None:
        """One line of the agent; what it brings about has happened when this returns."""
        self._bridge.from_south(line, self._context.stage.now)
        self._deliver()

    def served(self, event: ServiceEvent) -> None:
        """Something about a file or a terminal of the agent."""
        self._bridge.now = self._context.stage.now
        self.services.told(event)
        self._deliver()

    def relayed(self, event: RelayEvent) -> None:
        """Something about a program that connects the agent to an MCP server of its caller."""
        if self._bridge.mcp is not None and not self._ended:
            tell_relays(self._bridge.mcp, event)
            self._deliver()

    def sent(self, messages: list[bytes]) -> list[bytes]:
        """Messages in v2, as the agent gets them, and what the bridge itself has to say."""
        if messages:
            now = self._context.stage.now
            for message in messages:
                self._bridge.from_north(message, now)
            self._settle()
        if self._north and not self._delivering and not self._scheduled:
            self._scheduled = True
            self._context.stage.start(self._delivered_later())
        return self._bridge.south()

    def end(self) -> None:
        """The agent is gone. A turn it has answered is over; what is open fails as with any agent that crashed."""
        self._bridge.expire(self._context.stage.now + self._bridge.limits.settle_grace)
        self._deliver()
        self._ended = True
        if self._timer is not None:
            self._timer.cancel()

    @property
    def version(self) -> Any:
        """What the agent names as its version, or None; the shape of its answer is that of v1."""
        return self._bridge.requests.answered.get("protocolVersion")

    def attaches(self, kind: str) -> bool:
        """Whether the agent can `load` or `resume` a session by itself."""
        return self._bridge.requests.of_session(kind)

    @property
    def logs_out(self) -> bool:
        """Whether the agent can log out by itself."""
        return self._bridge.requests.logs_out

    @property
    def logged_out(self) -> bool:
        """Whether the bridge lets nothing through for want of a login."""
        return self._bridge.requests.logged_out

    def log_out(self) -> None:
        """From here on that is so."""
        self._bridge.requests.logged_out = True

    def keep_apart(self) -> None:
        """The session that is opened next has a past which the agent does not know; no message id of it comes again."""
        self._bridge.keeps_apart = True

    def _delivered_later(self) -> Conversation[None]:
        yield self._context.stage.later
        self._scheduled = False
        self._deliver()

    def _deliver(self) -> None:
        if self._delivering or self._ended:
            return
        self._delivering = True
        try:
            self._settle()
            while self._north:  # what the link sends of it comes through `sent`, which adds to it
                self._take(self._north.popleft())
        finally:
            self._delivering = False
        self._flush()

    def _settle(self) -> None:
        bound = self._context.limits.line_bytes
        while messages := self._bridge.north():
            for message in messages:
                if len(message) <= bound:
                    self._north.append(message)
                else:
                    self._refuse(message, bound)
        for event in self._bridge.events():
            if isinstance(event, McpRelayEvent):
                self._context.emit(relay_command(self._process, event))
            elif isinstance(event, Note):
                self._context.note(event.level, f"{self._process}: {event.text}")
            elif isinstance(event, LoggedOut):
                self._context.note("info", f"{self._process}: logged out by the bridge; it lets nothing through")
            else:
                self.services.take(event)
        self._set_timer()

    def _refuse(self, message: bytes, bound: int) -> None:
        """A message that fitted in a line as the agent wrote it, and does not in v2: what waits for it is told."""
        self._context.note("warning", f"{self._process}: a message over line_bytes ({bound}) in v2 was dropped")
        head = msgspec.json.decode(message, type=_Head)
        if head.id is msgspec.UNSET:
            return
        error = RpcError(LIMIT_EXCEEDED, "Limit exceeded: line_bytes", {"limit": "line_bytes", "bound": bound})
        answer = error_bytes(bytes(head.id), error)
        if head.method is None:
            self._north.append(answer)
        else:
            self._bridge.from_north(answer, self._context.stage.now)

    def _set_timer(self) -> None:
        due, timer = self._bridge.next_deadline(), self._timer
        if timer is not None:
            if timer.when == due and timer.action is not None:
                return
            timer.cancel()
        stage = self._context.stage
        self._timer = None if due is None or self._ended else stage.after(max(due - stage.now, 0.0), self._ring)

    def _ring(self) -> None:
        now = self._context.stage.now
        self._bridge.expire(now if self._timer is None else max(now, self._timer.when))
        self._timer = None
        self._deliver()
