"""Where a run finds its sidecar: the daemon that listens at the socket, else one inside this program."""

from __future__ import annotations

import errno
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from roost.daemon.daemon import Daemon
from roost.errors import RemoteProtocolError, SidecarError, TransportError
from roost.host.connect import attach, connect, default_socket
from roost.host.host import Host
from roost.sidecar.limits import Limits

# Nobody listens: no socket, no folder for it, or one that a dead daemon left behind.
_NOBODY = (errno.ENOENT, errno.ECONNREFUSED, errno.ENOTDIR)

# Whoever is asked sits at this very terminal, and may be fetching a coffee. Seconds.
_PATIENT_CALLBACK_TIMEOUT = 24 * 3600.0


class Sidecar:
    """A host, and how long it waits for a person's answer. `daemon` is ours, or None when we are a guest."""

    def __init__(self, host: Host, daemon: Daemon | None, callback_timeout: float) -> None:
        self.host = host
        self.daemon = daemon
        self.callback_timeout = callback_timeout

    def kill(self) -> None:
        """Ends the agents at once. A daemon of others ends them when our connection does."""
        for process in self.daemon.runner.processes if self.daemon is not None else ():
            process.signal_tree(signal.SIGKILL)


@asynccontextmanager
async def find_sidecar(socket: str | None) -> AsyncIterator[Sidecar]:
    """Raises TransportError when a daemon listens and cannot be used."""
    async with AsyncExitStack() as stack:
        try:
            host = await stack.enter_async_context(connect(socket))
        except TransportError as error:
            if not is_nobody(error):
                raise
            sidecar = await stack.enter_async_context(_own_sidecar())
        except (SidecarError, RemoteProtocolError) as error:
            raise TransportError(f"the daemon at {socket or default_socket()} cannot be used: {error}") from error
        else:
            sidecar = Sidecar(host, None, Limits().callback_timeout)
        yield sidecar


def is_nobody(error: TransportError) -> bool:
    """Whether a connection failed because no daemon listens, and not for a reason to be told."""
    return getattr(error.__cause__, "errno", None) in _NOBODY


@asynccontextmanager
async def _own_sidecar() -> AsyncIterator[Sidecar]:
    daemon = Daemon(limits=Limits(callback_timeout=_PATIENT_CALLBACK_TIMEOUT))
    try:
        host = await attach(daemon)
        try:
            yield Sidecar(host, daemon, _PATIENT_CALLBACK_TIMEOUT)
        finally:
            await host.close()
    finally:
        await daemon.close()
