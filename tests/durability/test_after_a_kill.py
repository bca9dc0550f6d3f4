"""What a daemon finds that starts after a SIGKILL, and what its callers can go on with."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

import pytest

from roost.errors import RoostError
from roost.host import PermissionRequest
from roost.sidecar.journal import Kind
from tests.durability.house import Daemon, House, ask, body, history, kinds, listed, prompt, said, send


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


async def one_turn(daemon: Daemon, house: House, agent: str, text: str = "say 3") -> str:
    """A session with one turn that is over, of the named caller."""
    async with daemon.host() as host:
        session = await host.create_session(agent, cwd=str(house.work), env={"TOKEN": "squirrel-9"})
        assert await session.prompt(text) is not None
        return session.id


async def test_the_sessions_of_a_named_caller_are_listed_and_asleep(house: House) -> None:
    async with house.daemon() as daemon:
        resting = await one_turn(daemon, house, house.agent)
        async with daemon.host() as host, daemon.host(None) as stranger, daemon.host("other") as other:
            untouched = (await host.create_session(house.agent, cwd=str(house.work))).id
            working = await host.create_session(house.agent, cwd=str(house.work))
            await send(working, "hang")
            unnamed = await stranger.create_session(house.agent, cwd=str(house.work))
            theirs = await other.create_session(house.agent, cwd=str(house.work))
            await send(unnamed, "say 1")
            daemon.strike()
            await daemon.died()
    assert house.agents_ended()

    async with house.daemon() as daemon:
        async with daemon.host() as host, daemon.host("other") as other, daemon.host(None) as stranger:
            states = {resting: "asleep", untouched: "asleep", working.id: "interrupted"}
            assert await listed(host) == states
            assert await listed(other) == {theirs.id: "asleep"}
            assert await listed(stranger) == {}
            marks = [row["kind"] for row in await history(host, working.id) if row["kind"] != "update"]
            assert marks == ["prompt", "interrupted"]
            assert "interrupted" not in [row["kind"] for row in await history(host, resting)]
        await daemon.stop()
    # A second restart marks nothing again.
    async with house.daemon() as daemon, daemon.host() as host:
        assert await listed(host) == states
        assert [row["kind"] for row in await history(host, working.id)].count("interrupted") == 1
    assert (await house.stored(unnamed.id))[0] is None


@pytest.mark.parametrize("moment", ["prompt passed on", "prompt accepted", "turn's end told"])
async def test_a_prompt_that_is_tried_again_after_a_kill_reaches_no_agent_twice(house: House, moment: str) -> None:
    async with house.daemon() as daemon:
        session_id = await one_turn(daemon, house, house.agent, "say 1")
        await daemon.stop()
    async with house.daemon(kill_at=moment) as daemon, daemon.host() as host:
        with contextlib.suppress(RoostError):  # what becomes of it is told, or not, as the moment has it
            await ask(host, session_id, "session/prompt", **prompt("say 2", "errand-1"))
        await daemon.died()
    async with house.daemon() as daemon, daemon.host() as host:
        for _ in range(2):
            again = await ask(host, session_id, "session/prompt", **prompt("say 2", "errand-1"))
            assert again["_meta"]["roost/duplicateOf"] > 1
        assert (await ask(host, session_id, "session/prompt", **prompt("say 3", "errand-2"))).get("_meta") is None
    # The journal promises at most once: one that was about to be sent is not sent by a later daemon.
    assert house.prompts() == ["say 1", *([] if moment == "prompt passed on" else ["say 2"]), "say 3"]


async def test_a_restart_sends_no_prompt_by_itself(house: House) -> None:
    async with house.daemon() as daemon, daemon.host() as host:
        session = await host.create_session(house.agent, cwd=str(house.work))
        await send(session, "hang")
        daemon.strike()
        await daemon.died()
    async with house.daemon() as daemon:
        async with daemon.host() as host:
            assert await listed(host) == {session.id: "interrupted"}
            await ask(host, session.id, "session/list")  # wakes it
        await daemon.stop()
    assert house.prompts() == ["hang"]


async def test_no_agent_and_nothing_it_started_survives(house: House) -> None:
    async with house.daemon() as daemon, daemon.host() as host:
        for _ in range(3):
            session = await host.create_session(house.agent, cwd=str(house.work))
            await send(session, "hang")
        daemon.strike()
        await daemon.died()
    assert len((house.notes / "pids.log").read_text().splitlines()) == 3
    assert house.agents_ended()


async def test_a_session_its_agent_remembers_wakes_natively_and_goes_on(house: House) -> None:
    async with house.daemon() as daemon:
        session_id = await one_turn(daemon, house, house.agent)
        daemon.strike()
        await daemon.died()
    async with house.daemon() as daemon, daemon.host() as host:
        await ask(host, session_id, "session/prompt", **prompt("say 2"))
        assert [row["kind"] for row in await history(host, session_id) if row["kind"] != "update"][:3] == [
            "prompt",
            "turn",
            "resumed",
        ]
        await daemon.kill()
    _, entries = await house.stored(session_id)
    [resumed] = [body(entry) for entry in entries if entry.kind is Kind.RESUMED]
    assert resumed == {"tier": "native", "liveId": session_id}
    assert [message["params"]["sessionId"] for message in house.heard("session/resume")] == [session_id]
    assert [entry.number for entry in entries] == sorted({entry.number for entry in entries})
    assert house.prompts() == ["say 3", "say 2"]


async def test_a_session_its_agent_forgot_wakes_with_its_past_in_a_file(house: House) -> None:
    async with house.daemon() as daemon:
        session_id = await one_turn(daemon, house, house.forgetful, "say 3 nuthatch")
        daemon.strike()
        await daemon.died()
    async with house.daemon() as daemon, daemon.host() as host:
        # The turn's end is durable when it is told, and with it what was before.
        assert await host.known_session(session_id, 2).prompt("say 2") is not None
        await daemon.kill()
    sent = house.heard("session/prompt")[-1]["params"]
    assert sent["sessionId"] != session_id
    [preamble, asked] = [block["text"] for block in sent["prompt"]]
    assert asked == "say 2"
    found = re.search(r"`(.+?)`", preamble)
    assert found is not None
    transcript = Path(found[1])
    assert transcript.is_relative_to(house.work)
    assert transcript.stat().st_mode & 0o777 == 0o600
    text = transcript.read_text(encoding="utf-8")
    assert "say 3 nuthatch" in text
    assert "0 1 2" in text
    record, entries = await house.stored(session_id)
    assert record is not None
    assert record.live_id == sent["sessionId"]
    assert [body(entry)["tier"] for entry in entries if entry.kind is Kind.RESUMED] == ["fallback"]


async def test_an_interrupted_session_is_not_interrupted_any_more_once_it_goes_on(house: House) -> None:
    async with house.daemon() as daemon, daemon.host() as host:
        session = await host.create_session(house.agent, cwd=str(house.work))
        await send(session, "hang")
        daemon.strike()
        await daemon.died()
    async with house.daemon() as daemon, daemon.host() as host:
        await ask(host, session.id, "session/prompt", **prompt("say 1"))
        assert (await listed(host))[session.id] in ("running", "idle")
        await ask(host, session.id, "session/list")
        await daemon.stop()
    async with house.daemon() as daemon, daemon.host() as host:
        assert await listed(host) == {session.id: "asleep"}


async def test_a_question_that_was_open_stays_without_a_decision(house: House) -> None:
    reached: list[str] = []

    async def strike(request: PermissionRequest) -> str:
        reached.append(request.title)
        daemon.strike()
        return "once"

    async with house.daemon() as daemon, daemon.host() as host:
        session = await host.create_session(house.agent, cwd=str(house.work), on_permission=strike)
        await send(session, "ask")
        await daemon.died()
    assert reached == ["May I?"]
    assert house.heard(None) == []
    async with house.daemon() as daemon, daemon.host() as host:
        assert await listed(host) == {session.id: "interrupted"}
        await daemon.stop()
    _, entries = await house.stored(session.id)
    assert Kind.DECISION not in kinds(entries)


async def test_no_secret_is_in_any_file_of_the_journal(house: House) -> None:
    async with house.daemon() as daemon:
        await one_turn(daemon, house, house.agent)
        daemon.strike()
        await daemon.died()
    files = [file for file in house.folder.iterdir() if file.name.startswith("journal.db")]
    assert files
    assert not [file.name for file in files if b"squirrel-9" in file.read_bytes()]
    assert any(b"TOKEN" in file.read_bytes() for file in files)


async def test_what_was_said_before_is_read_after_many_kills(house: House) -> None:
    session_id = ""
    for round_ in range(3):
        async with house.daemon() as daemon, daemon.host() as host:
            if not session_id:
                session_id = (await host.create_session(house.agent, cwd=str(house.work))).id
            await ask(host, session_id, "session/prompt", **prompt(f"say {round_ + 1}"))
            await ask(host, session_id, "session/list")  # answered after everything said so far is told
            daemon.strike()
            await daemon.died()
    _, entries = await house.stored(session_id)
    found = [body(entry)["params"]["update"] for entry in entries if entry.kind is Kind.UPDATE]
    assert said(found) == "0 0 1 0 1 2 "
