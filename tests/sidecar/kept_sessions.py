"""Sessions of a named caller, kept in a journal as plain as can be."""

from __future__ import annotations

from typing import Any

from tests.sidecar.rig import Rig
from tests.sidecar.scripted_agent import Agent, Json
from tests.sidecar.shelf import Shelf

PROMPT = {"prompt": [{"type": "text", "text": "hi"}]}


def v2_turn(agent: Agent, message: Json) -> bool:
    """Accepts a prompt, says one thing, and ends the turn."""
    if message.get("method") != "session/prompt":
        return False
    agent.result(message, {})
    agent.update(sessionUpdate="state_update", state="running")
    agent.update(sessionUpdate="agent_message_chunk", messageId="m", content={"type": "text", "text": "hello"})
    agent.update(sessionUpdate="state_update", state="idle", stopReason="end_turn")
    return True


def accepting(agent: Agent, message: Json) -> bool:
    """Accepts a prompt; the rest is up to the test."""
    if message.get("method") == "session/prompt":
        agent.result(message, {})
        return True
    return False


def kept(script: Any = v2_turn, shelf: Shelf | None = None, **limits: Any) -> tuple[Rig, Shelf, int]:
    """A rig with a journal, and a named caller's connection."""
    shelf = shelf or Shelf()
    rig = Rig(script, journal=shelf, **limits)
    return rig, shelf, rig.connect("me")


def updates(rig: Rig, connection: int) -> list[str]:
    found = [note.get("params", {}).get("update", {}) for note in rig.notifications(connection)]
    return [update.get("state") or update.get("sessionUpdate", "?") for update in found if update]


def ask_permission(rig: Rig) -> None:
    options = [{"optionId": "y", "kind": "allow_once"}, {"optionId": "n", "kind": "reject_once"}]
    rig.agent.ask("session/request_permission", {"title": "May I?", "options": options}, id=7)
