"""Agents of v1 for a rig whose callers asked for version 2, and what those callers hear."""

from __future__ import annotations

from typing import Any

from roost.sidecar.gen.messages import (
    AcpAgentExitedEvent,
)
from tests.sidecar.rig import Rig
from tests.sidecar.scripted_agent import Agent, Json

ANSWERS: dict[str, Any] = {
    "answers 1": {"protocolVersion": 1},
    "echoes 2": {"protocolVersion": 2},
    "refuses": None,
}
OPTIONS = [
    {"optionId": "y", "name": "Yes", "kind": "allow_once"},
    {"optionId": "n", "name": "No", "kind": "reject_once"},
]
LOAD = {"loadSession": True}


class V1:
    """The script of an agent that knows v1 only. `silent`: prompts are answered by the test."""

    def __init__(self, first: str = "answers 1", *, silent: bool = False, capabilities: Json | None = None) -> None:
        self.first = first
        self.silent = silent
        self.capabilities = capabilities or {}
        self.replayed = 0

    def __call__(self, agent: Agent, message: Json) -> bool:
        method = message.get("method")
        if method == "initialize":
            answer = ANSWERS[self.first]
            if message["params"]["protocolVersion"] == 2 and answer is None:
                agent.error(message, -32602, "Invalid params")
            else:
                agent.result(message, {**(answer or {"protocolVersion": 1}), "agentCapabilities": self.capabilities})
        elif method == "session/prompt":
            if not self.silent:
                say(agent, "hello")
                agent.result(message, {"stopReason": "end_turn"})
        elif method == "session/load":
            for _ in range(self.replayed):
                say(agent, "past")
            agent.result(message, None)
        else:
            return False
        return True


def say(agent: Agent, text: str) -> None:
    agent.update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": text})


def opened(script: V1, **options: Any) -> tuple[Rig, int, str]:
    rig = Rig(script, **options)
    rig.session_id = "s"
    caller = rig.connect("me")
    return rig, caller, rig.create(caller, protocol_version=2).session_id


def updates(rig: Rig, caller: int) -> list[str]:
    told = [n["params"]["update"] for n in rig.notifications(caller) if n["method"] == "session/update"]
    return [update.get("state", update["sessionUpdate"]) for update in told]


def stop_reason(rig: Rig, caller: int) -> str | None:
    """What the last turn ended with."""
    told = [n["params"]["update"] for n in rig.notifications(caller) if n["method"] == "session/update"]
    return next((update.get("stopReason") for update in reversed(told) if update.get("state") == "idle"), None)


def exits(rig: Rig, caller: int) -> list[str]:
    """What came of each crash."""
    return [event.restart for event in rig.events(caller) if isinstance(event, AcpAgentExitedEvent)]


def ended(rig: Rig, caller: int, session: str) -> None:
    rig.close(caller, session)
    rig.advance(30)
    rig.leave(caller)
    rig.assert_nothing_left()
