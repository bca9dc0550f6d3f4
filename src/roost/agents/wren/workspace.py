"""The files Wren may touch: those under the session's roots, links followed, and no others."""

from __future__ import annotations

import os
import re
import stat
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import IO, Final, NamedTuple

MAX_FILES: Final = 20_000  # looked at in one search; a large project has about as many
MAX_FILE_BYTES: Final = 1024 * 1024  # of a file that is searched; source files are smaller
MAX_READ_BYTES: Final = 4 * 1024 * 1024  # of a file that is read or changed
MAX_FOUND: Final = 200  # places one search finds
MAX_LINE: Final = 200  # characters of a found line that are shown
_HEAD: Final = 8192  # bytes; a NUL among them means binary, as for git

_SKIPPED: Final = frozenset(
    [".git", ".hg", ".svn", ".venv", "venv", "node_modules", "__pycache__", ".mypy_cache", ".ruff_cache", ".tox"]
)
_COMMENT: Final = r"(?:#|//|/\*|--|<!--|;|%|^\s*\*)"
_TODO: Final = re.compile(_COMMENT + r".*?\bTODO\b(?:\([^)]*\))?[:\s]*(?P<text>.*?)\s*(?:\*/|-->)?\s*$")
_COMMENT_LINE: Final = 1000  # characters of a line that are looked at: comments are written for people


class Problem(Exception):
    """Something that cannot be done, in words for the user."""


class Place(NamedTuple):
    """A line of a file. Lines are counted from 1."""

    path: str
    line: int
    text: str


class Workspace:
    """The roots of a session; the first one is where relative paths start."""

    def __init__(self, roots: Sequence[str]) -> None:
        self.roots = list(roots)

    def name(self, path: str) -> str:
        """The path as one speaks of it: relative to the first root that holds it."""
        for root in self.roots:
            if path == root or path.startswith(root.rstrip(os.sep) + os.sep):
                return os.path.relpath(path, root)
        return path

    def path(self, text: str) -> str:
        """The real path a user means. Problem: it leads outside, by dots or by links."""
        path = os.path.realpath(os.path.join(self.roots[0], os.path.expanduser(text)))
        for root in self.roots:
            base = os.path.realpath(root)
            if path == base or path.startswith(base.rstrip(os.sep) + os.sep):
                return path
        raise Problem(f"{text} lies outside the workspace.")

    # ---- one file

    def read(self, path: str) -> str:
        """The text of a file. Problem: there is none, or it is no text, or too much of it."""
        with _told(self.name(path)), _opened(path) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise Problem(f"{self.name(path)} is not a file.")
            if status.st_size > MAX_READ_BYTES:
                raise Problem(f"{self.name(path)} has {status.st_size} bytes, more than {MAX_READ_BYTES}.")
            data = file.read(MAX_READ_BYTES + 1)
        text = _text(data)
        if text is None:
            raise Problem(f"{self.name(path)} is not text.")
        return text

    def read_if_there(self, path: str) -> str | None:
        return self.read(path) if os.path.lexists(path) else None

    def write(self, path: str, text: str, expected: str | None) -> None:
        """Replaces a file in one step, or makes it. Problem: it is not as it was when this was decided."""
        if self.path(path) != path or self.read_if_there(path) != expected:
            raise Problem(f"{self.name(path)} has changed in the meantime.")
        folder = os.path.dirname(path)
        with _told(self.name(path)):
            os.makedirs(folder, exist_ok=True)
            mode = stat.S_IMODE(os.stat(path).st_mode) if expected is not None else 0o666 & ~_umask()
            fd, draft = tempfile.mkstemp(prefix=".wren-", dir=folder)
            try:
                with open(fd, "w", encoding="utf-8", newline="") as file:
                    file.write(text)
                os.chmod(draft, mode)
                os.replace(draft, path)
            except BaseException:
                with suppress(OSError):
                    os.unlink(draft)
                raise

    # ---- all files

    def files(self) -> Iterator[str]:
        """The files of the workspace in order, without version control, caches and links."""
        seen: set[str] = set()
        count = 0
        for root in self.roots:
            for folder, folders, names in os.walk(os.path.realpath(root)):
                folders[:] = sorted(name for name in folders if name not in _SKIPPED)
                for name in sorted(names):
                    path = os.path.join(folder, name)
                    if path in seen or os.path.islink(path):
                        continue
                    seen.add(path)
                    count += 1
                    if count > MAX_FILES:
                        return
                    yield path

    def search(self, match: Callable[[str], str | None], wanted: Callable[[], bool]) -> list[Place]:
        """The lines for which `match` has a text, until there are enough or they are not `wanted` any more."""
        found: list[Place] = []
        for path in self.files():
            if not wanted() or len(found) >= MAX_FOUND:
                break
            for number, line in enumerate(_lines(path), 1):
                text = match(line)
                if text is not None:
                    found.append(Place(path, number, text[:MAX_LINE]))
        return found[:MAX_FOUND]


def todo_in(line: str) -> str | None:
    """What a line's comment says is to be done; None when it says nothing of the kind."""
    found = _TODO.search(line[:_COMMENT_LINE]) if "TODO" in line else None
    return None if found is None else found.group("text") or "something"


def _lines(path: str) -> list[str]:
    try:
        with _opened(path) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_FILE_BYTES:
                return []
            text = _text(file.read(MAX_FILE_BYTES))
    except OSError:
        return []
    return [] if text is None else text.split("\n")


def _opened(path: str) -> IO[bytes]:
    """A file for reading; opening a pipe that nobody writes to does not wait for somebody."""
    return open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")


def _text(data: bytes) -> str | None:
    if b"\0" in data[:_HEAD]:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


class _told:
    """What the system says about a file, as a Problem."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, FileNotFoundError):
            raise Problem(f"{self._name} does not exist.") from error
        if isinstance(error, OSError):
            raise Problem(f"{self._name}: {error.strerror}.") from error
