"""A caller's end of one connection: requests and their answers, events, callbacks."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from roost.errors import (
    CodecError,
    ConnectionClosed,
    LimitError,
    RemoteProtocolError,
    RoostError,
    SidecarError,
    TransportError,
)
from roost.sidecar.gate import FRAMES_VERSION
from roost.sidecar.gen.frames import (
    Callback,
    CallbackResponse,
    Event,
    Frame,
    Hello,
    Refused,
    Request,
    Response,
    Welcome,
    decode_frame,
    encode_frame,
)
from roost.sidecar.gen.messages import (
    AcpCallback,
    AcpCallbackResponse,
    AcpErrorResponse,
    AcpEvent,
    AcpRequest,
    AcpResponse,
    decode_acp_callback,
    decode_acp_event,
    decode_acp_response,
    encode_acp_callback_response,
    encode_acp_request,
)
from roost.transport.base import Channel
from roost.wire.framing import encode_length_frame

OPEN_REQUESTS = 1024  # requests one connection may have open; the daemon's own bound has the same default


class _Waiting(NamedTuple):
    answer: asyncio.Future[AcpResponse]
    arrived: Callable[[], None] | None


class HostLink:
    """Listener of its channel. `on_event` is called in order; `on_callback` may take its time."""

    def __init__(
        self,
        on_event: Callable[[AcpEvent], None],
        on_callback: Callable[[AcpCallback], Awaitable[AcpCallbackResponse | None]],
    ) -> None:
        self._on_event = on_event
        self._on_callback = on_callback
        self._channel: Channel | None = None
        self._loop = asyncio.get_running_loop()
        self._welcome: asyncio.Future[Welcome] = self._loop.create_future()
        self._waiting: dict[int, _Waiting] = {}
        self._answering: set[asyncio.Task[None]] = set()
        self._last_id = 0
        self._end: Exception | None = None
        self.ended: asyncio.Future[Exception | None] = self._loop.create_future()

    # ---- Listener

    def opened(self, channel: Channel) -> None:
        self._channel = channel

    def received(self, frames: list[bytes]) -> None:
        for body in frames:
            try:
                self._heard(decode_frame(body))
            except CodecError as error:
                self._fail(RemoteProtocolError(f"the daemon sent what cannot be read: {error}"))
                return

    def _heard(self, frame: Frame) -> None:
        match frame:
            case Event(payload=payload):
                self._on_event(decode_acp_event(payload))
            case Response(id=number, payload=payload):
                waiting = self._waiting.pop(number, None)
                if waiting is not None and not waiting.answer.done():
                    response = decode_acp_response(payload)
                    if waiting.arrived is not None:
                        waiting.arrived()
                    waiting.answer.set_result(response)
            case Callback(id=number, payload=payload):
                task = self._loop.create_task(self._answer(number, decode_acp_callback(payload)))
                self._answering.add(task)
                task.add_done_callback(self._answering.discard)
            case Refused(id=0, code=code, message=message):
                self._fail(SidecarError(code, message))
            case Refused(id=number, code=code, message=message):
                waiting = self._waiting.pop(number, None)
                if waiting is not None and not waiting.answer.done():
                    waiting.answer.set_exception(SidecarError(code, message))
            case Welcome() if not self._welcome.done():
                self._welcome.set_result(frame)
            case _:
                self._fail(RemoteProtocolError(f"the daemon sent a {type(frame).__name__}"))

    async def _answer(self, number: int, callback: AcpCallback) -> None:
        answer = await self._on_callback(callback)
        if answer is None:  # somebody else's to answer
            return
        self._send(CallbackResponse(number, encode_acp_callback_response(answer)))

    def broke(self, fault: LimitError) -> None:
        self._fail(fault)

    def congested(self) -> None:
        """Requests are small and few; the daemon reads them as they come."""

    def eased(self) -> None: ...

    def closed(self, error: Exception | None) -> None:
        self._channel = None
        if not isinstance(error, RoostError):  # a daemon that is killed resets the connection, or not, as it happens
            fault, error = error, ConnectionClosed("the connection to the daemon ended")
            error.__cause__ = fault
        self._finish(error)

    def _fail(self, error: Exception) -> None:
        self._finish(error)
        if self._channel is not None:
            self._channel.abort()

    def _finish(self, error: Exception) -> None:
        if self._end is not None:
            return
        self._end = error
        if not self._welcome.done():
            self._welcome.set_exception(error)
            self._welcome.exception()  # whoever greets hears it; nobody may
        left, self._waiting = self._waiting, {}
        for waiting in left.values():
            if not waiting.answer.done():
                waiting.answer.set_exception(error)
        for task in self._answering:
            task.cancel()
        if not self.ended.done():
            self.ended.set_result(error)

    # ---- the host's side

    async def greet(self, *, client: str, caller: str | None, token: str | None, patience: float) -> Welcome:
        """Introduces this program. Raises SidecarError when it is not welcome, TransportError when nobody answers."""
        self._send(Hello(FRAMES_VERSION, client, token, caller))
        try:
            return await asyncio.wait_for(asyncio.shield(self._welcome), patience)
        except TimeoutError:
            raise TransportError(f"the daemon did not answer within {patience:g} s") from None

    async def request(self, payload: AcpRequest, arrived: Callable[[], None] | None = None) -> AcpResponse:
        """One request and its answer. Raises SidecarError for an AcpErrorResponse, ConnectionClosed at the end.

        `arrived` is called with the answer's frame, before anything that came after it is looked at.
        """
        if self._end is not None:
            raise self._end
        if len(self._waiting) >= OPEN_REQUESTS:
            raise LimitError("requests_per_connection", OPEN_REQUESTS)
        data = encode_acp_request(payload)
        self._last_id = self._last_id % 0xFFFF_FFFF + 1
        number = self._last_id
        future: asyncio.Future[AcpResponse] = self._loop.create_future()
        self._waiting[number] = _Waiting(future, arrived)
        self._send(Request(number, data))
        try:
            response = await future
        finally:
            self._waiting.pop(number, None)
        if isinstance(response, AcpErrorResponse):
            raise SidecarError(response.code, response.message)
        return response

    def pause(self) -> None:
        """Reads nothing until `resume`."""
        if self._channel is not None:
            self._channel.pause_reading()

    def resume(self) -> None:
        """Reads again."""
        if self._channel is not None:
            self._channel.resume_reading()

    def _send(self, frame: Frame) -> None:
        if self._channel is not None:
            self._channel.send(encode_length_frame(encode_frame(frame)))

    async def close(self) -> None:
        """Ends the connection; open requests fail with ConnectionClosed."""
        if self._channel is not None:
            self._channel.close()
            await asyncio.wait([self.ended], timeout=1.0)
        for task in list(self._answering):
            task.cancel()
        if self._answering:
            await asyncio.wait(self._answering)
        self._finish(ConnectionClosed("this connection was closed"))
