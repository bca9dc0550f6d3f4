"""What a schedule needs of the process it runs in."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterator
from contextlib import contextmanager

import roost.daemon.archivist
import roost.daemon.connection
import roost.process.services
import roost.transport.mcp_relay
import roost.transport.stream
from roost.sidecar.naming import id_in
from tests.simulation.host import Host
from tests.simulation.loop import VirtualLoop


@contextmanager
def surroundings() -> Iterator[VirtualLoop]:
    """What a schedule needs of the process it runs in, and leaves as it found it."""
    loop = VirtualLoop()
    log = logging.getLogger("roost.daemon")
    level, socket_buffer = log.level, roost.transport.stream.TRANSPORT_BYTES
    services = roost.process.services.ClientServices
    relay_server = roost.transport.mcp_relay.McpRelayServer
    write_transcript = roost.daemon.archivist.write_transcript
    log.setLevel(logging.CRITICAL)  # a daemon in trouble says much, and here it is always in trouble
    roost.transport.stream.TRANSPORT_BYTES = 600
    roost.process.services.ClientServices = Host  # type: ignore[assignment, misc]
    roost.daemon.archivist.write_transcript = lambda cwd, key, text: f"{cwd}/{id_in(key)}.md"
    roost.daemon.connection._numbers = itertools.count(1)  # else names depend on the schedules before this one
    try:
        yield loop
    finally:
        log.setLevel(level)
        roost.transport.stream.TRANSPORT_BYTES = socket_buffer
        roost.daemon.archivist.write_transcript = write_transcript
        roost.process.services.ClientServices = services  # type: ignore[misc]
        roost.transport.mcp_relay.McpRelayServer = relay_server  # type: ignore[misc]
        loop.close()
