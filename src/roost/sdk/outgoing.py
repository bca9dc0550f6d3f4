"""What one side of a connection does of its own accord: calls, notifications, and holding the other side back."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Callable, Container
from functools import partial
from typing import Any, TypeVar, cast

from msgspec import Raw

from roost.acp.calls import Notification, Request
from roost.errors import ConnectionClosed
from roost.rpc.peer import Peer
from roost.sdk.handlers import encoded, typed_result
from roost.sdk.limits import ConnectionLimits
from roost.sdk.outbox import Outbox
from roost.transport.messages import MessageChannel
from roost.wire.decode import encode

R = TypeVar("R")


class OpenCall:
    """A call of ours while it has no outcome."""

    __slots__ = ("answered", "future", "method")

    def __init__(self, method: str, future: asyncio.Future[Raw], answered: Callable[[Raw], None] | None) -> None:
        self.method = method
        self.future = future
        self.answered = answered


class Outgoing:
    """The half of a Connection that speaks first."""

    def __init__(self, channel: MessageChannel, peer: Peer, limits: ConnectionLimits) -> None:
        self._channel = channel
        self._peer = peer
        self._loop = asyncio.get_running_loop()
        self._calls: dict[int, OpenCall] = {}
        self._out = Outbox(peer, channel, limits.outgoing_bytes, self.abort)
        self._holds: dict[object, bool] = {}
        self._reading = True
        self._ended = False
        self._finished = False
        self._cause = ""

    @abstractmethod
    def abort(self, error: Exception) -> None: ...

    # ---- to the peer

    async def call(self, request: Request[R]) -> R:
        """Asks, and waits for the typed answer. Cancelling the wait takes the request back (CAN-11).

        RpcError: the peer refused. RemoteProtocolError: its answer is malformed. ConnectionClosed, LimitError,
        CodecError: it was not asked, or will not answer.
        """
        result = await self.call_raw(request.METHOD, encode(request))
        return cast(R, typed_result(request.METHOD, result))

    async def call_raw(self, method: str, params: Any = None, *, answered: Callable[[Raw], None] | None = None) -> Raw:
        """Asks by any method. `params`: bytes of JSON, plain data, a generated value, None. The answer stays JSON.

        `answered(result)` is called when the peer grants it, before the message behind that answer is looked at;
        whoever waits here resumes a turn of the loop later.
        """
        call, answer = self.start_call(method, params, answered=answered)
        try:
            return await answer
        except asyncio.CancelledError:
            self.withdraw(call)
            raise
        finally:
            self._call_done(call, answer)

    def start_call(
        self, method: str, params: Any = None, *, answered: Callable[[Raw], None] | None = None
    ) -> tuple[int, asyncio.Future[Raw]]:
        """As `call_raw`, but asks at once and leaves the waiting to you: what `withdraw` takes, and the answer."""
        if self._ended:
            raise ConnectionClosed(self._cause)
        data = encoded(params)
        call = self._peer.call(method, data)
        answer: asyncio.Future[Raw] = self._loop.create_future()
        self._calls[call] = OpenCall(method, answer, answered)
        answer.add_done_callback(partial(self._call_done, call))
        self._out.added(0 if data is None else len(data))
        self._settle_reading()
        return call, answer

    def _call_done(self, call: int, answer: asyncio.Future[Raw]) -> None:
        if self._calls.pop(call, None) is not None:
            self._settle_reading()

    def withdraw(self, call: int) -> None:
        """Takes a call back without giving up its outcome, which may still be a yes (CAN-4, CAN-7)."""
        if not self._finished:
            self._peer.withdraw(call)
            self._out.added(0)

    def fail_open_calls(self, error: Exception, *, but: Container[str]) -> None:
        """Our open calls fail with `error`, except those of the methods in `but`. What comes for them is ignored."""
        for call, open_call in self._calls.items():
            if open_call.method not in but and not open_call.future.done():
                self._peer.forget(call)
                open_call.future.set_exception(error)

    def notify(self, notification: Notification) -> None:
        """Tells. Whoever tells much awaits `drain` in between. ConnectionClosed; LimitError (`outgoing_bytes`)."""
        self.notify_raw(notification.METHOD, encode(notification))

    def notify_raw(self, method: str, params: Any = None) -> None:
        """Tells by any method; `params` as in `call_raw`."""
        self._out.require_room()
        data = encoded(params)
        self._peer.notify(method, data)
        self._out.added(0 if data is None else len(data))

    async def drain(self) -> None:
        """Waits while the peer does not read; now and then lets others have a turn. Raises ConnectionClosed."""
        await self._out.drain()

    # ---- holding the peer back

    def hold_reading(self, holder: object, *, hard: bool = False) -> None:
        """Reads nothing until `holder` releases it; the peer is slowed down in the end.

        Only a hard hold is kept while a call of ours is open: who is slow may be waiting for that very answer.
        """
        self._holds[holder] = hard
        self._settle_reading()

    def release_reading(self, holder: object) -> None:
        """Reads on, unless somebody else holds it. Does nothing when `holder` does not."""
        self._holds.pop(holder, None)
        self._settle_reading()

    def _settle_reading(self) -> None:
        wanted = not self._holds or (bool(self._calls) and True not in self._holds.values())
        if wanted is not self._reading:
            self._reading = wanted
            if wanted:
                self._channel.resume_reading()
            else:
                self._channel.pause_reading()
