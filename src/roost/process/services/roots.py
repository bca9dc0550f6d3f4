"""The directories a session may touch, and the one way from a path to a file in them.

The agent is hostile and runs beside us: whatever a path is checked to be, it may be something else a moment later.
So nothing is checked by its path and then used by it. `Roots.find` goes from a root to the file name by name, holding
a descriptor of each directory it has reached; the system follows no symbolic link for it (O_NOFOLLOW), links are read
and followed here, by the same rules. What comes out is a descriptor of a directory in the roots and a name in it,
and that is what is used.

Outside the roots nothing is looked at, so an answer does not tell whether something exists there.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from types import TracebackType
from typing import Final

from roost.errors import ConfigError, LimitError
from roost.process.services import faults
from roost.process.services.limits import ServiceLimits

# O_PATH needs no right to read the directory; where the system has no such thing, reading it is what we can ask for.
_DIRECTORY: Final = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# How systems say that a name is no directory, or a symbolic link that O_NOFOLLOW stops at.
_NO_DIRECTORY: Final = (errno.ENOTDIR, errno.ELOOP, errno.EMLINK)

Names = tuple[str, ...]


class Place:
    """Where a path leads: an open directory in the roots, and what is left of the path there. A context manager.

    `rest` is empty for a directory; one name for anything else, or for nothing yet; more names when directories on
    the way do not exist either. No name in it is known to be a symbolic link. `path` is the whole, absolute and free
    of links, as of now.
    """

    __slots__ = ("asked", "directory", "path", "rest")

    def __init__(self, asked: str, directory: int, names: Sequence[str], rest: Names) -> None:
        self.asked = asked
        self.directory = directory
        self.rest = rest
        self.path = "/" + "/".join(names)

    def __enter__(self) -> Place:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self.directory)

    @property
    def name(self) -> str:
        """The one name in `directory`. The error for an agent when it is another directory, or further away."""
        if not self.rest:
            raise faults.unusable(self.asked, os.strerror(errno.EISDIR), errno.EISDIR)
        if len(self.rest) > 1:
            raise faults.Missing(self.asked)
        return self.rest[0]

    def make_parents(self) -> None:
        """Create the directories that are missing, so that `rest` is one name. OSError as the system says."""
        while len(self.rest) > 1:
            name = self.rest[0]
            try:
                os.mkdir(name, dir_fd=self.directory)
            except FileExistsError:
                pass  # somebody was faster: if it is no directory, the next line says so
            below = os.open(name, _DIRECTORY, dir_fd=self.directory)
            os.close(self.directory)
            self.directory, self.rest = below, self.rest[1:]


class Roots:
    """Some directories and everything in them. Symbolic links in the roots' own paths are resolved once, here.

    A root may be missing, and may be removed and made again. ConfigError: one is not absolute, or there is none.
    """

    def __init__(self, paths: Sequence[str], limits: ServiceLimits | None = None) -> None:
        if isinstance(paths, str) or not paths:
            raise ConfigError("the roots have to be a list of at least one directory")
        for path in paths:
            if not os.path.isabs(path) or "\0" in path:
                raise ConfigError(f"a root has to be an absolute path: {path!r}")
        self._limits = limits or ServiceLimits()
        self.paths = tuple(os.path.realpath(path) for path in paths)
        self._real: Final = [_names(path) for path in self.paths]
        # How the host spells them is how the agent will; the longest first, because one may be in another.
        spelled = [(_names(path), real) for path, real in zip(paths, self._real, strict=True)]
        self._spelled: Final = sorted(spelled, key=lambda pair: -len(pair[0]))

    def find(self, path: str) -> Place:
        """Where an absolute path leads at this moment. Blocks, so call it in a thread.

        RpcError: it leads out of the roots, or is no path at all. OSError as the system says.
        """
        if len(os.fsencode(path)) > self._limits.path_bytes:
            raise LimitError("path_bytes", self._limits.path_bytes)
        walk = _Walk(self._real, path)
        try:
            return self._follow(walk, path)
        except BaseException:
            walk.leave()
            raise

    def plain(self, path: str) -> str:
        """The path as it would be without a symbolic link below the roots; says nothing about what there is."""
        return "/" + "/".join(reversed(self._steps(path)))

    def _follow(self, walk: _Walk, path: str) -> Place:
        pending = self._steps(path)
        walk.restart()
        steps = links = 0
        while pending:
            steps += 1
            if steps > self._limits.path_steps:
                raise LimitError("path_steps", self._limits.path_steps)
            name = pending.pop()
            if name == "..":
                walk.up()
            elif not walk.down(name):
                target = walk.link(name)
                if target is None:
                    rest = (name, *reversed(pending))
                    if ".." in rest or path.endswith(("/", "/.")):
                        # As the system has it: there is nothing to go up from, and only a directory may be meant.
                        raise faults.Missing(path)
                    return walk.arrive(rest)
                links += 1
                if links > self._limits.links:
                    raise faults.unusable(path, os.strerror(errno.ELOOP), errno.ELOOP)
                if target.startswith("/"):
                    walk.restart()
                pending += self._steps(target)
        return walk.arrive(())

    def _steps(self, path: str) -> list[str]:
        """The names of a path, last one first; a root as the host spells it is replaced by where it really is."""
        names = _names(path)
        if path.startswith("/"):
            for spelled, real in self._spelled:
                if names[: len(spelled)] == spelled:
                    names = (*real, *names[len(spelled) :])
                    break
        return list(reversed(names))


class _Walk:
    """How far `Roots.find` has come: the names so far and, once in a root, the directory they lead to.

    On the way to a root names are only compared with it. They cannot be links, because a root's own path has none;
    if one has become a link since, entering the root fails.
    """

    __slots__ = ("_asked", "_fd", "_names", "_real")

    def __init__(self, real: Sequence[Names], asked: str) -> None:
        self._real = real
        self._asked = asked
        self._names: list[str] = []
        self._fd = -1

    def leave(self) -> None:
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            os.close(fd)

    def restart(self) -> None:
        """Stand at the root of the file system."""
        self._names.clear()
        self._enter()

    def up(self) -> None:
        if self._names:
            self._names.pop()
        self._enter()

    def down(self, name: str) -> bool:
        """Go into a directory. False: in the root we are in, this name is none."""
        if self._fd < 0:
            self._names.append(name)
            if self._inside():
                self._enter()
            elif not any(real[: len(self._names)] == tuple(self._names) for real in self._real):
                raise faults.outside(self._asked)
            return True
        try:
            below = os.open(name, _DIRECTORY, dir_fd=self._fd)
        except FileNotFoundError:
            return False
        except OSError as error:
            if error.errno in _NO_DIRECTORY:
                return False
            raise
        os.close(self._fd)
        self._fd = below
        self._names.append(name)
        return True

    def link(self, name: str) -> str | None:
        """Where a symbolic link in the directory we are in leads to; None when it is none."""
        try:
            return os.readlink(name, dir_fd=self._fd)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno == errno.EINVAL:  # something else
                return None
            raise

    def arrive(self, rest: Names) -> Place:
        if self._fd < 0:
            raise faults.outside(self._asked)
        fd, self._fd = self._fd, -1
        return Place(self._asked, fd, (*self._names, *rest), rest)

    def _inside(self) -> bool:
        return any(tuple(self._names[: len(real)]) == real for real in self._real)

    def _enter(self) -> None:
        """Open the directory of the names we have, when it is in a root: each by its name, none through a link."""
        self.leave()
        if not self._inside():
            return
        self._fd = os.open("/", _DIRECTORY)
        for name in self._names:
            try:
                below = os.open(name, _DIRECTORY, dir_fd=self._fd)
            except OSError as error:
                if error.errno in _NO_DIRECTORY:
                    raise faults.changed(self._asked) from None
                raise
            os.close(self._fd)
            self._fd = below


def _names(path: str) -> Names:
    return tuple(name for name in path.split("/") if name not in ("", "."))
