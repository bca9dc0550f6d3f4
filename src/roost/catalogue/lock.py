"""One roost at a time works on one agent: a file lock that says who has it and ends with its holder."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from roost.errors import CatalogueError

_LOOK_AGAIN: Final = 0.1


@contextmanager
def locked(path: Path, name: str, timeout: float, say: Callable[[str], None]) -> Iterator[None]:
    """Holds the lock at `path`, whose file stays where it is: one that is taken away would be two locks.

    CatalogueError `locked`, naming the process that has it, after `timeout` seconds (catalogue.lock_timeout).
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        _take(handle, name, timeout, say)
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
        yield
        os.ftruncate(handle, 0)
    finally:
        os.close(handle)


@contextmanager
def locked_if_free(path: Path) -> Iterator[bool]:
    """Holds the lock when nobody does, and says whether; where there is no such file there is nothing to be locked."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        yield False
        return
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
        else:
            yield True
    finally:
        os.close(handle)


def _take(handle: int, name: str, timeout: float, say: Callable[[str], None]) -> None:
    deadline = time.monotonic() + timeout
    told = False
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            pass
        who = _holder(handle)
        if time.monotonic() >= deadline:
            raise CatalogueError(
                f"{who} works on {name}, and has not finished in {timeout:g} s (catalogue.lock_timeout)", "locked"
            )
        if not told:
            say(f"{name}: {who} works on it; waiting")
            told = True
        time.sleep(_LOOK_AGAIN)


def _holder(handle: int) -> str:
    text = os.pread(handle, 32, 0).decode("ascii", "replace").strip()
    return f"process {text}" if text.isdigit() else "another process"
