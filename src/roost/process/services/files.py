"""Reading, writing and listing in the roots. Everything here blocks: it is called in a thread.

RpcError for what is refused; OSError and LimitError where the system or a bound says no.
"""

from __future__ import annotations

import binascii
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final

import msgspec

from roost.errors import LimitError, RpcError
from roost.process.services import faults
from roost.process.services.limits import ServiceLimits
from roost.process.services.lines import line_range
from roost.process.services.roots import Place

# Large enough to be fast, small enough that splitting one at every newline costs little.
_CHUNK_BYTES: Final = 64 * 1024
# Opening must not wait (a pipe that was put there meanwhile), and must not make a terminal ours.
_CAREFULLY: Final = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
# What may be carried over to the file's next version: whoever may set more than these may do so again.
_MODE_BITS: Final = 0o777
# The most characters one character takes in JSON: \u0001.
_JSON_EXPANSION: Final = 6


def read(place: Place, first: int, count: int | None, base64: bool, limits: ServiceLimits) -> str:
    """A range of a file's lines, as text or as its bytes in base64."""
    fd = _open_regular(place, os.O_RDONLY)
    try:
        data = line_range(_chunks(fd, limits.scan_bytes), first, count, limits.read_bytes)
    finally:
        os.close(fd)
    if base64:
        text = binascii.b2a_base64(data, newline=False).decode()
    else:
        try:
            text = data.decode()
        except UnicodeDecodeError:
            raise faults.unusable(place.asked, "not UTF-8 text (encoding base64 reads it)", errno.EILSEQ) from None
    if told_size(text, limits) > limits.read_bytes:
        raise LimitError(
            "read_bytes",
            limits.read_bytes,
            f"more than the limit read_bytes of {limits.read_bytes}; ask for fewer lines",
        )
    return text


def told_size(text: str, limits: ServiceLimits) -> int:
    """How much of `read_bytes` an answer with this text takes; a guess from above, where that is less than half."""
    most = len(text) * _JSON_EXPANSION
    return most if most * 2 < limits.read_bytes else len(msgspec.json.encode(text))


def write(place: Place, content: bytes, *, durable: bool) -> None:
    """Put a whole file in place at once: whoever reads it sees the old one or the new one.

    Its mode stays, and its owner where we may give files away; a new one gets what the umask leaves. Directories
    that are missing are created. `durable`: it is on the disk when this returns.
    """
    place.make_parents()
    name = place.name
    old = _look(place, name)
    if old is not None:
        # Replacing a file asks nothing of the file itself, and one that is read-only is meant to be.
        os.close(_open_regular(place, os.O_WRONLY))
    spare = f".roost-{secrets.token_hex(8)}.tmp"
    # A file that only its owner may read must at no time be one that others can.
    fd = os.open(
        spare,
        os.O_WRONLY | os.O_CREAT | os.O_EXCL | _CAREFULLY,
        0o666 if old is None else 0o600,
        dir_fd=place.directory,
    )
    try:
        try:
            if old is not None:
                _take_over(fd, old)
            rest = memoryview(content)
            while rest:
                rest = rest[os.write(fd, rest) :]
            if durable:
                os.fsync(fd)
        finally:
            os.close(fd)
        # Whatever the name has become meanwhile, it is replaced and not followed.
        os.rename(spare, name, src_dir_fd=place.directory, dst_dir_fd=place.directory)
    except BaseException:
        with suppress(OSError):
            os.unlink(spare, dir_fd=place.directory)
        raise
    if durable:
        _sync_directory(place)


def entries(place: Place, limits: ServiceLimits) -> list[dict[str, Any]]:
    """What is in a directory, by name; links are not followed. A name that is no UTF-8 is told as well as it can be."""
    if place.rest:
        if _look(place, place.name) is None:
            raise faults.Missing(place.asked)
        raise faults.unusable(place.asked, os.strerror(errno.ENOTDIR), errno.ENOTDIR)
    found: list[dict[str, Any]] = []
    folder = place.asked.rstrip("/")
    fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=place.directory)
    try:
        with os.scandir(fd) as listed:
            for entry in listed:
                if len(found) == limits.directory_entries:
                    raise LimitError("directory_entries", limits.directory_entries)
                name = os.fsencode(entry.name).decode("utf-8", "replace")
                found.append({"name": name, "path": f"{folder}/{name}", "type": _kind(entry)})
    finally:
        os.close(fd)
    if len(msgspec.json.encode(found)) > limits.read_bytes:
        raise LimitError("read_bytes", limits.read_bytes)
    return sorted(found, key=lambda entry: str(entry["name"]))


def _kind(entry: os.DirEntry[str]) -> str:
    try:
        if entry.is_symlink():
            return "symlink"
        if entry.is_dir(follow_symlinks=False):
            return "directory"
        return "file" if entry.is_file(follow_symlinks=False) else "other"
    except OSError:  # gone since it was listed
        return "other"


def _look(place: Place, name: str) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=place.directory, follow_symlinks=False)
    except FileNotFoundError:
        return None


def _open_regular(place: Place, mode: int) -> int:
    """Open the file of a place and nothing else: devices may act on being opened, pipes may wait."""
    name = place.name
    found = _look(place, name)
    if found is None:
        raise faults.Missing(place.asked)
    _require_regular(place, found.st_mode)
    try:
        fd = os.open(name, mode | _CAREFULLY, dir_fd=place.directory)
    except FileNotFoundError:
        raise faults.Missing(place.asked) from None
    except OSError as error:
        # What it was a moment ago could be opened; ENXIO is a pipe that nobody reads.
        if error.errno in (errno.ELOOP, errno.EMLINK, errno.ENXIO):
            raise faults.changed(place.asked) from None
        raise
    try:
        _require_regular(place, os.fstat(fd).st_mode)
    except RpcError:
        os.close(fd)
        raise
    return fd


def _require_regular(place: Place, mode: int) -> None:
    if stat.S_ISREG(mode):
        return
    if stat.S_ISLNK(mode):  # the way here has followed every link there was
        raise faults.changed(place.asked)
    if stat.S_ISDIR(mode):
        raise faults.unusable(place.asked, os.strerror(errno.EISDIR), errno.EISDIR)
    raise faults.unusable(place.asked, "not a regular file", errno.EINVAL)


def _chunks(fd: int, bound: int) -> Iterator[bytes]:
    total = 0
    while chunk := os.read(fd, _CHUNK_BYTES):
        total += len(chunk)
        if total > bound:
            raise LimitError("scan_bytes", bound, f"the lines are beyond the limit scan_bytes of {bound}")
        yield chunk


def _take_over(fd: int, old: os.stat_result) -> None:
    """Make a file of ours look like the one it replaces."""
    fresh = os.fstat(fd)
    if (fresh.st_uid, fresh.st_gid) != (old.st_uid, old.st_gid):
        # Only root can; for everybody else the file becomes theirs, as with any editor that replaces files.
        with suppress(PermissionError):
            os.fchown(fd, old.st_uid, old.st_gid)
    os.fchmod(fd, stat.S_IMODE(old.st_mode) & _MODE_BITS)


def _sync_directory(place: Place) -> None:
    fd = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=place.directory)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
