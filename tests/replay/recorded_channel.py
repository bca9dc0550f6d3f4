"""A channel whose other end is a recorded agent: what it says arrives in pieces, in later turns of the loop."""

from __future__ import annotations

import asyncio
import json
from random import Random

from roost.transport.messages import MessageListener
from roost.wire.framing import LineFramer
from tests.replay.recorded_agent import RecordedAgent
from tests.replay.recording import Run


class RecordedChannel:
    """`changed` is set whenever the agent heard or said something. `ends`: the process ends when all is said."""

    peer = "a recording"
    queued = 0

    def __init__(self, run: Run, random: Random, *, ends: bool = False) -> None:
        self.agent = RecordedAgent(run, random)
        self.changed = asyncio.Event()
        self._ends = ends
        self._framer = LineFramer()
        self._listener: MessageListener | None = None
        self._inbox: list[bytes] = []
        self._reading = True
        self._scheduled = False
        self._is_over = False

    # ---- the recording's side

    def go_on(self) -> None:
        """There may be something to say."""
        self._inbox += self.agent.says()
        self.changed.set()
        if self._inbox and self._reading and not self._scheduled and not self._is_over:
            self._scheduled = True
            asyncio.get_running_loop().call_soon(self._deliver)
        elif self._ends and self.agent.has_said_all and self.is_quiet:
            asyncio.get_running_loop().call_soon(self.end)

    def _deliver(self) -> None:
        self._scheduled = False
        if self._is_over or not self._reading or self._listener is None:
            return
        messages = self._framer.feed(self._inbox.pop(0)) if self._inbox else []
        if messages:
            self._listener.received(messages)
        self.go_on()

    @property
    def is_quiet(self) -> bool:
        """Whether everything that was said has been delivered."""
        return not self._inbox and not self._scheduled

    def end(self) -> None:
        """The agent's process is over."""
        if not self._is_over and self._listener is not None:
            self._is_over = True
            self._listener.ended()
            self._listener.closed(None)

    # ---- as a channel

    def open(self, listener: MessageListener) -> None:
        self._listener = listener
        self.go_on()

    def send(self, messages: list[bytes]) -> None:
        for message in messages:
            self.agent.hears(json.loads(message))
        self.go_on()

    def pause_reading(self) -> None:
        self._reading = False

    def resume_reading(self) -> None:
        self._reading = True
        self.go_on()

    def close(self) -> None:
        asyncio.get_running_loop().call_soon(self.end)

    def abort(self) -> None:
        self.close()
