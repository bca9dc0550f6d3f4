"""One caller's connection in the daemon: a channel on one side, the driver on the other, the gate between."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable

from roost.daemon.driver import Driver
from roost.errors import LimitError, SidecarError
from roost.sidecar import events
from roost.sidecar.gate import ASSIGNED, Answered, Asked, Gate, Greeted
from roost.sidecar.gen.frames import Hello
from roost.sidecar.gen.messages import AcpCallback, AcpResponse
from roost.sidecar.limits import Gauge, Limits
from roost.transport.base import Channel

log = logging.getLogger("roost.daemon")
_numbers = itertools.count(1)

# How long a refused connection may take to read why before it is cut.
LAST_WORDS_GRACE = 1.0


class Reception:
    """Whom a daemon lets in, and under which name: every connection is made through it.

    `token` None: no token is asked for (a unix socket, where the kernel tells the uid). `greeted` is called with each
    caller that is welcome.
    """

    def __init__(
        self,
        driver: Driver,
        limits: Limits,
        *,
        server: str,
        uid: int | None,
        token: str | None,
        greeted: Callable[[], None] = lambda: None,
    ) -> None:
        self.driver = driver
        self.limits = limits
        self.server = server
        self._uid = uid
        self._token = token
        self.greeted = greeted
        self._names: dict[str, str] = {}  # caller name -> the principal that used it first
        self.connections: dict[CallerConnection, None] = {}  # in the order they came
        self._count = Gauge("connections", limits.connections, warn_of_connections)

    def opened(self, connection: CallerConnection) -> None:
        """Raises SidecarError `limit_exceeded` when there are too many; it counts all the same, until it is closed."""
        self.connections[connection] = None
        self._count.admit(len(self.connections), "no further caller can connect")

    def closed(self, connection: CallerConnection) -> None:
        self.connections.pop(connection, None)
        self._count.watch(len(self.connections))

    def accept(self) -> CallerConnection:
        return CallerConnection(self)

    def admit(self, hello: Hello, uid: int | None) -> str | None:
        """Why this Hello is not welcome; None: it is."""
        if self._token is not None:
            from hmac import compare_digest  # here, because it brings OpenSSL with it and a unix socket needs none

            given = (hello.token or "").encode()
            if not compare_digest(given, self._token.encode()):
                return "invalid auth token"
        elif self._uid is not None and uid not in (self._uid, 0):
            return "this daemon serves its own user only"
        if hello.caller is not None:
            principal = "token" if self._token is not None else f"uid {uid}"
            if self._names.setdefault(hello.caller, principal) != principal:
                return "this caller name belongs to somebody else"
        return None


class CallerConnection:
    """Listener of its channel and Outlet of the driver."""

    def __init__(self, reception: Reception) -> None:
        limits = reception.limits
        self._reception = reception
        self._driver = reception.driver
        self._number: int | None = None
        self._channel: Channel | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self._uid: int | None = None
        self._output = Gauge("caller_output_bytes", limits.caller_output_bytes, self._warn_of_output)
        self._gate = Gate(
            server=reception.server,
            assigned=f"{ASSIGNED}{next(_numbers)}",
            max_frame_bytes=limits.max_frame_bytes,
            admit=lambda hello: reception.admit(hello, self._uid),
            warn=warn_of_frame,
        )

    # ---- Listener

    def opened(self, channel: Channel) -> None:
        self._channel = channel
        self._uid = channel.uid
        try:
            self._reception.opened(self)
        except SidecarError as error:
            self.refuse_connection(error.code, error.message)
            self.flush()
            return
        timeout = self._reception.limits.hello_timeout
        self._deadline = asyncio.get_running_loop().call_later(timeout, self._no_hello, timeout)

    def _no_hello(self, timeout: float) -> None:
        self.refuse_connection("timeout", f"no complete Hello within {timeout:g} s (hello_timeout)")
        self.flush()

    def received(self, frames: list[bytes]) -> None:
        for frame in frames:
            match self._gate.receive(frame):
                case Asked(request=request, payload=payload) if self._number is not None:
                    self._driver.feed(events.RequestArrived(self._number, request, payload))
                case Answered(callback=callback, payload=answer) if self._number is not None:
                    self._driver.feed(events.CallerAnswered(self._number, callback, answer))
                case Greeted(caller=caller, named=named, client=client):
                    self._greeted(caller, named, client)
                case _:
                    pass
        self.flush()

    def _greeted(self, caller: str, named: bool, client: str) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        peer = self._channel.peer if self._channel is not None else "gone"
        log.info("caller %s: %s (%s)", caller, client, peer)
        self._number = self._driver.arrive(self, caller, named)
        self._reception.greeted()

    def broke(self, fault: LimitError) -> None:
        self._gate.broke(fault)
        self.flush()

    def congested(self) -> None:
        if self._channel is not None:
            self._channel.pause_reading()  # who reads no answers may ask no further questions
        if self._number is not None:
            self._driver.feed(events.CallerBlocked(self._number))

    def eased(self) -> None:
        if self._channel is not None:
            self._channel.resume_reading()
            self._output.watch(self._channel.waiting)
        if self._number is not None:
            self._driver.feed(events.CallerUnblocked(self._number))

    def closed(self, error: Exception | None) -> None:
        self._channel = None
        self._reception.closed(self)
        if self._deadline is not None:
            self._deadline.cancel()
        if self._number is not None:
            number, self._number = self._number, None
            self._driver.leave(number)

    # ---- Outlet

    def reply(self, request: int, response: AcpResponse) -> None:
        self._gate.reply(request, response)

    def publish(self, payload: bytes) -> None:
        self._gate.publish(payload)

    def ask(self, callback: int, payload: AcpCallback) -> None:
        self._gate.ask(callback, payload)

    def refuse_connection(self, code: str, message: str) -> None:
        self._gate.refuse_connection(code, message)

    def flush(self) -> None:
        channel = self._channel
        if channel is None:
            return
        data = self._gate.outgoing()
        if data:
            channel.send(data)
            self._output.watch(channel.waiting)
        if self._gate.closing:
            channel.close()
            self._cut_later(channel.abort)

    def _cut_later(self, cut: Callable[[], None]) -> None:
        asyncio.get_running_loop().call_later(LAST_WORDS_GRACE, cut)

    def _warn_of_output(self, limit: str, observed: int, bound: int) -> None:
        peer = self._channel.peer if self._channel is not None else "gone"
        log.warning("%d bytes wait for a caller (%s); %s is %d", observed, peer, limit, bound)

    def close(self) -> None:
        if self._channel is not None:
            self._channel.close()
            self._cut_later(self._channel.abort)


def warn_of_frame(limit: str, observed: int, bound: int) -> None:
    log.warning("a frame of %d bytes comes close to %s, which is %d", observed, limit, bound)


def warn_of_connections(limit: str, observed: int, bound: int) -> None:
    log.warning("%d callers are connected; %s is %d", observed, limit, bound)
