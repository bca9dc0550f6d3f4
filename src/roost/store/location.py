"""Where the journal is, and who may use it: the default path, and the lock beside the file."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Mapping
from pathlib import Path

from roost.errors import StoreError

FILE_NAME = "journal.db"


def default_path(environment: Mapping[str, str]) -> Path:
    """The journal in the user's data directory, as the XDG base directories say. StoreError when there is none."""
    data = environment.get("XDG_DATA_HOME", "")
    if not os.path.isabs(data):  # XDG: a relative value is ignored
        data = os.path.join(environment.get("HOME", ""), ".local/share")
    if not os.path.isabs(data):
        raise StoreError("no place for the journal: neither XDG_DATA_HOME nor HOME is set to an absolute path")
    return Path(data, "roost", FILE_NAME)


class FileLock:
    """Holds a journal for one process; the kernel lets go when it dies."""

    def __init__(self, path: Path) -> None:
        """StoreError: `locked` by another process (it says by whom), `read_only` when no lock can be made."""
        lock = f"{path}.lock"
        try:
            self._file = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise StoreError(
                f"cannot use {path}: {lock}: {error.strerror}; make its folder writable, or choose another",
                "read_only",
            ) from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(self._file, 64, 0).decode("ascii", "replace").strip()
            os.close(self._file)
            who = f"process {holder}" if holder else "another process"
            raise StoreError(f"{path} is in use by {who}; stop it, or choose another journal", "locked") from error
        with contextlib.suppress(OSError):  # a full disk: the lock is held all the same
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        os.close(self._file)
