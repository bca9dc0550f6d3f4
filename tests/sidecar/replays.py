"""Agents that have said something, journals that answer slowly, and what a caller is told of both."""

from __future__ import annotations

from typing import Any

from roost.acp.fold import fold
from roost.acp.view import SessionView
from roost.sidecar import commands, events
from tests.acp.views import plain_view, update_of
from tests.sidecar.plain_agents import Plain, answer, begun, prompt
from tests.sidecar.rig import Rig
from tests.sidecar.scripted_agent import Agent, Json
from tests.sidecar.shelf import Shelf
from tests.sidecar.v1_agents import say

REPLAY = {"cwd": "/w", "replayFrom": {"type": "start"}}
RESUME_ONLY = {"sessionCapabilities": {"resume": {}}}


class Talker(Plain):
    """Says something of every kind in a turn."""

    def __call__(self, agent: Agent, message: Json) -> bool:
        if message.get("method") == "session/prompt":
            agent.update(sessionUpdate="agent_thought_chunk", content={"type": "text", "text": "hm"})
            say(agent, "one ")
            say(agent, "two")
            agent.update(sessionUpdate="tool_call", toolCallId="t", title="Look", kind="read", status="completed")
            agent.update(sessionUpdate="plan", entries=[{"content": "a", "priority": "low", "status": "pending"}])
            agent.result(message, {"stopReason": "end_turn"})
            return True
        return super().__call__(agent, message)


class SlowShelf(Shelf):
    """Gives histories away only when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.waits = False
        self.asked: list[commands.Load] = []


class SlowRig(Rig):
    def _do(self, command: commands.Command) -> None:
        shelf = self.shelf
        is_history = isinstance(command, commands.Load) and isinstance(command.query, commands.HistoryQuery)
        if isinstance(shelf, SlowShelf) and shelf.waits and is_history:
            assert isinstance(command, commands.Load)
            shelf.asked.append(command)
        else:
            super()._do(command)

    def give(self) -> None:
        """The history that was asked for first."""
        assert isinstance(self.shelf, SlowShelf)
        load = self.shelf.asked.pop(0)
        self.feed(events.RecordLoaded(load.ticket, self.look_up(load.query)))


def slow(script: Plain, **limits: Any) -> tuple[SlowRig, SlowShelf, int, str]:
    shelf = SlowShelf()
    rig = SlowRig(script, journal=shelf, **limits)
    rig.session_id = "s"
    caller = rig.connect("me")
    return rig, shelf, caller, rig.create(caller, protocol_version=2).session_id


def told(rig: Rig, caller: int) -> list[Json]:
    return [one for one in rig.notifications(caller) if one["method"] == "session/update"]


def view(lines: list[Json]) -> Any:
    """What somebody sees who was told that; the state is not part of a replay."""
    seen = SessionView()
    for line in lines:
        if line["params"]["update"]["sessionUpdate"] != "state_update":
            fold(seen, update_of(line["params"]["update"]))
    return plain_view(seen)


def talked(script: Plain, shelf: Shelf | None = None) -> tuple[Rig, int, str]:
    rig, caller, session = begun(script, journal=shelf or Shelf())
    for text in ("first", "second"):
        answer(rig, caller, session, "session/prompt", prompt(text))
    return rig, caller, session
