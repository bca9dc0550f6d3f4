"""What a v1 client was sent of each message, so that a v2 upsert becomes what is still missing of it (4.5).

v1 can only append. Of what was sent only length and checksum are kept, in the form of one stream: text as it is, any
other block as its JSON between NUL characters.
"""

from __future__ import annotations

from typing import Any
from zlib import crc32

from roost.acp.bridge.content import block_to_v1
from roost.acp.bridge.losses import Losses
from roost.acp.bridge.payload import Json, as_text, objects
from roost.wire.decode import encode


class SentMessages:
    """The newest `bound` messages of one session."""

    def __init__(self, bound: int, losses: Losses) -> None:
        self._bound = bound
        self._losses = losses
        self._sent: dict[tuple[str, str], tuple[int, int]] = {}  # length and checksum by kind and id

    def appended_text(self, kind: str, message_id: str, text: str) -> None:
        self._append((kind, message_id), text.encode())

    def appended(self, kind: str, message_id: str, block: Json) -> None:
        self._append((kind, message_id), _stream(block))

    def missing(self, kind: str, message_id: str, content: Any) -> list[Json]:
        """The v1 blocks that complete a message to `content`; none when that would need a rewrite (B-23)."""
        blocks = objects(content)
        whole = b"".join(map(_stream, blocks))
        length, checksum = self._sent.get((kind, message_id), (0, 0))
        self._put((kind, message_id), len(whole), crc32(whole))
        if len(whole) < length or crc32(whole[:length]) != checksum:
            self._losses.count("message_rewrite")
            return []
        out: list[Json] = []
        at = 0
        for block in blocks:
            size = len(_stream(block))
            if at >= length:
                out.append(block_to_v1(block, self._losses))
            elif at + size > length:  # a text of which a part was sent
                rest = as_text(block.get("text")).encode()[length - at :]
                out.append({**block, "text": rest.decode(errors="replace")})
            at += size
        return out

    def _append(self, key: tuple[str, str], data: bytes) -> None:
        length, checksum = self._sent.get(key, (0, 0))
        self._put(key, length + len(data), crc32(data, checksum))

    def _put(self, key: tuple[str, str], length: int, checksum: int) -> None:
        self._sent[key] = (length, checksum)
        if len(self._sent) > self._bound:
            del self._sent[next(iter(self._sent))]


def _stream(block: Json) -> bytes:
    if block.get("type") == "text":
        return as_text(block.get("text")).encode()
    return b"\0%b\0" % encode(block)
