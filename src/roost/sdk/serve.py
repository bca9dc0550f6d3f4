"""Serving an agent: over standard input and output, or over any channel; and to clients of an older dialect."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final, TypeAlias

from roost.acp.dialect import V1
from roost.sdk.first_words import FirstWords
from roost.transport.messages import MessageChannel

if TYPE_CHECKING:
    from roost.sdk.agent import Agent
    from roost.sdk.agent_link import AgentLink

log = logging.getLogger("roost.agent")

Bridge: TypeAlias = Callable[[MessageChannel], MessageChannel]
"""Makes of a channel whose other end speaks an older version one whose other end speaks ours."""

# Seconds a process whose connection is over gets to end by itself; threads of the author's may not want to.
_EXIT_GRACE: Final = 1.0


def through_v1(channel: MessageChannel) -> MessageChannel:
    """The bridge for clients of version 1."""
    from roost.sdk.bridged import client_in_v2

    return client_in_v2(channel)


async def serve(
    agent: Agent, channel: MessageChannel, *, principal: str | None = None, bridge: Bridge | None = through_v1
) -> None:
    """Serves one connection to its end.

    `bridge` translates for a client whose `initialize` asks for version 1; without one such a client is answered our
    version, and may leave (INI-3).
    """
    if bridge is not None:
        channel = await choose_dialect(channel, bridge)
    link = agent.connect(channel, principal=principal)
    await link.connection.wait_closed()


def run_stdio(agent: Agent) -> None:
    """`serve` on this process's own standard input and output, until the input ends or a signal comes."""
    asyncio.run(_serve_stdio(agent))


async def _serve_stdio(agent: Agent) -> None:
    from roost.transport.stdio import open_stdio

    channel = await open_stdio()
    loop = asyncio.get_running_loop()
    link: AgentLink | None = None
    ending: list[asyncio.Task[None]] = []

    def end() -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)  # a second one does what it always does
        if link is None:
            channel.close()
        else:
            ending.append(loop.create_task(link.connection.close()))

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end)
    link = agent.connect(await choose_dialect(channel, through_v1))
    await link.connection.wait_closed()
    _leave()


def _leave() -> None:
    """Sees to it that the process ends although a task or a thread of it may not want to (STD-5)."""
    with suppress(OSError, ValueError):
        sys.stdout.flush()
        sys.stderr.flush()
    timer = threading.Timer(_EXIT_GRACE, os._exit, (0,))
    timer.daemon = True
    timer.start()


# ---- dialects


async def choose_dialect(channel: MessageChannel, bridge: Bridge) -> MessageChannel:
    """The channel to serve: itself, or bridged when its client asks for version 1 (INI-5). Waits for `initialize`."""
    first = FirstWords(channel)
    channel.open(first)
    await first.known.wait()
    return bridge(first) if first.version == V1.version else first
