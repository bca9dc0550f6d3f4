"""Messages as lines over a pair of pipes: one that is read, one that is written. Both ends of stdio use it."""

from __future__ import annotations

import asyncio
import os
import stat
from contextlib import suppress
from typing import IO, Final, cast

from roost.transport.messages import DEFAULT_HIGH_WATER, MessageListener
from roost.wire.framing import LineFramer

DEFAULT_MAX_MESSAGE_BYTES: Final = 64 * 1024 * 1024  # images and replays: tens of MiB have to pass (ENV-21)

_READ_SIZE: Final = 256 * 1024  # as much as asyncio reads from a pipe at once


async def connect_lines(
    reader: IO[bytes],
    writer: IO[bytes],
    *,
    peer: str,
    limit: int = DEFAULT_MAX_MESSAGE_BYTES,
    high_water: int = DEFAULT_HIGH_WATER,
) -> LineChannel:
    """A channel that reads lines from one file and writes them to another, and closes both at its end.

    Pipes, sockets and terminals are read without blocking the loop; anything else (`/dev/null`, a plain file) is read
    in a thread.
    """
    channel = LineChannel(peer, limit, high_water)
    loop = asyncio.get_running_loop()
    if _is_stream(writer):
        await loop.connect_write_pipe(lambda: _Output(channel), writer)
    else:
        channel._file = writer
    if _is_stream(reader):
        await loop.connect_read_pipe(lambda: _Input(channel), reader)
    else:
        channel._source = _FileSource(channel, reader, loop)
    return channel


class LineChannel:
    """A MessageChannel of lines (STD-1). Made by `connect_lines`."""

    def __init__(self, peer: str, limit: int, high_water: int) -> None:
        self.peer = peer
        self._framer = LineFramer(limit)
        self._high_water = high_water
        self._listener: MessageListener | None = None
        self._early: list[bytes] = []  # lines that came before `open`
        self._early_end = False
        self._source: asyncio.ReadTransport | _FileSource | None = None
        self._sink: asyncio.WriteTransport | None = None
        self._file: IO[bytes] | None = None
        self._input_open = True
        self._output_open = True
        self._told = False  # `closed` was called
        self._error: Exception | None = None

    @property
    def queued(self) -> int:
        return 0 if self._sink is None else self._sink.get_write_buffer_size()

    def open(self, listener: MessageListener) -> None:
        self._listener = listener
        if self._early or self._early_end:
            asyncio.get_running_loop().call_soon(self._deliver_early)

    def send(self, messages: list[bytes]) -> None:
        data = b"\n".join(messages) + b"\n"
        if self._sink is not None:
            if not self._sink.is_closing():
                self._sink.write(data)
        elif self._file is not None:
            try:
                self._file.write(data)
                self._file.flush()
            except OSError as error:
                self._error = error
                self.abort()

    def pause_reading(self) -> None:
        if self._source is not None and self._input_open:
            self._source.pause_reading()

    def resume_reading(self) -> None:
        if self._source is not None and self._input_open:
            self._source.resume_reading()

    def close(self) -> None:
        if self._source is not None:
            self._source.close()
        if self._sink is not None and self._output_open:
            self._sink.close()
        elif self._file is not None:
            self._close_file()

    def abort(self) -> None:
        if self._source is not None:
            self._source.close()
        if self._sink is not None and self._output_open:
            self._sink.abort()
        elif self._file is not None:
            self._close_file()

    def _close_file(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            with suppress(OSError):
                file.close()
            asyncio.get_running_loop().call_soon(self._output_lost, None)

    # ---- from the pipes

    def _read(self, data: bytes) -> None:
        lines = self._framer.feed(data)
        if self._listener is None:
            self._early += lines
            return
        if self._early:
            lines = self._early + lines
            self._early = []
        if lines:
            self._listener.received(lines)
        self._tell_overflows(self._listener)

    def _read_end(self) -> None:
        if not self._input_open:
            return
        self._input_open = False
        last = self._framer.finish()  # a last line without its newline counts
        if self._listener is None:
            self._early += [] if last is None else [last]
            self._early_end = True
            return
        self._tell_overflows(self._listener)
        lines, self._early = self._early, []  # the listener is there, and what came before it not delivered yet
        if last is not None:
            lines.append(last)
        if lines:
            self._listener.received(lines)
        self._listener.ended()
        self._tell_closed()

    def _deliver_early(self) -> None:
        listener, lines = self._listener, self._early
        self._early = []
        assert listener is not None
        if lines:
            listener.received(lines)
        self._tell_overflows(listener)
        if self._early_end:
            self._early_end = False
            listener.ended()
            self._tell_closed()

    def _tell_overflows(self, listener: MessageListener) -> None:
        count = self._framer.take_overflows()
        if count:
            listener.overflowed(count, self._framer.limit)

    def _output_lost(self, error: Exception | None) -> None:
        self._output_open = False
        self._error = self._error or error
        if self._input_open and self._source is not None:
            self._source.close()  # nobody hears an answer: what is still read has no use
        self._tell_closed()

    def _input_lost(self, error: Exception | None) -> None:
        self._error = self._error or error
        self._read_end()

    def _tell_closed(self) -> None:
        if not self._told and not self._input_open and not self._output_open and self._listener is not None:
            self._told = True
            self._listener.closed(self._error)


class _Input(asyncio.Protocol):
    def __init__(self, channel: LineChannel) -> None:
        self._channel = channel

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._channel._source = cast(asyncio.ReadTransport, transport)

    def data_received(self, data: bytes) -> None:
        self._channel._read(data)

    def eof_received(self) -> None:
        self._channel._read_end()

    def connection_lost(self, exc: Exception | None) -> None:
        self._channel._input_lost(exc)


class _Output(asyncio.BaseProtocol):
    def __init__(self, channel: LineChannel) -> None:
        self._channel = channel

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        sink = self._channel._sink = cast(asyncio.WriteTransport, transport)
        sink.set_write_buffer_limits(high=self._channel._high_water, low=self._channel._high_water // 4)

    def pause_writing(self) -> None:
        if self._channel._listener is not None:
            self._channel._listener.congested()

    def resume_writing(self) -> None:
        if self._channel._listener is not None:
            self._channel._listener.eased()

    def connection_lost(self, exc: Exception | None) -> None:
        self._channel._output_lost(exc)


class _FileSource:
    """Reads a file that cannot be waited for, a chunk at a time in a thread."""

    def __init__(self, channel: LineChannel, file: IO[bytes], loop: asyncio.AbstractEventLoop) -> None:
        self._channel = channel
        self._file = file
        self._loop = loop
        self._paused = False
        self._busy = False
        self._closed = False
        loop.call_soon(self._next)

    def pause_reading(self) -> None:
        self._paused = True

    def resume_reading(self) -> None:
        self._paused = False
        self._next()

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._loop.call_soon(self._channel._read_end)
            if not self._busy:
                self._file.close()

    def _next(self) -> None:
        if not self._busy and not self._paused and not self._closed:
            self._busy = True
            chunk = self._loop.run_in_executor(None, os.read, self._file.fileno(), _READ_SIZE)
            chunk.add_done_callback(self._took)

    def _took(self, chunk: asyncio.Future[bytes]) -> None:
        self._busy = False
        data = b"" if chunk.cancelled() or chunk.exception() is not None else chunk.result()
        if self._closed:
            self._file.close()
        elif data:
            self._channel._read(data)
            self._next()
        else:
            self._closed = True
            self._file.close()
            self._channel._read_end()


def _is_stream(file: IO[bytes]) -> bool:
    mode = os.fstat(file.fileno()).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or os.isatty(file.fileno())
