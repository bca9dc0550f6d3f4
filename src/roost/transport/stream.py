"""Frames over a byte stream: a unix or TCP socket, each frame behind its length."""

from __future__ import annotations

import asyncio
import socket
import struct
import sys
from collections import deque
from typing import cast

from roost.errors import TransportError
from roost.transport.base import Listener
from roost.wire.framing import LengthFramer

# What the transport is given before it asks to wait.
TRANSPORT_BYTES = 256 * 1024

# What is read at once of one of many that connect: about a hundred requests, which is a millisecond or a few.
SHARED_READ_BYTES = 8 * 1024


class StreamChannel(asyncio.Protocol):
    """One end of a stream socket. `limit`: the longest frame accepted; `high_water`: bytes queued before `congested`.

    What the socket does not take is queued here in pieces: asyncio's own buffer is one block, which Python 3.11 moves
    as a whole after each write, so it is given little at a time.
    """

    def __init__(self, listener: Listener, *, limit: int, high_water: int) -> None:
        self._listener = listener
        self._framer = LengthFramer(limit)
        self._high_water = high_water
        self._transport: asyncio.Transport | None = None
        self._broken = False
        self._queue: deque[bytes] = deque()
        self._queued = 0
        self._holding = False  # the transport has enough for now
        self._congested = False
        self._closing = False
        self.peer = "unknown"
        self.uid: int | None = None

    # ---- asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=TRANSPORT_BYTES, low=TRANSPORT_BYTES // 4)
        sock = transport.get_extra_info("socket")
        if sock is not None and sock.family == socket.AF_UNIX:
            pid, self.uid = peer_credentials(sock)
            self.peer = f"uid {self.uid}, pid {pid}"
        self._listener.opened(self)

    def data_received(self, data: bytes) -> None:
        if self._broken:
            return
        frames = self._framer.feed(data)
        if frames:
            self._listener.received(frames)
        if self._framer.fault is not None:
            self._broken = True
            self._listener.broke(self._framer.fault)

    def eof_received(self) -> bool:
        return False

    def pause_writing(self) -> None:
        self._holding = True

    def resume_writing(self) -> None:
        self._holding = False
        while self._queue and not self._holding and self._transport is not None:
            data = self._queue.popleft()
            self._queued -= len(data)
            self._transport.write(data)
        if self._congested and self._queued <= self._high_water // 4:
            self._congested = False
            self._listener.eased()
        if self._closing and not self._queue and self._transport is not None:
            self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._listener.closed(exc)

    # ---- Channel

    @property
    def waiting(self) -> int:
        return self._queued

    def send(self, data: bytes) -> None:
        if self._closing or self._transport is None or self._transport.is_closing():
            return
        if not self._holding:
            self._transport.write(data)
            return
        for start in range(0, len(data), TRANSPORT_BYTES):
            self._queue.append(data[start : start + TRANSPORT_BYTES])
        self._queued += len(data)
        if self._queued > self._high_water and not self._congested:
            self._congested = True
            self._listener.congested()

    def pause_reading(self) -> None:
        if self._transport is not None:
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def close(self) -> None:
        self._closing = True
        if self._transport is not None and not self._queue:
            self._transport.close()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()


class SharedStreamChannel(StreamChannel, asyncio.BufferedProtocol):
    """One of many connections to a server: what waits in its socket is read in small pieces, and the others between.

    Whoever sends thousands of requests without a pause holds up nobody for longer than one piece takes.
    """

    def __init__(self, listener: Listener, *, limit: int, high_water: int) -> None:
        super().__init__(listener, limit=limit, high_water=high_water)
        self._piece = bytearray(SHARED_READ_BYTES)

    def get_buffer(self, sizehint: int) -> bytearray:
        return self._piece

    def buffer_updated(self, nbytes: int) -> None:
        self.data_received(bytes(memoryview(self._piece)[:nbytes]))


# Linux, unix(7): struct ucred {pid, uid, gid}. macOS, unix(4): struct xucred {version, uid, …}, and the pid apart.
_UCRED = struct.Struct("3i")
_XUCRED = struct.Struct("=II")
_XUCRED_SIZE = 76
_SOL_LOCAL, _LOCAL_PEERCRED, _LOCAL_PEERPID = 0, 1, 2


def peer_credentials(sock: socket.socket) -> tuple[int, int]:
    """The pid and uid of whoever opened the other end of a unix socket, from the kernel."""
    if sys.platform == "linux":
        pid, uid, _gid = _UCRED.unpack(sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size))
        return pid, uid
    if sys.platform == "darwin":
        _version, uid = _XUCRED.unpack_from(sock.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, _XUCRED_SIZE))
        return sock.getsockopt(_SOL_LOCAL, _LOCAL_PEERPID), uid
    raise TransportError("this system tells no peer credentials of a unix socket")
