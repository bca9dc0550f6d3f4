"""What the updates about one thing come to, as long as they can be merged: patches and blocks, terminal output, plans.

A segment collects the lines of one subject. When it is closed, its lines are dropped and what they come to is put
where the last of them was; a bare upsert stays where the first was if something else appeared in between, so that the
order of first appearance is kept.
"""

from __future__ import annotations

import binascii
from typing import Final, Protocol

import msgspec
from msgspec import Raw

from roost.acp.compact import Outcome

Fields = dict[str, Raw]

_json: Final = msgspec.json.encode
_items_of: Final = msgspec.json.Decoder(list[Raw]).decode
_NULL: Final = b"null"


class Segment(Protocol):
    session: str
    weight: int  # about what it will come to, in bytes

    def close(self, outcome: Outcome) -> None: ...


def update_line(session: str, update: bytes) -> bytes:
    head = b'{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":'
    return b'%b%b,"update":%b}}' % (head, _json(session), update)


def update_of(tag: str, id_key: str, id_: str, fields: Fields | dict[str, bytes]) -> bytes:
    """An update with these members; without an id when `id_key` is empty."""
    parts: list[bytes | Raw] = [b'{"sessionUpdate":"%b"' % tag.encode()]
    if id_key:
        parts.append(b',"%b":%b' % (id_key.encode(), _json(id_)))
    for name, value in fields.items():
        parts.append(b",%b:" % _json(name))
        parts.append(value)
    parts.append(b"}")
    return b"".join(parts)


class PatchSegment:
    """A message, a tool call, or the session's info. `content` is None as long as what it had before is not known."""

    __slots__ = (
        "_appeared",
        "_content_told",
        "_first",
        "_folded",
        "_id",
        "_id_key",
        "_kept",
        "_kept_appeared",
        "_last",
        "_last_appeared",
        "_tag",
        "content",
        "fields",
        "session",
        "weight",
    )

    def __init__(
        self, session: str, tag: str, id_key: str, id_: str, *, fresh: bool, index: int, appeared: int
    ) -> None:
        self.session = session
        self.weight = 0
        self.fields: Fields = {}
        self.content: list[Raw] | None = [] if fresh else None
        self._content_told = False
        self._tag, self._id_key, self._id = tag, id_key, id_
        self._first = self._last = index
        self._appeared = self._last_appeared = self._kept_appeared = appeared
        self._folded: list[int] = []
        self._kept: list[int] = []  # chunks that stay chunks

    def append(self, index: int, appeared: int, block: Raw, extras: Fields) -> None:
        """A chunk. `extras` are members nobody knows; they are kept as the message's own."""
        if self.content is None:
            if not self._kept:
                self._kept_appeared = appeared
            self._kept.append(index)
            return
        self.content.append(block)
        self.weight += len(bytes(block)) + 1
        self.fields.update(extras)
        self._fold(index, appeared)

    def patch(self, index: int, appeared: int, fields: Fields, outcome: Outcome) -> None:
        content = fields.pop("content", None) if self._id_key else None
        if content is not None:
            text = bytes(content)
            self.content = [] if text == _NULL else _items_of(text)
            self._content_told = True
            self.weight += len(text)
            for kept in self._kept:  # replaced by this
                outcome.drop(kept)
            self._kept = []
        self.weight += sum(len(name) + len(bytes(value)) + 4 for name, value in fields.items())
        self.fields.update(fields)
        self._fold(index, appeared)

    def _fold(self, index: int, appeared: int) -> None:
        self._folded.append(index)
        self._last, self._last_appeared = index, appeared

    def close(self, outcome: Outcome) -> None:
        folded = self._folded
        if len(folded) > 1:
            for index in folded[:-1]:
                outcome.drop(index)
            outcome.put(self._last, update_line(self.session, self._merged()))
        if not folded or not self._id_key:
            return
        if self._kept and self._kept[0] < self._last:
            stays, appeared = self._kept[0], self._kept_appeared
        else:
            stays, appeared = self._last, self._last_appeared
        if stays != self._first and appeared != self._appeared:
            outcome.put(self._first, update_line(self.session, update_of(self._tag, self._id_key, self._id, {})))

    def _merged(self) -> bytes:
        fields: Fields = dict(self.fields)
        if self.content is not None and (self.content or self._content_told):
            fields["content"] = Raw(b"[" + b",".join(self.content) + b"]")
        return update_of(self._tag, self._id_key, self._id, fields)


class TerminalSegment:
    """A terminal. Its output is a snapshot when all of it is known, else the chunks that came, joined."""

    __slots__ = (
        "_appeared",
        "_chunks",
        "_first",
        "_folded",
        "_id",
        "_rejected",
        "_rejected_appeared",
        "_snapshot_told",
        "_stays",
        "fields",
        "session",
        "snapshot",
        "tail",
        "weight",
    )

    def __init__(self, session: str, id_: str, *, fresh: bool, index: int, appeared: int) -> None:
        self.session = session
        self.weight = 0
        self.fields: Fields = {}
        self.snapshot: bytearray | None = bytearray() if fresh else None
        self.tail = bytearray()
        self._snapshot_told = False
        self._id = id_
        self._first, self._appeared = index, appeared
        self._folded: list[tuple[int, int]] = []  # what the snapshot and the fields are made of
        self._chunks: list[tuple[int, int]] = []  # what the tail is made of
        self._rejected: tuple[int, int] | None = None  # the first line that stays because it is no base64

    def append(self, index: int, appeared: int, data: bytes) -> None:
        self.weight += len(data) * 4 // 3
        if self.snapshot is None:
            self.tail += data
            self._chunks.append((index, appeared))
        else:
            self.snapshot += data
            self._folded.append((index, appeared))

    def reject(self, index: int, appeared: int) -> None:
        """A chunk without effect: it stays, for it is counted (TRM-6)."""
        if self._rejected is None:
            self._rejected = (index, appeared)

    def patch(self, index: int, appeared: int, fields: Fields, output: bytes | None, outcome: Outcome) -> None:
        """`output` is what replaces all output, if something does."""
        fields.pop("output", None)
        if output is not None:
            self.snapshot = bytearray(output)
            self._snapshot_told = True
            self.weight += len(output) * 4 // 3
            self.tail.clear()
            for chunk, _ in self._chunks:
                outcome.drop(chunk)
            self._chunks = []
        self.weight += sum(len(name) + len(bytes(value)) + 4 for name, value in fields.items())
        self.fields.update(fields)
        self._folded.append((index, appeared))

    def close(self, outcome: Outcome) -> None:
        folded, chunks = self._folded, self._chunks
        if len(folded) > 1:
            for index, _ in folded[:-1]:
                outcome.drop(index)
            outcome.put(folded[-1][0], update_line(self.session, self._merged()))
        if len(chunks) > 1:
            for index, _ in chunks[:-1]:
                outcome.drop(index)
            data = {"data": _json(_base64(self.tail))}
            update = update_of("terminal_output_chunk", "terminalId", self._id, data)
            outcome.put(chunks[-1][0], update_line(self.session, update), first=chunks[0][0])
        stay = [lines[-1] for lines in (folded, chunks) if lines]
        if not stay:
            return
        stays, appeared = min([*stay, self._rejected] if self._rejected else stay)
        if stays != self._first and appeared != self._appeared:
            bare = update_of("terminal_update", "terminalId", self._id, {})
            outcome.put(self._first, update_line(self.session, bare))

    def _merged(self) -> bytes:
        fields: dict[str, bytes] = {name: bytes(value) for name, value in self.fields.items()}
        if self.snapshot is not None and (self.snapshot or self._snapshot_told):
            fields["output"] = b'{"data":%b}' % _json(_base64(self.snapshot))
        return update_of("terminal_update", "terminalId", self._id, fields)


class PlanSegment:
    """A plan between two removals: the last update says it all, the first says where it is."""

    __slots__ = ("_appeared", "_first", "_last", "_last_appeared", "_lines", "session", "weight")

    def __init__(self, session: str, *, index: int, appeared: int) -> None:
        self.session = session
        self.weight = 0
        self._lines: list[int] = []
        self._first = self._last = index
        self._appeared = self._last_appeared = appeared

    def update(self, index: int, appeared: int) -> None:
        self._lines.append(index)
        self._last, self._last_appeared = index, appeared

    def forget(self, outcome: Outcome) -> None:
        for index in self._lines:
            outcome.drop(index)

    def close(self, outcome: Outcome) -> None:
        moved = self._last_appeared != self._appeared
        for index in self._lines[1 if moved else 0 : -1]:
            outcome.drop(index)


def _base64(data: bytearray) -> str:
    return binascii.b2a_base64(data, newline=False).decode("ascii")
