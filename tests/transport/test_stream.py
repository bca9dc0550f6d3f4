"""Frames over sockets: what one connection sends does not hold up another, and arrives whole."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest

from roost.errors import LimitError
from roost.transport.base import Channel
from roost.transport.stream import SHARED_READ_BYTES
from roost.transport.unix import serve_unix
from roost.wire.framing import encode_length_frame

PATIENCE = 15.0


class Reception:
    """Makes a listener for each connection and notes what comes, in order, under the connection's number."""

    def __init__(self) -> None:
        self.channels: list[Channel] = []
        self.heard: list[tuple[int, bytes]] = []
        self._changed = asyncio.Event()

    def accept(self) -> Hearer:
        return Hearer(self)

    def note(self) -> None:
        self._changed.set()

    async def until(self, count: int, channels: int) -> None:
        async with asyncio.timeout(PATIENCE):
            while len(self.heard) < count or len(self.channels) < channels:
                self._changed.clear()
                await self._changed.wait()


class Hearer:
    def __init__(self, reception: Reception) -> None:
        self._reception = reception
        self._number = -1

    def opened(self, channel: Channel) -> None:
        self._number = len(self._reception.channels)
        self._reception.channels.append(channel)
        self._reception.note()

    def received(self, frames: list[bytes]) -> None:
        self._reception.heard += [(self._number, frame) for frame in frames]
        self._reception.note()

    def broke(self, fault: LimitError) -> None: ...
    def congested(self) -> None: ...
    def eased(self) -> None: ...
    def closed(self, error: Exception | None) -> None: ...


@pytest.fixture
async def served(tmp_path: Path):
    """A reception, and two connections to it that are open."""
    reception = Reception()
    path = str(tmp_path / "s")
    server = await serve_unix(path, reception.accept, limit=1 << 24, high_water=1 << 20)
    loop = asyncio.get_running_loop()
    sockets = []
    for number in range(2):
        sock = socket.socket(socket.AF_UNIX)
        sock.setblocking(False)
        await loop.sock_connect(sock, path)
        sockets.append(sock)
        await reception.until(0, number + 1)
    yield reception, sockets
    for sock in sockets:
        sock.close()
    for channel in reception.channels:
        channel.abort()
    server.close()


@pytest.mark.parametrize("eager", [0, 1])
async def test_a_connection_that_sends_without_a_pause_is_read_a_piece_at_a_time_and_the_others_between(served, eager):
    reception, sockets = served
    frame = encode_length_frame(b"x" * 60)
    sent = sockets[eager].send(frame * 2000) // len(frame)  # whole and there before anybody reads
    assert sent * len(frame) > 4 * SHARED_READ_BYTES
    sockets[1 - eager].send(encode_length_frame(b"?"))
    await reception.until(sent + 1, 2)
    assert reception.heard.index((1 - eager, b"?")) <= SHARED_READ_BYTES // len(frame)


async def test_a_frame_much_larger_than_a_piece_arrives_whole(served):
    reception, sockets = served
    body = bytes(range(256)) * 2000
    sending = asyncio.get_running_loop().sock_sendall(sockets[0], encode_length_frame(body) + encode_length_frame(b"?"))
    async with asyncio.timeout(PATIENCE):
        await sending
    await reception.until(2, 2)
    assert reception.heard == [(0, body), (0, b"?")]


async def test_a_connection_that_is_not_to_be_read_is_not_read_until_it_is(served):
    reception, sockets = served
    reception.channels[0].pause_reading()
    sockets[0].send(encode_length_frame(b"later"))
    sockets[1].send(encode_length_frame(b"first"))
    await reception.until(1, 2)
    assert reception.heard == [(1, b"first")]
    reception.channels[0].resume_reading()
    await reception.until(2, 2)
    assert reception.heard == [(1, b"first"), (0, b"later")]
