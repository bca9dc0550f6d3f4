"""An agent started by its command line, as a channel of lines: stdin and stdout carry messages, stderr is listened to.

The program leads a process group of its own, so that ending it ends what it started. Its stderr is always read, or it
would stop writing sooner or later; the last part is kept for whoever has to explain a failure. Closing is a ladder:
stdin is closed, then the group gets SIGTERM, then SIGKILL, each after a grace (STD-5).
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from roost.errors import ProcessError
from roost.transport.lines import DEFAULT_MAX_MESSAGE_BYTES
from roost.transport.messages import DEFAULT_HIGH_WATER, MessageListener
from roost.transport.stderr import StderrTail
from roost.wire.framing import LineFramer


class Launch(Struct, frozen=True, kw_only=True):
    """How to start an agent. `env` lies over this program's own environment, or is all of it without `inherit_env`.

    Only ever from this program's own configuration, never from the wire (SEC-3).
    """

    argv: tuple[str, ...]
    cwd: str | None = None
    env: dict[str, str] = {}
    inherit_env: bool = True

    def with_env(self, more: Mapping[str, str]) -> Launch:
        return replace(self, env={**self.env, **more})

    def with_args(self, more: Sequence[str]) -> Launch:
        return replace(self, argv=(*self.argv, *more))

    def environment(self) -> dict[str, str]:
        own = {"PYTHONIOENCODING": "utf-8", **os.environ} if self.inherit_env else {}  # stdio is UTF-8 (ENV-2)
        return {**own, **self.env}

    def __repr__(self) -> str:
        return f"Launch({self.argv[0]!r}, {len(self.argv) - 1} arguments, env {sorted(self.env)})"  # values are secret


class ChildLimits(Struct, frozen=True):
    """The bounds of one child, and how patient its end is. The defaults are ours."""

    line_bytes: int = DEFAULT_MAX_MESSAGE_BYTES
    high_water: int = DEFAULT_HIGH_WATER
    stderr_bytes: int = 64 * 1024  # of its stderr that are kept, the newest
    stderr_lines_per_second: int = 100  # told to `on_stderr`; the rest are counted
    exit_grace: float = 2.0  # seconds from closing stdin to SIGTERM
    kill_grace: float = 2.0  # seconds from SIGTERM to SIGKILL
    drain_grace: float = 1.0  # seconds that output may keep coming after the program itself is gone


DEFAULT_CHILD_LIMITS: Final = ChildLimits()


async def start_child(
    launch: Launch, *, limits: ChildLimits = DEFAULT_CHILD_LIMITS, on_stderr: Callable[[str], None] | None = None
) -> ChildChannel:
    """Starts the program. `on_stderr(line)` hears what it says there, rate-limited.

    Raises ProcessError: there is no such program, or it cannot be run.
    """
    if not launch.argv or not launch.argv[0]:
        raise ProcessError("there is no command to start")
    loop = asyncio.get_running_loop()
    channel = ChildChannel(launch, limits, StderrTail(limits.stderr_bytes, limits.stderr_lines_per_second, on_stderr))
    # A pipe of our own: some versions of asyncio make stdin a socket, which programs cannot open as /dev/stdin.
    theirs, ours = os.pipe()
    stdin = os.fdopen(ours, "wb", buffering=0)
    try:
        await loop.connect_write_pipe(lambda: _Stdin(channel), stdin)
        await loop.subprocess_exec(
            lambda: _Process(channel),
            *launch.argv,
            stdin=theirs,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=launch.cwd,
            env=launch.environment(),
            start_new_session=True,
        )
    except BaseException as error:
        stdin.close() if channel._stdin is None else channel._stdin.abort()
        if isinstance(error, OSError | ValueError):
            raise ProcessError(f"cannot start {launch.argv[0]}: {_reason(error)}") from error
        raise
    finally:
        os.close(theirs)
    return channel


class ChildChannel:
    """A MessageChannel to a program of ours. Made by `start_child`."""

    def __init__(self, launch: Launch, limits: ChildLimits, stderr: StderrTail) -> None:
        self.launch = launch
        self.stderr = stderr
        self.exit_code: int | None = None
        """Negative for a signal, as in `subprocess`; None while it runs."""
        self._limits = limits
        self._framer = LineFramer(limits.line_bytes)
        self._loop = asyncio.get_running_loop()
        self._listener: MessageListener | None = None
        self._early: list[bytes] = []  # lines that came before the listener was ready
        self._early_bytes = 0
        self._is_live = False  # they were delivered
        self._transport: asyncio.SubprocessTransport | None = None
        self._stdin: asyncio.WriteTransport | None = None
        self._pid = 0
        self._reading = True
        self._output_ended = False
        self._told_end = False
        self._told_closed = False
        self._input_error: Exception | None = None
        self._exited = asyncio.Event()
        self._hurried = asyncio.Event()  # nobody waits for its stdin to be enough any more
        self._ending: asyncio.Task[None] | None = None
        self._drain: asyncio.TimerHandle | None = None

    @property
    def pid(self) -> int:
        """The program's process id, and the id of the group it leads."""
        return self._pid

    @property
    def last_words(self) -> str:
        """The last lines it wrote to stderr, for whoever has to explain its end."""
        return self.stderr.last_lines()

    @property
    def peer(self) -> str:
        return f"{os.path.basename(self.launch.argv[0])} (pid {self._pid})"

    @property
    def queued(self) -> int:
        return 0 if self._stdin is None else self._stdin.get_write_buffer_size()

    # ---- MessageChannel

    def open(self, listener: MessageListener) -> None:
        self._listener = listener
        self._loop.call_soon(self._deliver_early, listener)

    def send(self, messages: list[bytes]) -> None:
        if self._stdin is not None and not self._stdin.is_closing():
            self._stdin.write(b"\n".join(messages) + b"\n")

    def pause_reading(self) -> None:
        self._reading = False
        if (pipe := self._output_pipe()) is not None:
            pipe.pause_reading()
        self._settle_drain()

    def resume_reading(self) -> None:
        self._reading = True
        if (pipe := self._output_pipe()) is not None:
            pipe.resume_reading()
        self._settle_drain()

    def close(self) -> None:
        """Closes its stdin, then goes down the ladder; what it still writes meanwhile is read."""
        self._end_process(at_once=False)

    def abort(self) -> None:
        """Stops listening at once, and goes down the ladder without the first step."""
        if self._stdin is not None:
            self._stdin.abort()
        if (pipe := self._output_pipe()) is not None:
            pipe.close()
        self._end_process(at_once=True)
        self._end_output()
        self._tell_closed()

    async def wait_exited(self) -> int:
        """Returns the exit code when the program, and what it started, is gone."""
        await self._exited.wait()
        if self._ending is not None:
            await asyncio.wait([self._ending])
        assert self.exit_code is not None
        return self.exit_code

    # ---- the end of the process

    def _end_process(self, *, at_once: bool) -> None:
        if at_once:
            self._hurried.set()
        if self._ending is None:
            self._ending = self._loop.create_task(self._descend(), name=f"roost-end {self._pid}")
        if not self._reading:  # a program that is stuck writing does not see the end of its input
            self.resume_reading()

    async def _descend(self) -> None:
        if self._stdin is not None:
            self._stdin.close()  # after what is queued
        limits = self._limits
        with suppress(TimeoutError):
            async with asyncio.timeout(limits.exit_grace):
                await self._hurried.wait()
        for sign, grace in ((signal.SIGTERM, limits.kill_grace), (signal.SIGKILL, limits.kill_grace)):
            if self._exited.is_set():
                return
            self._signal_group(sign)
            with suppress(TimeoutError):
                async with asyncio.timeout(grace):
                    await self._exited.wait()

    def _signal_group(self, sign: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._pid, sign)

    def _process_exited(self) -> None:
        assert self._transport is not None
        self.exit_code = self._transport.get_returncode()
        self._signal_group(signal.SIGKILL)  # what it left behind belonged to it
        if self._stdin is not None:
            self._stdin.abort()
        if self._output_ended:
            self._finish()
        else:
            self._settle_drain()

    def _settle_drain(self) -> None:
        """What the program wrote before it went is still in the pipe, and time runs only while it is read."""
        if self.exit_code is None or self._output_ended:
            return
        if not self._reading and self._drain is not None:
            self._drain.cancel()
            self._drain = None
        elif self._reading and self._drain is None:
            self._drain = self._loop.call_later(self._limits.drain_grace, self._finish)

    def _finish(self) -> None:
        """The process is gone and its output read, or given up."""
        if self._drain is not None:
            self._drain.cancel()
            self._drain = None
        self._exited.set()
        self._hurried.set()
        if (pipe := self._output_pipe()) is not None:
            pipe.close()
        if self._transport is not None:
            self._transport.close()
        self._end_output()
        self._tell_closed()

    # ---- what comes in

    def _output_pipe(self) -> asyncio.ReadTransport | None:
        pipe = None if self._transport is None else self._transport.get_pipe_transport(1)
        return pipe if isinstance(pipe, asyncio.ReadTransport) and not self._output_ended else None

    def _read(self, data: bytes) -> None:
        lines = self._framer.feed(data)
        if self._listener is not None and self._is_live:
            self._tell(self._listener, lines)
            return
        self._early += lines
        self._early_bytes += len(data)
        if self._early_bytes > self._limits.high_water and self._reading:
            self.pause_reading()  # until somebody listens

    def _tell(self, listener: MessageListener, lines: list[bytes]) -> None:
        if self._told_end:
            return
        if lines:
            listener.received(lines)
        overflows = self._framer.take_overflows()
        if overflows:
            listener.overflowed(overflows, self._framer.limit)

    def _end_output(self) -> None:
        if self._output_ended:
            return
        self._output_ended = True
        last = self._framer.finish()
        rest = [] if last is None else [last]
        if self._listener is not None and self._is_live:
            self._tell(self._listener, rest)
            self._tell_end(self._listener)
        else:
            self._early += rest
        if self.exit_code is not None:
            self._finish()

    def _tell_end(self, listener: MessageListener) -> None:
        if not self._told_end:
            self._told_end = True
            listener.ended()

    def _tell_closed(self) -> None:
        if self._listener is not None and not self._told_closed and self._told_end:
            self._told_closed = True
            self._listener.closed(self._input_error)

    def _deliver_early(self, listener: MessageListener) -> None:
        self._is_live = True
        early, self._early = self._early, []
        self._tell(listener, early)
        if self._early_bytes > self._limits.high_water:
            self.resume_reading()
        if self._output_ended:
            self._tell_end(listener)
            if self._exited.is_set() or self._hurried.is_set():
                self._tell_closed()


class _Process(asyncio.SubprocessProtocol):
    def __init__(self, channel: ChildChannel) -> None:
        self._channel = channel

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)
        self._channel._transport = transport
        self._channel._pid = transport.get_pid()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 1:
            self._channel._read(data)
        else:
            self._channel.stderr.feed(data, self._channel._loop.time())

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == 1:
            self._channel._end_output()
        else:
            self._channel.stderr.finish()

    def process_exited(self) -> None:
        self._channel._process_exited()


class _Stdin(asyncio.BaseProtocol):
    def __init__(self, channel: ChildChannel) -> None:
        self._channel = channel

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        high = self._channel._limits.high_water
        transport.set_write_buffer_limits(high=high, low=high // 4)
        self._channel._stdin = transport

    def pause_writing(self) -> None:
        if self._channel._listener is not None:
            self._channel._listener.congested()

    def resume_writing(self) -> None:
        if self._channel._listener is not None:
            self._channel._listener.eased()

    def connection_lost(self, exc: Exception | None) -> None:
        self._channel._stdin = None
        self._channel._input_error = None if isinstance(exc, BrokenPipeError) else exc  # its end tells that better


async def run_in_terminal(launch: Launch) -> int:
    """Runs a program with this program's own terminal and returns its exit code: how a terminal login is done (AUTH-6).

    Raises ProcessError when it cannot be run.
    """
    try:
        process = await asyncio.create_subprocess_exec(*launch.argv, cwd=launch.cwd, env=launch.environment())
    except (OSError, ValueError) as error:
        raise ProcessError(f"cannot start {launch.argv[0]}: {_reason(error)}") from error
    try:
        return await process.wait()
    except asyncio.CancelledError:
        with suppress(ProcessLookupError):
            process.terminate()
        raise


def command_line(command: str | Sequence[str]) -> tuple[str, ...]:
    """A command as its arguments; a string is split as a shell would, and run by none."""
    if isinstance(command, str):
        import shlex

        return tuple(shlex.split(command, posix=sys.platform != "win32"))
    return tuple(command)


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
