"""A channel to an agent of v2 that is a process of ours: itself, unless the agent needs help with our MCP servers.

That is known from the answer to `initialize`, too late to reach the agent in another way. So everything passes as it is
until that answer, which for most agents is all that happens here. For one that needs relays a bridge takes over with
that very message, and sees the request before it, as if it had been there from the start.
"""

from __future__ import annotations

from typing import Any

import msgspec

from roost.acp.bridge.mcp_need import needs_relays
from roost.acp.bridge.payload import parse_object
from roost.errors import CodecError
from roost.rpc.messages import peek
from roost.sdk.channel_around import ChildAround
from roost.transport.messages import MessageListener


class RelayedChild(ChildAround):
    """As a channel it is the child's, or the bridge's in front of it; and it can tell how the process ended."""

    def __init__(self, child: Any) -> None:
        self._child = child
        self._channel = child
        self._listener: MessageListener
        self._initialize: bytes | None = None
        self._is_decided = False

    # ---- as a channel

    def open(self, listener: MessageListener) -> None:
        self._listener = listener
        self._child.open(self)

    def send(self, messages: list[bytes]) -> None:
        if self._initialize is None and messages:
            self._initialize = messages[0]  # nothing comes before it (INI-1)
        self._channel.send(messages)

    # ---- as the child's listener

    def received(self, messages: list[bytes]) -> None:
        if self._is_decided:
            self._listener.received(messages)
            return
        for place, message in enumerate(messages):
            if self._is_answer(message):
                listener = self._listener
                self._decide(message)
                if place:
                    listener.received(messages[:place])
                self._listener.received(messages[place:])
                return
        self._listener.received(messages)

    def overflowed(self, count: int, limit: int) -> None:
        self._listener.overflowed(count, limit)

    def congested(self) -> None:
        self._listener.congested()

    def eased(self) -> None:
        self._listener.eased()

    def ended(self) -> None:
        self._listener.ended()

    def closed(self, error: Exception | None) -> None:
        self._listener.closed(error)

    # ---- the decision

    def _is_answer(self, message: bytes) -> bool:
        if self._initialize is None:
            return False
        try:
            envelope = peek(message)
        except CodecError:
            return False  # programs print things (STD-4)
        return envelope.method is msgspec.UNSET and envelope.id == peek(self._initialize).id

    def _decide(self, answer: bytes) -> None:
        self._is_decided = True
        result = peek(answer).result
        if result is msgspec.UNSET or not needs_relays(parse_object(result)):
            return
        from roost.acp.bridge.v2_agent import V2AgentBridge
        from roost.sdk.bridged import BridgedChannel

        bridge = V2AgentBridge()
        assert self._initialize is not None
        bridge.from_north(self._initialize, 0.0)
        bridge.south()  # the agent has it, under the same id: both count from the start
        bridged = BridgedChannel(self._child, bridge)
        bridged.take_over(self._listener)
        self._channel = self._listener = bridged
