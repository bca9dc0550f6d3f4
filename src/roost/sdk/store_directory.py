"""Sessions in a directory, a file each.

A file is lines of JSON: first the record, then the history. It is replaced as a whole, so a crash at any moment leaves
the old one or the new one. What cannot be read is left where it is and is no session.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec

from roost.errors import StoreError
from roost.sdk.store import SessionRecord, StoredSession

log = logging.getLogger("roost.store")

_FORMAT: Final = 1
_SUFFIX: Final = ".session"
# Ids come from clients: what is not plainly a name never becomes a path. Lower case, for file systems that fold it.
_PLAIN: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,99}")


class _Head(msgspec.Struct):
    format: int
    record: SessionRecord


_encode_head = msgspec.json.Encoder().encode
_decode_head = msgspec.json.Decoder(_Head).decode


class DirectorySessionStore:
    """A store that outlives the process. The directory is made at the first save, mode 0700; files have 0600."""

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory = Path(directory)
        self._heads: dict[str, tuple[tuple[int, int, int], SessionRecord | None]] = {}  # by name, with what they were

    async def save(self, session: StoredSession) -> None:
        await asyncio.to_thread(self._save, session)

    async def load(self, session_id: str) -> StoredSession | None:
        return await asyncio.to_thread(self._load, session_id)

    async def delete(self, session_id: str) -> None:
        await asyncio.to_thread(self._delete, session_id)

    async def records(self) -> list[SessionRecord]:
        return await asyncio.to_thread(self._records)

    def _path(self, session_id: str) -> Path:
        name = session_id
        if not _PLAIN.fullmatch(name):
            name = "+" + sha256(session_id.encode("utf-8", "surrogatepass")).hexdigest()
        return self.directory / (name + _SUFFIX)

    def _save(self, session: StoredSession) -> None:
        path = self._path(session.record.session_id)
        try:
            head = _encode_head(_Head(_FORMAT, session.record))
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
            fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            try:
                with open(fd, "wb") as file:
                    file.writelines(line + b"\n" for line in (head, *session.history))
                    file.flush()
                    os.fsync(fd)
                os.replace(temporary, path)
            except BaseException:
                with suppress(OSError):
                    os.unlink(temporary)
                raise
            self._sync_directory()
        except (OSError, msgspec.MsgspecError, TypeError, ValueError) as error:
            raise StoreError(f"session file {path} cannot be written: {error}") from error

    def _sync_directory(self) -> None:
        with suppress(OSError):  # some file systems cannot
            fd = os.open(self.directory, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)

    def _load(self, session_id: str) -> StoredSession | None:
        path = self._path(session_id)
        try:
            head, *history = path.read_bytes().removesuffix(b"\n").split(b"\n")
            record = _record(head)
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise StoreError(f"session file {path} cannot be read: {error}") from error
        return StoredSession(record=record, history=history) if record.session_id == session_id else None

    def _delete(self, session_id: str) -> None:
        path = self._path(session_id)
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise StoreError(f"session file {path} cannot be deleted: {error}") from error

    def _records(self) -> list[SessionRecord]:
        found: dict[str, tuple[tuple[int, int, int], SessionRecord | None]] = {}
        try:
            with os.scandir(self.directory) as entries:
                for entry in entries:
                    if entry.name.endswith(_SUFFIX):
                        with suppress(FileNotFoundError):  # deleted meanwhile
                            found[entry.name] = self._head(entry)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise StoreError(f"session directory {self.directory} cannot be read: {error}") from error
        self._heads = found
        return [record for _, record in found.values() if record is not None]

    def _head(self, entry: os.DirEntry[str]) -> tuple[tuple[int, int, int], SessionRecord | None]:
        status = entry.stat()
        state = (status.st_ino, status.st_mtime_ns, status.st_size)
        known = self._heads.get(entry.name)
        if known is not None and known[0] == state:
            return known
        try:
            with open(entry.path, "rb") as file:
                return state, _record(file.readline().rstrip(b"\n"))
        except FileNotFoundError:
            raise
        except (OSError, ValueError) as error:
            log.warning("%s is no session file: %s", entry.path, error)
            return state, None


def _record(line: bytes) -> SessionRecord:
    """The record of a head line. ValueError."""
    try:
        head = _decode_head(line)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ValueError(f"its first line is no record: {error}") from None
    if head.format != _FORMAT:
        raise ValueError(f"its format is {head.format}, this version reads {_FORMAT}")
    return head.record
