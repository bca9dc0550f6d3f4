"""Conversations of real agents in v2: nothing in them has to be forgiven, and our view shows what they said."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from roost.acp.v2.gen.methods import NOTIFICATIONS, REQUESTS
from roost.wire.decode import decode
from roost.wire.model import Unknown
from tests.replay.client_play import ClientPlay
from tests.replay.compared import plain, texts
from tests.replay.recording import Json, Run, runs

V2 = [run for run in runs() if run.dialect == 2]
TALKS = [run for run in V2 if run.requests("session/prompt")]
SEEDS = range(5)
# Members of a later draft, which this one has no place for.
LATER = {
    "initialize": {"systemPrompt", "title"},
    "session/new": {"availableCommands"},
    "session/prompt": {"messageId"},
}


def updates_of(run: Run) -> list[Json]:
    messages = [line.message for line in run.lines if line.from_agent and line.message]
    return [message["params"]["update"] for message in messages if message.get("method") == "session/update"]


def said(run: Run, *tags: str) -> list[Json]:
    return [update for update in updates_of(run) if update["sessionUpdate"] in tags]


@pytest.mark.parametrize("run", V2, ids=lambda run: run.name)
def test_every_v2_message_of_a_real_agent_decodes_and_nothing_is_dropped(run: Run) -> None:
    methods = {
        repr(line.message["id"]): line.message["method"]
        for line in run.lines
        if not line.from_agent and line.message and "method" in line.message and "id" in line.message
    }
    for line in run.lines:
        message = line.message
        if not line.from_agent or message is None:
            continue
        method = message.get("method")
        if method is None:
            asked = methods[repr(message["id"])]
            check(REQUESTS[asked].result, message["result"], LATER.get(asked, set()))
        elif not method.startswith("_"):
            check(NOTIFICATIONS[method].params, message["params"], set())


def check(type: Any, value: Json, later: set[str]) -> None:
    """What is decoded is all there again when it is encoded, nulls and what is of a later draft apart."""
    losses: list[str] = []
    typed = decode(type, json.dumps(value).encode(), on_loss=lambda path, what: losses.append(f"{path}: {what}"))
    assert not losses
    assert_kept(value, plain(typed), later)


def assert_kept(given: Any, kept: Any, later: set[str]) -> None:
    if isinstance(given, dict):
        for name, value in given.items():
            assert value is None or name in kept or name in later, f"{name} is gone"
            if name in kept:
                assert_kept(value, kept[name], later)
    elif isinstance(given, list):
        assert len(given) == len(kept)
        for one, other in zip(given, kept, strict=True):
            assert_kept(one, other, later)
    else:
        assert given == kept


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("run", TALKS, ids=lambda run: run.name)
async def test_our_clients_view_shows_what_a_recorded_v2_agent_said(run: Run, seed: int) -> None:
    play = ClientPlay(run, Random(seed))
    await play.play()
    [(identifier, session)] = play.sessions.items()
    [turn] = play.turns[identifier]
    view = session.view
    for kind in ("user_message", "agent_message"):
        whole = [block["text"] for update in said(run, kind) for block in update["content"]]
        chunks = [update["content"]["text"] for update in said(run, f"{kind}_chunk")]
        assert texts(view, kind) == "".join(whole + chunks)
        ids = [update["messageId"] for update in said(run, kind, f"{kind}_chunk")]
        assert [each.message_id for each in view.messages if each.kind == kind] == list(dict.fromkeys(ids))
    assert [unknown.tag for unknown in view.others] == [each["sessionUpdate"] for each in said(run, "notice")]
    assert all(isinstance(unknown, Unknown) for unknown in view.others)
    for update in said(run, "usage_update"):
        assert view.usage is not None
        assert (view.usage.used, view.usage.size) == (update["used"], update["size"])
    titles = [update["title"] for update in said(run, "session_info_update") if "title" in update]
    assert view.title == (titles[-1] if titles else None)
    idle = said(run, "state_update")[-1]
    assert turn.end is not None
    assert turn.end.stop_reason == idle.get("stopReason")
    assert (None if turn.end.usage is None else plain(turn.end.usage)) == idle.get("usage")
    assert not view.dropped
