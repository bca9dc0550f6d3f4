"""Export of a session to a file, and import of one: in pieces, so that no session is too long."""

from __future__ import annotations

import asyncio
import contextlib
import os
import stat
from collections.abc import AsyncIterator
from pathlib import Path
from typing import BinaryIO, Final, Protocol

import msgspec

from roost.errors import LimitError, StoreError
from roost.sidecar.journal import AdoptSession, DeleteSession, Entry, OpenSession, Restore, StoredSession
from roost.sidecar.naming import key_of
from roost.store.archive_format import MAX_FILE_BYTES, MAX_LINE_BYTES, ArchiveReader, ArchiveWriter
from roost.store.base import IMPORTING, Store, written

# Read and written at once.
_PIECE_BYTES: Final = 1024 * 1024
_PIECE_ENTRIES: Final = 512
# Other names that are tried when an id is taken.
_NAMES: Final = 1_000


class Source(Protocol):
    """Where a session is read from: a Store, or whoever can read one."""

    async def session(self, session_id: str) -> StoredSession | None: ...
    def pages(self, session_id: str, *, after: int = 0) -> AsyncIterator[list[Entry]]: ...


async def export_lines(store: Source, session_id: str) -> AsyncIterator[bytes]:
    """The file, piece by piece. StoreError `missing`: there is no such session."""
    session = await store.session(session_id)
    if session is None:
        raise StoreError(f"there is no session {session_id}", "missing")
    archive = ArchiveWriter()
    yield archive.header(msgspec.structs.replace(session, session_id=session.name or session.session_id))
    async for page in store.pages(session_id):
        yield b"".join([archive.entry(entry) for entry in page])
    yield archive.end()


async def export_session(store: Source, session_id: str, path: Path, *, overwrite: bool = False) -> None:
    """Writes the file, whole or not at all; only its owner may read it."""
    part = Path(f"{path}.part")
    try:
        file = await asyncio.to_thread(_create, part, path, overwrite)
        try:
            with file:
                async for piece in export_lines(store, session_id):
                    await asyncio.to_thread(file.write, piece)
                await asyncio.to_thread(_finish, file, part, path)
        except BaseException:
            _discard(part)
            raise
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}") from error


async def import_session(store: Store, path: Path, owner: str) -> StoredSession:
    """Stores what a file holds as a session of `owner`; under another id when its own is taken.

    The file is checked to its end before anything is stored. StoreError or LimitError says what is wrong with it; after
    one, and after a crash (see `Store.recover`), nothing of it is left.
    """
    try:
        header = await asyncio.to_thread(_check, path)
        session_id = await _open_session(store, header, owner)
        try:
            await _restore(store, path, session_id)
            await written(store, [AdoptSession(session_id, owner)])
        except BaseException:
            store.write([DeleteSession(session_id)])
            raise
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}") from error
    session = await store.session(session_id)
    if session is None:
        raise StoreError(f"{path}: the session was deleted while it was imported", "missing")
    return session


async def read_header(path: Path) -> StoredSession:
    """The session in a file that is sound to its end. StoreError or LimitError says what is wrong with it."""
    try:
        return await asyncio.to_thread(_check, path)
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror or error}") from error


async def _open_session(store: Store, header: StoredSession, owner: str) -> str:
    """Its key. Under the first id that is free; asleep, whatever it was when it was exported."""
    fresh = msgspec.structs.replace(
        header, owner=IMPORTING, turn_open=False, interrupted=header.interrupted or header.turn_open
    )
    for number in range(1, _NAMES + 1):
        session_id = key_of(owner, header.session_id if number == 1 else f"{header.session_id}-{number}")
        if await store.session(session_id) is None:
            await written(store, [OpenSession(msgspec.structs.replace(fresh, session_id=session_id))])
            return session_id
    raise LimitError("_NAMES", _NAMES, f"session {header.session_id} was imported {_NAMES} times")


async def _restore(store: Store, path: Path, session_id: str) -> None:
    reader = ArchiveReader(str(path))
    with await asyncio.to_thread(_open, path) as file:
        while piece := await asyncio.to_thread(_read_piece, file, reader):
            entries = [msgspec.structs.replace(entry, session_id=session_id) for entry in piece]
            await written(store, [Restore(session_id, tuple(entries))])
    reader.finish()  # it is what was checked before


# --- files, on other threads ---


def _create(part: Path, path: Path, overwrite: bool) -> BinaryIO:
    if not overwrite and os.path.lexists(path):
        raise StoreError(f"{path} is there already; remove it, or choose another name", "refused")
    _discard(part)
    return os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb")


def _finish(file: BinaryIO, part: Path, path: Path) -> None:
    file.flush()
    os.fsync(file.fileno())
    os.replace(part, path)


def _discard(part: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        part.unlink()


def _open(path: Path) -> BinaryIO:
    found = os.stat(path)
    if not stat.S_ISREG(found.st_mode):
        raise StoreError(f"{path} is no file", "foreign")
    if found.st_size > MAX_FILE_BYTES:
        raise LimitError("MAX_FILE_BYTES", MAX_FILE_BYTES, f"{path} is larger than {MAX_FILE_BYTES} bytes")
    return open(path, "rb")


def _check(path: Path) -> StoredSession:
    """Reads the whole file; what its first line says."""
    reader = ArchiveReader(str(path))
    with _open(path) as file:
        while _read_piece(file, reader):
            pass
    reader.finish()
    assert reader.session is not None
    return reader.session


def _read_piece(file: BinaryIO, reader: ArchiveReader) -> list[Entry]:
    """Some entries; none at the end."""
    entries: list[Entry] = []
    size = 0
    while not entries or (size < _PIECE_BYTES and len(entries) < _PIECE_ENTRIES):
        line = file.readline(MAX_LINE_BYTES + 1)
        if not line:
            break
        size += len(line)
        entry = reader.feed(line)
        if entry is not None:
            entries.append(entry)
    return entries
