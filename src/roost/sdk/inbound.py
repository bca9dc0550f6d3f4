"""The peer's requests: from arrival over a handler to exactly one response, whatever the handler does (ENV-17)."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

from roost.errors import CodecError, ConnectionClosed, RpcError
from roost.rpc.messages import INTERNAL_ERROR, METHOD_NOT_FOUND, REQUEST_CANCELLED
from roost.rpc.peer import Called, Peer
from roost.sdk.handlers import Handler, empty_result, encoded, undecodable
from roost.sdk.incoming import DEFERRED, Incoming
from roost.sdk.outbox import Outbox

log = logging.getLogger("roost.connection")


class Inbound:
    """The open requests of one connection, and who works on them."""

    def __init__(self, peer: Peer, out: Outbox) -> None:
        self._peer = peer
        self._out = out
        self._loop = asyncio.get_running_loop()
        self._open: dict[int, asyncio.Future[Any] | None] = {}  # by token, with the task that works on it
        # Weak: a request that its handler forgot is to be noticed.
        self._incoming: WeakValueDictionary[int, Incoming] = WeakValueDictionary()
        self._ending = False
        self.handlers: dict[str, Handler] = {}
        self.gate: Callable[[str], RpcError | None] | None = None

    def __len__(self) -> int:
        return len(self._open)

    def arrived(self, event: Called) -> None:
        """Hands a request to its handler, or refuses it. Nothing in here raises."""
        incoming = Incoming(self, event)
        self._open[event.token] = None
        self._incoming[event.token] = incoming
        try:
            if self.gate is not None and (refusal := self.gate(event.method)) is not None:
                raise refusal
            handler = self.handlers.get(event.method)
            if handler is None:  # ENV-8, ENV-9, EXT-4
                raise RpcError(METHOD_NOT_FOUND, "Method not found", {"method": event.method})
            try:
                params = handler.params(event.params, incoming.losses)
            except CodecError as error:  # ENV-14
                raise undecodable(error) from None
            result = handler.call(params, incoming)
        except Exception as error:
            self._fail_by(incoming, error)
            return
        if result is DEFERRED:
            return
        if not inspect.isawaitable(result):
            self.respond(incoming, result)
            return
        work: asyncio.Future[Any] = asyncio.ensure_future(result)
        if isinstance(work, asyncio.Task):
            work.set_name(f"roost {event.method}")
        self._open[event.token] = work
        work.add_done_callback(partial(self._done, incoming))

    def withdrawn(self, token: int) -> None:
        """The peer no longer wants one; it still gets its response (CAN-4)."""
        incoming, work = self._incoming.get(token), self._open.get(token)
        try:
            told = incoming is not None and incoming.withdraw()
        except Exception:
            log.exception("a withdrawal was not taken well")
            told = False
        if not told and work is not None:
            work.cancel()

    def cancel(self) -> set[asyncio.Future[Any]]:
        """The connection ends: whatever works is cancelled. Returns what that is."""
        self._ending = True
        running = {work for work in self._open.values() if work is not None}
        for work in running:
            work.cancel()
        return running

    def refuse_rest(self) -> None:
        """What has no response by now gets one."""
        for incoming in list(self._incoming.values()):
            incoming.fail(RpcError(REQUEST_CANCELLED, "The connection has ended"))

    def forget(self) -> None:
        """Nothing can be answered any more."""
        self._open.clear()

    def _done(self, incoming: Incoming, work: asyncio.Future[Any]) -> None:
        if work.cancelled():
            incoming.fail(RpcError(REQUEST_CANCELLED, "Request cancelled"))  # CAN-4, CAN-8
        elif (error := work.exception()) is not None:
            self._fail_by(incoming, error)
        else:
            self.respond(incoming, work.result())

    def _fail_by(self, incoming: Incoming, error: BaseException) -> None:
        if isinstance(error, RpcError):
            self.refuse(incoming, error)
        elif isinstance(error, ConnectionClosed) and self._ending:
            self.refuse(incoming, RpcError(REQUEST_CANCELLED, "The connection has ended"))
        else:
            log.error("the handler of %s failed", incoming.method, exc_info=error)
            self.refuse(incoming, RpcError(INTERNAL_ERROR, "Internal error"))  # ENV-15: the text stays here

    # ---- Responder

    def is_open(self, token: int) -> bool:
        return token in self._open

    def respond(self, incoming: Incoming, result: Any) -> None:
        if incoming.token not in self._open:
            return
        try:
            data = encoded(result) or empty_result(incoming.method)
        except CodecError as error:
            log.error("the result of %s cannot be sent: %s", incoming.method, error)
            self.refuse(incoming, RpcError(INTERNAL_ERROR, "Internal error"))
            return
        del self._open[incoming.token]
        self._peer.answer(incoming.token, data)
        self._out.added(len(data))

    def refuse(self, incoming: Incoming, error: RpcError) -> None:
        if incoming.token not in self._open:
            return
        try:
            self._peer.fail(incoming.token, error)
        except CodecError as fault:
            log.error("the error of %s cannot be sent: %s", incoming.method, fault)
            self._peer.fail(incoming.token, RpcError(INTERNAL_ERROR, "Internal error"))
        del self._open[incoming.token]
        self._out.added(0)

    def forgotten(self, token: int, method: str) -> None:
        # Called by the garbage collector, at any moment: only note it.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._answer_forgotten, token, method)

    def _answer_forgotten(self, token: int, method: str) -> None:
        if token in self._open:
            log.error("the handler of %s dropped its request without a response", method)
            del self._open[token]
            self._peer.fail(token, RpcError(INTERNAL_ERROR, "Internal error"))
            self._out.added(0)
