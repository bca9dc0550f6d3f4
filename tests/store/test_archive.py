"""Export and import: one session, one file, the same session again, and nothing of a file that is not right."""

# small files, and nobody else waits for this loop

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.errors import LimitError, RoostError, StoreError
from roost.sidecar.journal import AdoptSession, ChangeSession, Entry, Kind, OpenSession
from roost.store import archive
from roost.store.archive import export_lines, export_session, import_session, read_header
from roost.store.archive_format import ArchiveReader, ArchiveWriter
from roost.store.base import IMPORTING, Store
from roost.store.memory import MemoryStore
from roost.store.sqlite import SqliteStore
from tests.store.values import Clock, chunk, durable, entry, history, opened, prompt, session, turn, update


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "session.jsonl"


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    store: Store = MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "journal.db")
    await store.open()
    yield store
    await store.close()


async def fill(store: Store) -> None:
    pieces = [chunk(number, f"{number} é\n") for number in range(2, 700)]
    await durable(store, opened(title="t", config_options=("{}",)), prompt(1, "x" * 100_000, key="k"), *pieces)
    await durable(store, entry(700, body=b"\xff no json"), entry(701, body=b'{\n"a": 1}'), entry(702, body=b"[1]"))
    await durable(store, turn(703))
    await store.tidy()
    await durable(store, entry(704), ChangeSession("s", {"turn_open": True}))


def plain(entries: list[Entry]) -> list[Any]:
    return [(one.number, one.kind, one.body, one.at, one.first) for one in entries]


async def test_an_exported_session_imports_as_it_was(store: Store, file: Path) -> None:
    await fill(store)
    await export_session(store, "s", file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    other = MemoryStore(clock=Clock(1.0))
    await other.open()
    made = await import_session(other, file, "you")
    was = await store.session("s")
    assert was is not None
    assert made == msgspec.structs.replace(was, session_id="you/s", owner="you", turn_open=False, interrupted=True)
    assert plain(await history(other, "you/s")) == plain(await history(store))
    assert await other.prompt_by_key("you/s", "k") == await store.prompt_by_key("s", "k")
    await durable(other, entry(705, session_id="you/s"))


async def test_what_is_exported_has_the_id_its_owner_knows(store: Store, file: Path) -> None:
    await durable(store, opened("me/a/b"))
    await export_session(store, "me/a/b", file)
    assert (await read_header(file)).session_id == "a/b"
    assert (await import_session(store, file, "you")).session_id == "you/a/b"


async def test_a_taken_id_becomes_another(store: Store, file: Path) -> None:
    await fill(store)
    await export_session(store, "s", file)
    names = [(await import_session(store, file, "me")).session_id for _ in range(2)]
    assert names == ["me/s", "me/s-2"]
    assert plain(await history(store, "me/s-2")) == plain(await history(store, "s"))
    assert (await history(store, "me/s-2"))[0].session_id == "me/s-2"


async def test_an_imported_session_goes_on_and_is_compacted_rightly(store: Store, file: Path) -> None:
    output = [
        update(number, sessionUpdate="terminal_output_chunk", terminalId="t", data="eHk=") for number in range(1, 5)
    ]
    await durable(store, opened(), *output, turn(5))
    await store.tidy()
    await export_session(store, "s", file)
    made = await import_session(store, file, "me")
    await store.tidy()
    more = [
        update(number, made.session_id, sessionUpdate="terminal_output_chunk", terminalId="t", data="eHk=")
        for number in range(6, 9)
    ]
    await durable(store, *more, turn(9, made.session_id))
    await store.tidy()
    snapshot, _, joined, _ = await history(store, made.session_id)
    assert json.loads(snapshot.body)["params"]["update"]["output"]["data"] == "eHl4eXh5eHk="
    assert (joined.number, joined.first) == (8, 6)


async def test_the_owner_is_not_in_the_file(store: Store, file: Path) -> None:
    await durable(store, opened(owner="somebody-private"), entry(1))
    await export_session(store, "s", file)
    assert b"somebody-private" not in file.read_bytes()


async def test_a_session_that_is_not_there_is_not_exported(store: Store, file: Path) -> None:
    with pytest.raises(StoreError) as caught:
        await export_session(store, "nobody", file)
    assert caught.value.code == "missing"
    assert not file.exists()
    assert not Path(f"{file}.part").exists()


async def test_a_file_that_is_there_is_not_overwritten_unless_told(store: Store, file: Path) -> None:
    await durable(store, opened())
    file.write_text("mine")
    with pytest.raises(StoreError) as caught:
        await export_session(store, "s", file)
    assert caught.value.code == "refused"
    assert file.read_text() == "mine"
    await export_session(store, "s", file, overwrite=True)
    assert file.read_bytes().startswith(b'{"roost":"session","version":1,')


async def test_a_place_that_cannot_be_written_is_told(store: Store, tmp_path: Path) -> None:
    await durable(store, opened())
    with pytest.raises(StoreError, match="No such file"):
        await export_session(store, "s", tmp_path / "no" / "file")
    with pytest.raises(StoreError, match="No such file"):
        await import_session(store, tmp_path / "no" / "file", "me")


# --- files that are not right ---


def lines() -> list[bytes]:
    writer = ArchiveWriter()
    kept = [writer.header(session(created_at=5.0, updated_at=6.0))]
    kept += [writer.entry(Entry("s", number, Kind.UPDATE, b'{"n":1}', 7.0)) for number in (1, 2, 5)]
    return [*kept, writer.end()]


def resealed(changed: list[bytes]) -> bytes:
    """With an end that fits, as somebody would make it who means harm."""
    body = b"".join(changed)
    return body + json.dumps({"entries": len(changed) - 1, "sha256": hashlib.sha256(body).hexdigest()}).encode() + b"\n"


def header(**changes: Any) -> bytes:
    value = json.loads(lines()[0])
    value["session"].update(changes.pop("session", {}))
    return json.dumps({**value, **changes}).encode() + b"\n"


def line(**changes: Any) -> bytes:
    return json.dumps({"number": 1, "kind": "update", "at": 1.0, "body": {}, **changes}).encode() + b"\n"


BROKEN: dict[str, Callable[[], bytes]] = {
    "nothing": lambda: b"",
    "noise": lambda: os.urandom(1_000),
    "another format": lambda: b'{"hello":1}\n',
    "no object": lambda: b"[]\n",
    "a newer version": lambda: resealed([header(version=2)]),
    "no end": lambda: b"".join(lines()[:-1]),
    "half a line": lambda: b"".join(lines())[:-20],
    "no newline at the end": lambda: b"".join(lines())[:-1],
    "something after the end": lambda: b"".join(lines()) + b"{}\n",
    "a line left out": lambda: b"".join([lines()[0], *lines()[2:]]),
    "a line changed": lambda: b"".join(lines()).replace(b'"n":1', b'"n":2', 1),
    "a wrong count": lambda: b"".join(lines()[:-1]) + b'{"entries":2,"sha256":""}\n',
    "an end of its own making": lambda: b"".join(lines()[:-1]) + b'{"entries":[]}\n',
    "not UTF-8": lambda: resealed([header(), b'{"number":1,"kind":"update","at":1.0,"body":{"\xff":1}}\n']),
    "deep nesting": lambda: resealed(
        [header(), b'{"number":1,"kind":"update","at":1.0,"body":' + b"[" * 9_999 + b"\n"]
    ),
    "no body": lambda: resealed([header(), b'{"number":1,"kind":"update","at":1.0}\n']),
    "a body that is a list": lambda: resealed([header(), line(body=[])]),
    "no base64": lambda: resealed([header(), line(base64="!")]),
    "an unknown kind": lambda: resealed([header(), line(kind="magic")]),
    "number zero": lambda: resealed([header(), line(number=0)]),
    "a number twice": lambda: resealed([header(), line(), line()]),
    "a number that is too large": lambda: resealed([header(), line(number=2**40)]),
    "a number that is enormous": lambda: resealed([header(), line(number=2**80)]),
    "a first after the last": lambda: resealed([header(), line(first=2)]),
    "a negative first": lambda: resealed([header(), line(first=-1)]),
    "a negative time": lambda: resealed([header(), line(at=-1.0)]),
    "an endless time": lambda: resealed([header(), line(at=1e300)]),
    "no session": lambda: resealed([b'{"roost":"session","version":1}\n']),
    "a session without a launch": lambda: resealed([header(session={"launch": None})]),
    "an empty id": lambda: resealed([header(session={"session_id": ""})]),
    "a huge id": lambda: resealed([header(session={"session_id": "x" * 2_000})]),
    "a session from no time": lambda: resealed([header(session={"created_at": 1e300})]),
}


@pytest.mark.parametrize("what", BROKEN)
async def test_a_file_that_is_not_right_is_a_clear_error_and_leaves_nothing(
    store: Store, file: Path, what: str
) -> None:
    file.write_bytes(BROKEN[what]())
    with pytest.raises(StoreError) as caught:
        await import_session(store, file, "me")
    assert caught.value.code in ("damaged", "foreign", "newer")
    assert str(file) in str(caught.value)
    assert await store.sessions(None) == []


async def test_a_right_file_is_right(store: Store, file: Path) -> None:
    file.write_bytes(b"".join(lines()))
    await import_session(store, file, "me")
    file.write_bytes(resealed(lines()[:-1]))
    await import_session(store, file, "me")


async def test_bounds_of_a_file_have_names(store: Store, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("roost.store.archive_format.MAX_LINE_BYTES", 100)
    file.write_bytes(b"".join(lines()))
    with pytest.raises(LimitError) as caught:
        await import_session(store, file, "me")
    assert caught.value.limit == "MAX_LINE_BYTES"
    monkeypatch.setattr(archive, "MAX_FILE_BYTES", 100)
    with pytest.raises(LimitError) as caught:
        await import_session(store, file, "me")
    assert caught.value.limit == "MAX_FILE_BYTES"


@pytest.mark.parametrize("kind", ["folder", "pipe"])
async def test_what_is_no_file_is_not_read(store: Store, file: Path, kind: str) -> None:
    if kind == "folder":
        file.mkdir()
    else:
        os.mkfifo(file)
    with pytest.raises(StoreError) as caught:
        await import_session(store, file, "me")
    assert caught.value.code == "foreign"


async def test_a_file_that_changes_while_it_is_imported_leaves_nothing(
    store: Store, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_bytes(b"".join(lines()))
    check = archive._check

    def check_and_change(path: Path) -> Any:
        found = check(path)
        path.write_bytes(b"".join(lines()[:-1]))
        return found

    monkeypatch.setattr(archive, "_check", check_and_change)
    with pytest.raises(StoreError, match="cut off"):
        await import_session(store, file, "me")
    assert await store.sessions(None) == []


async def test_an_import_that_did_not_end_is_dropped_at_the_next_start(store: Store) -> None:
    half = msgspec.structs.replace(session("half"), owner=IMPORTING)
    await durable(store, OpenSession(half), entry(1, session_id="half"), opened("whole"))
    await durable(store, AdoptSession("whole", "me"))
    assert [one.session_id for one in await store.sessions(None)] == ["whole"]
    assert await store.session("half") is not None
    assert await store.recover() == []
    assert await store.session("half") is None


async def test_pieces_are_bounded_whatever_a_session_holds(store: Store) -> None:
    await durable(store, opened(), *(entry(number, body={"x": "y" * 50_000}) for number in range(1, 101)))
    sizes = [len(piece) async for piece in export_lines(store, "s")]
    assert sum(sizes) > 5_000_000
    assert max(sizes) < 1_200_000


@given(st.binary(max_size=200), st.integers(0, 4), st.integers(0, 300), st.integers(0, 20))
def test_no_change_of_a_file_goes_unseen(noise: bytes, which: int, start: int, length: int) -> None:
    good = lines()
    target = good[which]
    start = min(start, len(target))
    changed = [*good[:which], target[:start] + noise + target[start + length :], *good[which + 1 :]]
    data = b"".join(changed)
    reader = ArchiveReader("f")
    try:
        for each in data.splitlines(keepends=True):
            reader.feed(each)
        reader.finish()
    except RoostError:
        return
    assert [json.loads(each) for each in data.splitlines()] == [json.loads(each) for each in good]
