"""Serving an agent: over standard input and output, or over any channel; and to clients of an older dialect."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec

from roost.acp.dialect import V1
from roost.errors import CodecError
from roost.rpc.messages import peek
from roost.transport.messages import MessageChannel, MessageListener

if TYPE_CHECKING:
    from roost.sdk.agent import Agent
    from roost.sdk.agent_link import AgentLink

log = logging.getLogger("roost.agent")

Bridge: TypeAlias = Callable[[MessageChannel], MessageChannel]
"""Makes of a channel whose other end speaks an older version one whose other end speaks ours."""

# Seconds a process whose connection is over gets to end by itself; threads of the author's may not want to.
_EXIT_GRACE: Final = 1.0


def through_v1(channel: MessageChannel) -> MessageChannel:
    """The bridge for clients of version 1."""
    from roost.sdk.bridged import client_in_v2

    return client_in_v2(channel)


async def serve(
    agent: Agent, channel: MessageChannel, *, principal: str | None = None, bridge: Bridge | None = through_v1
) -> None:
    """Serves one connection to its end.

    `bridge` translates for a client whose first message asks for version 1; without one such a client is answered our
    version, and may leave (INI-3).
    """
    if bridge is not None:
        channel = await choose_dialect(channel, bridge)
    link = agent.connect(channel, principal=principal)
    await link.connection.wait_closed()


def run_stdio(agent: Agent) -> None:
    """`serve` on this process's own standard input and output, until the input ends or a signal comes."""
    asyncio.run(_serve_stdio(agent))


async def _serve_stdio(agent: Agent) -> None:
    from roost.transport.stdio import open_stdio

    channel = await open_stdio()
    loop = asyncio.get_running_loop()
    link: AgentLink | None = None
    ending: list[asyncio.Task[None]] = []

    def end() -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)  # a second one does what it always does
        if link is None:
            channel.close()
        else:
            ending.append(loop.create_task(link.connection.close()))

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end)
    link = agent.connect(await choose_dialect(channel, through_v1))
    await link.connection.wait_closed()
    _leave()


def _leave() -> None:
    """Sees to it that the process ends although a task or a thread of it may not want to (STD-5)."""
    with suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    timer = threading.Timer(_EXIT_GRACE, os._exit, (0,))
    timer.daemon = True
    timer.start()


# ---- dialects


async def choose_dialect(channel: MessageChannel, bridge: Bridge) -> MessageChannel:
    """The channel to serve: itself, or bridged when the first message on it asks for version 1 (INI-5)."""
    first = _FirstMessages(channel)
    channel.open(first)
    await first.arrived.wait()
    return bridge(first) if first.messages and _asks_for_v1(first.messages[0]) else first


class _Initialize(msgspec.Struct):
    version: int = msgspec.field(name="protocolVersion")


_decode_initialize = msgspec.json.Decoder(_Initialize).decode


def _asks_for_v1(message: bytes) -> bool:
    try:
        envelope = peek(message)
        if envelope.method != "initialize" or not isinstance(envelope.params, msgspec.Raw):
            return False
        return _decode_initialize(envelope.params).version == V1.version
    except (CodecError, msgspec.DecodeError):
        return False


class _FirstMessages:
    """A channel that was looked into: what was seen is delivered all the same, and then it is the channel itself."""

    def __init__(self, channel: MessageChannel) -> None:
        self._channel = channel
        self._listener: MessageListener | None = None
        self._ended = False
        self._closed: tuple[Exception | None] | None = None
        self.messages: list[bytes] = []
        self.arrived = asyncio.Event()

    # ---- as a listener of the channel, until somebody listens here

    def received(self, messages: list[bytes]) -> None:
        if self._listener is not None:
            self._listener.received(messages)
            return
        self.messages += messages
        self._channel.pause_reading()
        self.arrived.set()

    def overflowed(self, count: int, limit: int) -> None:
        if self._listener is not None:
            self._listener.overflowed(count, limit)

    def congested(self) -> None:
        if self._listener is not None:
            self._listener.congested()

    def eased(self) -> None:
        if self._listener is not None:
            self._listener.eased()

    def ended(self) -> None:
        self._ended = True
        self.arrived.set()
        if self._listener is not None:
            self._listener.ended()

    def closed(self, error: Exception | None) -> None:
        self._closed = (error,)
        self.arrived.set()
        if self._listener is not None:
            self._listener.closed(error)

    # ---- as a channel

    @property
    def peer(self) -> str:
        return self._channel.peer

    @property
    def queued(self) -> int:
        return self._channel.queued

    def open(self, listener: MessageListener) -> None:
        asyncio.get_running_loop().call_soon(self._hand_over, listener)

    def _hand_over(self, listener: MessageListener) -> None:
        self._listener = listener
        seen, self.messages = self.messages, []
        if seen:
            listener.received(seen)
        if self._ended:
            listener.ended()
        if self._closed is not None:
            listener.closed(self._closed[0])
        else:
            self._channel.resume_reading()

    def send(self, messages: list[bytes]) -> None:
        self._channel.send(messages)

    def pause_reading(self) -> None:
        self._channel.pause_reading()

    def resume_reading(self) -> None:
        self._channel.resume_reading()

    def close(self) -> None:
        self._channel.close()

    def abort(self) -> None:
        self._channel.abort()
