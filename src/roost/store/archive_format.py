"""One session in one file: a header line, a line for each entry, a last line that says how much that was. Pure.

    {"roost":"session","version":1,"session":{…}}
    {"number":1,"kind":"prompt","at":1700000000.0,"body":{…}}
    {"entries":1,"sha256":"…"}

JSON lines, UTF-8. A body that is no JSON object on one line stands as `base64` instead. The hash is over all bytes
before the last line. There are no secrets in it, because there are none in the journal.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from typing import Any, Final

import msgspec

from roost.errors import LimitError, StoreError
from roost.sidecar.journal import Entry, Kind, StoredSession

FORMAT: Final = "session"
VERSION: Final = 1

# An entry is a line of an agent (16 MiB), or a merged one (8 MiB); base64 makes a third more of it.
MAX_LINE_BYTES: Final = 32 * 1024 * 1024
# A session is seldom a thousandth of this; a file that is larger is none.
MAX_FILE_BYTES: Final = 8 * 1024 * 1024 * 1024
MAX_ID_BYTES: Final = 1024
_MAX_NUMBER: Final = (1 << 40) - 1


class _Header(msgspec.Struct):
    version: int
    session: msgspec.Raw
    roost: str = FORMAT


class _Entry(msgspec.Struct, omit_defaults=True):
    number: int
    kind: Kind
    at: float
    first: int = 0
    body: msgspec.Raw = msgspec.Raw(b"")
    base64: str | None = None


class _End(msgspec.Struct, forbid_unknown_fields=True):
    entries: int
    sha256: str


class _Line(msgspec.Struct):
    """What tells an entry from the end."""

    entries: Any = None


_encode: Final = msgspec.json.encode
_header_of: Final = msgspec.json.Decoder(_Header).decode
_session_of: Final = msgspec.json.Decoder(StoredSession).decode
_entry_of: Final = msgspec.json.Decoder(_Entry).decode
_end_of: Final = msgspec.json.Decoder(_End).decode
_line_of: Final = msgspec.json.Decoder(_Line).decode
_object_of: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


class ArchiveWriter:
    """Makes the lines, each with its newline."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._entries = 0

    def header(self, session: StoredSession) -> bytes:
        """The owner's name is his own business."""
        kept = msgspec.structs.replace(session, owner="")
        return self._line({"roost": FORMAT, "version": VERSION, "session": kept})

    def entry(self, entry: Entry) -> bytes:
        self._entries += 1
        line = _Entry(entry.number, entry.kind, entry.at, entry.first)
        if _is_clean(entry.body):
            line.body = msgspec.Raw(entry.body)
        else:
            line.base64 = base64.b64encode(entry.body).decode()
        return self._line(line)

    def end(self) -> bytes:
        return _encode({"entries": self._entries, "sha256": self._hash.hexdigest()}) + b"\n"

    def _line(self, value: Any) -> bytes:
        line = _encode(value) + b"\n"
        self._hash.update(line)
        return line


class ArchiveReader:
    """Takes the lines one by one. StoreError `damaged`, `newer` or `foreign` with the number of the line."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._hash = hashlib.sha256()
        self._count = 0
        self._lines = 0
        self._last = 0
        self.session: StoredSession | None = None  # once the first line is read
        self.is_complete = False

    def feed(self, line: bytes) -> Entry | None:
        """An entry, with the session's id; None for the first line and the last."""
        self._lines += 1
        if self.is_complete:
            raise self._fault("there is something after the end")
        if len(line) > MAX_LINE_BYTES:
            text = f"{self._name}, line {self._lines}: longer than {MAX_LINE_BYTES} bytes"
            raise LimitError("MAX_LINE_BYTES", MAX_LINE_BYTES, text)
        if not line.endswith(b"\n"):
            raise self._fault("the file is cut off")
        try:
            line.decode()
            if self.session is None:
                self._read_header(line)
            elif _line_of(line).entries is not None:
                self._read_end(line)
                return None
            else:
                entry = self._read_entry(line, self.session.session_id)
                self._hash.update(line)
                return entry
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise self._fault(str(error)) from None
        self._hash.update(line)
        return None

    def finish(self) -> None:
        """There are no more lines."""
        if not self.is_complete:
            raise self._fault("the file is cut off")

    def _read_header(self, line: bytes) -> None:
        try:
            header = _header_of(line)
        except (msgspec.MsgspecError, RecursionError):
            header = None
        if header is None or header.roost != FORMAT:
            raise StoreError(f"{self._name} is no session exported by Roost", "foreign")
        if header.version != VERSION:
            raise StoreError(
                f"{self._name} was exported by another Roost (format {header.version}, this one knows {VERSION})",
                "newer",
            )
        session = _session_of(header.session)
        if not 0 < len(session.session_id.encode()) <= MAX_ID_BYTES:
            raise self._fault(f"a session's id has 1 to {MAX_ID_BYTES} bytes")
        if not _is_time(session.created_at) or not _is_time(session.updated_at):
            raise self._fault("the session is from no time")
        self.session = session

    def _read_entry(self, line: bytes, session_id: str) -> Entry:
        found = _entry_of(line)
        if found.base64 is not None:
            try:
                body = base64.b64decode(found.base64, validate=True)
            except (binascii.Error, ValueError):
                raise self._fault("no base64") from None
        else:
            body = bytes(found.body)
            if not body.startswith(b"{"):
                raise self._fault("an entry without a body")
        if not self._last < found.number <= _MAX_NUMBER or not 0 <= found.first <= found.number:
            raise self._fault(f"entry {found.number} is out of order")
        if not _is_time(found.at):
            raise self._fault(f"entry {found.number} is from no time")
        self._last = found.number
        self._count += 1
        return Entry(session_id, found.number, found.kind, body, found.at, found.first)

    def _read_end(self, line: bytes) -> None:
        end = _end_of(line)
        if end.entries != self._count or end.sha256 != self._hash.hexdigest():
            raise self._fault("what was read is not what was written")
        self.is_complete = True

    def _fault(self, what: str) -> StoreError:
        return StoreError(f"{self._name}, line {self._lines}: {what}; nothing was imported", "damaged")


def _is_time(at: float) -> bool:
    return 0.0 <= at < 1e11  # the year 5138


def _is_clean(body: bytes) -> bool:
    """Whether a body may stand in a line as it is."""
    if b"\n" in body or b"\r" in body or not body.startswith(b"{"):
        return False
    try:
        body.decode()
        _object_of(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    return True
