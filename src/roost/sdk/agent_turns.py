"""A session's prompts: one at a time, in order, each from acceptance to exactly one idle.

    submit ──► queue ──► accepted: response, user_message, running ──► the author's coroutine ──► idle, stop reason

The request of a queued prompt stays open until the prompt is accepted, so it can be withdrawn until then, and an
acceptance is never a false promise (PRM-14, policy i). Whatever the author's coroutine does, the session comes to idle.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

from roost.acp import v2
from roost.errors import RpcError
from roost.rpc.messages import LIMIT_EXCEEDED, REQUEST_CANCELLED, RESOURCE_NOT_FOUND
from roost.sdk.incoming import DEFERRED, Deferred, Incoming
from roost.sdk.turn import Turn

if TYPE_CHECKING:
    from roost.sdk.agent_session import AgentSession

log = logging.getLogger("roost.agent")

ERROR_STOP: Final = "_error"  # PRM-11: there is no field for an error; a vendor's reason says it is one
_PROBLEM: Final = "Something went wrong inside the agent. Its log has the details."


class Waiting:
    """A prompt that is not accepted yet."""

    __slots__ = ("incoming", "request")

    def __init__(self, request: v2.PromptRequest, incoming: Incoming) -> None:
        self.request = request
        self.incoming = incoming


class TurnQueue:
    """The prompts of one session. `answer` is the author's coroutine."""

    def __init__(
        self, session: AgentSession, answer: Callable[[Turn], Awaitable[str | None]], *, limit: int, grace: float
    ) -> None:
        self._session = session
        self._answer = answer
        self._limit = limit
        self._grace = grace
        self._queue: deque[Waiting] = deque()
        self._turn: Turn | None = None
        self._worker: asyncio.Task[None] | None = None
        self._closing = False

    @property
    def working(self) -> bool:
        """Whether the session works on a prompt that nobody has cancelled."""
        return self._turn is not None and not self._turn.cancelled and not self._turn.is_over

    @property
    def busy(self) -> bool:
        """Whether a prompt is being worked on, or waits."""
        return self._worker is not None

    def submit(self, request: v2.PromptRequest, incoming: Incoming) -> Deferred:
        """Takes a prompt. RpcError: it cannot be accepted, and nothing was changed (PRM-3)."""
        if self._closing:
            raise RpcError(RESOURCE_NOT_FOUND, "The session is closed", {"sessionId": self._session.id})
        if len(self._queue) >= self._limit:  # P-12
            data = {"limit": "queued_prompts", "bound": self._limit}
            raise RpcError(LIMIT_EXCEEDED, "Limit exceeded: queued_prompts", data)
        waiting = Waiting(request, incoming)
        self._queue.append(waiting)
        incoming.on_withdrawn(lambda: self._withdraw(waiting))
        if self._worker is None:
            self._accept()
        return DEFERRED

    def cancel(self) -> None:
        """Stops the work and drops what waits (PRM-16, PRM-18). Does nothing when idle (PRM-17)."""
        turn = self._turn
        dropped = len(self._queue)
        while self._queue:
            self._queue.popleft().incoming.fail(RpcError(REQUEST_CANCELLED, "Dropped: the session was cancelled"))
        if turn is not None:
            turn.dropped += dropped
            turn.cancel(self._grace)

    async def close(self) -> None:
        """Cancels, and returns when the session has come to idle."""
        self._closing = True
        self.cancel()
        if self._worker is not None:
            await asyncio.wait({self._worker})

    # ---- one prompt

    def _withdraw(self, waiting: Waiting) -> None:
        if waiting in self._queue:  # CAN-12: once accepted it is too late
            self._queue.remove(waiting)
            waiting.incoming.fail(RpcError(REQUEST_CANCELLED, "Request cancelled"))

    def _accept(self) -> None:
        """The next prompt leaves the queue, in one step: a cancel finds it in the queue or finds its turn (PRM-19)."""
        waiting = self._queue.popleft()
        session, request = self._session, waiting.request
        turn = self._turn = Turn(session, request, session.new_id("msg"))
        # PRM-3. Later drafts require the message's id here, and readers of ours pass over it.
        waiting.incoming.answer({"messageId": turn.message_id})
        session.touch()
        session.emit(v2.UserMessage(message_id=turn.message_id, content=[*request.prompt]))  # PRM-4
        session.emit(v2.RunningStateUpdate())  # PRM-6
        turn.start(self._answer)
        self._worker = asyncio.get_running_loop().create_task(self._work(turn), name=f"roost-turn {session.id}")

    async def _work(self, turn: Turn) -> None:
        session = self._session
        try:
            await turn.wait()
            stop_reason = await self._outcome(turn)
            turn.end(stop_reason)
            session.settle()
            await session.save()  # a turn is kept before its end is told
        except Exception:
            log.exception("the end of a turn failed")
            turn.end(ERROR_STOP)
        meta = {"roost": {"droppedPrompts": turn.dropped}} if turn.dropped else None
        self._turn = None
        self._worker = None
        session.emit(v2.IdleStateUpdate(stop_reason=turn.stop_reason, usage=turn.spent, meta=meta))  # PRM-8
        if self._queue:
            self._accept()

    async def _outcome(self, turn: Turn) -> str:
        """Why the turn stopped; tells the user what went wrong, if something did."""
        error = turn.error
        if turn.cancelled or isinstance(error, asyncio.CancelledError):
            if error is not None and not isinstance(error, asyncio.CancelledError):
                log.info("a cancelled turn ended with %s", type(error).__name__)  # P-16: cancelled all the same
            return v2.StopReason.CANCELLED
        if error is None:
            return turn.result or v2.StopReason.END_TURN
        if isinstance(error, RpcError):
            text = error.message  # said by the author, for the user
        else:
            log.error("a turn failed", exc_info=error)
            text = _PROBLEM
        turn.new_message()
        await turn.say(text)
        return ERROR_STOP
