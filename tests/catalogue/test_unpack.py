"""Archives nobody vouches for: what is unpacked, and what every kind of attack comes to."""

from __future__ import annotations

import gzip
import io
import os
import stat
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from roost.catalogue.settings import CatalogueSettings
from roost.catalogue.unpack import is_archive, unpack
from roost.errors import CatalogueError, LimitError, RoostError
from tests.catalogue.rig import tar_of, zip_of

SETTINGS = CatalogueSettings(unpacked_bytes=1_000_000, unpacked_files=100)


def unpacked(tmp_path: Path, archive: bytes, name: str = "a.tar.gz", bounds: CatalogueSettings = SETTINGS) -> Path:
    file = tmp_path / "archive"
    file.write_bytes(archive)
    folder = tmp_path / "folder"
    folder.mkdir()
    unpack(file, name, folder, bounds)
    return folder


def member(name: str, kind: bytes, target: str = "", size: int = 0) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname, made.size = kind, target, size
    return made


@pytest.mark.parametrize(
    ("name", "mode"),
    [
        ("a.tar.gz", "w:gz"),
        ("a.TGZ", "w:gz"),
        ("a.tar.bz2", "w:bz2"),
        ("a.tbz2", "w:bz2"),
        ("a.tar.xz", "w:xz"),
        ("a.tar", "w"),
    ],
)
def test_every_kind_of_tar_is_unpacked(tmp_path: Path, name: str, mode: str) -> None:
    assert is_archive(name)
    links = {
        "dir/link": member("dir/link", tarfile.SYMTYPE, "../dir/a"),
        "hard": member("hard", tarfile.LNKTYPE, "dir/a"),
    }
    folder = unpacked(tmp_path, tar_of({"./dir/a": b"content", "b": b"", **links}, mode), name)
    assert (folder / "dir/a").read_bytes() == b"content"
    assert (folder / "dir/link").read_bytes() == b"content"
    assert (folder / "hard").read_bytes() == b"content"
    assert os.access(folder / "dir/a", os.X_OK)


def test_a_zip_is_unpacked_with_its_links_and_modes(tmp_path: Path) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("dir/", b"")
        for name, mode, content in (
            ("dir/run", stat.S_IFREG | 0o755, "x"),
            ("plain", stat.S_IFREG | 0o644, "y"),
            ("link", stat.S_IFLNK | 0o777, "dir/run"),
        ):
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            packed.writestr(info, content)
    folder = unpacked(tmp_path, out.getvalue(), "a.zip")
    assert os.access(folder / "dir/run", os.X_OK)
    assert not os.access(folder / "plain", os.X_OK)
    assert (folder / "link").read_text() == "x"


@pytest.mark.parametrize("name", ["../out", "/tmp/out", "a/../../out", "a/..", "..", "./../out"])
def test_nothing_is_written_outside_the_folder(tmp_path: Path, name: str) -> None:
    for number, (archive, called) in enumerate(((tar_of({name: b"x"}), "a.tgz"), (zip_of({name: b"x"}), "a.zip"))):
        place = tmp_path / str(number)
        place.mkdir()
        with pytest.raises(CatalogueError, match="outside its folder") as caught:
            unpacked(place, archive, called)
        assert caught.value.code == "damaged"
        assert sorted(os.listdir(place)) == ["archive", "folder"]


@pytest.mark.parametrize(
    "links",
    [
        {"l": "/etc/passwd"},
        {"l": ".."},
        {"l": "../outside"},
        {"d/l": "../../outside"},
        {"l": ".", "m": "l/l/.."},
        {"a": "d", "d/b": "../..", "c": "a/b"},
    ],
)
def test_no_link_leads_out(tmp_path: Path, links: Mapping[str, str]) -> None:
    files: dict[str, bytes | tarfile.TarInfo] = {"d/file": b""}
    files |= {name: member(name, tarfile.SYMTYPE, target) for name, target in links.items()}
    with pytest.raises(CatalogueError, match="leads out"):
        unpacked(tmp_path, tar_of(files))


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    archive = tar_of({"l": member("l", tarfile.SYMTYPE, "../outside"), "l/file": b"x"})
    with pytest.raises(CatalogueError):
        unpacked(tmp_path, archive)
    assert not os.listdir(tmp_path / "outside")


def test_a_hard_link_is_to_a_file_of_the_archive(tmp_path: Path) -> None:
    (tmp_path / "folder-secret").write_text("x")
    for target in ("../folder-secret", "/etc/passwd", "none"):
        place = tmp_path / target.replace("/", "-")
        place.mkdir()
        with pytest.raises(CatalogueError):
            unpacked(place, tar_of({"l": member("l", tarfile.LNKTYPE, target)}))


@pytest.mark.parametrize("kind", [tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE])
def test_devices_and_pipes_are_refused(tmp_path: Path, kind: bytes) -> None:
    with pytest.raises(CatalogueError, match="neither file nor folder nor link"):
        unpacked(tmp_path, tar_of({"d": member("d", kind)}))


@pytest.mark.parametrize(
    "files",
    [
        {"a": b"1", "./a": b"2"},
        {"a": b"1", "a/b": b"2"},
        {"a": member("a", tarfile.SYMTYPE, "c"), "c": b"1", "a/b": b"2"},
        {"c": b"1", "a": member("a", tarfile.LNKTYPE, "c"), "./a": b"2"},
    ],
)
def test_a_file_that_comes_twice_is_an_error_that_names_it(
    tmp_path: Path, files: dict[str, bytes | tarfile.TarInfo]
) -> None:
    with pytest.raises(CatalogueError, match=r"a.tar.gz holds 'a' twice") as caught:
        unpacked(tmp_path, tar_of(files))
    assert caught.value.code == "damaged"


@pytest.mark.parametrize("mode", ["w:gz", "w:bz2", "w:xz"])
def test_a_checksum_at_the_end_of_an_archive_counts(tmp_path: Path, mode: str) -> None:
    """A tar ends before its compression does: what is damaged in a file's content shows at the very end only."""
    whole = tar_of({"a": bytes(range(256)) * 64}, mode)
    assert (unpacked(tmp_path, whole) / "a").stat().st_size == 16384
    (tmp_path / "other").mkdir()
    place = 20 if mode == "w:xz" else 0  # its index is behind its checksum
    spoilt = bytearray(whole)
    spoilt[-6 - place] ^= 1
    with pytest.raises(CatalogueError, match="cannot be unpacked") as caught:
        unpacked(tmp_path / "other", bytes(spoilt))
    assert caught.value.code == "damaged"


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_a_damaged_header_is_no_end_of_an_archive(tmp_path: Path, mode: str) -> None:
    plain = bytearray(tar_of({"a": b"1", "b": b"2"}, "w"))
    plain[1024] ^= 1  # the name of the second file, which its header has a sum of
    archive = bytes(plain) if mode == "w" else gzip.compress(bytes(plain))
    with pytest.raises(CatalogueError, match="does not end where its files do") as caught:
        unpacked(tmp_path, archive)
    assert caught.value.code == "damaged"


def test_a_tar_without_its_end_is_taken_when_its_compression_says_that_it_is_whole(tmp_path: Path) -> None:
    without = tar_of({"a": b"1", "b": b"2"}, "w")[:2048]
    assert (unpacked(tmp_path, gzip.compress(without)) / "b").read_bytes() == b"2"
    (tmp_path / "other").mkdir()
    with pytest.raises(CatalogueError, match="does not end where its files do"):
        unpacked(tmp_path / "other", without, "a.tar")


def test_what_stands_behind_the_end_of_an_archive_is_bounded(tmp_path: Path) -> None:
    with pytest.raises(LimitError) as caught:
        unpacked(tmp_path, gzip.compress(tar_of({"a": b"1"}, "w") + bytes(3_000_000)))
    assert caught.value.limit == "catalogue.unpacked_bytes"


def test_an_archive_that_holds_too_much_is_a_limit(tmp_path: Path) -> None:
    bomb = b"\0" * 1_000_001
    for number, (archive, name) in enumerate(((tar_of({"a": bomb}), "a.tgz"), (zip_of({"a": bomb}), "a.zip"))):
        place = tmp_path / str(number)
        place.mkdir()
        with pytest.raises(LimitError) as caught:
            unpacked(place, archive, name)
        assert caught.value.limit == "catalogue.unpacked_bytes"


def test_too_many_members_are_a_limit(tmp_path: Path) -> None:
    with pytest.raises(LimitError) as caught:
        unpacked(tmp_path, tar_of({f"f{number}": b"" for number in range(101)}))
    assert caught.value.limit == "catalogue.unpacked_files"


def test_a_header_that_claims_to_be_huge_is_not_read_into_memory(tmp_path: Path) -> None:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        header = member("long", tarfile.GNUTYPE_LONGNAME, size=100_000_000)
        tar.addfile(header, io.BytesIO(b"a" * 100_000_000))
    with pytest.raises((CatalogueError, LimitError)):
        unpacked(tmp_path, out.getvalue())


@pytest.mark.parametrize("name", ["a.tar.gz", "a.zip", "a.tar.xz", "a.tar"])
def test_what_is_no_archive_is_damaged(tmp_path: Path, name: str) -> None:
    with pytest.raises(CatalogueError, match="cannot be unpacked") as caught:
        unpacked(tmp_path, b"no archive at all" * 100, name)
    assert caught.value.code == "damaged"


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), kind=st.sampled_from(["tar", "zip"]))
def test_an_archive_that_is_damaged_anywhere_unpacks_or_is_an_error_of_ours(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, kind: str
) -> None:
    files = {"dir/a": b"content" * 50, "b": b"x"}
    archive = bytearray(zip_of(files) if kind == "zip" else tar_of(files))
    for _ in range(data.draw(st.integers(1, 4))):
        archive[data.draw(st.integers(0, len(archive) - 1))] = data.draw(st.integers(0, 255))
    cut = data.draw(st.integers(0, len(archive)))
    place = tmp_path_factory.mktemp("damaged")
    try:
        unpacked(place, bytes(archive[: max(cut, 1)]), f"a.{'zip' if kind == 'zip' else 'tar.gz'}")
    except RoostError:
        pass
    assert sorted(os.listdir(place)) == ["archive", "folder"]
