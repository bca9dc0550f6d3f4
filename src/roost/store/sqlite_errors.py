"""What SQLite says, as a StoreError that names the file and the way out."""

from __future__ import annotations

import errno
import os
import sqlite3
from typing import Final

from roost.errors import StoreError

_LOCKED: Final = ("locked", "another program holds it; close that program")
_FULL: Final = ("full", "no space is left for it; free some, or allow it more")
_READ_ONLY: Final = ("read_only", "it cannot be written; make it and its folder writable, or choose another")
_DISK: Final = ("failed", "the disk does not read or write it; look after the disk, or choose another")

# Primary result codes, https://www.sqlite.org/rescode.html
_MEANING: Final = {
    sqlite3.SQLITE_BUSY: _LOCKED,
    sqlite3.SQLITE_LOCKED: _LOCKED,
    sqlite3.SQLITE_FULL: _FULL,
    sqlite3.SQLITE_READONLY: _READ_ONLY,
    sqlite3.SQLITE_PERM: _READ_ONLY,
    sqlite3.SQLITE_CANTOPEN: _READ_ONLY,
    sqlite3.SQLITE_AUTH: _READ_ONLY,
    sqlite3.SQLITE_IOERR: _DISK,
    sqlite3.SQLITE_NOMEM: ("failed", "there is no memory for it"),
}
_MEANING_OF_ERRNO: Final = {
    errno.EACCES: _READ_ONLY,
    errno.EPERM: _READ_ONLY,
    errno.EROFS: _READ_ONLY,
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
}


def explain(path: str | os.PathLike[str], error: Exception) -> StoreError:
    """The StoreError for what went wrong with the journal at `path`."""
    code = getattr(error, "sqlite_errorcode", None)
    primary = code & 0xFF if isinstance(code, int) else None
    if primary in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return damaged(path, str(error))
    if primary in _MEANING:
        name, meaning = _MEANING[primary]
        return StoreError(f"{os.fspath(path)}: {meaning} ({error})", name)
    if isinstance(error, OSError):
        name, meaning = _MEANING_OF_ERRNO.get(error.errno or 0, _DISK)
        return StoreError(f"{os.fspath(path)}: {meaning} ({error.strerror or error})", name)
    return StoreError(f"{os.fspath(path)}: {error}")


def damaged(path: str | os.PathLike[str], what: str) -> StoreError:
    return StoreError(
        f"{os.fspath(path)} is damaged ({what}); it was left as it is: restore a copy, or move it away to begin anew",
        "damaged",
    )


def is_storage_fault(error: Exception) -> bool:
    """Whether the storage failed, as opposed to a value that cannot be stored."""
    if isinstance(error, sqlite3.Error):
        code = getattr(error, "sqlite_errorcode", None)
        return isinstance(code, int) and code & 0xFF not in (
            sqlite3.SQLITE_CONSTRAINT,
            sqlite3.SQLITE_MISMATCH,
            sqlite3.SQLITE_TOOBIG,
            sqlite3.SQLITE_RANGE,
        )
    return isinstance(error, OSError)
