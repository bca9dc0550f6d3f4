"""Folders of a program's own among everybody's temporary files, and what becomes of those whose program was killed.

A folder is new, of mode 0700 and has a name nobody can guess. Its program holds a lock on the folder itself, which the
kernel lets go of however the program ends. So a folder of this user that nobody holds was left behind, and the next
program that starts takes it away. Whatever is not exactly as it would have been made is left alone.
"""

from __future__ import annotations

import fcntl
import os
import stat
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Final

# What a folder's name begins with -> how many hexadecimal digits follow, and what may be in it: a socket's name, or the
# beginning and the end of a file's.
RELAY: Final = "roost-relay-"  # where programs connect that stand for MCP servers
FILES: Final = "roost-files-"  # what agents are to read
_KINDS: Final[Mapping[str, int]] = {RELAY: 16, FILES: 24}
RELAY_SOCKET: Final = "s"
_FILE: Final = ("agentos-system-prompt-", ".md")

_ATTEMPTS: Final = 8


class ClaimedFolder:
    """One folder, from `make` to `remove`."""

    def __init__(self, base: str, kind: str) -> None:
        """`kind`: RELAY or FILES. Nothing is made yet."""
        self.path = os.path.join(base, kind + os.urandom(_KINDS[kind] // 2).hex())
        self._handle = -1

    def make(self) -> None:
        """Does nothing when it is there. Raises OSError."""
        if self._handle >= 0:
            return
        for _ in range(_ATTEMPTS):
            with suppress(FileExistsError):
                os.mkdir(self.path, mode=0o700)
            try:
                handle = os.open(self.path, _FOLDER)
            except FileNotFoundError:
                continue  # somebody swept before it was locked
            if _lock(handle) is not False and _is_still(self.path, handle):
                self._handle = handle
                return
            os.close(handle)
        raise BlockingIOError(f"{self.path} is always taken")

    def remove(self) -> None:
        """With what is in it; nothing happens when it is not there."""
        handle, self._handle = self._handle, -1
        if handle < 0:
            return
        with suppress(OSError):
            for name in os.listdir(handle):
                os.unlink(name, dir_fd=handle)
            os.rmdir(self.path)
        os.close(handle)


def temporary_bases(environment: Mapping[str, str]) -> list[str]:
    """Where such folders are made, the best first: XDG_RUNTIME_DIR, TMPDIR, /tmp."""
    bases = [environment.get("XDG_RUNTIME_DIR", ""), environment.get("TMPDIR", ""), "/tmp"]  # noqa: S108
    return list(dict.fromkeys(base for base in bases if os.path.isabs(base) and os.path.isdir(base)))


def sweep_folders(bases: Iterable[str]) -> list[str]:
    """Takes away what programs of this user have left there that are no more; the paths."""
    swept = []
    for base in bases:
        try:
            names = os.listdir(base)
        except OSError:
            continue
        for name in names:
            kind = _kind_of(name)
            if kind and _swept(os.path.join(base, name), kind):
                swept.append(os.path.join(base, name))
    return swept


_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def _kind_of(name: str) -> str:
    for kind, digits in _KINDS.items():
        rest = name.removeprefix(kind)
        if rest != name and len(rest) == digits and all(digit in "0123456789abcdef" for digit in rest):
            return kind
    return ""


def _swept(path: str, kind: str) -> bool:
    try:
        handle = os.open(path, _FOLDER)
    except OSError:
        return False
    try:
        found = os.fstat(handle)
        if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) != 0o700 or _lock(handle) is not True:
            return False
        names = os.listdir(handle)
        if not all(_is_ours(name, kind, handle) for name in names):
            return False
        for name in names:
            os.unlink(name, dir_fd=handle)
        os.rmdir(path)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


def _is_ours(name: str, kind: str, folder: int) -> bool:
    mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    if kind == RELAY:
        return name == RELAY_SOCKET and stat.S_ISSOCK(mode)
    return name.startswith(_FILE[0]) and name.endswith(_FILE[1]) and stat.S_ISREG(mode)


def _lock(handle: int) -> bool | None:
    """Whether it is ours now; None where folders cannot be locked, so that nobody can tell."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def _is_still(path: str, handle: int) -> bool:
    try:
        return os.path.samestat(os.stat(path, follow_symlinks=False), os.fstat(handle))
    except OSError:
        return False
