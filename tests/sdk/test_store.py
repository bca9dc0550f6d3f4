"""Both session stores by one contract, and what is particular to files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from roost.errors import StoreError
from roost.sdk.store import MemorySessionStore, SessionRecord, SessionStore, StoredSession
from roost.sdk.store_directory import DirectorySessionStore

HISTORY = [b'{"sessionUpdate":"agent_message","messageId":"m","content":[]}', b'{"sessionUpdate":"_x","n":1}']


@pytest.fixture(params=["memory", "directory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> SessionStore:
    return MemorySessionStore() if request.param == "memory" else DirectorySessionStore(tmp_path / "a" / "b")


def session(id: str = "s", **more: object) -> StoredSession:
    record = SessionRecord(session_id=id, cwd="/w", **more)  # type: ignore[arg-type]
    return StoredSession(record=record, history=list(HISTORY))


def files_below(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


async def test_what_was_saved_comes_back_whole(store: SessionStore) -> None:
    saved = session(
        owner="me",
        title="T\n\u00e9",
        epoch=3,
        config={"a": True, "b": "x"},
        data={"deep": [None, 1.5]},
        updated_at="now",
    )
    await store.save(saved)
    assert await store.load("s") == saved
    assert await store.records() == [saved.record]
    await store.save(session(title="other"))
    again = await store.load("s")
    assert again is not None
    assert again.record.title == "other"
    assert len(await store.records()) == 1


async def test_what_is_not_there_is_none_and_deleting_it_is_fine(store: SessionStore) -> None:
    assert await store.load("s") is None
    assert await store.records() == []
    await store.delete("s")
    await store.save(session())
    await store.delete("s")
    await store.delete("s")
    assert await store.load("s") is None


@pytest.mark.parametrize("id", ["A", "../../x", "a/b", "", ".", "\u0000", "x" * 500, "\u00e9", "+", "a.session"])
async def test_any_text_is_an_id_and_none_is_a_path(store: SessionStore, id: str, tmp_path: Path) -> None:
    await store.save(session(id))
    found = await store.load(id)
    assert found is not None
    assert found.record.session_id == id
    assert {record.session_id for record in await store.records()} == {id}
    assert all(path.parent == tmp_path / "a" / "b" for path in files_below(tmp_path))
    await store.delete(id)
    assert await store.records() == []


async def test_ids_that_differ_only_in_case_are_two_sessions(store: SessionStore) -> None:
    await store.save(session("a"))
    await store.save(session("A", title="big"))
    one, two = await store.load("a"), await store.load("A")
    assert one is not None
    assert two is not None
    assert (one.record.title, two.record.title) == (None, "big")


async def test_memory_is_bounded_and_forgets_what_was_not_saved_for_longest(caplog: pytest.LogCaptureFixture) -> None:
    few = MemorySessionStore(max_sessions=2)
    for id in ("a", "b", "a", "c"):
        await few.save(session(id))
    assert {record.session_id for record in await few.records()} == {"a", "c"}
    small = MemorySessionStore(max_bytes=3 * sum(map(len, HISTORY)))
    for id in ("a", "b", "c", "d"):
        await small.save(session(id))
    assert {record.session_id for record in await small.records()} == {"b", "c", "d"}
    await small.save(StoredSession(record=SessionRecord(session_id="big", cwd="/"), history=[b"x" * 10_000]))
    assert [record.session_id for record in await small.records()] == ["big"]
    assert "session b is forgotten" in caplog.text


async def test_files_are_private(tmp_path: Path) -> None:
    await DirectorySessionStore(tmp_path / "d").save(session())
    assert (tmp_path / "d").stat().st_mode & 0o777 == 0o700
    assert [path.stat().st_mode & 0o777 for path in (tmp_path / "d").iterdir()] == [0o600]


async def test_a_save_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = DirectorySessionStore(tmp_path)
    await store.save(session(title="old"))

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(StoreError, match="No space left"):
        await store.save(session(title="new"))
    monkeypatch.undo()
    found = await store.load("s")
    assert found is not None
    assert found.record.title == "old"
    assert len(files_below(tmp_path)) == 1


@pytest.mark.parametrize(
    "content", [b"", b"{", b"\xff\xfe\n", b'{"format":99,"record":{"session_id":"s","cwd":"/"}}\n', b"[" * 10000]
)
async def test_a_file_that_is_none_of_ours_is_no_session_and_is_left_alone(
    tmp_path: Path, content: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    store = DirectorySessionStore(tmp_path)
    await store.save(session("good"))
    (tmp_path / "bad.session").write_bytes(content)
    (tmp_path / "notes.txt").write_text("mine")
    assert [record.session_id for record in await store.records()] == ["good"]
    assert "bad.session" in caplog.text
    with pytest.raises(StoreError, match="bad"):
        await store.load("bad")
    assert (tmp_path / "bad.session").read_bytes() == content


async def test_a_file_under_another_sessions_name_is_not_that_session(tmp_path: Path) -> None:
    store = DirectorySessionStore(tmp_path)
    await store.save(session("one"))
    (tmp_path / "one.session").rename(tmp_path / "two.session")
    assert await store.load("two") is None


async def test_a_list_reads_only_what_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = DirectorySessionStore(tmp_path)
    for n in range(5):
        await store.save(session(f"s{n}"))
    assert len(await store.records()) == 5
    reads: list[str] = []
    import roost.sdk.store_directory as module

    real = module._record
    monkeypatch.setattr(module, "_record", lambda line: reads.append("x") or real(line))  # type: ignore[func-returns-value]
    await store.save(session("s3", title="changed"))
    titles = {record.session_id: record.title for record in await store.records()}
    assert titles["s3"] == "changed"
    assert len(reads) == 1
    await store.delete("s3")
    assert len(await store.records()) == 4
