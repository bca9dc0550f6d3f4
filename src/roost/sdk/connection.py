"""The connection both roles share: a Peer over a message channel, with typed calls and handlers.

How things are ordered, which is most of what can go wrong:

- Messages are handled in the order they came, in the loop's own callback, without a task or a queue for each. A plain
  function registered for a notification has run before the next message is looked at, so a response is never seen
  before what preceded it was applied (ENV-19).
- A request's handler is called in that same order. It returns its result, or a coroutine for what takes time: that
  becomes a task, and reading goes on (ENV-20). So a plain function that returns a coroutine decides at once, in order,
  what an `async def` would decide a turn later.
- An `async def` handler of a notification runs in one ordered consumer beside the reader, which is held back when too
  much waits.

What a handler raises is answered -32603 and logged here, an RpcError as it is. Every request gets one response
(ENV-17).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar

from roost.acp.v2.gen.methods import NOTIFICATIONS, REQUESTS
from roost.errors import CodecError, ConnectionClosed, RpcError
from roost.rpc.messages import (
    LIMIT_EXCEEDED,
    NULL_ID,
    error_bytes,
)
from roost.rpc.peer import Answered, Called, Failed, Notified, Peer, PeerEvent, Withdrawn
from roost.sdk.consumer import Consumer
from roost.sdk.handlers import Handler
from roost.sdk.inbound import Inbound
from roost.sdk.incoming import Incoming, Losses
from roost.sdk.limits import DEFAULT_CONNECTION_LIMITS, ConnectionLimits
from roost.sdk.one_pass import OnePass
from roost.sdk.outgoing import Outgoing
from roost.transport.messages import MessageChannel

R = TypeVar("R")

RequestHandler: TypeAlias = Callable[[Any, Incoming], Any]
NotificationHandler: TypeAlias = Callable[..., Any]

log = logging.getLogger("roost.connection")

_OVERLOAD: Final = 16  # times waiting_notifications


class Connection(Outgoing):
    """One side of one ACP connection.

        connection = Connection(channel)
        connection.on_notification("session/update", self.apply)
        connection.on_request("session/request_permission", self.ask)
        connection.start()
        answer = await connection.call(v2.NewSessionRequest(cwd="/work"))
        ...
        await connection.close()

    `answer_malformed=False` is for reading a program that prints other things between its messages (STD-4).
    """

    def __init__(
        self,
        channel: MessageChannel,
        *,
        answer_malformed: bool = True,
        limits: ConnectionLimits = DEFAULT_CONNECTION_LIMITS,
    ) -> None:
        super().__init__(channel, Peer(answer_malformed=answer_malformed, limits=limits.peer), limits)
        self._limits = limits
        self._answer_malformed = answer_malformed
        self._notifications: dict[str, Handler] = {}
        self._stream: OnePass | None = None
        self._inbound = Inbound(self._peer, self._out)
        self._consumer = Consumer(
            limits.waiting_notifications,
            partial(self.hold_reading, "waiting_notifications"),
            partial(self.release_reading, "waiting_notifications"),
            self.abort,
        )
        self._winding_up: asyncio.Task[None] | None = None
        self._lost = asyncio.Event()
        self._closed = asyncio.Event()
        self.error: Exception | None = None
        """Why the connection broke; None while it lives and after an orderly end."""
        self.on_oddity: Callable[[PeerEvent], None] | None = None
        """Told of what meant nothing here: Malformed, Unmatched, Refused."""
        self.on_overflow: Callable[[int, int], None] | None = None
        """`on_overflow(count, limit)`: that many messages were too long and are lost, a response among them perhaps."""
        self.on_end: Callable[[], Awaitable[None] | None] | None = None
        """Called once when the peer sends nothing more, or we close. It may still send; what it returns is awaited."""

    # ---- handlers

    def on_request(self, method: str, handler: RequestHandler, *, raw: bool = False) -> None:
        """`handler(params, incoming)` answers `method`.

        It returns the result (a generated value, plain JSON data, Raw, None), a coroutine that does, or DEFERRED; it
        raises RpcError to refuse. When the peer takes the request back its task is cancelled, and answered -32800.
        `raw` hands over the params as they came. An extension (`_…`) gets plain JSON data.
        """
        self._inbound.handlers[method] = Handler(method, handler, REQUESTS, raw=raw)

    def on_notification(
        self, method: str, handler: NotificationHandler, *, raw: bool = False, with_losses: bool = False
    ) -> None:
        """`handler(params)` is told; with `with_losses` also what leniency dropped from them."""
        self._notifications[method] = Handler(method, handler, NOTIFICATIONS, raw=raw, with_losses=with_losses)

    def on_stream(self, method: str, handler: Callable[[Any, int], None]) -> None:
        """`handler(params, size)`, a plain function, is told of the one notification that comes in streams.

        It is decoded in one pass with its envelope. `size` is the message's, in bytes.
        """
        self._notifications[method] = Handler(method, handler, NOTIFICATIONS, with_size=True)
        self._stream = OnePass(method, handler)

    def start(self) -> None:
        """Begins to read."""
        self._channel.open(self)

    @property
    def gate(self) -> Callable[[str], RpcError | None] | None:
        """Asked before any handler; an error answers a request, and drops a notification (INI-1)."""
        return self._inbound.gate

    @gate.setter
    def gate(self, gate: Callable[[str], RpcError | None] | None) -> None:
        self._inbound.gate = gate

    @property
    def tap(self) -> Callable[[bool, bytes], None] | None:
        """Sees every message: `tap(outgoing, message)`. For traces; messages may hold secrets."""
        return self._out.tap

    @tap.setter
    def tap(self, tap: Callable[[bool, bytes], None] | None) -> None:
        self._out.tap = tap

    # ---- what is known about it

    @property
    def peer(self) -> str:
        """Who is at the other end, for logs."""
        return self._channel.peer

    @property
    def is_over(self) -> bool:
        """Whether nothing more can come."""
        return self._ended

    @property
    def open_requests(self) -> int:
        """How many of the peer's requests have no response yet."""
        return len(self._inbound)

    @property
    def open_calls(self) -> int:
        """How many of our calls wait for their outcome here."""
        return len(self._calls)

    def method_of(self, call: object) -> str | None:
        """The method of a call of ours that is open, by its id; what an elicitation may be about (ELI-2)."""
        found = self._calls.get(call) if isinstance(call, int) else None
        return None if found is None else found.method

    # ---- the end

    async def close(self) -> None:
        """Ends it: open calls fail, handlers are cancelled and answer, what is queued is sent."""
        self._end("the connection was closed here")
        await self._closed.wait()

    def abort(self, error: Exception) -> None:
        """Ends it at once because of `error`; what is queued is lost."""
        self.error = self.error or error
        self._end(str(error))
        self._finish()
        self._channel.abort()

    async def wait_closed(self) -> None:
        """Returns when it is over, and so is everything that ran for it."""
        await self._closed.wait()

    def _end(self, cause: str) -> None:
        if self._ended:
            return
        self._ended = True
        self._cause = cause
        for call, open_call in self._calls.items():
            self._peer.forget(call)
            if not open_call.future.done():
                open_call.future.set_exception(ConnectionClosed(cause))  # ENV-18
        rest: Awaitable[None] | None = None
        if self.on_end is not None:
            with _logging("on_end"):
                rest = self.on_end()
        running = self._inbound.cancel()  # before they may be forgotten
        self._winding_up = self._loop.create_task(self._wind_up(running, rest), name="roost-connection-end")

    async def _wind_up(self, running: set[asyncio.Future[Any]], rest: Awaitable[None] | None) -> None:
        grace = self._limits.close_grace
        try:
            if self._consumer.task is not None:
                running.add(self._consumer.task)
            if rest is not None:
                running.add(self._loop.create_task(_logged(rest), name="roost-on-end"))
            if running:
                _, running = await asyncio.wait(running, timeout=grace)
            for work in running:
                log.warning("gave up waiting for %r", work)
                work.cancel()
            await asyncio.sleep(0)  # their responses are sent by their done-callbacks
            self._inbound.refuse_rest()
            self._out.flush()
            self._finish()
            self._channel.close()
            try:
                async with asyncio.timeout(grace):
                    await self._lost.wait()
            except TimeoutError:
                self._channel.abort()  # the peer does not read what is queued
        finally:
            self._finish()
            self._closed.set()

    def _finish(self) -> None:
        """Nothing can be sent any more."""
        if not self._finished:
            self._finished = True
            self._peer.end(self._cause)
            self._inbound.forget()
            self._out.close(self._cause)

    # ---- MessageListener

    def received(self, messages: list[bytes]) -> None:
        receive, notifications, tap = self._peer.receive, self._notifications, self._out.tap
        stream = self._stream if self._inbound.gate is None else None
        for message in messages:
            if tap is not None:
                tap(False, message)
            if stream is not None and not self._finished and (params := stream.params(message)) is not None:
                try:
                    stream.call(params, len(message))
                except Exception:
                    log.exception("the handler of a stream failed")
                continue
            for event in receive(message):
                if event.__class__ is Notified:
                    handler = notifications.get(event.method)
                    if handler is not None:
                        self._notified(handler, event)
                elif event.__class__ is Called:
                    self._inbound.arrived(event)
                else:
                    self._happened(event)
        self._out.added(0)

    def overflowed(self, count: int, limit: int) -> None:
        log.warning("%s sent %d message(s) over max_line_bytes, which is %d", self.peer, count, limit)
        if self._answer_malformed and not self._finished:  # ENV-21: only that message is refused
            data = {"limit": "max_line_bytes", "bound": limit}
            error = RpcError(LIMIT_EXCEEDED, "Limit exceeded: max_line_bytes", data)
            for _ in range(count):
                self._out.add_apart(error_bytes(NULL_ID, error))
        if self.on_overflow is not None:
            with _logging("on_overflow"):
                self.on_overflow(count, limit)

    def congested(self) -> None:
        self._out.congested()

    def eased(self) -> None:
        self._out.eased()

    def ended(self) -> None:
        self._end(f"{self.peer} has ended the connection")

    def closed(self, error: Exception | None) -> None:
        self.error = self.error or error
        self._lost.set()
        self._end(f"{self.peer} has ended the connection" if error is None else f"the connection broke: {error}")
        self._finish()

    # ---- what comes in

    def _notified(self, handler: Handler, event: Notified) -> None:
        gate = self._inbound.gate
        if gate is not None and gate(event.method) is not None:
            return
        losses: Losses = []
        try:
            params = handler.params(event.params, losses)
        except CodecError as error:
            log.warning("dropped %s: %s", event.method, error)  # ENV-7: never answered
            return
        args: tuple[Any, ...] = (params, losses) if handler.with_losses else (params,)
        if handler.with_size:
            args = (params, len(event.message))
        if handler.consumed:
            self._consumer.add(handler.call, args)
            return
        try:
            handler.call(*args)
        except Exception:
            log.exception("the handler of %s failed", event.method)

    def _happened(self, event: PeerEvent) -> None:
        if isinstance(event, Answered):
            call = self._calls.get(event.call)
            if call is not None and not call.future.done():
                call.future.set_result(event.result)
                if call.answered is not None:
                    with _logging(f"taking the answer to {call.method}"):
                        call.answered(event.result)
        elif isinstance(event, Failed):
            call = self._calls.get(event.call)
            if call is not None and not call.future.done():
                call.future.set_exception(event.error)
        elif isinstance(event, Withdrawn):
            self._inbound.withdrawn(event.token)
        else:
            log.debug("%s: %r", self.peer, type(event).__name__)
            if self.on_oddity is not None:
                with _logging("on_oddity"):
                    self.on_oddity(event)


@contextmanager
def _logging(what: str) -> Iterator[None]:
    """What it raises is logged: nothing that is told of a message may stop the reading of the next."""
    try:
        yield
    except Exception:
        log.exception("%s failed", what)


async def _logged(work: Awaitable[None]) -> None:
    with _logging("on_end"):
        await work
