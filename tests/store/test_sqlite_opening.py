"""Opening: whatever lies at the path is used, or left exactly as it was with an error that names the way out."""

# ruff: noqa: ASYNC221  # small files, and nobody else waits for this loop

from __future__ import annotations

import contextlib
import errno
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from roost.errors import StoreError
from roost.sidecar.journal import LearnVersion
from roost.store import sqlite_schema
from roost.store.location import default_path
from roost.store.sqlite import SqliteStore
from roost.store.sqlite_errors import explain
from tests.store.values import PATIENCE, durable, entry, numbers, opened


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.db"


async def filled(path: Path, count: int = 200) -> None:
    store = SqliteStore(path)
    await store.open()
    await durable(store, opened(), *(entry(number, body={"x": "y" * 500}) for number in range(1, count + 1)))
    await store.close()


async def fault(path: Path, *, check: bool = False) -> StoreError:
    """The error of opening; afterwards every file is what it was."""
    before = {file.name: file.read_bytes() for file in path.parent.iterdir() if file.is_file()}
    store = SqliteStore(path, check=check)
    with pytest.raises(StoreError) as caught:
        await store.open()
    after = {file.name: file.read_bytes() for file in path.parent.iterdir() if file.is_file()}
    for name in ("journal.db.lock", "journal.db-shm"):
        before.pop(name, None)
        after.pop(name, None)
    assert {name: data for name, data in after.items() if data} == {name: data for name, data in before.items() if data}
    assert str(path) in str(caught.value)
    await store.close()
    return caught.value


async def test_a_journal_opens_again_with_everything_in_it(path: Path) -> None:
    await filled(path)
    store = SqliteStore(path, check=True)
    await store.open()
    assert await numbers(store) == list(range(1, 201))
    await durable(store, entry(201))
    await store.close()


async def test_folders_are_made_as_needed(tmp_path: Path) -> None:
    await filled(tmp_path / "a" / "b" / "journal.db", 1)


async def test_a_path_with_odd_characters_is_a_path(tmp_path: Path) -> None:
    await filled(tmp_path / "a?b#c %41 é.db", 1)
    assert (tmp_path / "a?b#c %41 é.db").exists()


@pytest.mark.parametrize("data", [b"x", b"garbage" * 1000, b"SQLite format 3\0", b"SQLite format 3\0" + b"\xff" * 5000])
async def test_garbage_is_damage(path: Path, data: bytes) -> None:
    path.write_bytes(data)
    assert (await fault(path)).code in ("damaged", "foreign")


async def test_a_file_cut_off_is_damaged(path: Path) -> None:
    await filled(path)
    path.write_bytes(path.read_bytes()[:-10_000])
    error = await fault(path)
    assert error.code == "damaged"
    assert "move it away" in str(error)


@pytest.mark.parametrize("start", [100, 4096, 8192])
async def test_a_page_of_noise_is_found_at_once_or_when_it_is_looked_for(path: Path, start: int) -> None:
    await filled(path)
    data = bytearray(path.read_bytes())
    data[start : start + 2000] = os.urandom(2000)
    path.write_bytes(data)
    assert (await fault(path, check=True)).code == "damaged"


async def test_damage_found_later_fails_the_question_and_nothing_else(path: Path) -> None:
    await filled(path, 2_000)
    data = bytearray(path.read_bytes())
    middle = len(data) // 2 // 4096 * 4096
    data[middle : middle + 4096] = b"\xff" * 4096
    path.write_bytes(data)
    store = SqliteStore(path)
    await store.open()
    with pytest.raises(StoreError) as caught:
        await numbers(store)
    assert caught.value.code == "damaged"
    assert str(path) in str(caught.value)
    assert await store.session("s") is not None
    await store.close()


async def test_an_empty_file_is_a_new_journal(path: Path) -> None:
    path.touch()
    await filled(path, 1)


async def test_another_programs_database_is_left_alone(path: Path) -> None:
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA application_id = 7")
        db.execute("CREATE TABLE theirs (x)")
    assert (await fault(path)).code == "foreign"


async def test_a_newer_journal_is_left_alone(path: Path) -> None:
    await filled(path, 1)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA user_version = 99")
    error = await fault(path)
    assert error.code == "newer"
    assert "99" in str(error)


async def test_a_newer_journal_is_known_by_its_log_too(path: Path) -> None:
    await filled(path, 1)
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA wal_autocheckpoint = 0")
    db.execute("PRAGMA user_version = 99")
    old = path.read_bytes()
    log = Path(f"{path}-wal").read_bytes()
    db.close()
    path.write_bytes(old)
    Path(f"{path}-wal").write_bytes(log)
    assert old[60:64] != (99).to_bytes(4, "big")
    assert (await fault(path)).code == "newer"


async def test_a_log_without_its_file_is_not_worked_into_a_new_one(path: Path) -> None:
    Path(f"{path}-wal").write_bytes(b"frames")
    error = await fault(path)
    assert error.code == "damaged"
    assert "-wal" in str(error)
    assert not path.exists()


@pytest.mark.parametrize("kind", ["folder", "pipe"])
async def test_what_is_no_file_is_refused_without_waiting_for_it(path: Path, kind: str) -> None:
    if kind == "folder":
        path.mkdir()
    else:
        os.mkfifo(path)
    assert (await fault(path)).code == "foreign"


async def test_half_a_new_file_is_made_anew(path: Path) -> None:
    Path(f"{path}.new").write_bytes(b"half")
    Path(f"{path}.new-wal").write_bytes(b"half")
    await filled(path, 1)
    assert sorted(os.listdir(path.parent)) == ["journal.db", "journal.db.lock"]


async def test_an_older_journal_is_brought_up_to_date(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await filled(path, 3)
    later = (*sqlite_schema.MIGRATIONS, ("CREATE TABLE later (x INTEGER)", "INSERT INTO later VALUES (1)"))
    monkeypatch.setattr(sqlite_schema, "MIGRATIONS", later)
    await filled_again(path, 4)
    with contextlib.closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (len(later),)
        assert db.execute("SELECT count(*) FROM later").fetchone() == (1,)


async def test_a_journal_without_versions_of_agents_learns_them(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    latest = sqlite_schema.MIGRATIONS
    monkeypatch.setattr(sqlite_schema, "MIGRATIONS", latest[:1])
    await filled(path, 3)
    monkeypatch.setattr(sqlite_schema, "MIGRATIONS", latest)
    store = SqliteStore(path)
    await store.open()
    assert await store.versions() == {}
    await durable(store, LearnVersion("abc", 1, 10))
    assert await numbers(store, "me/s") == [1, 2, 3]
    await store.close()
    again = SqliteStore(path)
    await again.open()
    assert await again.versions() == {"abc": 1}
    await again.close()


async def test_sessions_of_an_older_journal_belong_to_their_callers(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    latest = sqlite_schema.MIGRATIONS
    monkeypatch.setattr(sqlite_schema, "MIGRATIONS", latest[:2])
    store = SqliteStore(path)
    await store.open()
    await durable(store, opened("a", "me"), opened("b/c", "you"))
    await store.close()
    monkeypatch.setattr(sqlite_schema, "MIGRATIONS", latest)
    again = SqliteStore(path)
    await again.open()
    assert [(found.session_id, found.name) for found in await again.sessions("you")] == [("you/b/c", "b/c")]
    assert await again.session("me/a") is not None
    assert await again.session("a") is None
    await again.close()


async def filled_again(path: Path, number: int) -> None:
    store = SqliteStore(path)
    await store.open()
    await durable(store, entry(number))
    assert await numbers(store) == list(range(1, number + 1))
    await store.close()


async def test_a_step_that_fails_leaves_the_version_before_it(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    await filled(path, 3)
    good = sqlite_schema.MIGRATIONS
    monkeypatch.setattr(sqlite_schema, "MIGRATIONS", (*good, ("CREATE TABLE later (x)", "nonsense")))
    store = SqliteStore(path)
    with pytest.raises(StoreError):
        await store.open()
    monkeypatch.setattr(sqlite_schema, "MIGRATIONS", good)
    await filled_again(path, 4)
    with contextlib.closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'later'").fetchone() == (0,)


async def test_the_second_one_is_told_who_has_it(path: Path) -> None:
    store = SqliteStore(path)
    await store.open()
    error = await fault(path)
    assert error.code == "locked"
    assert f"process {os.getpid()}" in str(error)
    await durable(store, opened())
    await store.close()
    await filled_again_from(path)


async def filled_again_from(path: Path) -> None:
    store = SqliteStore(path)
    await store.open()
    assert await store.session("s") is not None
    await store.close()


async def test_a_lock_does_not_outlive_its_process(path: Path) -> None:
    code = """
        import asyncio, os, signal, sys
        from pathlib import Path
        from roost.store.sqlite import SqliteStore

        async def main():
            await SqliteStore(Path(sys.argv[1])).open()
            os.kill(os.getpid(), signal.SIGKILL)

        asyncio.run(main())
    """
    process = subprocess.run([sys.executable, "-c", textwrap.dedent(code), str(path)], timeout=PATIENCE, check=False)
    assert process.returncode == -signal.SIGKILL
    await filled(path, 1)


async def test_a_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    await filled(path, 3)
    code = """
        import asyncio, os, sys
        from pathlib import Path
        from roost.errors import StoreError
        from roost.store.sqlite import SqliteStore

        if os.getuid() == 0:  # root may write everything
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)

        async def main():
            try:
                await SqliteStore(Path(sys.argv[1])).open()
            except StoreError as error:
                print(error.code, error)

        asyncio.run(main())
    """
    if os.getuid() == 0:  # the folders of the test run are root's own
        for place in (tmp_path.parent, tmp_path.parent.parent):
            place.chmod(place.stat().st_mode | 0o011)
    folder_mode, file_mode = tmp_path.stat().st_mode, path.stat().st_mode
    tmp_path.chmod(0o555)
    path.chmod(0o444)
    try:
        process = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code), str(path)],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    finally:
        tmp_path.chmod(folder_mode)
        path.chmod(file_mode)
    assert process.stdout.startswith("read_only "), process
    assert str(path) in process.stdout
    await filled_again(path, 4)


async def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    path = tmp_path / "file" / "journal.db"
    with pytest.raises(StoreError, match="choose another") as caught:
        await SqliteStore(path).open()
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (OSError(errno.ENOSPC, "full"), "full"),
        (OSError(errno.EROFS, "read-only"), "read_only"),
        (OSError(errno.EIO, "broken"), "failed"),
        (sqlite3.OperationalError("odd"), "failed"),
    ],
)
def test_every_error_names_the_file_and_has_a_code(error: Exception, code: str) -> None:
    explained = explain("/data/journal.db", error)
    assert explained.code == code
    assert "/data/journal.db" in str(explained)


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"XDG_DATA_HOME": "/data", "HOME": "/h/me"}, "/data/roost/journal.db"),
        ({"XDG_DATA_HOME": "data", "HOME": "/h/me"}, "/h/me/.local/share/roost/journal.db"),
        ({"HOME": "/h/me"}, "/h/me/.local/share/roost/journal.db"),
    ],
)
def test_the_journal_lies_in_the_users_data_directory(environment: dict[str, str], expected: str) -> None:
    assert default_path(environment) == Path(expected)


@pytest.mark.parametrize("environment", [{}, {"HOME": "here"}])
def test_without_such_a_directory_there_is_no_default(environment: dict[str, str]) -> None:
    with pytest.raises(StoreError, match="HOME"):
        default_path(environment)
