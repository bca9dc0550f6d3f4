"""Frames over a byte stream: a unix or TCP socket, each frame behind its length."""

from __future__ import annotations

import asyncio
import socket
import struct
import sys
from typing import cast

from roost.errors import TransportError
from roost.transport.base import Listener
from roost.wire.framing import LengthFramer


class StreamChannel(asyncio.Protocol):
    """One end of a stream socket. `limit`: the longest frame accepted; `high_water`: bytes queued before `congested`."""

    def __init__(self, listener: Listener, *, limit: int, high_water: int) -> None:
        self._listener = listener
        self._framer = LengthFramer(limit)
        self._high_water = high_water
        self._transport: asyncio.Transport | None = None
        self._broken = False
        self.peer = "unknown"
        self.uid: int | None = None

    # ---- asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=self._high_water, low=self._high_water // 4)
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
        self._listener.congested()

    def resume_writing(self) -> None:
        self._listener.eased()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._listener.closed(exc)

    # ---- Channel

    def send(self, data: bytes) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)

    def pause_reading(self) -> None:
        if self._transport is not None:
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()


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
