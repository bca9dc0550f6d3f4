"""An agent behind a link, and a bridge between the two, with the engine's clock.

Everything above the link sees what the bridge makes of the agent. What it has for the link is taken one message at a
time, never from within a call of the link's own: who sends something has gone on waiting before an answer comes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import msgspec

from roost.acp.bridge.events import BridgeEvent, Note
from roost.acp.bridge.mcp_events import McpRelayEvent
from roost.acp.bridge.v1_agent import V1AgentBridge
from roost.acp.bridge.v2_agent import V2AgentBridge
from roost.errors import RpcError
from roost.rpc.messages import LIMIT_EXCEEDED, error_bytes
from roost.sidecar.context import Context
from roost.sidecar.conversation import Conversation, Timer
from roost.sidecar.mcp_relay import RelayEvent, relay_command, tell_relays


class _Head(msgspec.Struct, gc=False):
    id: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    method: str | None = None


class BridgeSide:
    """`take` gets each message for the link; `flush` is called when there may be something to send."""

    def __init__(
        self,
        context: Context,
        process: str,
        bridge: V1AgentBridge | V2AgentBridge,
        take: Callable[[bytes], None],
        flush: Callable[[], None],
    ) -> None:
        self._context = context
        self._process = process
        self._bridge = bridge
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

    def _happened(self, event: BridgeEvent) -> None:
        """An event that is neither a note nor about MCP."""

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
            else:
                self._happened(event)
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
