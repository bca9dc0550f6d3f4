"""One prompt, from being sent to the idle that ends it: awaited as a whole, or followed update by update."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Raw, Struct, field

from roost.acp import v2
from roost.acp.v2.gen.state import IdleStateUpdate, Usage
from roost.acp.view_entries import Message
from roost.errors import ConnectionClosed, RpcError
from roost.rpc.messages import REQUEST_CANCELLED
from roost.sdk.client_turns import TrackedTurn
from roost.sdk.client_updates import UpdateQueue, UpdateStream
from roost.sdk.handlers import typed_result

if TYPE_CHECKING:
    from roost.sdk.session import Session


class TurnEnd(Struct, frozen=True):
    """How a turn ended. `stop_reason` is None when the agent did not say (P-22), and may be one nobody knows (P-23)."""

    stop_reason: str | None
    usage: Usage | None = None
    meta: dict[str, Any] | None = None
    messages: list[Message] = field(default_factory=list)
    """What the agent said in it, in order: live entries of the view. Thoughts are not among them."""

    @property
    def text(self) -> str:
        """The text of those messages, a blank line between two."""
        return "\n\n".join(filter(None, [message.text for message in self.messages]))

    @property
    def was_cancelled(self) -> bool:
        """Whether the agent says that it was cancelled, by whomever."""
        return self.stop_reason == v2.StopReason.CANCELLED


class ClientTurn:
    """A prompt on its way. It is sent when it is first awaited or iterated, or by `send`.

        end = await session.prompt("fix the tests")            # to its end
        async for update in session.prompt("fix the tests"):   # update by update
            ...

    Raises RpcError: the agent refused the prompt. AgentExited, ConnectionClosed: it is gone. Cancelling a task that
    awaits the turn stops it, leaving an iteration by `break` does not.
    """

    def __init__(self, session: Session, prompt: Sequence[v2.ContentBlock], meta: dict[str, Any] | None) -> None:
        self._asking: asyncio.Task[None] | None = None
        self._session = session
        self._request = v2.PromptRequest(session_id=session.id, prompt=list(prompt), meta=meta)
        self.tracked: TrackedTurn | None = None
        """Where it stands, once it was sent."""
        self._call = 0
        self._is_stopped = False
        self._end: asyncio.Future[TurnEnd] = asyncio.get_running_loop().create_future()
        self._queues: list[UpdateQueue] = []
        self._first_position = 0
        self.response: v2.PromptResponse | None = None
        """What the agent answered, which says no more than that it has accepted the prompt (PRM-3)."""

    @property
    def is_over(self) -> bool:
        """Whether it has ended or failed: awaiting it does not wait any more."""
        return self._end.done()

    async def wait(self) -> None:
        """Returns when it is over, however that is."""
        await asyncio.wait((self._end,))

    @property
    def end(self) -> TurnEnd | None:
        """How it ended; None while it goes on, and when it failed."""
        return self._end.result() if self._end.done() and self._end.exception() is None else None

    def send(self) -> ClientTurn:
        """Sends the prompt now, if that has not happened yet. ConnectionClosed, LocalProtocolError: it cannot be."""
        if self._asking is None:
            session = self._session
            session.require_open()
            self._first_position = session.view.next_position
            self._call, answer = session.link.start_call(self._request, self._granted)
            self.tracked = TrackedTurn(self._request.prompt, self._ended)
            session.begin(self, self.tracked)
            self._asking = asyncio.get_running_loop().create_task(self._ask(self.tracked, answer), name="roost-prompt")
        return self

    async def accepted(self) -> None:
        """Returns when the agent has accepted the prompt, or the turn is over."""
        self.send()
        assert self._asking is not None
        await asyncio.wait((self._asking,))

    async def finished(self) -> TurnEnd:
        """Waits for the end without stopping the turn when this wait is cancelled."""
        self.send()
        with self._session.client.waiting():
            return await asyncio.shield(self._end)

    def stop(self) -> None:
        """Takes the prompt back while that is possible (CAN-12), else cancels the session's work. Does not wait."""
        if self.tracked is None or self.is_over:
            return
        self._is_stopped = True
        if self.tracked.accepted:
            self._session.send_cancel()
        else:
            self._session.link.connection.withdraw(self._call)

    def __await__(self) -> Generator[Any, None, TurnEnd]:
        return self._run().__await__()

    async def _run(self) -> TurnEnd:
        try:
            return await self.finished()
        except asyncio.CancelledError:
            self.stop()
            raise

    def __aiter__(self) -> UpdateStream:
        """The updates of the session from now to the end of this turn, those of other work among them (PRM-12)."""
        queue = self._session.subscribe()
        self._queues.append(queue)
        self.send()
        if self._end.done():
            queue.finish(self._end.exception())  # type: ignore[arg-type]  # nobody sets another
        return UpdateStream(queue)

    def __del__(self) -> None:
        if self._asking is None:
            warnings.warn("a prompt was neither awaited nor iterated, and is not sent", RuntimeWarning, stacklevel=2)

    # ---- what happens to it

    async def _ask(self, tracked: TrackedTurn, answer: asyncio.Future[Raw]) -> None:
        try:
            self.response = typed_result(self._request.METHOD, await answer)
        except RpcError as error:
            self._session.drop(tracked)
            if error.code == REQUEST_CANCELLED:  # CAN-7: that is no failure
                self._over(TurnEnd(v2.StopReason.CANCELLED))
            else:
                self.fail(error)
        except ConnectionClosed as error:
            self._session.drop(tracked)
            self.fail(await self._session.link.explain(error))
        except Exception as error:
            self._session.drop(tracked)
            self.fail(error)

    def _granted(self, result: Raw) -> None:
        assert self.tracked is not None
        self._session.grant(self.tracked)
        if self._is_stopped and not self.is_over:  # it was accepted before the withdrawal arrived
            self._session.send_cancel()

    def _ended(self, idle: IdleStateUpdate) -> None:
        assert self.tracked is not None
        reported = self.tracked.message
        first = self._first_position if reported is None else reported.position
        messages = self._session.view.messages
        said = [message for message in messages if message.kind == "agent_message" and message.position >= first]
        self._over(TurnEnd(idle.stop_reason, idle.usage, idle.meta, said))

    def rebase(self, first: int) -> None:
        """The view was told anew: what this turn says comes from there on, if it is not behind the prompt's message."""
        self._first_position = first

    def _over(self, end: TurnEnd) -> None:
        if not self._end.done():
            self._end.set_result(end)
        self._leave(None)

    def fail(self, error: Exception) -> None:
        """The turn cannot come to its end any more."""
        if not self._end.done():
            self._end.set_exception(error)
            self._end.exception()  # whoever waits gets it; that nobody does is no news
        self._leave(error)

    def _leave(self, error: Exception | None) -> None:
        for queue in self._queues:
            queue.finish(error)
        self._queues.clear()
        self._session.leave(self)
