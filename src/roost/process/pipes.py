"""The two kinds of pipe to an agent, in the event loop: bytes come in bulk and go without ever waiting."""

from __future__ import annotations

import array
import asyncio
import fcntl
import os
import termios
from collections import deque
from collections.abc import Callable

from roost.errors import LimitError, ProcessError
from roost.process.base import QUEUED_INPUT_LIMIT_NAME
from roost.process.read_turns import MOST_BYTES, ReadTurns, fitting

# Buffers handed to one writev: well under every system's IOV_MAX (1024 or more), and more than a pipe takes.
_WRITE_BUFFERS = 64


class PipeReader:
    """Delivers what arrives in a pipe until it ends. Owns the descriptor."""

    def __init__(self, turns: ReadTurns, fd: int, deliver: Callable[[bytes], None], ended: Callable[[], None]) -> None:
        self._loop = turns.loop
        self._turns = turns
        self._fd = fd
        self._deliver = deliver
        self._ended = ended
        self._size = MOST_BYTES  # of a read
        self._reading = False
        self._watched = False  # by the loop
        self._in_line = False  # for a turn, and then not watched
        os.set_blocking(fd, False)
        self.resume()

    @property
    def closed(self) -> bool:
        """Nothing will be delivered any more."""
        return self._fd < 0

    def pause(self) -> None:
        self._reading = False
        self._unwatch()

    def resume(self) -> None:
        if not self._reading and self._fd >= 0:
            self._reading = True
            if not self._in_line:
                self._watch()

    def finish(self) -> None:
        """Deliver what is in the pipe at this moment, paused or not, and close it. `ended` is not called.

        That is no more than the pipe can hold, even while somebody keeps writing.
        """
        try:
            left = self._waiting_bytes() if self._fd >= 0 else 0
            while left > 0 and self._fd >= 0:
                try:
                    chunk = os.read(self._fd, min(left, MOST_BYTES))
                except OSError:
                    break
                if not chunk:
                    break
                left -= len(chunk)
                self._deliver(chunk)
        finally:
            self.close()

    def close(self) -> None:
        if self._fd >= 0:
            self.pause()
            fd, self._fd = self._fd, -1
            os.close(fd)

    def take_turn(self) -> None:
        """See `ReadTurns`. It may have been paused or closed since it stood in line."""
        self._in_line = False
        if self._reading:
            self._read()

    def _readable(self) -> None:
        """Something has arrived, or the end has."""
        if self._turns.admits():
            self._read()
        else:
            self._stand_in_line()

    def _read(self) -> None:
        try:
            chunk = os.read(self._fd, self._size)
        except (BlockingIOError, InterruptedError):
            self._watch()
            return
        except OSError:
            chunk = b""
        if not chunk:
            self.close()
            self._ended()
            return
        # Before it is delivered: who hears it may pause, close or fail.
        if len(chunk) == self._size:
            self._stand_in_line()
        else:
            self._watch()
        start = self._loop.time()
        self._deliver(chunk)
        self._size = fitting(self._size, len(chunk), self._loop.time() - start)

    def _stand_in_line(self) -> None:
        self._unwatch()
        self._in_line = True
        self._turns.wait(self)

    def _watch(self) -> None:
        if not self._watched:
            self._watched = True
            self._loop.add_reader(self._fd, self._readable)

    def _unwatch(self) -> None:
        if self._watched:
            self._watched = False
            self._loop.remove_reader(self._fd)

    def _waiting_bytes(self) -> int:
        count = array.array("i", [0])
        fcntl.ioctl(self._fd, termios.FIONREAD, count)
        return count[0]


class PipeWriter:
    """Takes bytes for a pipe at once and passes them on as fast as the other side reads. Owns the descriptor."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, fd: int, limit: int, drained: Callable[[], None] | None = None
    ) -> None:
        self._loop = loop
        self._fd = fd
        self._limit = limit
        self._drained = drained
        self._queue: deque[bytes | memoryview] = deque()
        self._refusing = False
        self._ending = False
        self.queued = 0
        os.set_blocking(fd, False)

    def write(self, data: bytes) -> None:
        """See `AgentProcess.write`."""
        if self._fd < 0 or self._refusing:
            raise ProcessError("the agent's standard input is closed")
        if self.queued + len(data) > self._limit:
            raise LimitError(
                QUEUED_INPUT_LIMIT_NAME,
                self._limit,
                f"the agent does not read its input: {self.queued} bytes wait for it, and {len(data)} more would "
                f"exceed the limit {QUEUED_INPUT_LIMIT_NAME} of {self._limit}",
            )
        if not data:
            return
        if self._queue:
            self._queue.append(data)
            self.queued += len(data)
            return
        try:
            taken = os.write(self._fd, data)
        except (BlockingIOError, InterruptedError):
            taken = 0
        except OSError as error:
            self.abandon()
            raise ProcessError("the agent has closed its standard input") from error
        if taken < len(data):
            self._queue.append(memoryview(data)[taken:] if taken else data)
            self.queued = len(data) - taken
            self._loop.add_writer(self._fd, self._writable)

    def refuse(self) -> None:
        """Take no more bytes. The pipe stays open."""
        self._refusing = True

    def close(self) -> None:
        """End the pipe when everything queued is through."""
        self._refusing = self._ending = True
        if not self._queue:
            self.abandon()

    def abandon(self) -> None:
        """End the pipe now; what is queued is lost."""
        if self._fd < 0:
            return
        if self._queue:
            self._loop.remove_writer(self._fd)
            self._queue.clear()
            self.queued = 0
        fd, self._fd = self._fd, -1
        os.close(fd)

    def _writable(self) -> None:
        try:
            taken = os.writev(self._fd, [self._queue[at] for at in range(min(len(self._queue), _WRITE_BUFFERS))])
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            self.abandon()
            return
        self.queued -= taken
        while taken:
            first = self._queue[0]
            if taken < len(first):
                self._queue[0] = memoryview(first)[taken:]
                return
            taken -= len(first)
            self._queue.popleft()
        if not self._queue:
            self._loop.remove_writer(self._fd)
            if self._ending:
                self.abandon()
            if self._drained is not None:
                self._drained()
