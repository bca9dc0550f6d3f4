"""A journal that cannot be used, or not any more: the daemon says so, and makes nothing worse."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import pytest

from roost.errors import SidecarError, StoreError
from roost.host import PermissionRequest, embedded
from roost.sidecar.journal import Kind
from tests.durability.house import House, ask, kinds, listed, prompt, said, send, updates


@pytest.fixture
async def house(tmp_path: Path) -> House:
    """With a journal that has one session in it, and nobody who uses it."""
    house = House(tmp_path)
    async with house.daemon() as daemon:
        async with daemon.host() as host:
            session = await host.create_session(house.agent, cwd=str(house.work))
            assert await session.prompt("say 200") is not None
        await daemon.stop()
    return house


def files(house: House) -> dict[str, bytes]:
    """All there is of the journal; what SQLite leaves beside it while somebody looks has nothing in it."""
    found = [file for file in house.folder.glob("journal.db*") if not file.name.endswith((".lock", "-shm"))]
    return {file.name: file.read_bytes() for file in found if file.stat().st_size}


async def test_a_journal_in_use_is_left_to_who_has_it(house: House) -> None:
    async with house.daemon() as first, first.host() as host:
        [session_id] = await listed(host)
        fault = await house.refused()
        assert fault["code"] == "locked"
        assert str(house.journal) in fault["text"]
        assert f"process {first.process.pid}" in fault["text"]
        assert (await ask(host, session_id, "session/prompt", **prompt("say 1"))) is not None
        await first.stop()


@pytest.mark.parametrize(
    ("kind", "code"), [("newer", "newer"), ("cut", "damaged"), ("text", "damaged"), ("foreign", "foreign")]
)
async def test_a_journal_that_cannot_be_used_is_left_as_it_is(house: House, kind: str, code: str) -> None:
    if kind == "newer":
        with contextlib.closing(sqlite3.connect(house.journal, isolation_level=None)) as db:
            db.execute("PRAGMA user_version = 99")
    elif kind == "cut":
        house.journal.write_bytes(house.journal.read_bytes()[:-6000])
    elif kind == "text":
        house.journal.write_bytes(b"Dear diary, " * 400)
    else:
        house.journal.unlink()
        with contextlib.closing(sqlite3.connect(house.journal)) as db:
            db.execute("CREATE TABLE nests (tree TEXT)")
    before = files(house)
    for _ in range(2):
        fault = await house.refused()
        assert fault["code"] == code
        assert str(house.journal) in fault["text"]
        assert files(house) == before


async def test_a_journal_that_cannot_be_locked_is_read_only(house: House) -> None:
    lock = Path(f"{house.journal}.lock")
    lock.unlink()
    lock.mkdir()
    before = files(house)
    fault = await house.refused()
    assert fault["code"] == "read_only"
    assert str(house.journal) in fault["text"]
    assert files(house) == before


async def test_with_a_full_disk_nothing_is_accepted_that_could_not_be_kept(house: House) -> None:
    size = house.journal.stat().st_size
    async with house.daemon(store={"file_bytes": size + 50_000, "retry_grace": 0.05}) as daemon, daemon.host() as host:
        [session_id] = await listed(host)
        session = await host.create_session(house.agent, cwd=str(house.work))
        # A turn that does not fit is told to its end all the same: the agent's work is not thrown away.
        assert await session.prompt("say 3000") is not None
        before = len(house.prompts())
        for _ in range(2):
            with pytest.raises(SidecarError) as caught:
                await send(session, "say 1")
            assert caught.value.code == "io"
            assert str(house.journal) in caught.value.message
            assert "free some" in caught.value.message
        with pytest.raises(SidecarError) as caught:
            await host.create_session(house.agent, cwd=str(house.work))
        assert caught.value.code == "io"
        assert len(house.prompts()) == before
        await daemon.kill()

    # With room again everything that was there before is there, and what is there of the rest is in order.
    async with house.daemon() as daemon, daemon.host() as host:
        states = await listed(host)
        assert states == {session_id: "asleep", session.id: "interrupted"}
        assert (await ask(host, session.id, "session/prompt", **prompt("say 2"))) is not None
        await ask(host, session.id, "session/list")
        await daemon.stop()
    _, old = await house.stored(session_id)
    assert said(updates(old)) == "".join(f"{number} " for number in range(200))
    _, entries = await house.stored(session.id)
    assert kinds(entries)[:2] == [Kind.PROMPT, Kind.INTERRUPTED]
    assert kinds(entries)[2:4] == [Kind.RESUMED, Kind.PROMPT]


async def test_with_a_full_disk_a_consent_is_a_refusal(house: House) -> None:
    size = house.journal.stat().st_size
    room = {"file_bytes": size + 50_000, "retry_grace": 0.05}
    filled: list[str] = []

    async def allow(request: PermissionRequest) -> str:
        # Meanwhile the other session fills what room there is.
        filled.append(str((await other.prompt("say 3000")).stop_reason))
        return "once"

    async with house.daemon(store=room) as daemon, daemon.host() as host:
        other = await host.create_session(house.agent, cwd=str(house.work))
        session = await host.create_session(house.agent, cwd=str(house.work), on_permission=allow)
        assert (await session.prompt("ask")).stop_reason == "end_turn"
        await daemon.kill()
    assert filled == ["end_turn"]
    [answer] = house.heard(None)
    assert answer["result"] == {"outcome": {"outcome": "selected", "optionId": "n"}}


async def test_a_program_with_a_sidecar_of_its_own_hears_of_it_as_well(house: House) -> None:
    house.journal.write_bytes(b"Dear diary, " * 400)
    before = files(house)
    with pytest.raises(StoreError) as caught:
        async with embedded(caller="me", journal=house.journal):
            pytest.fail("it began without its journal")
    assert caught.value.code == "damaged"
    assert files(house) == before
