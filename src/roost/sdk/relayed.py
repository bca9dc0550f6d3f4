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
from roost.transport.messages import MessageChannel, MessageListener


class RelayedChild:
    """As a channel it is the child's, or the bridge's in front of it; and it can tell how the process ended."""

    def __init__(self, child: Any) -> None:
        self._child = child
        self._channel: MessageChannel = child
        self._listener: MessageListener
        self._initialize: bytes | None = None
        self._is_decided = False

    # ---- the process

    @property
    def pid(self) -> int:
        return int(self._child.pid)

    @property
    def exit_code(self) -> int | None:
        code: int | None = self._child.exit_code
        return code

    @property
    def last_words(self) -> str:
        """The end of what it said on stderr."""
        return str(self._child.last_words)

    async def wait_exited(self) -> int:
        return int(await self._child.wait_exited())

    # ---- as a channel

    @property
    def peer(self) -> str:
        return self._channel.peer

    @property
    def queued(self) -> int:
        return self._channel.queued

    def open(self, listener: MessageListener) -> None:
        self._listener = listener
        self._child.open(self)

    def send(self, messages: list[bytes]) -> None:
        if self._initialize is None and messages:
            self._initialize = messages[0]  # nothing comes before it (INI-1)
        self._channel.send(messages)

    def pause_reading(self) -> None:
        self._channel.pause_reading()

    def resume_reading(self) -> None:
        self._channel.resume_reading()

    def close(self) -> None:
        self._channel.close()

    def abort(self) -> None:
        self._channel.abort()

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
