"""A channel in front of another one: everything as it is, until a subclass has it otherwise."""

from __future__ import annotations

from typing import Any

from roost.transport.messages import MessageChannel


class ChannelAround:
    """As a channel it is `_channel`; how that is opened is the subclass's business. Promises as MessageChannel's."""

    _channel: MessageChannel

    @property
    def peer(self) -> str:
        return self._channel.peer

    @property
    def queued(self) -> int:
        return self._channel.queued

    def send(self, messages: list[bytes]) -> None:
        self._channel.send(messages)

    def pause_reading(self) -> None:
        self._channel.pause_reading()

    def resume_reading(self) -> None:
        self._channel.resume_reading()

    def close(self) -> None:
        self._channel.close()

    def abort(self) -> None:
        self._channel.abort()


class ChildAround(ChannelAround):
    """In front of the channel to a process of ours, `_child`: it can tell how that ended."""

    _child: Any

    @property
    def pid(self) -> int:
        return int(self._child.pid)

    @property
    def exit_code(self) -> int | None:
        """Negative for a signal; None while it runs."""
        code: int | None = self._child.exit_code
        return code

    @property
    def last_words(self) -> str:
        """The end of what it said on stderr."""
        return str(self._child.last_words)

    async def wait_exited(self) -> int:
        """Returns the exit code when there is one."""
        return int(await self._child.wait_exited())
