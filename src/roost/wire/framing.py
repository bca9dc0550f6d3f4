"""Frames out of byte chunks: lines (ndjson) and length-prefixed bodies.

Both framers take chunks cut anywhere and give the frames that are complete, in order. Both look at each byte once, so
a frame costs the same however finely it arrives, and hold at most one frame up to the limit. They differ in what a
frame over the limit does. A line is dropped and the stream goes on, since a newline always shows where the next one
starts. A length is a fault that ends the stream, since skipping the body would mean reading what nobody will accept.
"""

from __future__ import annotations

import struct
from typing import Final

from roost.errors import CodecError, LimitError

DEFAULT_MAX_LINE_BYTES: Final = 16 * 1024 * 1024  # one bound for both ends of every agent link; ours
DEFAULT_MAX_FRAME_BYTES: Final = 16 * 1024 * 1024  # the frame protocol's default, told in Welcome

_HEADER_SIZE: Final = 4
_header = struct.Struct(">I").pack
_header_at = struct.Struct(">I").unpack_from
_MAX_LENGTH: Final = 2**32 - 1  # what the header can say
_strip = bytes.strip


class LineFramer:
    """Splits a byte stream at newlines.

    Lines come without their newline and without the ASCII whitespace around them; blank ones are skipped. Nothing is
    decoded, so a character may be cut by a chunk's end. A line of more than `limit` bytes, counted before its newline
    and untrimmed, is dropped up to that newline; `take_overflows` tells how many were.
    """

    def __init__(self, limit: int = DEFAULT_MAX_LINE_BYTES) -> None:
        if limit < 1:
            raise ValueError("a line limit is at least 1 byte")
        self.limit = limit
        self._tail = bytearray()  # the line that has no newline yet
        self._dropping = False  # that line is over the limit: its rest is not kept
        self._overflows = 0

    @property
    def held(self) -> int:
        """How many bytes of an unfinished line are held."""
        return len(self._tail)

    def feed(self, data: bytes | bytearray | memoryview) -> list[bytes]:
        """The lines this chunk completes."""
        chunk = data if type(data) is bytes else bytes(data)
        lines = chunk.split(b"\n")
        rest = lines.pop()
        if lines:
            if self._tail or self._dropping:
                lines[0] = self._end_tail(lines[0])
            if len(chunk) > self.limit:  # else no other line can be over it
                kept = [line for line in lines if len(line) <= self.limit]
                self._overflows += len(lines) - len(kept)
                lines = kept
            lines = list(filter(None, map(_strip, lines)))
        if rest and not self._dropping:
            if len(self._tail) + len(rest) > self.limit:
                self._overflows += 1
                self._dropping = True
                self._tail.clear()
            else:
                self._tail += rest
        return lines

    def _end_tail(self, end: bytes) -> bytes:
        """The held line with its end; blank when it is dropped."""
        if self._dropping:
            self._dropping = False
            return b""
        line = b""
        if len(self._tail) + len(end) > self.limit:
            self._overflows += 1
        else:
            self._tail += end
            line = bytes(self._tail)
        self._tail.clear()
        return line

    def take_overflows(self) -> int:
        """How many lines were found over the limit since the last call. Each counts once, as soon as it is known."""
        count, self._overflows = self._overflows, 0
        return count

    def finish(self) -> bytes | None:
        """The last line when the stream ends without a newline; None when it is blank. The framer is empty then."""
        line = bytes(self._tail).strip()
        self._tail.clear()
        self._dropping = False
        return line or None


class LengthFramer:
    """Splits a byte stream of frames, each a big-endian u32 length and a body of that many bytes.

    A declared length over `limit` sets `fault` at once, before the body arrives. Frames before it are still given,
    everything after it is ignored.
    """

    def __init__(self, limit: int = DEFAULT_MAX_FRAME_BYTES) -> None:
        if limit < 1:
            raise ValueError("a frame limit is at least 1 byte")
        self.limit = limit
        self.fault: LimitError | None = None
        self._held = bytearray()  # what has arrived of a frame that is not complete
        self._needed = _HEADER_SIZE  # how long `_held` must get: a header first, then header and body

    def feed(self, data: bytes | bytearray | memoryview) -> list[bytes]:
        """The bodies of the frames this chunk completes."""
        frames: list[bytes] = []
        if self.fault is not None:
            return frames
        chunk = data if type(data) is bytes else bytes(data)
        end = len(chunk)
        pos = self._end_held(chunk, frames) if self._held else 0
        if self.fault is not None:
            return frames
        limit, needed = self.limit, _HEADER_SIZE
        while end - pos >= _HEADER_SIZE:
            length = _header_at(chunk, pos)[0]
            if length > limit:
                self.fault = _over(length, limit)
                return frames
            needed = _HEADER_SIZE + length
            if end - pos < needed:
                break
            frames.append(chunk[pos + _HEADER_SIZE : pos + needed])
            pos += needed
            needed = _HEADER_SIZE
        if pos < end:
            self._held += chunk[pos:]
            self._needed = needed
        return frames

    def finish(self) -> None:
        """The stream has ended. Raises CodecError when it cut a frame short."""
        if self.fault is None and self._held:
            raise CodecError(f"the stream ends inside a frame, after {len(self._held)} of {self._needed} bytes")

    def _end_held(self, chunk: bytes, frames: list[bytes]) -> int:
        """Completes the held frame from the start of `chunk` as far as it goes; returns how much of it was used."""
        held, pos = self._held, 0
        while True:
            piece = chunk[pos : pos + self._needed - len(held)]
            held += piece
            pos += len(piece)
            if len(held) < self._needed:
                return pos
            if len(held) == _HEADER_SIZE:
                length = _header_at(held)[0]
                if length > self.limit:
                    self.fault = _over(length, self.limit)
                    return pos
                self._needed = _HEADER_SIZE + length
                if length:
                    continue
            del held[:_HEADER_SIZE]
            frames.append(bytes(held))
            held.clear()
            self._needed = _HEADER_SIZE
            return pos


def encode_length_frame(body: bytes, limit: int = DEFAULT_MAX_FRAME_BYTES) -> bytes:
    """The frame that holds `body`. Raises LimitError when the body has more than `limit` bytes."""
    if len(body) > limit or len(body) > _MAX_LENGTH:
        raise _over(len(body), min(limit, _MAX_LENGTH))
    return _header(len(body)) + body


def _over(length: int, limit: int) -> LimitError:
    return LimitError("max_frame_bytes", limit, f"a frame of {length} bytes is over max_frame_bytes, which is {limit}")
