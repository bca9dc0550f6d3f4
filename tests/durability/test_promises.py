"""SIGKILL at the moment something is told, or just has been: it is in the journal."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from pathlib import Path
from typing import Any

import pytest

from roost.errors import RoostError
from roost.host import Host, Notification, PermissionRequest
from roost.host.session import PermissionHandler
from roost.sidecar.journal import Kind
from tests.durability.house import House, body, history, kinds, listed, said, send, shown, updates

BEHIND = 0.05  # seconds from an update's being told to its being durable, on top of what the disk takes
LONG = 3_000  # pieces of one message; more than a group, a page, and what is committed at once together


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


async def allow(request: PermissionRequest) -> str:
    return "once"


async def until_killed(
    host: Host, agent: str, work: Path, text: str, version: int = 2, on_permission: PermissionHandler = allow
) -> None:
    """One session with one prompt; the daemon dies of it."""
    with contextlib.suppress(RoostError):
        session = await host.create_session(agent, cwd=str(work), protocol_version=version, on_permission=on_permission)
        await session.prompt(text)
        pytest.fail("the daemon lives")


async def only_session(house: House) -> str:
    """The one session that is in the journal, as its owner sees it."""
    async with house.daemon() as daemon, daemon.host() as host:
        [session_id] = await listed(host)
        await daemon.stop()
    return session_id


async def test_a_session_whose_creation_is_about_to_be_told_is_in_the_journal(house: House) -> None:
    async with house.daemon(kill_at="session created") as daemon, daemon.host() as host:
        await until_killed(host, house.agent, house.work, "say 1")
        await daemon.died()
    record, entries = await house.stored(await only_session(house))
    assert record is not None
    assert record.owner == "me"
    assert entries == []
    assert house.prompts() == []


@pytest.mark.parametrize("moment", ["prompt passed on", "prompt accepted"])
async def test_a_prompt_is_in_the_journal_before_its_agent_or_its_caller_hears_of_it(house: House, moment: str) -> None:
    async with house.daemon(kill_at=moment) as daemon, daemon.host() as host:
        await until_killed(host, house.agent, house.work, "hang")
        await daemon.died()
    assert len(house.prompts()) == (0 if moment == "prompt passed on" else 1)
    _, entries = await house.stored(await only_session(house))
    assert kinds(entries) == [Kind.PROMPT, Kind.INTERRUPTED]
    assert body(entries[0])["params"]["prompt"] == [{"type": "text", "text": "hang"}]


async def test_a_prompt_whose_acceptance_was_told_is_in_the_journal(house: House) -> None:
    async with house.daemon() as daemon, daemon.host() as host:
        session = await host.create_session(house.agent, cwd=str(house.work))
        await send(session, "hang", "key-1")
        daemon.strike()
        await daemon.died()
    record, entries = await house.stored(session.id)
    assert record is not None
    assert record.turn_open
    assert kinds(entries) == [Kind.PROMPT]
    assert body(entries[0])["key"] == "key-1"


async def test_a_decision_is_in_the_journal_before_its_agent_hears_of_it(house: House) -> None:
    async with house.daemon(kill_at="decision passed on") as daemon, daemon.host() as host:
        await until_killed(host, house.agent, house.work, "ask")
        await daemon.died()
    assert house.heard(None) == []
    _, entries = await house.stored(await only_session(house))
    assert kinds(entries) == [Kind.PROMPT, Kind.PERMISSION, Kind.DECISION, Kind.INTERRUPTED]


async def test_a_decision_nobody_took_is_in_the_journal_before_its_agent_hears_of_it(house: House) -> None:
    async def hesitate(request: PermissionRequest) -> str:
        await asyncio.Event().wait()
        return "once"

    limits = {"callback_timeout": 0.05}
    async with house.daemon(kill_at="decision passed on", limits=limits) as daemon, daemon.host() as host:
        await until_killed(host, house.agent, house.work, "ask", on_permission=hesitate)
        await daemon.died()
    assert house.heard(None) == []
    _, entries = await house.stored(await only_session(house))
    [decision] = [body(entry) for entry in entries if entry.kind is Kind.DECISION]
    assert decision["by"] == "policy"
    assert "callback_timeout" in decision["refused"]


async def test_a_decision_its_agent_has_written_down_is_in_the_journal(house: House) -> None:
    async with house.daemon() as daemon, daemon.host() as host:
        session = await host.create_session(house.agent, cwd=str(house.work), on_permission=allow)
        turn = session.prompt("ask")
        async for event in turn:
            # The agent says that its turn is over when it has the decision in its notes.
            if isinstance(event, Notification) and event.raw_update.get("state") == "idle":
                daemon.strike()
        await daemon.died()
    outcome = house.heard(None)[0]["result"]
    assert outcome == {"outcome": {"outcome": "selected", "optionId": "y"}}
    _, entries = await house.stored(session.id)
    [question, decision] = [entry for entry in entries if entry.kind in (Kind.PERMISSION, Kind.DECISION)]
    assert body(question)["id"] == body(decision)["id"]
    assert body(decision)["result"] == outcome
    assert body(decision)["by"] == "caller"


@pytest.mark.parametrize("count", [1, LONG])
async def test_a_turn_is_in_the_journal_with_all_its_output_before_its_end_is_told(house: House, count: int) -> None:
    async with house.daemon(kill_at="turn's end told") as daemon, daemon.host() as host:
        await until_killed(host, house.agent, house.work, f"say {count}")
        await daemon.died()
    record, entries = await house.stored(await only_session(house))
    assert record is not None
    assert not record.interrupted
    assert kinds(entries) == [Kind.PROMPT, Kind.TURN]
    assert said(updates(entries)) == "".join(f"{number} " for number in range(count))


async def test_a_version_1_turn_is_in_the_journal_with_all_its_output_before_it_is_answered(house: House) -> None:
    async with house.daemon(kill_at="turn's end answered") as daemon, daemon.host() as host:
        await until_killed(host, house.agent, house.work, f"say {LONG}", version=1)
        await daemon.died()
    _, entries = await house.stored(await only_session(house))
    assert kinds(entries) == [Kind.PROMPT, Kind.TURN]
    assert body(entries[-1])["stopReason"] == "end_turn"
    assert said(updates(entries)) == "".join(f"{number} " for number in range(LONG))


async def test_a_turn_whose_end_was_told_reads_as_its_caller_saw_it(house: House) -> None:
    told: list[dict[str, Any]] = []
    async with house.daemon() as daemon, daemon.host() as host:
        session = await host.create_session(house.agent, cwd=str(house.work))
        async for event in session.prompt(f"say {LONG}"):
            assert isinstance(event, Notification)
            told.append(event.raw_update)
            if told[-1].get("state") == "idle":
                daemon.strike()
        await daemon.died()
    _, entries = await house.stored(session.id)
    assert shown(updates(entries)) == shown(told)

    async with house.daemon() as daemon, daemon.host() as host:
        rows = await history(host, session.id)
        kept = [row["body"]["params"]["update"] for row in rows if row["kind"] == "update"]
    assert shown(kept) == shown(told)


async def test_a_turn_faster_than_the_disk_is_in_the_journal_whole(house: House) -> None:
    small = {"queued_entries": 4_000, "group_grace": 0.05}  # some reads of a pipe fill half of it
    async with house.daemon(store=small, kill_at="turn's end told") as daemon, daemon.host() as host:
        await until_killed(host, house.agent, house.work, "burst 40000")
        await daemon.died()
    _, entries = await house.stored(await only_session(house))
    assert kinds(entries) == [Kind.PROMPT, Kind.TURN]
    assert said(updates(entries)) == "".join(f"{number} " for number in range(40_000))


def disk_seconds(folder: Path) -> float:
    """The slowest of a few writes made durable, as a commit does it."""
    slowest = 0.0
    file = os.open(folder / "sync", os.O_CREAT | os.O_WRONLY)
    try:
        for number in range(20):
            start = time.monotonic()
            os.pwrite(file, b"x" * 8192, number * 8192)
            os.fsync(file)
            slowest = max(slowest, time.monotonic() - start)
    finally:
        os.close(file)
    return slowest


@pytest.mark.parametrize("count", [1, 300])
async def test_what_was_told_a_moment_before_the_kill_is_in_the_journal(house: House, count: int) -> None:
    behind = BEHIND + 2 * disk_seconds(house.folder)
    told: list[float] = []
    async with house.daemon() as daemon, daemon.host() as host:
        session = await host.create_session(house.agent, cwd=str(house.work))
        events = session.events()
        await send(session, "drip 1000000")
        async for event in events:
            assert isinstance(event, Notification)
            if "content" in event.raw_update:
                told.append(time.monotonic())
                if len(told) >= count and told[-1] - told[0] > 1.5 * behind:
                    break
        struck = time.monotonic()
        daemon.strike()
        await daemon.died()
    due = len([at for at in told if at <= struck - behind])
    assert due
    _, entries = await house.stored(session.id)
    text = said(updates(entries)).split()
    assert text == [str(number) for number in range(len(text))]
    assert len(text) >= due
    assert Kind.TURN not in kinds(entries)
