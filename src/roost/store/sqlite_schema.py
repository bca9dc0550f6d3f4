"""The tables of the journal, the numbered steps to them, and how a file is looked at before it is trusted.

sessions    what a session is, by its key (roost.sidecar.naming); changes seldom
progress    what changes with every group, kept apart so that the rest is not written again
entries     by session and number in one key, so that a session lies together and in order
blobs       long payloads by their hash, with the number of entries that have them
prompts     idempotency keys
subjects    which messages, tool calls and terminals were there before; needed by compaction
trash       sessions that are deleted and whose entries are not all cleared away yet
versions    which version of ACP a program was found to speak, by its digest; in the order it was learned
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
from pathlib import Path
from typing import Final
from urllib.parse import quote

from roost.errors import StoreError
from roost.store.sqlite_errors import damaged, explain

APPLICATION_ID: Final = 0x526F6F73  # "Roos", https://www.sqlite.org/fileformat.html#application_id

# An entry's key: the session's in the upper bits, its number in the lower 40.
NUMBER_BITS: Final = 40
MAX_NUMBER: Final = (1 << NUMBER_BITS) - 1

# STRICT came with 3.37; without it the tables are the same, and nobody but us writes them.
_STRICT: Final = " STRICT" if sqlite3.sqlite_version_info >= (3, 37) else ""
_KEYED: Final = f"{_STRICT}{',' if _STRICT else ''} WITHOUT ROWID"

# The id its owner knows a session by, out of its key (roost.sidecar.naming).
NAME: Final = "substr(session_id, instr(session_id, '/') + 1)"

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        f"""CREATE TABLE sessions (
            key INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL UNIQUE, live_id TEXT NOT NULL,
            owner TEXT NOT NULL, launch TEXT NOT NULL, title TEXT, modes TEXT, config_options TEXT NOT NULL,
            capabilities TEXT, info TEXT, usage TEXT, created_at REAL NOT NULL){_STRICT}""",
        "CREATE INDEX sessions_by_owner ON sessions (owner, created_at, session_id)",
        "CREATE INDEX sessions_by_time ON sessions (created_at, session_id)",
        "CREATE INDEX sessions_by_name ON sessions (owner, session_id)",
        f"""CREATE TABLE progress (
            key INTEGER PRIMARY KEY, last_number INTEGER NOT NULL, updated_at REAL NOT NULL,
            turn_open INTEGER NOT NULL, interrupted INTEGER NOT NULL, closed INTEGER NOT NULL,
            settled INTEGER NOT NULL, compacted INTEGER NOT NULL, oldest_at REAL){_STRICT}""",
        "CREATE INDEX progress_open ON progress (key) WHERE turn_open = 1",
        "CREATE INDEX progress_due ON progress (key) WHERE turn_open = 0 AND compacted < settled",
        "CREATE INDEX progress_oldest ON progress (oldest_at) WHERE oldest_at IS NOT NULL",
        f"""CREATE TABLE entries (
            id INTEGER PRIMARY KEY, at REAL NOT NULL, kind INTEGER NOT NULL, first INTEGER NOT NULL,
            body BLOB NOT NULL, parts BLOB){_STRICT}""",
        f"""CREATE TABLE blobs (
            id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, uses INTEGER NOT NULL, data BLOB NOT NULL){_STRICT}""",
        f"""CREATE TABLE prompts (
            session INTEGER NOT NULL, key TEXT NOT NULL, number INTEGER NOT NULL, digest BLOB NOT NULL,
            PRIMARY KEY (session, key)){_KEYED}""",
        f"""CREATE TABLE subjects (
            session INTEGER NOT NULL, subject BLOB NOT NULL,
            PRIMARY KEY (session, subject)){_KEYED}""",
        f"CREATE TABLE trash (session INTEGER PRIMARY KEY){_STRICT}",
    ),
    (
        f"""CREATE TABLE versions (
            place INTEGER PRIMARY KEY AUTOINCREMENT, digest TEXT NOT NULL UNIQUE, version INTEGER NOT NULL){_STRICT}""",
    ),
    (
        "UPDATE sessions SET session_id = owner || '/' || session_id",
        f"CREATE INDEX sessions_by_known_id ON sessions ({NAME})",
        "CREATE INDEX sessions_by_live_id ON sessions (live_id)",
    ),
)
"""Step n makes schema version n+1 out of n. Steps are added, never changed."""


def connect(path: Path, mode: str, busy_timeout: float) -> sqlite3.Connection:
    """A connection that may be used from any one thread at a time, without implicit transactions."""
    return sqlite3.connect(
        f"file:{quote(str(path))}?mode={mode}",
        uri=True,
        timeout=busy_timeout,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=64,
    )


def open_journal(path: Path, busy_timeout: float, *, check: bool = False) -> sqlite3.Connection:
    """A connection for the one writer, to a journal in the latest version; a new one where there was none.

    The caller holds the lock. Nothing is written before all looks right. StoreError names what does not. `check` reads
    the whole file.
    """
    try:
        if not _is_there(path):
            _create(path)
        _inspect(path, busy_timeout, check=check)
        db = connect(path, "rw", busy_timeout)
        try:
            _prepare(db)
            _migrate(db)
        except BaseException:
            db.close()
            raise
        return db
    except (sqlite3.Error, OSError) as error:
        raise explain(path, error) from error


def _prepare(db: sqlite3.Connection) -> None:
    [mode] = db.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        raise sqlite3.OperationalError(f"no write-ahead log on this file system (journal mode {mode})")
    db.execute("PRAGMA synchronous = FULL")
    db.execute("PRAGMA fullfsync = 1")  # macOS: reaches the disk, not only the drive
    db.execute("PRAGMA checkpoint_fullfsync = 1")
    db.execute("PRAGMA wal_autocheckpoint = 0")


def _migrate(db: sqlite3.Connection) -> None:
    [version] = db.execute("PRAGMA user_version").fetchone()
    for number, step in enumerate(MIGRATIONS[version:], version + 1):
        db.execute("BEGIN IMMEDIATE")
        try:
            for statement in step:
                db.execute(statement)
            db.execute(f"PRAGMA user_version = {number}")
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise


def _is_there(path: Path) -> bool:
    """Whether there is a file to be opened. An empty one is as good as none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        found = None
    if found is not None and not stat.S_ISREG(found.st_mode):
        raise StoreError(f"{path} is no file; choose another path for the journal", "foreign")
    if found is not None and found.st_size > 0:
        return True
    if _has_log(path):
        # SQLite would work somebody's log into a file it does not belong to.
        raise StoreError(
            f"{path} is missing, but its log {path.name}-wal is there: put the file back, or move that away too",
            "damaged",
        )
    return False


def _has_log(path: Path) -> bool:
    log = Path(f"{path}-wal")
    return log.exists() and log.stat().st_size > 0


def _create(path: Path) -> None:
    """Makes the file beside its place and moves it there whole, so that no half of one is ever found."""
    fresh = Path(f"{path}.new")
    for leftover in (fresh, Path(f"{fresh}-wal"), Path(f"{fresh}-shm"), Path(f"{fresh}-journal")):
        with contextlib.suppress(FileNotFoundError):
            leftover.unlink()
    os.close(os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    with contextlib.closing(connect(fresh, "rw", 1.0)) as db:
        db.execute("PRAGMA auto_vacuum = INCREMENTAL")
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        _migrate(db)
        db.execute("PRAGMA journal_mode = WAL")
    _sync(fresh)
    os.replace(fresh, path)
    _sync(path.parent)


def _sync(path: Path) -> None:
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def _inspect(path: Path, busy_timeout: float, *, check: bool) -> None:
    """Looks at the file without writing. Raises StoreError for what is not to be used."""
    with path.open("rb") as file:
        head = file.read(100)  # https://www.sqlite.org/fileformat.html#the_database_header
        size = file.seek(0, os.SEEK_END)
    if len(head) < 100 or not head.startswith(b"SQLite format 3\0"):
        raise damaged(path, "it does not begin as a database does")
    _judge(path, int.from_bytes(head[68:72], "big"), int.from_bytes(head[60:64], "big"))
    page_size = int.from_bytes(head[16:18], "big")
    page_size = 65536 if page_size == 1 else page_size
    pages = int.from_bytes(head[28:32], "big")
    if head[24:28] == head[92:96] and size < pages * page_size:
        if not _has_log(path):
            raise damaged(path, f"{size} bytes instead of {pages * page_size}")
        check = True  # a checkpoint writes the head first: one that was cut short left the rest in the log
    with contextlib.closing(connect(path, "ro", busy_timeout)) as db:
        [application] = db.execute("PRAGMA application_id").fetchone()
        [version] = db.execute("PRAGMA user_version").fetchone()
        _judge(path, application, version)  # the log may know better than the file's head
        db.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        if version:
            for table in ("sessions", "progress", "entries"):
                db.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone()  # noqa: S608  # names of ours
        if check:
            [verdict, *_] = db.execute("PRAGMA quick_check(1)").fetchone()
            if verdict != "ok":
                raise damaged(path, verdict)


def _judge(path: Path, application: int, version: int) -> None:
    if application != APPLICATION_ID:
        raise StoreError(f"{path} is another program's database, no journal of Roost; choose another path", "foreign")
    if version > len(MIGRATIONS):
        raise StoreError(
            f"{path} was written by a newer Roost (schema {version}, this one knows {len(MIGRATIONS)});"
            " use that one, or choose another path",
            "newer",
        )
