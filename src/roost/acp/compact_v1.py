"""Compaction of v1 lines: text chunks of one message that follow each other become one chunk with all of the text.

v1 has no upserts, so that is all that is certain to show the same.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from roost.acp.compact import Compacted, Outcome

_TAGS: Final = frozenset({"user_message_chunk", "agent_message_chunk", "agent_thought_chunk"})


class _Text(msgspec.Struct, tag_field="type", tag="text", forbid_unknown_fields=True):
    text: str


class _Chunk(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, rename="camel"):
    session_update: str
    content: _Text
    message_id: str | msgspec.UnsetType | None = msgspec.UNSET


class _Params(msgspec.Struct, forbid_unknown_fields=True, rename="camel"):
    session_id: str
    update: _Chunk


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    """Only what has exactly these members: whatever else a line says would be lost."""

    jsonrpc: str
    method: str
    params: _Params


_decode: Final = msgspec.json.Decoder(_Line).decode


class TextCompactor:
    """Merges runs of text chunks. Other lines, and other numbers in between, end a run."""

    def __init__(self, merged_bytes: int) -> None:
        self._outcome = Outcome()
        self._merged_bytes = merged_bytes
        self._run: list[int] = []  # the indexes of its lines
        self._texts: list[str] = []
        self._line: _Line | None = None  # the last of them
        self._key: tuple[Any, ...] = ()
        self._number = 0
        self._size = 0

    def feed(self, number: int, body: bytes, first: int = 0) -> None:
        index = self._outcome.add(number, first)
        line = _chunk_line(body)
        if line is None:
            self._end()
            return
        update = line.params.update
        key = (line.params.session_id, update.session_update, update.message_id)
        size = self._size + len(body)
        if self._line is None or key != self._key or (first or number) != self._number + 1 or size > self._merged_bytes:
            self._end()
            size = len(body)
        self._run.append(index)
        self._texts.append(update.content.text)
        self._line, self._key, self._number, self._size = line, key, number, size

    def finish(self) -> Compacted:
        self._end()
        return self._outcome.compacted(())

    def _end(self) -> None:
        run, texts, line = self._run, self._texts, self._line
        self._run, self._texts, self._line, self._size = [], [], None, 0
        if line is None or len(run) == 1:
            return
        for index in run[:-1]:
            self._outcome.drop(index)
        line.params.update.content.text = "".join(texts)
        self._outcome.put(run[-1], msgspec.json.encode(line), first=run[0])


def _chunk_line(body: bytes) -> _Line | None:
    try:
        line = _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return line if line.method == "session/update" and line.params.update.session_update in _TAGS else None
