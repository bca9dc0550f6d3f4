"""Twenty ways of agents in the field, each shown by a real process to a real sidecar, which its caller does not notice.

The numbers are those of `tests/replay/test_quirks.py`, where the same is looked at in what was recorded of the agents.
"""

from __future__ import annotations

import asyncio
import sys
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from roost.errors import RpcError
from roost.host import AgentCrashed, Host, PermissionRequest, Session, Turn, embedded
from roost.sidecar.limits import Limits
from tests.interop.harness.stage import gone, running_with
from tests.interop.harness.story import Story

AGENT = Path(__file__).parent / "peers" / "odd_agent.py"
TIMEOUT = 30
seen = pytest.mark.skipif(sys.platform != "linux", reason="what an agent left behind is only seen on Linux")
MARK = "ROOST_ODD_AGENT"


class Sidecar:
    """A host, and sessions with the odd agent in one of its ways."""

    def __init__(self, host: Host, folder: Path) -> None:
        self.host = host
        self.folder = folder
        self.mark = uuid.uuid4().hex
        self.asked: list[PermissionRequest] = []
        self.reply = "once"
        host.on_permission = self._decide

    async def _decide(self, request: PermissionRequest) -> str:
        self.asked.append(request)
        return self.reply

    async def open(self, way: str = "", program: Path | None = None) -> Session:
        command = f"{sys.executable} -S -E {AGENT} {way}" if program is None else f"{program} {way}"
        return await self.host.create_session(command, cwd=str(self.folder), env={MARK: self.mark})

    def left(self) -> list[str]:
        return running_with(f"{MARK}={self.mark}")


@pytest.fixture
async def sidecar(tmp_path: Path) -> AsyncIterator[Sidecar]:
    limits = Limits(input_close_grace=0.2, kill_grace=2.0)
    journal = tmp_path / "journal.sqlite"
    async with asyncio.timeout(TIMEOUT), embedded(caller="odd", limits=limits, journal=journal) as host:
        yield Sidecar(host, tmp_path)


async def told(session: Session, prompt: str) -> Story:
    return await Story().follow(session.prompt(prompt))


async def test_quirk_1_updates_before_the_session_is_answered_are_heard_behind_it(sidecar: Sidecar) -> None:
    story = await told(await sidecar.open("early"), "you")
    assert story.text == "before the answerhello you"
    assert story.kinds.index("available_commands_update") < story.kinds.index("user_message")


async def test_quirk_2_the_ids_of_an_agents_requests_are_its_own(sidecar: Sidecar) -> None:
    story = await told(await sidecar.open(), "ids")
    assert story.text == "0=yes 1=yes 2=yes 3=yes 'srv_1'=yes '3'=yes "
    assert [each.title for each in sidecar.asked] == ["0", "1", "2", "3", "srv_1", "3"]


async def test_quirk_3_a_tool_call_that_only_its_permission_announces_is_one(sidecar: Sidecar) -> None:
    story = await told(await sidecar.open(), "unannounced")
    [(name, call)] = story.calls.items()
    assert (name, call["title"], call["status"]) == ("late", "Edit it", "completed")


async def test_quirk_4_a_tool_call_that_is_announced_twice_is_one(sidecar: Sidecar) -> None:
    story = await told(await sidecar.open(), "twice")
    [call] = story.calls.values()
    assert (call["title"], call["status"], call["rawOutput"]) == ("Second", "completed", {"done": True})


@pytest.mark.parametrize(
    ("reply", "option"), [("always", "proceed_always"), ("reject", "cancel"), ("once", "cancelled")]
)
async def test_quirk_5_options_are_chosen_by_kind_and_answered_by_id(sidecar: Sidecar, reply: str, option: str) -> None:
    sidecar.reply = reply
    story = await told(await sidecar.open(), "bare")
    assert story.text == option
    [request] = sidecar.asked
    assert request.title == "Delete it"  # of the call that the permission only names


async def test_quirk_6_a_vendors_own_methods_are_refused_and_ignored(sidecar: Sidecar) -> None:
    assert (await told(await sidecar.open(), "vendor")).text == "-32601"


async def test_quirk_7_a_missing_file_is_an_error_or_empty_where_the_agent_needs_that(sidecar: Sidecar) -> None:
    assert (await told(await sidecar.open(), "missing")).text == "-32002"
    known = sidecar.folder / "gemini"  # it is known by its program's name
    known.write_text(f"#!{sys.executable} -S\n{AGENT.read_text()}")
    known.chmod(0o755)
    assert (await told(await sidecar.open(program=known), "missing")).text == "''"


async def test_quirk_8_a_shell_line_is_run_and_a_release_ends_what_is_waited_for(sidecar: Sidecar) -> None:
    story = await told(await sidecar.open(), "shell")
    assert story.text == "0 one True True"
    assert (sidecar.folder / "f").read_text() == "one\n"
    assert not [line for line in sidecar.left() if "sleep" in line]


async def test_quirk_9_what_is_no_message_is_passed_over(sidecar: Sidecar) -> None:
    story = await told(await sidecar.open(), "noise")
    assert (story.text, story.stop_reason) == ("still here", "end_turn")


async def test_quirk_10_an_agent_that_dies_of_a_batch_never_gets_one(sidecar: Sidecar) -> None:
    session = await sidecar.open("modes")
    option = session.config_options[0]["configId"]
    changes = [session.set_config_option(option, value) for value in ("a", "b", "a", "b")]
    stories, *_ = await asyncio.gather(told(session, "you"), *changes)
    assert stories.stop_reason == "end_turn"


@seen
async def test_quirk_11_an_agent_that_outlives_its_input_is_ended(sidecar: Sidecar) -> None:
    session = await sidecar.open("outlives_input")
    await told(session, "you")
    assert sidecar.left()
    await session.close()
    await gone(f"{MARK}={sidecar.mark}")


@seen
async def test_quirk_12_what_an_agent_leaves_behind_is_ended_with_it(sidecar: Sidecar) -> None:
    session = await sidecar.open("leaves_child")
    await told(session, "you")
    assert [line for line in sidecar.left() if "sleep" in line]
    await session.close()
    await gone(f"{MARK}={sidecar.mark}")


async def test_quirk_13_a_prompt_in_mid_turn_waits_for_the_end_of_that(sidecar: Sidecar) -> None:
    session = await sidecar.open()
    second: list[Turn] = []

    async def prompt_again(request: PermissionRequest) -> str:
        second.append(session.prompt("you"))
        return "reject"

    sidecar.host.on_permission = prompt_again
    first = await told(session, "busy")
    assert first.text == "begun alone"
    [turn] = second
    async with asyncio.timeout(TIMEOUT):
        assert "hello you" in (await Story().follow(turn)).text


@pytest.mark.parametrize("code", [-32603, 400])
async def test_quirk_14_a_turn_that_fails_is_over_and_the_session_goes_on(sidecar: Sidecar, code: int) -> None:
    session = await sidecar.open()
    failed: str | int | None
    try:
        failed = (await told(session, f"fail {code}")).stop_reason
    except RpcError as error:
        failed = error.code
    assert failed in ("_error", code)
    assert (await told(session, "you")).text == "hello you"


@pytest.mark.parametrize("code", [-32600, -32602, -32603, -32002])
async def test_quirk_15_a_session_that_its_agent_forgot_is_woken_with_its_transcript(
    sidecar: Sidecar, code: int
) -> None:
    session = await sidecar.open(f"forgets{code}")
    await told(session, "you")
    with pytest.raises(AgentCrashed):
        await told(session, "die")
    story = await told(sidecar.host.known_session(session.id, 2), "me")
    assert story.tier == "fallback"
    assert story.text.startswith("hello ")


async def test_quirk_16_a_mode_that_is_not_offered_is_refused_and_text_between_turns_ends_none(
    sidecar: Sidecar,
) -> None:
    session = await sidecar.open("talks_between")
    option = session.config_options[0]["configId"]
    with pytest.raises(RpcError) as refused:
        await session.set_config_option(option, "no-such-mode")
    assert refused.value.code == -32602
    await session.set_config_option(option, "b")
    story = await told(session, "you")
    assert (story.text, story.stop_reason) == ("[MODE_UPDATE] bhello you", "end_turn")


@pytest.mark.parametrize(
    ("way", "categories"), [("modes", ["mode"]), ("options", [None]), ("all", [None, "mode", "model"]), ("", [])]
)
async def test_quirk_17_modes_models_and_options_are_all_options(
    sidecar: Sidecar, way: str, categories: list[str | None]
) -> None:
    session = await sidecar.open(way)
    found: list[Any] = [option.get("category") for option in session.config_options]
    assert sorted(found, key=str) == sorted(categories, key=str)


async def test_quirk_18_a_flood_on_stderr_stops_nothing(sidecar: Sidecar) -> None:
    assert (await told(await sidecar.open(), "flood")).text == "done"


@pytest.mark.parametrize("way", ["ends_anyhow", "errs_at_cancel", "late"])
async def test_quirk_19_a_cancelled_turn_is_cancelled_whatever_its_agent_calls_it(sidecar: Sidecar, way: str) -> None:
    session = await sidecar.open(way)
    turn, story = session.prompt("wait"), Story()
    await story.follow(turn, lambda story: "waiting" in story.text)
    await session.cancel()
    await story.follow(turn)
    assert story.stop_reason == "cancelled"
    after = await told(session, "you")
    assert after.text.endswith("hello you")
    assert after.stop_reason == "end_turn"


async def test_quirk_20_a_prompt_that_is_echoed_is_shown_once(sidecar: Sidecar) -> None:
    story = await told(await sidecar.open(), "echo")
    assert (story.prompt, story.text) == ("echo", "answer")


async def test_an_agent_that_echoes_the_version_it_is_asked_for_is_found_out(sidecar: Sidecar) -> None:
    assert (await told(await sidecar.open("echoes_version"), "you")).text == "hello you"
