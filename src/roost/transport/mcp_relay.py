"""Where the programs connect that stand for a client's own MCP servers (`mcp_shim`): one socket, a secret each.

The socket is made when the first program is offered: in a new folder of mode 0700 with a name nobody can guess, gone
with `close`. Who connects has to be of this user, and to know a secret that was given out and not taken back.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Protocol, cast

from msgspec import Struct

from roost.errors import LimitError, RoostError, TransportError
from roost.transport import mcp_shim
from roost.transport.claimed_folder import RELAY, RELAY_SOCKET, ClaimedFolder, sweep_folders, temporary_bases
from roost.transport.stream import peer_credentials
from roost.transport.unix import check_path
from roost.wire.framing import DEFAULT_MAX_LINE_BYTES, LineFramer

_PROGRAM: Final = Path(mcp_shim.__file__)
_BACKLOG: Final = 128
_HELLO_BYTES: Final = 256
_LAST_WORDS_GRACE: Final = 1.0  # seconds a program that is let go may take to read the rest


class RelayLimits(Struct, frozen=True, kw_only=True):
    """The bounds of one relay server. All values are ours."""

    line_bytes: int = DEFAULT_MAX_LINE_BYTES  # one message -> the connection ends
    queued_bytes: int = 32 << 20  # waiting for a program whose agent does not read -> the connection ends
    connections: int = 1024  # programs connected at once, those that have not shown their secret yet included
    hello_timeout: float = 5.0  # seconds from connecting to a complete hello -> the connection ends


class RelayProgram(Struct, frozen=True):
    """How an agent starts the program of one relay. `token`, which is in `env`, takes it back."""

    command: str
    args: tuple[str, ...]
    env: Mapping[str, str]
    token: str


class RelayListener(Protocol):
    """Who hears the programs of one relay. Calls come from the event loop, one at a time."""

    def connected(self, channel: RelayChannel) -> None:
        """One has shown the secret."""

    def received(self, channel: RelayChannel, lines: list[bytes]) -> None: ...

    def closed(self, channel: RelayChannel, fault: RoostError | None) -> None:
        """The last call for a channel that was connected; not after `close` or `abort` of ours."""


class McpRelayServer:
    """Make and use it inside one running event loop."""

    def __init__(self, *, limits: RelayLimits | None = None, environment: Mapping[str, str] | None = None) -> None:
        """`environment`: where folders for sockets go (XDG_RUNTIME_DIR, TMPDIR); this program's own by default."""
        self.limits = limits or RelayLimits()
        self._environment = os.environ if environment is None else environment
        self._listeners: dict[str, RelayListener] = {}
        self._path: str | None = None
        self._folder: ClaimedFolder | None = None
        self._socket: socket.socket | None = None
        self._serving: asyncio.Task[asyncio.Server] | None = None
        self._closed = False
        self.channels: set[RelayChannel] = set()

    @property
    def path(self) -> str | None:
        """Where it listens; None until a program is offered."""
        return self._path

    def offer(self, listener: RelayListener) -> RelayProgram:
        """A program that connects to `listener`, as often as it is started, until it is withdrawn.

        Raises TransportError when there can be no socket.
        """
        if self._closed:
            raise TransportError("this relay is closed")
        path = self._path or self._listen()
        token = secrets.token_hex(32)
        self._listeners[token] = listener
        env = {mcp_shim.SOCKET: path, mcp_shim.TOKEN: token, mcp_shim.LINE_BYTES: str(self.limits.line_bytes)}
        return RelayProgram(sys.executable, ("-I", "-S", str(_PROGRAM)), env, token)

    def withdraw(self, token: str) -> None:
        """Nobody connects by this secret any more; who is connected stays."""
        self._listeners.pop(token, None)

    def close(self) -> None:
        """Ends every connection, and nothing is left."""
        self._closed = True
        self._listeners.clear()
        for channel in list(self.channels):
            channel.abort()
        if self._serving is not None:
            if self._serving.done() and not self._serving.cancelled() and self._serving.exception() is None:
                self._serving.result().close()
            self._serving.cancel()
        if self._socket is not None:
            self._socket.close()
        if self._folder is not None:
            self._folder.remove()

    def listener_of(self, token: str) -> RelayListener | None:
        found = None
        for known, listener in self._listeners.items():
            if secrets.compare_digest(known.encode(), token.encode()):
                found = listener
        return found

    def _listen(self) -> str:
        if not sys.executable:
            raise TransportError("the Python that runs this program is not known")
        sweep_folders(temporary_bases(self._environment))
        folder = _folder_for_a_socket(self._environment)
        path = os.path.join(folder.path, RELAY_SOCKET)
        try:
            folder.make()
            sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                sock.bind(path)
                sock.listen(_BACKLOG)  # at once: a program may be quicker than the event loop
                sock.setblocking(False)
            except OSError:
                sock.close()
                folder.remove()
                raise
        except OSError as error:
            raise TransportError(f"cannot listen at {path}: {error.strerror}") from error
        self._path, self._folder, self._socket = path, folder, sock
        loop = asyncio.get_running_loop()
        self._serving = loop.create_task(loop.create_unix_server(lambda: RelayChannel(self), sock=sock))
        return path


class RelayChannel(asyncio.Protocol):
    """One connection. It says nothing, and is not heard, before it has shown its secret."""

    def __init__(self, server: McpRelayServer) -> None:
        self._server = server
        self._framer = LineFramer(server.limits.line_bytes)
        self._listener: RelayListener | None = None
        self._transport: asyncio.Transport | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self._fault: RoostError | None = None
        self._hello = b""
        self._refused = False
        self.pid: int | None = None

    # ---- asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        limits, channels = self._server.limits, self._server.channels
        channels.add(self)
        if len(channels) > limits.connections:
            self._refuse(str(LimitError("connections", limits.connections)))
            return
        try:
            self.pid, uid = peer_credentials(transport.get_extra_info("socket"))
        except (TransportError, OSError) as error:
            self._refuse(str(error))
            return
        if uid != os.getuid():
            self._refuse("it serves its own user only")
            return
        timeout = limits.hello_timeout
        text = f"no complete hello within {timeout:g} s (hello_timeout)"
        self._deadline = asyncio.get_running_loop().call_later(timeout, self._refuse, text)

    def data_received(self, data: bytes) -> None:
        if self._refused:
            return
        if self._listener is None and self._deadline is not None:
            data = self._greet(data)
        if self._listener is None:
            return
        lines = self._framer.feed(data)
        if lines:
            self._listener.received(self, lines)
        if self._framer.take_overflows():
            self._fail(LimitError("line_bytes", self._framer.limit))

    def _greet(self, data: bytes) -> bytes:
        """Looks for the hello; what comes behind it is the first of what is said."""
        self._hello += data
        line, newline, rest = self._hello.partition(b"\n")
        if not newline and len(line) <= _HELLO_BYTES:
            return b""
        assert self._transport is not None
        token = line.removeprefix(mcp_shim.HELLO)
        listener = None
        if line.startswith(mcp_shim.HELLO) and len(line) <= _HELLO_BYTES:
            listener = self._server.listener_of(token.decode("ascii", "replace").strip())
        if listener is None:
            self._refuse("no session here has this MCP server")
            return b""
        self._stop_waiting()
        self._hello = b""
        self._listener = listener
        self._transport.write(mcp_shim.WELCOME + b"\n")
        listener.connected(self)
        return rest

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        self._transport = None
        self._server.channels.discard(self)
        listener, self._listener = self._listener, None
        if listener is not None:
            listener.closed(self, self._fault)

    # ---- for the listener

    def send(self, message: bytes) -> None:
        """One message. A program whose agent does not read is let go."""
        transport, bound = self._transport, self._server.limits.queued_bytes
        if transport is None or transport.is_closing():
            return
        transport.write(message + b"\n")
        if transport.get_write_buffer_size() > bound:
            self._fail(LimitError("queued_bytes", bound))

    def pause_reading(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def close(self) -> None:
        """Ends it after what was sent."""
        self._listener = None
        if self._transport is not None:
            self._transport.close()
            asyncio.get_running_loop().call_later(_LAST_WORDS_GRACE, self.abort)

    def abort(self) -> None:
        self._listener = None
        if self._transport is not None:
            self._transport.abort()

    # ----

    def _fail(self, fault: RoostError) -> None:
        self._fault = fault
        if self._transport is not None:
            self._transport.abort()

    def _refuse(self, why: str) -> None:
        """Says why, and waits a moment for the other to go: one that is cut off in mid-hello would not hear it."""
        self._refused = True
        self._stop_waiting()
        if self._transport is not None:
            self._transport.write(f"{why}\n".encode())
            self._transport.write_eof()
            asyncio.get_running_loop().call_later(_LAST_WORDS_GRACE, self.abort)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def _folder_for_a_socket(environment: Mapping[str, str]) -> ClaimedFolder:
    """One that does not exist yet. Raises TransportError when no place is short enough for a socket."""
    fault = TransportError("no folder for a socket")
    for base in temporary_bases(environment):
        folder = ClaimedFolder(base, RELAY)
        try:
            check_path(os.path.join(folder.path, RELAY_SOCKET))
        except TransportError as error:
            fault = error
        else:
            return folder
    raise fault
