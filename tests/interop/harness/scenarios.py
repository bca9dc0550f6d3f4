"""What is tried with an agent, each by itself: any of them may be the first, and leaves an idle session or none."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from roost.errors import SidecarError
from roost.host import AgentCrashed, PermissionRequest, Session, Turn
from roost.testing.llm import Ask
from tests.interop.harness.doorbell import Doorbell
from tests.interop.harness.stage import TURN_TIMEOUT, Stage, allow, kill, reject
from tests.interop.harness.story import Story

Scenario = Callable[[Stage], Awaitable[None]]

TIERS = {"native": "by the agent's own means", "fallback": "with its transcript"}
SLEEP = 321  # seconds, of a command that is cancelled: a number nobody else sleeps
WORDS = 400  # of a stream that is cancelled: twenty seconds of it


async def text(stage: Stage) -> None:
    session = await stage.session()
    story = await stage.tell(session, "Please [[say Turnips are fine.]]")
    assert story.stop_reason == "end_turn"
    assert story.text if not stage.agent.scripted else "Turnips are fine." in story.text


async def thinking(stage: Stage) -> None:
    story = await stage.tell(await stage.session(), "Please [[think about turnips]] [[say Thought over.]]")
    assert story.stop_reason == "end_turn"
    assert "about turnips" in story.thoughts
    assert "Thought over." in story.text
    assert "about turnips" not in story.text


async def write(stage: Stage) -> None:
    session, path, before = await stage.session(), stage.place.cwd / stage.fresh("note"), len(stage.permissions)
    story = await stage.tell(session, f"Please [[write {path}: turnips]] [[say Written.]]")
    assert story.stop_reason == "end_turn"
    asked = len(stage.permissions) > before
    assert asked or "write" in stage.agent.unasked, "no permission was asked for"
    if not asked:
        stage.note = "without asking"
    if stage.agent.scripted:
        assert path.read_text().strip() == "turnips"
        assert "Written." in story.text
    if not any(call.get("status") == "completed" for call in story.calls.values()):
        assert stage.agent.scripted, story
        assert story.calls, story
        stage.note = "it does not say when its tools are done"


async def deny(stage: Stage) -> None:
    session, path, before = await stage.session(), stage.place.cwd / stage.fresh("denied"), len(stage.permissions)
    stage.decide = reject
    verb = f"write {path}: no" if "write" not in stage.agent.unasked else f"run echo no > {path}"
    try:
        story = await stage.tell(session, f"Please [[{verb}]]")
    finally:
        stage.decide = allow
    assert len(stage.permissions) > before, "no permission was asked for"
    assert not path.exists()
    assert story.stop_reason is not None
    if story.stop_reason != "end_turn":
        stage.note = f"ends the turn: {story.stop_reason}"
    if stage.agent.scripted:
        assert "Still here." in (await stage.tell(session, "Please [[say Still here.]]")).text


async def run(stage: Stage) -> None:
    session, before = await stage.session(), len(stage.permissions)
    name = stage.fresh("ran")
    story = await stage.tell(session, f"Please [[run echo {name} | tr a-z A-Z > {name}; cat {name}]]")
    assert story.stop_reason == "end_turn"
    if len(stage.permissions) == before:
        assert "run" in stage.agent.unasked, "no permission was asked for"
        stage.note = "without asking"
    heard = [line.text for line in last_ask(stage).lines if line.role == "tool"]
    assert any(name.upper() in text for text in heard), heard
    assert (stage.place.cwd / name).read_text().strip() == name.upper()


async def cancel(stage: Stage) -> None:
    session, turn, story = await speaking(stage, f"stream {WORDS}")
    async with asyncio.timeout(TURN_TIMEOUT):
        await session.cancel()
        await story.follow(turn)
    assert story.stop_reason == "cancelled"
    assert f"word {WORDS - 1}" not in story.text
    if stage.agent.scripted:
        assert "Going on." in (await stage.tell(session, "Please [[say Going on.]]")).text


async def cancel_asking(stage: Stage) -> None:
    session, path = await stage.session(), stage.place.cwd / stage.fresh("unanswered")
    asked, answer = asyncio.Event(), asyncio.get_running_loop().create_future()

    async def wait(request: PermissionRequest) -> str:
        asked.set()
        result: str = await answer
        return result

    stage.decide = wait
    verb = f"write {path}: no" if "write" not in stage.agent.unasked else f"run echo no > {path}"
    try:
        turn, story = session.prompt(f"Please [[{verb}]]"), stage.story()
        async with asyncio.timeout(TURN_TIMEOUT * stage.agent.slow):
            following = asyncio.ensure_future(story.follow(turn))
            await asyncio.wait(
                (following, opened := asyncio.ensure_future(asked.wait())), return_when="FIRST_COMPLETED"
            )
            opened.cancel()
            assert asked.is_set(), f"the turn ended without a permission: {story}"
            await session.cancel()
            await following
    finally:
        answer.cancel()
        stage.decide = allow
    assert story.stop_reason == "cancelled"
    assert not path.exists()


async def cancel_running(stage: Stage) -> None:
    session, story = await stage.session(), stage.story()
    with Doorbell(stage.place.cwd / stage.fresh("begun")) as bell:
        turn = session.prompt(f"Please [[run echo begun > {bell.path}; sleep {SLEEP}]]")
        async with asyncio.timeout(TURN_TIMEOUT * stage.agent.slow):
            following = asyncio.ensure_future(story.follow(turn))
            await asyncio.wait((following, bell.rung), return_when="FIRST_COMPLETED")
            assert not following.done(), f"the turn ended before the command ran: {story}"
            await session.cancel()
            await following
    assert story.stop_reason == "cancelled"
    if any(f"sleep {SLEEP}" in line for line in stage.running()):
        stage.note = "it leaves the command running until the session is closed"
    if "cancel_running" not in stage.agent.spoils:
        assert "Going on." in (await stage.tell(session, "Please [[say Going on.]]")).text


async def switch(stage: Stage) -> None:
    session = await stage.session()
    if session.resume_mode is not None:  # not every agent tells its options again
        session = await stage.another()
    await session.refresh()
    option, value, before = another_value(session.config_options, stage.agent.option)
    await session.set_config_option(option, value)
    assert current(session.config_options, option) == value
    stage.note = f"{option}: {value}"
    if before in offered(session.config_options, option):  # a model that no vendor knows may be gone from the list
        await session.set_config_option(option, before)
        assert current(session.config_options, option) == before


async def crash(stage: Stage) -> None:
    if stage.agent.scripted:
        await stage.tell(await stage.session(), "Please [[say The word is parsnip.]]")
    name = stage.fresh("killed")
    session, turn, story = await speaking(stage, f"hold {name}")
    assert session.pid is not None
    kill(session.pid)
    async with asyncio.timeout(TURN_TIMEOUT * stage.agent.slow):
        with pytest.raises(AgentCrashed) as crashed:
            await story.follow(turn)
    stage.model.release(name)  # an agent may put the prompt it was killed at before the next one
    restart = crashed.value.restart
    assert restart in ("restarted", "unsupported", "failed")
    stage.note = f"started again, {TIERS['native']}"
    session = await stage.known(session)  # where it was given up, the next prompt wakes it from the journal
    story = await stage.tell(session, "Please [[say Back again.]]")
    assert story.stop_reason == "end_turn"
    assert story.text if not stage.agent.scripted else "Back again." in story.text
    if restart != "restarted":
        assert story.tier is not None
        stage.note = f"the next prompt wakes the session, {TIERS[story.tier]}"


async def resume(stage: Stage) -> None:
    session = await stage.session()
    if stage.agent.scripted:
        await stage.tell(session, "Please [[say The word is parsnip.]]")
    await stage.restart_daemon()
    session = await stage.resumed(session.id)
    assert session.resume_mode in ("native", "fallback")
    stage.note = TIERS[session.resume_mode]
    story = await stage.tell(session, "Please [[say Here again.]]")
    assert story.stop_reason == "end_turn"
    if not stage.agent.scripted:
        return
    assert "Here again." in story.text
    last = (
        stage.model.asks[-1] if stage.model.asks[-1].tools else next(a for a in reversed(stage.model.asks) if a.tools)
    )
    told = " ".join(line.text for line in last.lines)
    assert ("parsnip" if session.resume_mode == "native" else "transcript") in told.lower()


async def two(stage: Stage) -> None:
    name = stage.fresh("first")
    _, turn, story = await speaking(stage, f"hold {name}")
    other = await stage.open()
    try:
        second = await stage.tell(other, "Please [[say I am second.]]")
        assert second.stop_reason == "end_turn"
        assert "holding" not in second.text
        stage.model.release(name)
        async with asyncio.timeout(TURN_TIMEOUT * stage.agent.slow):
            await story.follow(turn)
        assert story.stop_reason == "end_turn"
        if stage.agent.scripted:
            assert "I am second." in second.text
            assert "released" in story.text
            assert "second" not in story.text
    finally:
        await other.close()


async def end(stage: Stage) -> None:
    session, _turn, _story = await speaking(stage, f"hold {stage.fresh('ended')}")
    stage.used_up()
    async with asyncio.timeout(TURN_TIMEOUT):
        await session.close()
    await stage.nothing_left()


async def refusal(stage: Stage) -> None:
    assert stage.agent.refused is not None
    with pytest.raises(SidecarError) as refused:
        await stage.open()
    assert stage.agent.refused in refused.value.message
    await stage.nothing_left()
    stage.note = f"{refused.value.code}"


SCENARIOS: dict[str, Scenario] = {
    scenario.__name__: scenario
    for scenario in (
        text,
        thinking,
        write,
        deny,
        run,
        cancel,
        cancel_asking,
        cancel_running,
        switch,
        crash,
        resume,
        two,
        end,
        refusal,
    )
}


async def speaking(stage: Stage, step: str) -> tuple[Session, Turn, Story]:
    """A turn in its middle: the model has begun to `stream` or to `hold`."""
    session, story = await stage.session(), stage.story()
    turn = session.prompt(f"Please [[{step}]]")
    async with asyncio.timeout(TURN_TIMEOUT * stage.agent.slow):
        await story.follow(turn, lambda story: begun(stage, story))
    assert story.stop_reason is None, f"the turn ended before it was in its middle: {story}"
    return session, turn, story


def begun(stage: Stage, story: Story) -> bool:
    return (
        any(word in story.text for word in ("holding", "word 0"))
        if stage.agent.scripted
        else "state_update" in story.kinds
    )


def another_value(options: list[dict[str, Any]], wanted: tuple[str, str] | None) -> tuple[str, str, str]:
    """An option that can be changed, another value, and the value it has."""
    for option in options:
        values = values_of(option)
        others = [value for value in values if value != option.get("currentValue")]
        if wanted is not None and (option.get("configId"), wanted[1]) != (wanted[0], wanted[1]):
            continue
        if others:
            return option["configId"], wanted[1] if wanted else others[0], option["currentValue"]
    raise AssertionError(f"there is nothing to change among {[option.get('configId') for option in options]}")


def values_of(option: dict[str, Any]) -> list[str]:
    found = []
    for entry in option.get("options", ()):
        found += [each["value"] for each in entry.get("options", [entry])]
    return found


def current(options: list[dict[str, Any]], wanted: str) -> Any:
    return next(option["currentValue"] for option in options if option["configId"] == wanted)


def offered(options: list[dict[str, Any]], wanted: str) -> list[str]:
    return next(values_of(option) for option in options if option["configId"] == wanted)


def last_ask(stage: Stage) -> Ask:
    """The last one that offered tools: the others are for titles."""
    return next(ask for ask in reversed(stage.model.asks) if ask.tools)
