"""The two ways to a sidecar: the daemon's socket, or a daemon in this program. The same Host either way."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import roost
from roost.host.host import Host
from roost.sidecar.gate import ENVELOPE_ALLOWANCE
from roost.sidecar.gen.messages import AcpAgentEntry, AcpRuntimeKind
from roost.sidecar.limits import Limits
from roost.transport.unix import connect_unix

if TYPE_CHECKING:
    from roost.daemon.daemon import Daemon

GREETING_TIMEOUT = 5.0
HIGH_WATER = 8 * 1024 * 1024


def default_socket(environment: Mapping[str, str] | None = None) -> str:
    """`$XDG_RUNTIME_DIR/roost/roost.sock`, or a folder of the user's own under the system's temporary one."""
    env = os.environ if environment is None else environment
    folder = env.get("XDG_RUNTIME_DIR", "")
    if not os.path.isabs(folder):
        folder = os.path.join(env.get("TMPDIR", "/tmp"), f"roost-{os.getuid()}")  # noqa: S108
        return os.path.join(folder, "roost.sock")
    return os.path.join(folder, "roost", "roost.sock")


@asynccontextmanager
async def connect(
    socket: str | None = None,
    *,
    caller: str | None = None,
    token: str | None = None,
    client: str | None = None,
) -> AsyncIterator[Host]:
    """A host at a running daemon.

    `caller`: a name, so that the sessions outlive this connection and are found again. `token`: for a daemon that asks
    for one. `client`: what this program calls itself.

    Raises TransportError when no daemon listens at `socket` (default: `default_socket()`) or it does not answer,
    SidecarError when it refuses.
    """
    host = Host(choose_runtime)
    limit = Limits().max_frame_bytes + ENVELOPE_ALLOWANCE
    await connect_unix(socket or default_socket(), host.link, limit=limit, high_water=HIGH_WATER)
    try:
        await greet(host, caller=caller, token=token, client=client)
        yield host
    finally:
        await host.close()


@asynccontextmanager
async def embedded(
    *,
    caller: str | None = None,
    limits: Limits | None = None,
    roots: Sequence[Path] | None = None,
    environment: Mapping[str, str] | None = None,
    let_through: Sequence[str] = (),
    journal: str | Path | None = None,
) -> AsyncIterator[Host]:
    """A host with a sidecar of its own in this event loop; its agents end with the block.

    `journal`: a file that keeps the sessions of a named caller, for the next time. Raises StoreError when it cannot
    be used.
    """
    from roost.daemon.daemon import Daemon

    store = None
    if journal is not None:
        from roost.store.sqlite import SqliteStore

        store = SqliteStore(journal)
    daemon = Daemon(limits=limits, roots=roots, environment=environment, let_through=let_through, store=store)
    try:
        await daemon.open()
        host = await attach(daemon, caller=caller)
        try:
            yield host
        finally:
            await host.close()
    finally:
        await daemon.close()


async def attach(daemon: Daemon, *, caller: str | None = None, client: str | None = None) -> Host:
    """A host at a daemon in this event loop; close it before the daemon."""
    from roost.transport.memory import pair

    host = Host(choose_runtime)
    limits = daemon.limits
    connection = daemon.reception(uid=os.getuid()).accept()
    pair(
        host.link, connection, limit=limits.max_frame_bytes + ENVELOPE_ALLOWANCE, high_water=limits.caller_output_bytes
    )
    await greet(host, caller=caller, token=None, client=client)
    return host


async def greet(host: Host, *, caller: str | None, token: str | None, client: str | None) -> None:
    """Introduces a host to its daemon. TransportError: no answer within GREETING_TIMEOUT. SidecarError: it refuses."""
    name = client or f"roost-python/{roost.__version__}"
    welcome = await host.link.greet(client=name, caller=caller, token=token, patience=GREETING_TIMEOUT)
    host.caller, host.server = welcome.caller, welcome.server


def choose_runtime(entry: AcpAgentEntry) -> AcpRuntimeKind:
    """What an entrypoint on this machine asks for; JavaScript, as the reference's client says, if it tells nothing."""
    from roost.process.runtimes.sniff import read_head, sniff

    try:
        kind = sniff(entry.adapter_entrypoint, read_head(entry.adapter_entrypoint)).kind
        return AcpRuntimeKind[kind.value]
    except (OSError, KeyError):
        return AcpRuntimeKind.JAVA_SCRIPT
