"""The end of a command's output, as text of a bounded size (B-16). Pure."""

from __future__ import annotations

from codecs import getincrementaldecoder

_Utf8 = getincrementaldecoder("utf-8")

# Let go at once when the bound is passed, as a part of it, so that a flood does not cost a copy for each chunk.
_SLACK = 8


class OutputTail:
    """Keeps the newest `bound` bytes of what is fed, counted in UTF-8, cut only between characters.

    What is no UTF-8 counts as the U+FFFD it is shown as. A character that is not whole yet waits for its rest.
    """

    __slots__ = ("_bound", "_decoder", "_kept", "_truncated")

    def __init__(self, bound: int) -> None:
        self._bound = bound
        self._decoder = _Utf8("replace")
        self._kept = bytearray()
        self._truncated = False

    def feed(self, chunk: bytes) -> None:
        self._kept += self._decoder.decode(chunk).encode()
        # Between trims it may hold more than it will show.
        if len(self._kept) > self._bound + self._bound // _SLACK:
            self._trim()

    def finish(self) -> None:
        """Nothing more comes: half a character is one that was never whole."""
        self._kept += self._decoder.decode(b"", True).encode()
        self._trim()

    @property
    def text(self) -> str:
        self._trim()
        return self._kept.decode()

    @property
    def truncated(self) -> bool:
        """Whether the beginning is missing from `text`."""
        return self._truncated or len(self._kept) > self._bound

    def _trim(self) -> None:
        excess = len(self._kept) - self._bound
        if excess <= 0:
            return
        # A character's further bytes are 10xxxxxx, three at most.
        while excess < len(self._kept) and self._kept[excess] & 0xC0 == 0x80:
            excess += 1
        del self._kept[:excess]
        self._truncated = True
