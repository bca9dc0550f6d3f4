"""Where a command finds its sidecar: the daemon that listens at the socket, else one inside this program."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import msgspec

from roost.cli.configuration import Wanted, daemon_settings, journal_of
from roost.cli.inventory import keeps_journal
from roost.cli.status import ExitStatus, Failure, say
from roost.daemon.daemon import Daemon
from roost.errors import RemoteProtocolError, SidecarError, StoreError, TransportError
from roost.host.connect import attach, connect
from roost.host.host import Host

# Nobody listens: no socket, no folder for it, or one that a dead daemon left behind.
_NOBODY = (errno.ENOENT, errno.ECONNREFUSED, errno.ENOTDIR)

# Whoever is asked sits at this very terminal, and may be fetching a coffee. Seconds.
_PATIENT_CALLBACK_TIMEOUT = 24 * 3600.0


class Sidecar:
    """A host, and how long it waits for a person's answer. `daemon` is ours, or None when we are a guest.

    `journal`: what is started here is kept, under the caller's name.
    """

    def __init__(self, host: Host, daemon: Daemon | None, callback_timeout: float, *, journal: bool) -> None:
        self.host = host
        self.daemon = daemon
        self.callback_timeout = callback_timeout
        self.journal = journal

    def kill(self) -> None:
        """Ends the agents of our own daemon at once."""
        for process in self.daemon.runner.processes if self.daemon is not None else ():
            process.signal_tree(signal.SIGKILL)


@asynccontextmanager
async def find_sidecar(wanted: Wanted, *, needs_journal: bool = False) -> AsyncIterator[Sidecar]:
    """Raises TransportError when a daemon listens and cannot be used, Failure when there is no journal to be had."""
    if needs_journal and not wanted.journal:
        raise Failure(ExitStatus.USAGE, "there is no journal: store.enabled is false")
    async with AsyncExitStack() as stack:
        try:
            sidecar = await _guest(stack, wanted)
        except TransportError as error:
            if not is_nobody(error):
                raise
            sidecar = await stack.enter_async_context(_own_sidecar(wanted, needs_journal))
        except (SidecarError, RemoteProtocolError) as error:
            raise TransportError(f"the daemon at {wanted.path} cannot be used: {error}") from error
        if needs_journal and not sidecar.journal:
            raise Failure(ExitStatus.AGENT_FAILED, f"the daemon at {wanted.path} keeps no journal")
        yield sidecar


async def _guest(stack: AsyncExitStack, wanted: Wanted) -> Sidecar:
    """A named caller's sessions outlive its connection, so without a journal to put them in we come without a name."""
    timeout = wanted.config.limits.callback_timeout
    if wanted.journal:
        named = AsyncExitStack()
        async with named:
            host = await named.enter_async_context(connect(wanted.path, caller=wanted.owner))
            if await keeps_journal(host):
                stack.push_async_exit(named.pop_all())
                return Sidecar(host, None, timeout, journal=True)
    return Sidecar(await stack.enter_async_context(connect(wanted.path)), None, timeout, journal=False)


def is_nobody(error: TransportError) -> bool:
    """Whether a connection failed because no daemon listens, and not for a reason to be told."""
    return getattr(error.__cause__, "errno", None) in _NOBODY


@asynccontextmanager
async def _own_sidecar(wanted: Wanted, needs_journal: bool) -> AsyncIterator[Sidecar]:
    daemon = await _with_journal(wanted, needs_journal) if wanted.journal else None
    journal = daemon is not None
    if daemon is None:
        daemon = _daemon(wanted, journal=False)
    try:
        host = await attach(daemon, caller=wanted.owner if journal else None)
        try:
            yield Sidecar(host, daemon, _PATIENT_CALLBACK_TIMEOUT, journal=journal)
        finally:
            await host.close()
    finally:
        await daemon.close()


async def _with_journal(wanted: Wanted, needs_journal: bool) -> Daemon | None:
    """None: somebody else has the journal, or it cannot be used and need not be."""
    daemon = None
    try:
        daemon = _daemon(wanted, journal=True)
        await daemon.open()
    except StoreError as error:
        if daemon is not None:
            await daemon.close()
        if needs_journal:
            hint = "; if that is a daemon, name its --socket" if error.code == "locked" else ""
            raise Failure(ExitStatus.AGENT_FAILED, f"{error}{hint}") from error
        if error.code != "locked" and wanted.config.store.durability == "required":
            raise Failure(ExitStatus.AGENT_FAILED, f"{error} (--no-journal goes on without a journal)") from error
        say(f"nothing of this is kept: {error}")
        return None
    return daemon


def _daemon(wanted: Wanted, *, journal: bool) -> Daemon:
    limits = msgspec.structs.replace(wanted.config.limits, callback_timeout=_PATIENT_CALLBACK_TIMEOUT)
    store = journal_of(wanted.config) if journal else None
    return Daemon(limits=limits, store=store, **daemon_settings(wanted.config, os.environ))
