"""What a client says until it is known which version it speaks, and what it is answered: what both versions say.

`initialize` decides, wherever it comes: requests before it are refused, notifications mean nothing (INI-1), and an
`initialize` that cannot be read is refused and may be sent again (INI-10). From the one that can be read on, everything
is for whoever serves that version, the message itself included.
"""

from __future__ import annotations

import asyncio

import msgspec
from msgspec import Raw

from roost.acp import v2
from roost.acp.dialect import V1
from roost.errors import CodecError, RpcError
from roost.rpc.messages import INVALID_REQUEST, LIMIT_EXCEEDED, NULL_ID, error_bytes
from roost.rpc.peer import Called, Peer
from roost.sdk.channel_around import ChannelAround
from roost.sdk.handlers import undecodable
from roost.transport.messages import MessageChannel, MessageListener
from roost.wire.decode import decode
from roost.wire.model import Uint16


class RequestedVersion(msgspec.Struct):
    """What is read of an `initialize` before anything else: the rest is in the shape of that version (INI-5)."""

    version: Uint16 = msgspec.field(name="protocolVersion")


class FirstWords(ChannelAround):
    """A channel that is listened to until `known`; then it is the channel itself, for whoever opens this one.

    `version` is what the client asked for; None: it has left before.
    """

    def __init__(self, channel: MessageChannel) -> None:
        self.version: int | None = None
        self.known = asyncio.Event()
        self._channel = channel
        self._peer = Peer()
        self._listener: MessageListener | None = None
        self._waiting: list[bytes] = []
        self._congested = False
        self._reading = True
        self._ended = False
        self._closed: tuple[Exception | None] | None = None

    # ---- as a listener of the channel, until somebody listens here

    def received(self, messages: list[bytes]) -> None:
        if self._listener is not None:
            self._listener.received(messages)
            return
        for place, message in enumerate(messages):
            if self.version is None:
                self.version = self._take(message)
            if self.version is not None:
                self._waiting += messages[place:]
                self._channel.pause_reading()
                self.known.set()
                return

    def _take(self, message: bytes) -> int | None:
        """The version, when it is said here. Of a batch that says it nothing is answered here."""
        for event in self._peer.receive(message):
            if not isinstance(event, Called):
                continue
            error = RpcError(INVALID_REQUEST, "Invalid request: initialize comes first")  # INI-1
            if event.method == "initialize":
                try:
                    return _requested(event.params)
                except CodecError as fault:
                    error = undecodable(fault)
            self._peer.fail(event.token, error)
        self._say(self._peer.outgoing())
        return None

    def _say(self, messages: list[bytes]) -> None:
        if messages:
            self._channel.send(messages)

    def overflowed(self, count: int, limit: int) -> None:
        if self._listener is not None:
            self._listener.overflowed(count, limit)
            return
        data = {"limit": "max_line_bytes", "bound": limit}
        self._say([error_bytes(NULL_ID, RpcError(LIMIT_EXCEEDED, "Limit exceeded: max_line_bytes", data))] * count)

    def congested(self) -> None:
        self._congested = True
        if self._listener is not None:
            self._listener.congested()
        else:
            self._channel.pause_reading()  # one that does not read is answered no more

    def eased(self) -> None:
        self._congested = False
        if self._listener is not None:
            self._listener.eased()
        elif self.version is None:
            self._channel.resume_reading()

    def ended(self) -> None:
        self._ended = True
        self.known.set()
        if self._listener is not None:
            self._listener.ended()

    def closed(self, error: Exception | None) -> None:
        self._closed = (error,)
        self.known.set()
        if self._listener is not None:
            self._listener.closed(error)

    # ---- as a channel

    def open(self, listener: MessageListener) -> None:
        asyncio.get_running_loop().call_soon(self._hand_over, listener)

    def _hand_over(self, listener: MessageListener) -> None:
        self._listener = listener
        if self._congested:
            listener.congested()
        waiting, self._waiting = self._waiting, []
        if waiting:
            listener.received(waiting)
        if self._ended:
            listener.ended()
        if self._closed is not None:
            listener.closed(self._closed[0])
        elif self._reading:  # it may have had enough of what waited
            self._channel.resume_reading()

    def pause_reading(self) -> None:
        self._reading = False
        self._channel.pause_reading()

    def resume_reading(self) -> None:
        self._reading = True
        self._channel.resume_reading()


def _requested(params: Raw | None) -> int:
    """CodecError: nobody can read it, so it decides nothing."""
    data = b"{}" if params is None else params
    version = decode(RequestedVersion, data).version
    if version > V1.version:
        decode(v2.InitializeRequest, data)
    return version
