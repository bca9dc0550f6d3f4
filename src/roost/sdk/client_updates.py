"""A reader's place in the stream of a session's updates: bounded, and slowing the agent down when it is full.

While a call of ours is open the agent cannot be slowed down, for the reader may be waiting for that very answer (see
`Connection.hold_reading`). So there is a second bound, and a reader that is that far behind is told LimitError. The
session's view has everything in either case.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from roost.acp.v2.gen.updates import SessionUpdate
from roost.errors import LimitError
from roost.sdk.client_limits import ClientLimits

if TYPE_CHECKING:
    from roost.sdk.connection import Connection


class UpdateQueue:
    """What has come for one reader and is not read yet. The session keeps this, the reader an UpdateStream."""

    def __init__(self, connection: Connection, limits: ClientLimits, left: Callable[[UpdateQueue], None]) -> None:
        self._connection = connection
        self._limits = limits
        self._left = left
        self._updates: deque[tuple[SessionUpdate, int]] = deque()
        self._bytes = 0
        self._held = False
        self.reader: asyncio.Task[Any] | None = None
        """The task that reads."""
        self.unbounded = 0
        """How many wait for something else that only reading on can bring: meanwhile nothing is held."""
        self._waiter: asyncio.Future[None] | None = None
        self._finished = False
        self._error: Exception | None = None

    def __len__(self) -> int:
        return len(self._updates)

    def push(self, update: SessionUpdate, size: int) -> None:
        """An update of `size` bytes has come."""
        if self._finished:
            return
        self._updates.append((update, size))
        self._bytes += size
        if self._waiter is not None:
            self._wake()
        if not self._is_full():
            return
        self._hold()
        limits = self._limits
        if len(self._updates) >= limits.waiting_updates * limits.unread_factor:
            self.finish(LimitError("waiting_updates", limits.waiting_updates))
        elif self._bytes >= limits.waiting_update_bytes * limits.unread_factor:
            self.finish(LimitError("waiting_update_bytes", limits.waiting_update_bytes))

    def finish(self, error: Exception | None = None) -> None:
        """Nothing more comes. What has come is still read; then the reader is done, or gets `error`."""
        if not self._finished:
            self._finished = True
            self._error = error
            self._left(self)
            self._release()
            self._wake()

    def close(self) -> None:
        """Nobody reads any more."""
        self.finish()
        self._updates.clear()
        self._bytes = 0

    def free(self) -> None:
        """Holds nothing until `bind`, which is called as often."""
        self.unbounded += 1
        self._release()

    def bind(self) -> None:
        self.unbounded -= 1
        if self._is_full():
            self._hold()

    async def next(self) -> SessionUpdate | None:
        """The next update; None after the last. Raises what the queue was finished with, once."""
        self.reader = asyncio.current_task()
        while not self._updates:
            if self._finished:
                error, self._error = self._error, None
                if error is not None:
                    raise error
                return None
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None
        update, size = self._updates.popleft()
        self._bytes -= size
        if self._held:
            limits = self._limits
            if len(self) <= limits.waiting_updates // 2 and self._bytes <= limits.waiting_update_bytes // 2:
                self._release()
        return update

    def _is_full(self) -> bool:
        limits = self._limits
        return len(self._updates) >= limits.waiting_updates or self._bytes >= limits.waiting_update_bytes

    def _hold(self) -> None:
        if not self._held and not self.unbounded and not self._finished:
            self._held = True
            self._connection.hold_reading(self)

    def _release(self) -> None:
        if self._held:
            self._held = False
            self._connection.release_reading(self)

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)


class UpdateStream:
    """An asynchronous iterator of typed updates, each once, in order.

        async for update in session.updates():
            ...

    It takes part from the moment it is made until the session ends, it is closed, or left behind: `break` is enough.
    A reader that is too slow slows the agent down; one that is far behind gets LimitError.
    """

    def __init__(self, queue: UpdateQueue) -> None:
        self._queue = queue

    @property
    def waiting(self) -> int:
        """How many updates have come and are not read."""
        return len(self._queue)

    def close(self) -> None:
        """Nothing more is read."""
        self._queue.close()

    def __aiter__(self) -> UpdateStream:
        return self

    async def __anext__(self) -> SessionUpdate:
        update = await self._queue.next()
        if update is None:
            raise StopAsyncIteration
        return update

    def __del__(self) -> None:
        self._queue.close()  # who is gone shall slow nobody down
