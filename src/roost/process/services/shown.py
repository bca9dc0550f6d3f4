"""What is shown of a terminal's output: its beginning as it comes, then how much is not shown, and its end. Pure."""

from __future__ import annotations

from typing import Final

from roost.process.services.tail import OutputTail

# What is shown of the end of an output that was too long to be shown whole. Bytes; ours.
_TAIL: Final = 64 * 1024


class ShownOutput:
    """One terminal's. `setting` is the name of the bound `room`, which is told with what is left out."""

    __slots__ = ("_dropped", "_room", "_setting", "_tail")

    def __init__(self, room: int, setting: str) -> None:
        self._room = room
        self._setting = setting
        self._dropped = 0
        self._tail: OutputTail | None = None

    def part(self, data: bytes) -> bytes:
        """What is shown of it at once; the rest is counted, and its end is kept."""
        part = data[: self._room]
        self._room -= len(part)
        if len(part) < len(data):
            if self._tail is None:
                self._tail = OutputTail(_TAIL)
            self._dropped += len(data) - len(part)
            self._tail.feed(data[len(part) :])
        return part

    def end(self) -> bytes:
        """What is still to be shown when nothing more comes."""
        if self._tail is None:
            return b""
        self._tail.finish()
        end = self._tail.text.encode()
        hidden = max(self._dropped - len(end), 0)
        return b"\n[roost] %d bytes of output are not shown (%b)\n%b" % (hidden, self._setting.encode(), end)
