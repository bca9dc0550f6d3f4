"""The ordered consumer: runs `async def` notification handlers one after the other, beside the reader."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import Any, Final

from roost.errors import LimitError

log = logging.getLogger("roost.connection")

_OVERLOAD: Final = 16  # times the limit: so far it may go while the slow handler waits for an answer of the peer


class Consumer:
    """One queue and at most one task.

    `full` and `roomy` are called when more than `limit` wait, and when half of that do; `overrun` when it went on.
    """

    def __init__(
        self,
        limit: int,
        full: Callable[[], None],
        roomy: Callable[[], None],
        overrun: Callable[[LimitError], None],
    ) -> None:
        self._limit = limit
        self._full = full
        self._roomy = roomy
        self._overrun = overrun
        self._waiting: deque[tuple[Callable[..., Any], tuple[Any, ...]]] = deque()
        self.task: asyncio.Task[None] | None = None
        """None while nothing waits."""

    def add(self, handler: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self._waiting.append((handler, args))
        if len(self._waiting) >= self._limit:
            self._full()
            if len(self._waiting) >= self._limit * _OVERLOAD:
                self._overrun(LimitError("waiting_notifications", self._limit))
        if self.task is None:
            self.task = asyncio.get_running_loop().create_task(self._run(), name="roost-notifications")

    async def _run(self) -> None:
        try:
            while self._waiting:
                handler, args = self._waiting.popleft()
                if len(self._waiting) <= self._limit // 2:
                    self._roomy()
                try:
                    await handler(*args)
                except Exception:
                    log.exception("a notification's handler failed")
        finally:
            self.task = None
