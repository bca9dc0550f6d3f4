"""What carries whole frames between two programs, whatever is underneath."""

from __future__ import annotations

from typing import Protocol

from roost.errors import LimitError


class Channel(Protocol):
    """One connection. Nothing here blocks; what cannot be sent yet is queued and counted."""

    @property
    def peer(self) -> str:
        """Who is at the other end, for logs: `uid 1000, pid 4711`."""

    @property
    def uid(self) -> int | None:
        """The user at the other end as the kernel tells it; None where it does not."""

    @property
    def waiting(self) -> int:
        """Bytes that were sent and wait for the other side."""

    def send(self, data: bytes) -> None:
        """Sends frames that are framed already. Dropped silently once the channel is closed."""

    def pause_reading(self) -> None:
        """No `received` until `resume_reading`: the other side is slowed down in the end."""

    def resume_reading(self) -> None: ...

    def close(self) -> None:
        """Ends the connection after what is queued has been sent."""

    def abort(self) -> None:
        """Ends it at once; what is queued is lost."""


class Listener(Protocol):
    """Who uses a channel. Calls come one at a time, from the event loop."""

    def opened(self, channel: Channel) -> None: ...

    def received(self, frames: list[bytes]) -> None:
        """Whole frames, in order."""

    def broke(self, fault: LimitError) -> None:
        """A frame over the limit was announced; nothing after it is read."""

    def congested(self) -> None:
        """More waits to be sent than the high-water mark."""

    def eased(self) -> None:
        """It is down to a quarter of it again."""

    def closed(self, error: Exception | None) -> None:
        """The last call of all; once per channel."""
