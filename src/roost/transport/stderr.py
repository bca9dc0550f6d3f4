"""What a program says on stderr: the end of it kept, its lines told as far as that is bearable."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

log = logging.getLogger("roost.transport")

# A line that never ends is told in pieces of this many bytes.
_MAX_LINE_BYTES: Final = 16 * 1024


class StderrTail:
    """Takes bytes as they come. `on_line(text)` hears at most `lines_per_second`; `suppressed` counts the others."""

    def __init__(self, size: int, lines_per_second: int, on_line: Callable[[str], None] | None = None) -> None:
        self._size = size
        self._rate = lines_per_second
        self._on_line = on_line
        self._tail = bytearray()
        self._line = bytearray()
        self._budget = float(lines_per_second)
        self._refilled = 0.0
        self.received = 0
        """How many bytes came."""
        self.suppressed = 0
        """How many lines were not told."""

    @property
    def text(self) -> str:
        """The end of what was said; U+FFFD for what is no UTF-8. It may hold secrets: show it, do not store it."""
        return self._tail.decode("utf-8", "replace")

    def last_lines(self, count: int = 20) -> str:
        """The last lines, for an error message."""
        return "\n".join(self.text.rstrip().splitlines()[-count:])

    def feed(self, data: bytes, now: float) -> None:
        self.received += len(data)
        self._tail += data[-self._size :]
        if len(self._tail) > self._size:
            del self._tail[: len(self._tail) - self._size]
        if self._on_line is None:
            return
        self._budget = min(float(self._rate), self._budget + (now - self._refilled) * self._rate)
        self._refilled = now
        *lines, rest = data.split(b"\n")
        for line in lines:
            self._line += line
            self._tell()
        for start in range(0, len(rest), _MAX_LINE_BYTES):
            self._line += rest[start : start + _MAX_LINE_BYTES]
            if len(self._line) >= _MAX_LINE_BYTES:
                self._tell()

    def finish(self) -> None:
        """Nothing more comes; a last line without its end counts."""
        if self._line:
            self._tell()

    def _tell(self) -> None:
        text = self._line.decode("utf-8", "replace").rstrip("\r")
        self._line.clear()
        if self._budget < 1:
            self.suppressed += 1
        elif self._on_line is not None:
            self._budget -= 1
            try:
                self._on_line(text)
            except Exception:
                log.exception("on_stderr failed")
