"""What carries whole JSON-RPC messages between two programs, and a pair of such channels inside one program.

A channel frames by itself: a line each over pipes, a text frame each over a WebSocket, nothing at all in memory. So
what is sent and received here has no newline at its end and none inside.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final, Protocol

DEFAULT_HIGH_WATER: Final = 256 * 1024  # bytes waiting to be sent before a producer is told to wait; ours


class MessageChannel(Protocol):
    """One connection. Nothing here blocks; what cannot be sent yet is queued and counted."""

    @property
    def peer(self) -> str:
        """Who is at the other end, for logs."""

    @property
    def queued(self) -> int:
        """How many bytes wait to be sent."""

    def open(self, listener: MessageListener) -> None:
        """Starts delivering to `listener`, once per channel; what came before is not lost."""

    def send(self, messages: list[bytes]) -> None:
        """Sends whole messages in order. Dropped silently once the channel is closed."""

    def pause_reading(self) -> None:
        """No `received` until `resume_reading`: the other side is slowed down in the end."""

    def resume_reading(self) -> None: ...

    def close(self) -> None:
        """Ends the connection after what is queued has been sent."""

    def abort(self) -> None:
        """Ends it at once; what is queued is lost."""


class MessageListener(Protocol):
    """Who uses a channel. Calls come one at a time, from the event loop."""

    def received(self, messages: list[bytes]) -> None:
        """Whole messages, in order."""

    def overflowed(self, count: int, limit: int) -> None:
        """So many messages were longer than `limit` bytes. They are lost; the connection is not."""

    def congested(self) -> None:
        """More waits to be sent than the high-water mark."""

    def eased(self) -> None:
        """It is down to a quarter of it again."""

    def ended(self) -> None:
        """The other side sends nothing more. What is sent to it may still arrive."""

    def closed(self, error: Exception | None) -> None:
        """The last call of all; once per channel."""


def message_pair(*, high_water: int = DEFAULT_HIGH_WATER) -> tuple[MessageChannel, MessageChannel]:
    """Two connected channels in one event loop; same back-pressure, same order as between two programs."""
    one, two = _Memory(high_water), _Memory(high_water)
    one.other, two.other = two, one
    return one, two


class _Memory:
    """One end of a pair. What is sent arrives in a later turn of the loop."""

    peer = "this program"

    def __init__(self, high_water: int) -> None:
        self.other: _Memory
        self._listener: MessageListener | None = None
        self._high_water = high_water
        self._inbox: deque[list[bytes]] = deque()
        self._waiting = 0  # bytes in the inbox
        self._congested = False
        self._reading = True
        self._scheduled = False
        self._closed = False
        self._no_more = False  # the other side has closed: the end follows what is in the inbox

    @property
    def queued(self) -> int:
        return self.other._waiting

    def open(self, listener: MessageListener) -> None:
        self._listener = listener
        self._wake()

    def send(self, messages: list[bytes]) -> None:
        other = self.other
        if self._closed or other._closed:
            return
        other._inbox.append(messages)
        other._waiting += sum(map(len, messages))
        other._wake()
        if other._waiting > self._high_water and not self._congested and self._listener is not None:
            self._congested = True
            self._listener.congested()

    def pause_reading(self) -> None:
        self._reading = False

    def resume_reading(self) -> None:
        self._reading = True
        self._wake()

    def close(self) -> None:
        self._end()

    def abort(self) -> None:
        self._end()

    def _wake(self) -> None:
        if self._reading and not self._scheduled and not self._closed and self._listener is not None:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._deliver, self._listener)

    def _deliver(self, listener: MessageListener) -> None:
        self._scheduled = False
        while self._inbox and self._reading and not self._closed:
            messages = self._inbox.popleft()
            self._waiting -= sum(map(len, messages))
            listener.received(messages)
        sender = self.other
        if sender._congested and self._waiting <= sender._high_water // 4:
            sender._congested = False
            if not sender._closed and sender._listener is not None:
                sender._listener.eased()
        if self._no_more and not self._inbox and not self._closed:
            listener.ended()
            if not self._closed:
                self._closed = True
                listener.closed(None)

    def _end(self) -> None:
        if self._closed:
            return
        self._closed = True
        loop = asyncio.get_running_loop()
        if self._listener is not None:
            loop.call_soon(self._listener.closed, None)
        self._inbox.clear()
        self.other._no_more = True
        self.other._wake()
