"""Frames between two listeners in one event loop, without a socket; same back-pressure, same order."""

from __future__ import annotations

import asyncio
import os
from collections import deque

from roost.transport.base import Listener
from roost.wire.framing import LengthFramer


class MemoryChannel:
    """One end of a pair. What is sent arrives in a later turn of the loop."""

    def __init__(self, listener: Listener, *, peer: str, limit: int, high_water: int) -> None:
        self._listener = listener
        self._framer = LengthFramer(limit)
        self._high_water = high_water
        self._inbox: deque[bytes] = deque()
        self._queued = 0
        self._congested = False
        self._reading = True
        self._scheduled = False
        self._ended = False
        self._other: MemoryChannel
        self._loop = asyncio.get_running_loop()
        self.peer = peer
        self.uid: int | None = os.getuid()

    @property
    def waiting(self) -> int:
        return self._other._queued

    def send(self, data: bytes) -> None:
        other = self._other
        if self._ended or other._ended:
            return
        other._inbox.append(data)
        other._queued += len(data)
        other._wake()
        if other._queued > self._high_water and not self._congested:
            self._congested = True
            self._listener.congested()

    def _wake(self) -> None:
        if self._reading and not self._scheduled and not self._ended:
            self._scheduled = True
            self._loop.call_soon(self._deliver)

    def _deliver(self) -> None:
        self._scheduled = False
        while self._inbox and self._reading and not self._ended:
            data = self._inbox.popleft()
            self._queued -= len(data)
            frames = self._framer.feed(data)
            if frames:
                self._listener.received(frames)
            if self._framer.fault is not None:
                self._reading = False
                self._listener.broke(self._framer.fault)
        sender = self._other
        if sender._congested and self._queued <= sender._high_water // 4:
            sender._congested = False
            if not sender._ended:
                sender._listener.eased()

    def pause_reading(self) -> None:
        self._reading = False

    def resume_reading(self) -> None:
        self._reading = True
        if self._inbox:
            self._wake()

    def close(self) -> None:
        self._end()

    def abort(self) -> None:
        self._end()

    def _end(self) -> None:
        if not self._ended:
            self._ended = True
            self._loop.call_soon(self._listener.closed, None)
            self._loop.call_soon(self._other._drained_end)

    def _drained_end(self) -> None:
        """The other side has closed: what it sent before is delivered first."""
        if not self._ended:
            self._reading = True
            self._deliver()
        if not self._ended:
            self._ended = True
            self._listener.closed(None)


def pair(first: Listener, second: Listener, *, limit: int, high_water: int) -> tuple[MemoryChannel, MemoryChannel]:
    """Connects two listeners; both hear `opened` before this returns."""
    one = MemoryChannel(first, peer="this program", limit=limit, high_water=high_water)
    two = MemoryChannel(second, peer="this program", limit=limit, high_water=high_water)
    one._other, two._other = two, one
    first.opened(one)
    second.opened(two)
    return one, two
