"""What SQLite says, as a StoreError that names the file and the way out."""

from __future__ import annotations

import os
import sqlite3
from typing import Final

from roost.errors import StoreError

_LEFT_ALONE: Final = "it was left as it is"

# Primary result codes, https://www.sqlite.org/rescode.html
_MEANING: Final = {
    sqlite3.SQLITE_BUSY: ("locked", "another program holds it; close that program"),
    sqlite3.SQLITE_LOCKED: ("locked", "another program holds it; close that program"),
    sqlite3.SQLITE_FULL: ("full", "no space is left for it; free some, or allow it more"),
    sqlite3.SQLITE_READONLY: ("read_only", "it cannot be written; make it and its folder writable, or choose another"),
    sqlite3.SQLITE_PERM: ("read_only", "it cannot be written; make it and its folder writable, or choose another"),
    sqlite3.SQLITE_CANTOPEN: ("read_only", "it cannot be opened; make it and its folder usable, or choose another"),
    sqlite3.SQLITE_AUTH: ("read_only", "it may not be used"),
    sqlite3.SQLITE_IOERR: ("failed", "the disk does not read or write it; look after the disk"),
    sqlite3.SQLITE_NOMEM: ("failed", "there is no memory for it"),
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
        return StoreError(f"{os.fspath(path)}: {error.strerror or error}")
    return StoreError(f"{os.fspath(path)}: {error}")


def damaged(path: str | os.PathLike[str], what: str) -> StoreError:
    text = f"{os.fspath(path)} is damaged ({what}); {_LEFT_ALONE}: restore a copy, or move it away to start a new one"
    return StoreError(text, "damaged")


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
