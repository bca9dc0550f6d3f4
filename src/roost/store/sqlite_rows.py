"""Between the journal's values and the rows of the tables, long payloads taken out and put back."""

from __future__ import annotations

import hashlib
import re
import sqlite3
import struct
from collections.abc import Iterable
from typing import Any, Final

import msgspec

from roost.sidecar.journal import Entry, Kind, StoredLaunch, StoredSession
from roost.store.sqlite_schema import MAX_NUMBER, NUMBER_BITS

# Stored, so never changed.
KIND_CODES: Final[dict[Kind, int]] = {
    Kind.UPDATE: 1,
    Kind.PROMPT: 2,
    Kind.TURN: 3,
    Kind.PERMISSION: 4,
    Kind.REQUEST: 5,
    Kind.DECISION: 6,
    Kind.EXIT: 7,
    Kind.RESUMED: 8,
    Kind.INTERRUPTED: 9,
    Kind.GAP: 10,
}
KINDS: Final[dict[int, Kind]] = {code: kind for kind, code in KIND_CODES.items()}

SESSION_COLUMNS: Final = (
    "session_id, live_id, owner, launch, title, modes, config_options, capabilities, info, usage,"
    " last_number, turn_open, interrupted, closed, created_at, updated_at"
)
PROGRESS_FIELDS: Final = frozenset({"turn_open", "interrupted", "closed"})
ENTRY_COLUMNS: Final = "id, at, kind, first, body, parts"

_encode: Final = msgspec.json.encode
launch_of: Final = msgspec.json.Decoder(StoredLaunch).decode
_options_of: Final = msgspec.json.Decoder(tuple[str, ...]).decode

# A part: where in the body it belongs, and which blob it is.
_PART: Final = struct.Struct("<qq")

# A JSON string as it stands, quotes included; possessive, so that no length of it costs more than its length.
_strings: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL).finditer


def key_range(key: int) -> tuple[int, int]:
    """The smallest and the largest entry id of a session."""
    return (key << NUMBER_BITS, (key << NUMBER_BITS) | MAX_NUMBER)


def entry_id(key: int, number: int) -> int:
    return (key << NUMBER_BITS) | number


def number_of(id_: int) -> int:
    return id_ & MAX_NUMBER


def launch_text(launch: StoredLaunch) -> str:
    return _encode(launch).decode()


def options_text(options: Iterable[str]) -> str:
    return _encode(list(options)).decode()


def column_of(field: str, value: Any) -> Any:
    """A field of ChangeSession as its column has it."""
    if field == "launch":
        return launch_text(value)
    if field == "config_options":
        return options_text(value)
    return int(value) if field in PROGRESS_FIELDS else value


def session_of(row: tuple[Any, ...]) -> StoredSession:
    id_, live, owner, launch, title, modes, options, capabilities, info, usage, last, *flags, made, told = row
    is_open, broken, closed = flags
    return StoredSession(
        session_id=id_,
        live_id=live,
        owner=owner,
        launch=launch_of(launch),
        title=title,
        modes=modes,
        config_options=_options_of(options),
        capabilities=capabilities,
        info=info,
        usage=usage,
        last_number=last,
        turn_open=bool(is_open),
        interrupted=bool(broken),
        closed=bool(closed),
        created_at=made,
        updated_at=told,
    )


# --- long payloads ---


def cut(body: bytes, least: int) -> tuple[list[bytes], list[int], bytes]:
    """The long payloads of a body, where each was, and what is left: long strings by themselves, so that the same
    image is the same payload in whatever message it comes; else the whole body."""
    payloads: list[bytes] = []
    places: list[int] = []
    rest: list[bytes] = []
    kept = end = 0
    for match in _strings(body):
        if match.end() - match.start() > least:
            rest.append(body[end : match.start()])
            kept += match.start() - end
            payloads.append(match.group())
            places.append(kept)
            end = match.end()
    if kept + len(body) - end > least:
        return [body], [0], b""
    rest.append(body[end:])
    return payloads, places, b"".join(rest)


def pack_parts(places: list[int], blobs: list[int]) -> bytes:
    return b"".join([_PART.pack(place, blob) for place, blob in zip(places, blobs, strict=True)])


def blobs_of(parts: bytes) -> list[int]:
    return [blob for _, blob in _PART.iter_unpack(parts)]


def store_blob(db: sqlite3.Connection, payload: bytes) -> int:
    """The payload's blob, used once more."""
    digest = hashlib.sha256(payload).digest()
    found = db.execute("SELECT id FROM blobs WHERE hash = ?", (digest,)).fetchone()
    if found is not None:
        db.execute("UPDATE blobs SET uses = uses + 1 WHERE id = ?", found)
        return int(found[0])
    made = db.execute("INSERT INTO blobs (hash, uses, data) VALUES (?, 1, ?)", (digest, payload)).lastrowid
    assert made is not None
    return made


def release_blobs(db: sqlite3.Connection, first: int, last: int) -> None:
    """Entries of these ids are about to go: their blobs are used less, and gone when nobody uses them."""
    rows = db.execute("SELECT parts FROM entries WHERE id BETWEEN ? AND ? AND parts IS NOT NULL", (first, last))
    blobs = [(blob,) for (parts,) in rows.fetchall() for blob in blobs_of(parts)]
    if blobs:
        db.executemany("UPDATE blobs SET uses = uses - 1 WHERE id = ?", blobs)
        db.executemany("DELETE FROM blobs WHERE id = ? AND uses <= 0", blobs)


def body_of(db: sqlite3.Connection, body: bytes, parts: bytes | None) -> bytes:
    """A body with its payloads put back."""
    if parts is None:
        return body
    whole: list[bytes] = []
    end = 0
    for place, blob in _PART.iter_unpack(parts):
        [payload] = db.execute("SELECT data FROM blobs WHERE id = ?", (blob,)).fetchone()
        whole.append(body[end:place])
        whole.append(payload)
        end = place
    whole.append(body[end:])
    return b"".join(whole)


def entry_of(db: sqlite3.Connection, session_id: str, row: tuple[Any, ...]) -> Entry:
    id_, at, kind, first, body, parts = row
    return Entry(session_id, id_ & MAX_NUMBER, KINDS[kind], body_of(db, body, parts) if parts else body, at, first)
