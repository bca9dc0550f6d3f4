"""A terminal of a session, as bytes: what arrived, what is kept, and readers that turn it into text piece by piece.

Bytes and text are kept apart because chunks are cut anywhere: in a character, in an escape sequence (TRM-5).
"""

from __future__ import annotations

import binascii
from codecs import getincrementaldecoder
from typing import Any, Final, Literal

from roost.acp.v2.gen.terminals import TerminalExitStatus
from roost.acp.view_text import TerminalText, plain_terminal_text

_utf8 = getincrementaldecoder("utf-8")

# What is let go at once when the bound is passed, as a part of the bound: dropping has a cost of its own.
_SLACK: Final = 8


class Terminal:
    """One terminal the agent shows (TRM-1 to TRM-11). Read it; the fold alone writes it.

    `data` is what is retained, `received` how many bytes came since the last snapshot or clearing, and `dropped` how
    many of those were let go from the front. `rejected` counts output that was no base64 (TRM-6). `exit_status` is None
    until the command has ended; an empty one means it ended and nothing is known about how (TRM-7).
    """

    __slots__ = (
        "_data",
        "bound",
        "command",
        "cwd",
        "epoch",
        "exit_status",
        "meta",
        "position",
        "received",
        "rejected",
        "terminal_id",
        "weight",
    )

    kind: Final[Literal["terminal"]] = "terminal"

    def __init__(self, terminal_id: str, bound: int) -> None:
        self.terminal_id = terminal_id
        self.command: str | None = None
        self.cwd: str | None = None
        self.exit_status: TerminalExitStatus | None = None
        self.meta: dict[str, Any] | None = None
        self.bound = bound
        self.epoch = 0  # how often the output was replaced
        self.received = 0
        self.rejected = 0
        self.position = 0
        self.weight = 0
        self._data = bytearray()

    @property
    def data(self) -> bytes:
        """The retained bytes, the newest `bound` of them at most."""
        return bytes(self._data)

    @property
    def retained(self) -> int:
        """How many bytes `data` has."""
        return len(self._data)

    @property
    def dropped(self) -> int:
        """How many bytes, of those received, are not retained any more."""
        return self.received - len(self._data)

    @property
    def has_exited(self) -> bool:
        """Whether the command has ended, however little is known about how (TRM-7)."""
        return self.exit_status is not None

    @property
    def text(self) -> str:
        """The retained bytes as they are, decoded; U+FFFD for what is no UTF-8. Not safe to print (TRM-9)."""
        return self._data.decode("utf-8", "replace")

    def plain(self, *, colours: bool = False) -> str:
        """The retained output as text that only prints, see `view_text.TerminalText`."""
        return plain_terminal_text(self.text, colours=colours)

    def reader(self, *, colours: bool = False, raw: bool = False) -> TerminalReader:
        """Reads what is retained and then what comes, each byte once. `raw` keeps escape sequences."""
        return TerminalReader(self, colours=colours, raw=raw)

    def __repr__(self) -> str:
        return f"Terminal({self.terminal_id!r}, {len(self._data)} bytes)"

    # --- written by the fold ---

    def append(self, encoded: str) -> int:
        """Adds a chunk (TRM-5). Returns how many bytes were let go for it; -1: it was no base64 (TRM-6)."""
        data = decode_base64(encoded)
        if data is None:
            self.rejected += 1
            return -1
        self._data += data
        self.received += len(data)
        return self._trim()

    def replace(self, encoded: str | None) -> int:
        """Sets a snapshot, None for nothing at all (TRM-4). Returns as `append` does."""
        data = b"" if encoded is None else decode_base64(encoded)
        if data is None:
            self.rejected += 1
            return -1
        self.epoch += 1
        self._data = bytearray(data)
        self.received = len(data)
        return self._trim()

    def retain(self, size: int) -> int:
        """Lets go all but the newest `size` bytes, and the rest of a character cut by that (TRM-10)."""
        excess = len(self._data) - size
        if excess <= 0:
            return 0
        data = self._data
        # A character's continuation bytes are 10xxxxxx, three at most.
        for _ in range(3):
            if excess < len(data) and data[excess] & 0xC0 == 0x80:
                excess += 1
        del data[:excess]
        return excess

    def _trim(self) -> int:
        if len(self._data) <= self.bound:
            return 0
        return self.retain(self.bound - self.bound // _SLACK)


class TerminalReader:
    """A place in a terminal's output from which text is read on.

    After a snapshot or a clearing the next `read` starts over and `restarted` is true: show only what it returns.
    `lost` counts bytes that were let go before they were read.
    """

    __slots__ = ("_decoder", "_epoch", "_plain", "_position", "_terminal", "lost", "restarted")

    def __init__(self, terminal: Terminal, *, colours: bool, raw: bool) -> None:
        self._terminal = terminal
        self._epoch = terminal.epoch
        self._position = terminal.dropped
        self._decoder = _utf8("replace")
        self._plain = None if raw else TerminalText(colours=colours)
        self.restarted = False
        self.lost = 0

    def read(self) -> str:
        """What came since the last call. A character that is not whole yet waits, unless the command has exited."""
        terminal = self._terminal
        self.restarted = terminal.epoch != self._epoch
        if self.restarted:
            self._epoch, self._position = terminal.epoch, 0
            self._start_over()
        if terminal.dropped > self._position:
            self.lost += terminal.dropped - self._position
            self._position = terminal.dropped
            self._start_over()
        fresh = terminal._data[self._position - terminal.dropped :]
        self._position += len(fresh)
        text = self._decoder.decode(fresh, terminal.has_exited)
        return text if self._plain is None else self._plain.feed(text)

    def _start_over(self) -> None:
        self._decoder.reset()
        if self._plain is not None:
            self._plain = TerminalText(colours=self._plain.colours)


def decode_base64(text: str) -> bytes | None:
    """RFC 4648 with padding, and nothing else; None when it is not that."""
    try:
        return binascii.a2b_base64(text, strict_mode=True)
    except ValueError:
        return None
