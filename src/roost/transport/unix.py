"""The daemon's unix socket: one daemon per path, for its own user only."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import os
import socket
from collections.abc import Callable

from roost.errors import TransportError
from roost.transport.base import Listener
from roost.transport.stream import SharedStreamChannel, StreamChannel

# sun_path of unix(7) holds 108 bytes on Linux and 104 on macOS, a NUL included.
_MAX_PATH_BYTES = 103
_BACKLOG = 128


class UnixServer:
    """A listening socket, and the lock that says who holds it."""

    def __init__(self, path: str, server: asyncio.Server, lock: int) -> None:
        self.path = path
        self._server = server
        self._lock = lock

    def close(self) -> None:
        """Stops listening and removes the socket; connections that exist go on."""
        self._server.close()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.path)
        os.close(self._lock)


async def serve_unix(path: str, accept: Callable[[], Listener], *, limit: int, high_water: int) -> UnixServer:
    """Listens at `path`: a folder made here has mode 0700, the socket 0600; one daemon at a time.

    Raises TransportError: the path is too long, held by another daemon (it says by whom), or cannot be used.
    """
    check_path(path)
    try:
        os.makedirs(os.path.dirname(path) or ".", mode=0o700, exist_ok=True)
        lock = _take_lock(path)
    except OSError as error:
        raise TransportError(f"cannot use {path}: {error.strerror}") from error
    try:
        sock = _bind(path)
        loop = asyncio.get_running_loop()
        server = await loop.create_unix_server(
            lambda: SharedStreamChannel(accept(), limit=limit, high_water=high_water), sock=sock, backlog=_BACKLOG
        )
    except OSError as error:
        os.close(lock)
        raise TransportError(f"cannot listen at {path}: {error.strerror}") from error
    return UnixServer(path, server, lock)


async def connect_unix(path: str, listener: Listener, *, limit: int, high_water: int) -> None:
    """Connects; the channel arrives through `listener.opened`. Raises TransportError naming the path and the reason."""
    check_path(path)
    loop = asyncio.get_running_loop()
    try:
        await loop.create_unix_connection(lambda: StreamChannel(listener, limit=limit, high_water=high_water), path)
    except OSError as error:
        reason = error.strerror or str(error)
        if error.errno in (errno.ENOENT, errno.ECONNREFUSED):
            reason = "no daemon listens there"
        raise TransportError(f"cannot connect to {path}: {reason}") from error


def require_free(path: str) -> None:
    """Raises TransportError when a daemon has this path already, and says which."""
    with contextlib.suppress(OSError):  # no folder, no daemon
        os.close(_take_lock(path))


def check_path(path: str) -> None:
    size = len(os.fsencode(path))
    if size > _MAX_PATH_BYTES:
        raise TransportError(f"{path}: a socket path may be {_MAX_PATH_BYTES} bytes long, this one has {size}")


def _take_lock(path: str) -> int:
    """An exclusive lock beside the socket, holding our pid; the kernel drops it when we die."""
    lock = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(lock, 64, 0).decode("ascii", "replace").strip()
        os.close(lock)
        who = f"process {holder}" if holder else "another process"
        raise TransportError(f"{path} is held by a roost daemon ({who}); stop it, or use another --socket") from None
    os.ftruncate(lock, 0)
    os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
    return lock


def _bind(path: str) -> socket.socket:
    """A bound socket nobody else can reach at any moment; a stale one is replaced, since we hold the lock."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    mask = os.umask(0o177)
    try:
        sock.bind(path)
    except OSError:
        sock.close()
        raise
    finally:
        os.umask(mask)
    return sock
