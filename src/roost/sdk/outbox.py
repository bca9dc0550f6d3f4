"""What a connection has to send, gathered so that a turn of the loop costs few writes.

The first message of a turn is written at once, for its latency; the rest of that turn is gathered up to a pipe's
capacity and written together.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from roost.errors import ConnectionClosed, LimitError
from roost.rpc.peer import Peer
from roost.transport.messages import MessageChannel

_GATHERED: Final = 64 * 1024  # bytes; a pipe's capacity on Linux


class Outbox:
    """Takes messages from the peer and gives them to the channel; tells producers to wait while nobody reads."""

    def __init__(self, peer: Peer, channel: MessageChannel, limit: int, overrun: Callable[[LimitError], None]) -> None:
        self._peer = peer
        self._channel = channel
        self._limit = limit
        self._overrun = overrun
        self._loop = asyncio.get_running_loop()
        self._turn_open = False  # something was written in this turn
        self._gathered = 0
        self._since_rest = 0  # bytes since a producer last let others have a turn
        self._apart: list[bytes] = []
        self._writable = asyncio.Event()
        self._writable.set()
        self._congested = False
        self._closed: str | None = None
        self.tap: Callable[[bool, bytes], None] | None = None

    def require_room(self) -> None:
        """Raises LimitError (`outgoing_bytes`) when the other side has not read for too long, ConnectionClosed."""
        if self._closed is not None:
            raise ConnectionClosed(self._closed)
        if self._congested and self._channel.queued + self._gathered > self._limit:
            raise LimitError("outgoing_bytes", self._limit)

    def added(self, size: int) -> None:
        """The peer may have something to be sent, of about `size` bytes."""
        self._gathered += size
        self._since_rest += size
        if not self._turn_open:
            if self.flush():
                self._turn_open = True
                self._loop.call_soon(self._end_turn)
        elif self._gathered >= _GATHERED:
            self.flush()

    def add_apart(self, message: bytes) -> None:
        """A message that is not the peer's."""
        self._apart.append(message)
        self.added(len(message))

    async def drain(self) -> None:
        """Waits while the other side does not read; now and then lets others have a turn. ConnectionClosed."""
        if self._congested:
            await self._writable.wait()
        elif self._since_rest >= _GATHERED:
            self._since_rest = 0
            await asyncio.sleep(0)
        if self._closed is not None:
            raise ConnectionClosed(self._closed)

    def congested(self) -> None:
        self._congested = True
        self._writable.clear()

    def eased(self) -> None:
        self._congested = False
        self._writable.set()

    def close(self, cause: str) -> None:
        """Nothing can be sent any more; who waits is told."""
        if self._closed is None:
            self._closed = cause
            self._writable.set()

    def flush(self) -> bool:
        """Sends what there is. Returns whether there was anything."""
        messages = self._peer.outgoing()
        if self._apart:
            messages += self._apart
            self._apart = []
        self._gathered = 0
        if not messages:
            return False
        if self.tap is not None:
            for message in messages:
                self.tap(True, message)
        self._channel.send(messages)
        # Twice: a producer that was refused at the limit still leaves room for answers.
        if self._congested and self._channel.queued > 2 * self._limit:
            self._overrun(LimitError("outgoing_bytes", self._limit))
        return True

    def _end_turn(self) -> None:
        self._turn_open = False
        self.flush()
