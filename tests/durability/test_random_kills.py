"""A house whose daemon is killed at any moment, again and again: every promise of every round is kept to the end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from roost.errors import RoostError
from roost.host import Host, Notification, PermissionRequest, Session
from tests.durability.house import Daemon, House, ask, history, listed, prompt, texts

# `make soak` asks for more, each from a seed nobody has seen.
SEEDS = int(os.environ.get("ROOST_KILLS", "2"))
FIRST = random.SystemRandom().randrange(1 << 40) if "ROOST_KILLS" in os.environ else 0
ROUNDS = 5  # kills of one house
LONGEST_ROUND = 0.6  # seconds from the daemon's being up to its end
PROMPTS = ("say 1", "say 40", "say 2000", "drip 50", "ask", "hang")


class Told:
    """What callers were told in all rounds, and what the journal therefore owes."""

    def __init__(self) -> None:
        self.sessions: list[str] = []
        self.accepted: dict[str, tuple[str, str]] = {}  # key -> session and text
        self.tried: list[tuple[str, str, str]] = []  # session, key and text that had no answer
        self.text: dict[str, str] = defaultdict(str)  # message -> what was heard of it
        self.whole: set[str] = set()  # messages whose turn's end was told


class Caller:
    """Does this and that until the daemon is gone."""

    def __init__(self, house: House, host: Host, told: Told, chance: random.Random) -> None:
        self.house = house
        self.host = host
        self.told = told
        self.chance = chance

    async def live(self) -> None:
        session: Session | None = None
        while True:
            if session is None or self.chance.random() < 0.2:
                session = await self.host.create_session(
                    self.house.agent, cwd=str(self.house.work), on_permission=self.decide
                )
                self.told.sessions.append(session.id)
            text = self.chance.choice(PROMPTS)
            await self.turn(session, f"{text} {len(self.told.tried)}", f"key-{len(self.told.tried)}")
            if text == "hang":
                session = None

    async def decide(self, request: PermissionRequest) -> str:
        return self.chance.choice(("once", "reject"))

    async def turn(self, session: Session, text: str, key: str) -> None:
        self.told.tried.append((session.id, key, text))
        turn = session.prompt(text, _meta={"roost/idempotencyKey": key})
        turn._answer.add_done_callback(lambda answer: self.answered(answer, session.id, key, text))
        message = ""
        async for event in turn:
            assert isinstance(event, Notification)
            update = event.raw_update
            if "messageId" in update:
                message = update["messageId"]
                self.told.text[message] += update["content"]["text"]
                if text.startswith("hang"):
                    return
        self.told.whole.add(message)

    def answered(self, answer: asyncio.Future[Any], session_id: str, key: str, text: str) -> None:
        if not answer.cancelled() and answer.exception() is None:
            self.told.accepted[key] = (session_id, text)


async def one_round(house: House, daemon: Daemon, told: Told, chance: random.Random) -> None:
    asyncio.get_running_loop().call_later(chance.uniform(0.0, LONGEST_ROUND), daemon.strike)
    with contextlib.suppress(RoostError):
        async with daemon.host() as host:
            await Caller(house, host, told, chance).live()
    await daemon.died()


async def check(house: House, daemon: Daemon, told: Told) -> None:
    """Everything that was promised, as the next daemon tells it."""
    assert house.agents_ended()
    heard = [message["params"]["_meta"]["roost/idempotencyKey"] for message in house.heard("session/prompt")]
    assert len(heard) == len(set(heard))
    async with daemon.host() as host:
        states = await listed(host)
        assert set(states) >= set(told.sessions)
        assert set(states.values()) <= {"asleep", "interrupted"}
        keys: dict[str, str] = {}
        kept: dict[str, str] = {}
        decisions = 0
        for session_id, state in states.items():
            rows = await history(host, session_id)
            numbers = [row["number"] for row in rows]
            assert numbers == sorted(set(numbers))
            assert "gap" not in [row["kind"] for row in rows]
            ends = [row["kind"] for row in rows if row["kind"] in ("prompt", "turn", "interrupted")]
            assert ends == ["prompt" if at % 2 == 0 else end for at, end in enumerate(ends)]
            assert len(ends) % 2 == 0
            assert (state == "interrupted") == (ends[-1:] == ["interrupted"])
            kept |= texts([row["body"]["params"]["update"] for row in rows if row["kind"] == "update"])
            for row in rows:
                if row["kind"] == "prompt":
                    keys[row["body"]["key"]] = session_id
                elif row["kind"] == "decision":
                    decisions += row["body"]["by"] == "caller"
    assert {key: keys.get(key) for key in told.accepted} == {key: where for key, (where, _) in told.accepted.items()}
    assert set(heard) <= set(keys)  # no agent heard what was not kept before
    selected = [answer for answer in house.heard(None) if answer["result"]["outcome"]["outcome"] == "selected"]
    assert decisions >= len(selected)
    for message, text in told.text.items():
        if message in told.whole:
            assert kept.get(message, "") == text
        else:
            assert kept.get(message, "").startswith(text) or text.startswith(kept.get(message, ""))


async def try_again(daemon: Daemon, told: Told) -> None:
    """Whatever had no answer, as a caller does that does not know what became of it."""
    async with daemon.host() as host:
        session_id, key, text = told.tried[-1]
        if key not in told.accepted and session_id in told.sessions:
            await ask(host, session_id, "session/prompt", **prompt(text, key))


@pytest.mark.parametrize("seed", range(FIRST, FIRST + SEEDS))
async def test_nothing_that_was_told_is_lost_however_often_the_daemon_is_killed(tmp_path: Path, seed: int) -> None:
    house, told, chance = House(tmp_path), Told(), random.Random(seed)
    for round_ in range(ROUNDS + 1):
        async with house.daemon(store={"idle_grace": 0.01}) as daemon:
            await check(house, daemon, told)
            if told.tried and round_ == ROUNDS:
                await try_again(daemon, told)
                await daemon.kill()
            elif round_ < ROUNDS:
                await one_round(house, daemon, told, chance)
    async with house.daemon() as daemon:
        await check(house, daemon, told)
