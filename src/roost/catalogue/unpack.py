"""Unpacking an archive that nobody vouches for: nothing leaves the folder, and the folder does not fill the disk.

Links are made last, so that nothing is ever written through one, and then each is followed: one that leads out is an
error. Devices, pipes and files that come twice are errors as well.
"""

from __future__ import annotations

import bz2
import errno
import gzip
import lzma
import os
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final, cast

from roost.catalogue.settings import CatalogueSettings
from roost.errors import CatalogueError, LimitError

TAR_ENDINGS: Final = (".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar.xz", ".txz", ".tar")
ZIP_ENDINGS: Final = (".zip",)

# Programs that install themselves, on systems that know them; the registry's format leaves them out, too.
REFUSED_ENDINGS: Final = (".dmg", ".pkg", ".deb", ".rpm", ".msi", ".appimage")

_CHUNK_BYTES: Final = 1024 * 1024
_OPENERS: Final[Mapping[bytes, Callable[..., Any]]] = {b"\x1f\x8b": gzip.open, b"BZ": bz2.open, b"\xfd7": lzma.open}

# What a damaged archive makes the standard library raise.
_DAMAGE: Final = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    OSError,
    RuntimeError,
    ValueError,
)
# None: gzip's own.
_ARCHIVES_FAULT: Final = (None, errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.EINVAL)


def is_archive(name: str) -> bool:
    """By its name; anything else is a program by itself."""
    return name.lower().endswith((*TAR_ENDINGS, *ZIP_ENDINGS))


def unpack(archive: Path, name: str, folder: Path, settings: CatalogueSettings) -> None:
    """Everything in `archive`, which came under `name`, into the empty `folder`.

    CatalogueError `damaged`, or LimitError; what is in the folder then is of no use.
    """
    unpacking = _Unpacking(folder, settings)
    try:
        if name.lower().endswith(ZIP_ENDINGS):
            _unpack_zip(archive, unpacking)
        else:
            _unpack_tar(archive, unpacking)
        unpacking.link()
    except (CatalogueError, LimitError):
        raise
    except FileExistsError as error:
        raise CatalogueError(f"the archive {name} holds {_inside(error, folder)!r} twice", "damaged") from error
    except _DAMAGE as error:
        if isinstance(error, OSError) and error.errno not in _ARCHIVES_FAULT:
            raise
        raise CatalogueError(f"the archive {name} cannot be unpacked: {error}", "damaged") from error


def _inside(error: OSError, folder: Path) -> str:
    """What a call failed for; of a link, not where it leads."""
    return os.path.relpath(error.filename2 or error.filename, folder)


@dataclass
class _Unpacking:
    """What is written of one archive. `links` are made at the end: path -> where it leads."""

    folder: Path
    settings: CatalogueSettings
    size: int = 0
    files: int = 0
    links: dict[Path, str] = field(default_factory=dict)

    def place(self, name: str) -> Path:
        """Where a member goes. CatalogueError for one that wants to be elsewhere."""
        parts = [part for part in name.split("/") if part not in ("", ".")]
        if name.startswith("/") or ".." in parts or "\0" in name:
            raise CatalogueError(f"the archive would write outside its folder, to {name!r}", "damaged")
        self.files += 1
        if self.files > self.settings.unpacked_files:
            raise LimitError(
                "catalogue.unpacked_files",
                self.settings.unpacked_files,
                f"the archive has more than {self.settings.unpacked_files} members (catalogue.unpacked_files)",
            )
        return self.folder.joinpath(*parts)

    def directory(self, path: Path) -> None:
        path.mkdir(parents=True, exist_ok=True)

    def write(self, path: Path, source: IO[bytes], mode: int) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(path, "xb") as file:
            while chunk := source.read(_CHUNK_BYTES):
                self.size += len(chunk)
                if self.size > self.settings.unpacked_bytes:
                    raise LimitError(
                        "catalogue.unpacked_bytes",
                        self.settings.unpacked_bytes,
                        f"the archive holds more than {self.settings.unpacked_bytes} bytes (catalogue.unpacked_bytes)",
                    )
                file.write(chunk)
        path.chmod(0o755 if mode & stat.S_IXUSR else 0o644)

    def link(self) -> None:
        for path, target in self.links.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            os.symlink(target, path)
        base = os.path.realpath(self.folder)
        for path, target in self.links.items():
            real = os.path.realpath(path)
            if os.path.isabs(target) or (real != base and not real.startswith(base + "/")):
                raise CatalogueError(f"the archive has a link that leads out of it, to {target!r}", "damaged")


def _unpack_tar(archive: Path, unpacking: _Unpacking) -> None:
    with open(archive, "rb") as packed:
        opener = _OPENERS.get(packed.read(2))
        packed.seek(0)
        stream = _Metered(cast(IO[bytes], packed if opener is None else opener(packed, "rb")), unpacking.settings)
        with tarfile.open(fileobj=cast(Any, stream), mode="r:") as tar:
            written: set[Path] = set()
            for member in tar:
                _take(tar, member, unpacking, written)
        _check_end(stream, compressed=opener is not None)


def _check_end(stream: _Metered, *, compressed: bool) -> None:
    """tarfile takes a damaged header for the end, and a checksum stands behind it: half an archive would pass."""
    if stream.block.strip(b"\0") or (not stream.block and not compressed):
        raise CatalogueError("the archive is damaged: it does not end where its files do", "damaged")
    while stream.read(_CHUNK_BYTES):
        pass


def _take(tar: tarfile.TarFile, member: tarfile.TarInfo, unpacking: _Unpacking, written: set[Path]) -> None:
    path = unpacking.place(member.name)
    if member.isdir():
        unpacking.directory(path)
    elif member.issym():
        _once(path, unpacking)
        unpacking.links[path] = member.linkname
    elif member.islnk():
        first = unpacking.place(member.linkname)
        if first not in written:
            raise CatalogueError(f"the archive links {member.name!r} to what is not in it", "damaged")
        path.parent.mkdir(parents=True, exist_ok=True)
        os.link(first, path)
        written.add(path)
    elif member.isreg():
        source = tar.extractfile(member)
        if source is None:
            raise CatalogueError(f"the archive does not hold {member.name!r}, which it lists", "damaged")
        unpacking.write(path, source, member.mode)
        written.add(path)
    else:
        raise CatalogueError(f"the archive holds {member.name!r}, which is neither file nor folder nor link", "damaged")


def _unpack_zip(archive: Path, unpacking: _Unpacking) -> None:
    with zipfile.ZipFile(archive) as packed:
        for member in packed.infolist():
            path = unpacking.place(member.filename)
            mode = member.external_attr >> 16
            kind = stat.S_IFMT(mode)
            if member.is_dir():
                unpacking.directory(path)
            elif kind == stat.S_IFLNK:
                _once(path, unpacking)
                with packed.open(member) as source:
                    unpacking.links[path] = os.fsdecode(source.read(4096))
            elif kind in (0, stat.S_IFREG):
                with packed.open(member) as source:
                    unpacking.write(path, source, mode)
            else:
                raise CatalogueError(f"the archive holds {member.filename!r}, which is no file", "damaged")


def _once(path: Path, unpacking: _Unpacking) -> None:
    if path in unpacking.links or path == unpacking.folder:
        raise CatalogueError(f"the archive holds {path.name!r} twice", "damaged")


class _Metered:
    """A stream that tarfile reads: a header that claims to be huge is not read into memory."""

    def __init__(self, stream: IO[bytes], settings: CatalogueSettings) -> None:
        self._stream = stream
        self.block = b""  # the header that was read last
        # Headers and padding are not counted as files' bytes.
        self._limit = settings.unpacked_bytes + settings.unpacked_files * 4096

    def read(self, size: int = -1) -> bytes:
        if size < 0 or size > 4 * _CHUNK_BYTES:
            raise CatalogueError("the archive has a header that is too long", "damaged")
        data = self._stream.read(size)
        if size == tarfile.BLOCKSIZE:
            self.block = data
        self._check()
        return data

    def seek(self, place: int, whence: int = 0) -> int:
        found = self._stream.seek(place, whence)
        self._check()
        return found

    def tell(self) -> int:
        return self._stream.tell()

    def __iter__(self) -> Iterator[bytes]:
        raise TypeError("a tar is not read by lines")

    def _check(self) -> None:
        if self._stream.tell() > self._limit:
            raise LimitError("catalogue.unpacked_bytes", self._limit, "the archive holds too much")
