"""A caller's connection as the daemon's end of a stream socket: real bytes, cut and delayed as the simulation likes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from roost.transport.base import Listener
from roost.transport.stream import StreamChannel
from tests.simulation.loop import VirtualLoop


class Channel(StreamChannel):
    """The real channel. `observe` hears at once what it is given to send; `mangled`: it has sent something else."""

    def __init__(self, listener: Listener, *, limit: int, high_water: int, observe: Callable[[bytes], None]) -> None:
        super().__init__(listener, limit=limit, high_water=high_water)
        self._observe = observe
        self._on_the_way = bytearray()
        self.mangled = False

    def send(self, data: bytes) -> None:
        if not self.ending:
            self._on_the_way += data
            self._observe(data)
        super().send(data)

    def sent(self, data: bytes) -> None:
        """Bytes have come out at the other end."""
        if self._on_the_way[: len(data)] != data:
            self.mangled = True
        del self._on_the_way[: len(data)]

    @property
    def ending(self) -> bool:
        """Nothing more is taken."""
        return self._closing or self._transport is None or self._transport.is_closing()

    @property
    def waiting(self) -> int:
        """Bytes that are held here, behind those that the socket has taken."""
        return self._queued

    @property
    def high_water(self) -> int:
        return self._high_water


class Socket(asyncio.Transport):
    """What the channel writes to. Nothing leaves it until the caller `take`s it."""

    def __init__(self, loop: VirtualLoop, channel: Channel) -> None:
        super().__init__()
        self._loop = loop
        self._channel = channel
        self._high = 0
        self._low = 0
        self._closing = False
        self._full = False
        self.reading = True
        self.lost = False
        self.queued = 0

    # ---- what the channel calls

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return default

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self._high, self._low = high or 0, low or 0

    def is_closing(self) -> bool:
        return self._closing

    def write(self, data: Any) -> None:
        if self.lost:
            return
        self.queued += len(data)
        self._channel.sent(bytes(data))
        if self.queued > self._high and not self._full:
            self._full = True
            self._channel.pause_writing()

    def close(self) -> None:
        if not self._closing:
            self._closing = True
            if not self.queued:
                self._loop.call_soon(self.lose, None)

    def abort(self) -> None:
        self._closing = True
        self._loop.call_soon(self.lose, None)

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True

    # ---- what the caller does

    def deliver(self, data: bytes) -> None:
        """Bytes of the caller reach the daemon."""
        if not self.lost and not self._closing:
            self._channel.data_received(data)

    def take(self, count: int) -> None:
        """The caller reads up to that much."""
        while count > 0 and self.queued and not self.lost:
            taken = min(count, self.queued)
            count -= taken
            self.queued -= taken
            if self._full and self.queued <= self._low:
                self._full = False
                self._channel.resume_writing()
        if self._closing and not self.queued:
            self._loop.call_soon(self.lose, None)

    def lose(self, error: Exception | None) -> None:
        """The connection is gone, whoever ended it."""
        if not self.lost:
            self.lost = self._closing = True
            self.queued = 0
            self._channel.connection_lost(error)
