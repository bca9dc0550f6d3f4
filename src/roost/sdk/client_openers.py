"""How a client reaches its agent: by starting a process, or over a channel somebody else provides."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeAlias

from roost.errors import LocalProtocolError
from roost.transport.child import ChildLimits, Launch, start_child
from roost.transport.messages import MessageChannel, message_pair

ChannelFactory: TypeAlias = Callable[[], MessageChannel | Awaitable[MessageChannel]]


class Opener(Protocol):
    """How to reach the agent, as often as that is needed."""

    @property
    def launch(self) -> Launch | None:
        """How its process is started; None when it is not ours to start."""

    @property
    def tolerant(self) -> bool:
        """Whether it may write other things between its messages (STD-4)."""

    @property
    def is_fresh(self) -> bool:
        """Whether `open` reaches an agent that has not been spoken to, however often it is called."""

    async def open(self) -> MessageChannel: ...

    def with_launch(self, launch: Launch) -> Opener: ...


class ChildOpener:
    """Starts the agent's process."""

    is_fresh = True

    def __init__(
        self, launch: Launch, limits: ChildLimits, on_stderr: Callable[[str], None] | None, tolerant: bool
    ) -> None:
        self.launch = launch
        self.tolerant = tolerant
        self._limits = limits
        self._on_stderr = on_stderr

    async def open(self) -> MessageChannel:
        return await start_child(self.launch, limits=self._limits, on_stderr=self._on_stderr)

    def with_launch(self, launch: Launch) -> ChildOpener:
        return ChildOpener(launch, self._limits, self._on_stderr, self.tolerant)


class ChannelOpener:
    """Uses a channel that is there, once, or opens one as often as asked."""

    launch = None

    def __init__(self, target: MessageChannel | ChannelFactory, tolerant: bool) -> None:
        self.tolerant = tolerant
        self._target = target
        self._used = False

    @property
    def is_fresh(self) -> bool:
        return callable(self._target)

    async def open(self) -> MessageChannel:
        if callable(self._target):
            channel = self._target()
            return await channel if inspect.isawaitable(channel) else channel
        if self._used:
            raise LocalProtocolError("a channel can be used once; connect with a function that opens one")
        self._used = True
        return self._target

    def with_launch(self, launch: Launch) -> ChannelOpener:
        raise LocalProtocolError("the agent was not started here")


def served_here(target: object) -> ChannelFactory | None:
    """For an Agent of this program: what serves it in this event loop, as often as asked. None for anything else."""
    module = sys.modules.get("roost.sdk.agent")  # while nobody has imported it, nothing is an Agent
    if module is None or not isinstance(target, module.Agent):
        return None

    def serve() -> MessageChannel:
        ours, theirs = message_pair()
        target.connect(theirs)
        return ours

    return serve
