"""A range of lines out of a stream of bytes, without holding or decoding the rest. Pure.

Lines are what is between newlines, so bytes of UTF-8 can be split before they are decoded, and what follows the last
newline is a line as well, often an empty one.
"""

from __future__ import annotations

from collections.abc import Iterable

from roost.errors import LimitError


def line_range(chunks: Iterable[bytes], first: int, count: int | None, keep: int) -> bytes:
    """The `count` lines (None: all) from line `first` on, counted from 1, joined by the newlines between them.

    Takes no more chunks than it needs. LimitError(read_bytes) when that is more than `keep` bytes.
    """
    kept = bytearray()
    if count == 0:
        return b""
    to_skip = first - 1
    for chunk in chunks:
        rest = chunk
        if to_skip:
            newlines = chunk.count(b"\n")
            if newlines < to_skip:
                to_skip -= newlines
                continue
            rest = chunk.split(b"\n", to_skip)[-1]
            to_skip = 0
        done = False
        if count is not None:
            newlines = rest.count(b"\n")
            done = newlines >= count
            if done:
                rest = rest[: len(rest) - len(rest.split(b"\n", count)[-1]) - 1]
            else:
                count -= newlines
        kept += rest
        if len(kept) > keep:
            raise LimitError("read_bytes", keep, f"more than the limit read_bytes of {keep}; ask for fewer lines")
        if done:
            break
    return bytes(kept)
