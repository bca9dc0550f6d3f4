"""One reader of one session's events: an ordered queue with a bound that slows the daemon down, never drops."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from roost.host.events import HostEvent, Notification, Stderr

# Bytes that may wait for a reader before this connection stops reading; the daemon pauses the agents in turn.
QUEUE_BYTES = 4 * 1024 * 1024


class Subscription:
    """An async iterator of HostEvents, from the moment it is made to `close`."""

    def __init__(self, pause: Callable[[Subscription], None], resume: Callable[[Subscription], None]) -> None:
        self._pause = pause
        self._resume = resume
        self._queue: deque[HostEvent] = deque()
        self._bytes = 0
        self._put = 0
        self._taken = 0
        self._mark: int | None = None
        self._paused = False
        self._waiter: asyncio.Future[None] | None = None
        self._ended = False
        self._error: Exception | None = None

    def put(self, event: HostEvent) -> None:
        """An event has come. None is dropped: over QUEUE_BYTES the daemon is not read until the reader is near."""
        if self._ended:
            return
        self._queue.append(event)
        self._put += 1
        self._bytes += weight(event)
        if self._bytes > QUEUE_BYTES and not self._paused:
            self._paused = True
            self._pause(self)
        self._wake()

    def mark(self) -> None:
        """Notes this place among the events: those to come are past it, whenever they are read."""
        self._mark = self._put

    @property
    def past_mark(self) -> bool:
        """Whether the event read last came after the mark."""
        return self._mark is not None and self._taken > self._mark

    def end(self, error: Exception | None = None) -> None:
        """No further event; a reader gets what is queued, then the error or the end."""
        if not self._ended:
            self._ended, self._error = True, error
            self._wake()

    def close(self) -> None:
        """The reader is done; what is queued is dropped."""
        self.end()
        self._queue.clear()
        self._bytes = 0
        self._ease()

    def clear(self) -> None:
        """What is queued is dropped; the reader wants only what comes from now on."""
        self._taken += len(self._queue)
        self._queue.clear()
        self._bytes = 0
        self._ease()

    def _ease(self) -> None:
        if self._paused and self._bytes <= QUEUE_BYTES // 4:
            self._paused = False
            self._resume(self)

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def __aiter__(self) -> Subscription:
        return self

    async def __anext__(self) -> HostEvent:
        while not self._queue:
            if self._ended:
                if self._error is not None:
                    raise self._error
                raise StopAsyncIteration
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        event = self._queue.popleft()
        self._taken += 1
        self._bytes -= weight(event)
        self._ease()
        return event


def weight(event: HostEvent) -> int:
    """About how many bytes an event holds."""
    match event:
        case Notification(text=text):
            return len(text) + 200
        case Stderr(chunk=chunk):
            return len(chunk) + 200
    return 400
