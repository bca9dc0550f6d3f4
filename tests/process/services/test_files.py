"""Files as an agent reads, writes and lists them."""

from __future__ import annotations

import asyncio
import base64
import os
import socket
import stat

import pytest

from roost.process.services import ClientServices, ServiceLimits, allow_all

# ---- reading


@pytest.mark.parametrize(
    ("extra", "content"),
    [
        ({}, "one\nzwölf\nthree\n"),
        ({"line": None, "limit": None}, "one\nzwölf\nthree\n"),
        ({"line": 2}, "zwölf\nthree\n"),
        ({"line": 2, "limit": 1}, "zwölf"),
        ({"limit": 2}, "one\nzwölf"),
        ({"line": 0, "limit": 1}, "one"),
        ({"line": 9}, ""),
        ({"limit": 0}, ""),
        ({"encoding": "utf-8"}, "one\nzwölf\nthree\n"),
        ({"encoding": "base64"}, base64.b64encode("one\nzwölf\nthree\n".encode()).decode()),
        ({"encoding": "base64", "line": 2, "limit": 1}, base64.b64encode("zwölf".encode()).decode()),
    ],
)
@pytest.mark.parametrize("method", ["fs/read_text_file", "fs/read"])
async def test_case_072_a_file_is_read_whole_or_by_lines(services, workspace, method, extra, content):
    (workspace / "f").write_text("one\nzwölf\nthree\n")
    assert await services.handle(method, {"path": f"{workspace}/f", **extra}) == {"content": content}


async def test_case_072_what_was_written_is_read_back(services, workspace):
    for content in ("", "a", "a\n", "\r\n\r\n", "\0\x01\u2028😀", "x" * 300_000):
        assert await services.handle("fs/write_text_file", {"path": f"{workspace}/f", "content": content}) == {}
        assert await services.handle("fs/read_text_file", {"path": f"{workspace}/f"}) == {"content": content}


async def test_a_missing_file_is_a_resource_that_is_not_found(services, workspace, refusal):
    for path in (f"{workspace}/none", f"{workspace}/no/such/file", f"{workspace}/none/"):
        error = await refusal(services, "fs/read_text_file", {"path": path})
        assert (error.code, error.message) == (-32002, f"Resource not found: {path}")


async def test_a_missing_file_can_be_an_empty_one_but_only_in_the_roots(make, workspace, outside, refusal):
    services = make(missing_file="empty")
    assert await services.handle("fs/read_text_file", {"path": f"{workspace}/none"}) == {"content": ""}
    assert await services.handle("fs/read", {"path": f"{workspace}/no/such/file"}) == {"content": ""}
    error = await refusal(services, "fs/read_text_file", {"path": f"{outside}/none"})
    assert error.code == -32602
    error = await refusal(services, "fs/read_dir", {"path": f"{workspace}/none"})
    assert error.code == -32002


async def test_b17_a_file_outside_the_roots_is_refused(services, workspace, outside, refusal):
    (workspace / "link").symlink_to(outside)
    for path in (f"{outside}/file", f"{workspace}/link/file", f"{workspace}/../outside/file", "/etc/passwd"):
        for method in ("fs/read_text_file", "fs/write_text_file", "fs/read_dir"):
            error = await refusal(services, method, {"path": path, "content": "x"})
            assert (error.code, error.message) == (-32602, f"path is outside the session's roots: {path}")
    assert (outside / "file").read_text() == "SECRET"


async def test_a_binary_file_is_refused_as_text_and_read_as_base64(services, workspace, refusal):
    (workspace / "f").write_bytes(b"text\n\xff\xfe\n")
    error = await refusal(services, "fs/read_text_file", {"path": f"{workspace}/f"})
    assert error.code == -32603
    assert "not UTF-8 text" in error.message
    answer = await services.handle("fs/read_text_file", {"path": f"{workspace}/f", "encoding": "base64"})
    assert base64.b64decode(answer["content"]) == b"text\n\xff\xfe\n"
    assert await services.handle("fs/read", {"path": f"{workspace}/f", "limit": 1}) == {"content": "text"}


async def test_what_is_no_regular_file_is_refused_without_waiting_for_it(services, workspace, refusal):
    os.mkfifo(workspace / "fifo")
    (workspace / "folder").mkdir()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(workspace / "socket"))
    for name, text in (("fifo", "not a regular file"), ("socket", "not a regular file"), ("folder", "Is a directory")):
        for method in ("fs/read_text_file", "fs/write_text_file"):
            async with asyncio.timeout(5):
                error = await refusal(services, method, {"path": f"{workspace}/{name}", "content": ""})
            assert (error.code, error.message) == (-32603, f"{text}: {workspace}/{name}")
    assert stat.S_ISFIFO((workspace / "fifo").stat().st_mode)


async def test_a_device_is_refused(make, refusal, runner):
    async with ClientServices(["/dev"], may_write=allow_all, runner=runner) as services:
        for method in ("fs/read_text_file", "fs/write_text_file"):
            error = await refusal(services, method, {"path": "/dev/zero", "content": ""})
            assert error.message == "not a regular file: /dev/zero"


async def test_a_large_file_is_refused_whole_and_read_in_parts(make, workspace, refusal):
    services = make(limits=ServiceLimits(read_bytes=1000))
    (workspace / "f").write_text("x" * 900 + "\n" + "y" * 900)
    error = await refusal(services, "fs/read_text_file", {"path": f"{workspace}/f"})
    assert (error.code, error.data) == (-32603, {"limit": "read_bytes", "bound": 1000})
    answer = await services.handle("fs/read_text_file", {"path": f"{workspace}/f", "line": 2})
    assert answer == {"content": "y" * 900}


async def test_a_file_that_would_be_large_as_json_is_refused(make, workspace, refusal):
    services = make(limits=ServiceLimits(read_bytes=1000))
    (workspace / "f").write_text("\x01" * 200)
    error = await refusal(services, "fs/read_text_file", {"path": f"{workspace}/f"})
    assert error.data == {"limit": "read_bytes", "bound": 1000}
    error = await refusal(services, "fs/read_text_file", {"path": f"{workspace}/f", "encoding": "base64", "limit": -1})
    assert error.code == -32602
    (workspace / "g").write_text("\x01" * 160)
    assert await services.handle("fs/read", {"path": f"{workspace}/g"}) == {"content": "\x01" * 160}


async def test_looking_for_a_line_far_away_has_an_end(make, workspace, refusal):
    services = make(limits=ServiceLimits(scan_bytes=1_000_000))
    with (workspace / "f").open("wb") as file:
        file.truncate(10**12)
    error = await refusal(services, "fs/read_text_file", {"path": f"{workspace}/f", "line": 2})
    assert error.data == {"limit": "scan_bytes", "bound": 1_000_000}


@pytest.mark.skipif(os.getuid() == 0, reason="root may read everything")
async def test_what_may_not_be_read_says_so(services, workspace, refusal):
    (workspace / "f").write_text("x")
    (workspace / "f").chmod(0)
    error = await refusal(services, "fs/read_text_file", {"path": f"{workspace}/f"})
    assert (error.message, error.data["code"]) == (f"Permission denied: {workspace}/f", "EACCES")


async def test_a_name_too_long_for_the_system_says_so(services, workspace, refusal):
    path = f"{workspace}/{'n' * 300}"
    error = await refusal(services, "fs/read_text_file", {"path": path})
    assert (error.code, error.data) == (-32603, {"path": path, "code": "ENAMETOOLONG"})


# ---- writing


async def test_a_new_file_and_its_directories_are_created(services, workspace):
    umask = os.umask(0o027)
    try:
        await services.handle("fs/write_text_file", {"path": f"{workspace}/a/b/c", "content": "new"})
    finally:
        os.umask(umask)
    assert (workspace / "a/b/c").read_text() == "new"
    assert stat.S_IMODE((workspace / "a/b/c").stat().st_mode) == 0o640
    assert stat.S_IMODE((workspace / "a/b").stat().st_mode) == 0o750


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755, 0o666])
async def test_the_mode_of_a_file_stays(services, workspace, mode):
    (workspace / "f").write_text("old")
    (workspace / "f").chmod(mode)
    await services.handle("fs/write", {"path": f"{workspace}/f", "content": "new"})
    assert (workspace / "f").read_text() == "new"
    assert stat.S_IMODE((workspace / "f").stat().st_mode) == mode


async def test_rights_beyond_the_owners_do_not_pass_to_what_an_agent_wrote(services, workspace):
    (workspace / "f").write_text("old")
    (workspace / "f").chmod(0o6755)
    await services.handle("fs/write", {"path": f"{workspace}/f", "content": "new"})
    assert stat.S_IMODE((workspace / "f").stat().st_mode) == 0o755


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
async def test_the_owner_of_a_file_stays(services, workspace):
    (workspace / "f").write_text("old")
    os.chown(workspace / "f", 12345, 23456)
    await services.handle("fs/write", {"path": f"{workspace}/f", "content": "new"})
    after = (workspace / "f").stat()
    assert (after.st_uid, after.st_gid) == (12345, 23456)


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everything")
async def test_a_read_only_file_stays_as_it_is(services, workspace, refusal):
    (workspace / "f").write_text("old")
    (workspace / "f").chmod(0o444)
    error = await refusal(services, "fs/write", {"path": f"{workspace}/f", "content": "new"})
    assert error.data["code"] == "EACCES"
    assert (workspace / "f").read_text() == "old"


async def test_who_has_the_old_file_open_keeps_it_whole(services, workspace):
    (workspace / "f").write_text("old and long")
    with (workspace / "f").open() as reader:
        await services.handle("fs/write_text_file", {"path": f"{workspace}/f", "content": "new"})
        assert reader.read() == "old and long"
    assert (workspace / "f").read_text() == "new"


async def test_another_name_of_the_same_file_is_not_written_through(services, workspace, outside):
    os.link(outside / "file", workspace / "f")
    await services.handle("fs/write_text_file", {"path": f"{workspace}/f", "content": "new"})
    assert (outside / "file").read_text() == "SECRET"
    assert (workspace / "f").read_text() == "new"


async def test_a_link_in_the_roots_is_written_through_and_stays(services, workspace):
    (workspace / "f").write_text("old")
    (workspace / "link").symlink_to("f")
    (workspace / "dangling").symlink_to("sub/new")
    await services.handle("fs/write_text_file", {"path": f"{workspace}/link", "content": "1"})
    await services.handle("fs/write_text_file", {"path": f"{workspace}/dangling", "content": "2"})
    assert (workspace / "link").is_symlink()
    assert (workspace / "f").read_text() == "1"
    assert (workspace / "sub/new").read_text() == "2"


async def test_a_link_out_of_the_roots_is_not_written_through(services, workspace, outside, refusal):
    (workspace / "link").symlink_to(outside / "file")
    (workspace / "dangling").symlink_to(outside / "new")
    for name in ("link", "dangling"):
        error = await refusal(services, "fs/write_text_file", {"path": f"{workspace}/{name}", "content": "x"})
        assert error.code == -32602
    assert os.listdir(outside) == ["file"]
    assert (outside / "file").read_text() == "SECRET"


async def test_nothing_is_left_behind_by_a_write_that_fails(services, workspace, refusal, monkeypatch):
    (workspace / "f").write_text("old")

    def full(fd, data):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        error = await refusal(services, "fs/write_text_file", {"path": f"{workspace}/f", "content": "new"})
    assert error.data["code"] == "ENOSPC"
    assert os.listdir(workspace) == ["f"]
    assert (workspace / "f").read_text() == "old"


async def test_a_write_that_takes_several_steps_is_whole(services, workspace, monkeypatch):
    real = os.write
    with monkeypatch.context() as patched:
        patched.setattr(os, "write", lambda fd, data: real(fd, bytes(data[:3])))
        await services.handle("fs/write", {"path": f"{workspace}/f", "content": "0123456789"})
    assert (workspace / "f").read_text() == "0123456789"


async def test_base64_is_written_as_its_bytes(services, workspace):
    await services.handle("fs/write", {"path": f"{workspace}/f", "content": "/wA=", "encoding": "base64"})
    assert (workspace / "f").read_bytes() == b"\xff\x00"


async def test_a_durable_write_is_synced_with_its_directory(make, workspace, monkeypatch):
    synced = []
    real = os.fsync

    def sync(fd):
        synced.append(stat.S_ISDIR(os.fstat(fd).st_mode))
        real(fd)

    monkeypatch.setattr(os, "fsync", sync)
    await make(durable=True).handle("fs/write", {"path": f"{workspace}/f", "content": "x"})
    assert synced == [False, True]
    await make().handle("fs/write", {"path": f"{workspace}/f", "content": "y"})
    assert synced == [False, True]


async def test_the_size_of_a_write_is_bounded(make, workspace, refusal):
    services = make(limits=ServiceLimits(write_bytes=3))
    await services.handle("fs/write", {"path": f"{workspace}/f", "content": "123"})
    error = await refusal(services, "fs/write", {"path": f"{workspace}/f", "content": "éé"})
    assert error.data == {"limit": "write_bytes", "bound": 3}
    assert (workspace / "f").read_text() == "123"


async def test_a_file_below_a_file_cannot_be_written(services, workspace, refusal):
    (workspace / "f").write_text("old")
    error = await refusal(services, "fs/write", {"path": f"{workspace}/f/below", "content": "x"})
    assert error.data["code"] == "ENOTDIR"


# ---- listing


@pytest.mark.parametrize("method", ["fs/read_dir", "fs/readDir"])
async def test_a_directory_is_listed_by_name(services, workspace, method):
    (workspace / "b").write_text("")
    (workspace / "a").mkdir()
    (workspace / "c").symlink_to("/etc/passwd")
    os.mkfifo(workspace / "d")
    assert await services.handle(method, {"path": str(workspace)}) == {
        "entries": [
            {"name": "a", "path": f"{workspace}/a", "type": "directory"},
            {"name": "b", "path": f"{workspace}/b", "type": "file"},
            {"name": "c", "path": f"{workspace}/c", "type": "symlink"},
            {"name": "d", "path": f"{workspace}/d", "type": "other"},
        ]
    }
    assert await services.handle(method, {"path": f"{workspace}/a/"}) == {"entries": []}


async def test_what_cannot_be_listed_says_why(services, workspace, refusal):
    (workspace / "f").write_text("")
    error = await refusal(services, "fs/read_dir", {"path": f"{workspace}/f"})
    assert error.message == f"Not a directory: {workspace}/f"
    error = await refusal(services, "fs/read_dir", {"path": f"{workspace}/none"})
    assert error.code == -32002


async def test_a_name_that_is_no_text_is_listed_as_well_as_it_can_be(services, workspace):
    os.close(os.open(os.fsencode(workspace) + b"/caf\xe9", os.O_CREAT | os.O_WRONLY))
    listed = await services.handle("fs/read_dir", {"path": str(workspace)})
    assert [entry["name"] for entry in listed["entries"]] == ["caf\ufffd"]


async def test_the_number_and_the_size_of_entries_are_bounded(make, workspace, refusal):
    for name in ("a", "b", "c" * 200):
        (workspace / name).write_text("")
    error = await refusal(make(limits=ServiceLimits(directory_entries=2)), "fs/read_dir", {"path": str(workspace)})
    assert error.data == {"limit": "directory_entries", "bound": 2}
    error = await refusal(make(limits=ServiceLimits(read_bytes=300)), "fs/read_dir", {"path": str(workspace)})
    assert error.data == {"limit": "read_bytes", "bound": 300}
    listed = await make(limits=ServiceLimits(directory_entries=3)).handle("fs/read_dir", {"path": str(workspace)})
    assert len(listed["entries"]) == 3
