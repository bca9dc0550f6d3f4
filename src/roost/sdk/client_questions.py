"""Questions of the agent that wait for the user: each gets one answer, and none outlives what it was about (PER-10).

A question is a request whose handler runs in a task of its own. Whichever comes first answers it: the handler, the
withdrawal by the agent (-32800), or the cancelling of its session, for which it has a ready answer (CAN-13).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from roost.sdk.incoming import Incoming


class _Question:
    __slots__ = ("if_cancelled", "incoming", "session_id", "task")

    def __init__(self, session_id: str | None, incoming: Incoming, if_cancelled: Any, task: asyncio.Task[Any]) -> None:
        self.session_id = session_id
        self.incoming = incoming
        self.if_cancelled = if_cancelled
        self.task = task


class Questions:
    """The open questions of one connection. Bounded by `PeerLimits.open_requests`, as all requests are."""

    def __init__(self) -> None:
        self._open: set[_Question] = set()

    def __len__(self) -> int:
        return len(self._open)

    def ask(
        self, session_id: str | None, incoming: Incoming, if_cancelled: Any, answering: Coroutine[Any, Any, Any]
    ) -> asyncio.Task[Any]:
        """Runs `answering`, whose result is the answer. What a request handler returns."""
        task = asyncio.ensure_future(answering)
        question = _Question(session_id, incoming, if_cancelled, task)
        self._open.add(question)
        task.add_done_callback(lambda _: self._open.discard(question))
        return task

    def cancel(self, of: Callable[[str | None], bool]) -> None:
        """Answers the questions of the sessions `of` is about, and ends whoever was asking the user."""
        for question in list(self._open):
            if of(question.session_id):
                question.incoming.answer(question.if_cancelled)
                question.task.cancel()
