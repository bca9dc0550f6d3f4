"""Agents of v1 that lack v2's session methods, and callers that use these methods all the same."""

from __future__ import annotations

from typing import Any

from tests.sidecar.rig import Rig
from tests.sidecar.scripted_agent import Agent, Json
from tests.sidecar.shelf import Shelf
from tests.sidecar.v1_agents import V1

KEY = {"id": "key", "name": "Key"}


class Plain(V1):
    """A v1 agent that can log in, and whatever `capabilities` says."""

    def __init__(self, capabilities: Json | None = None, *, silent: bool = False) -> None:
        super().__init__(silent=silent, capabilities=capabilities)
        self.refuses: set[str] = set()

    def __call__(self, agent: Agent, message: Json) -> bool:
        method = message.get("method")
        if method in self.refuses:
            agent.error(message, -32603, f"no {method}")
        elif method == "initialize":
            answer = {"protocolVersion": 1, "agentCapabilities": self.capabilities, "authMethods": [KEY]}
            agent.result(message, answer)
        elif method == "session/cancel":
            [prompt] = agent.requests("session/prompt")
            agent.result(prompt, {"stopReason": "cancelled"})
        elif method == "session/list":
            agent.result(message, {"sessions": [{"sessionId": "the agent's own", "cwd": "/w"}]})
        else:
            return super().__call__(agent, message)
        return True


def begun(script: V1 | None = None, *, name: str | None = "me", **options: Any) -> tuple[Rig, int, str]:
    """A daemon with a journal, a caller and a session of protocol 2."""
    rig = Rig(script or Plain(), journal=options.pop("journal", None) or Shelf(), **options)
    rig.session_id = "s"
    caller = rig.connect(name)
    return rig, caller, rig.create(caller, protocol_version=2).session_id


def another(rig: Rig, caller: int, session_id: str, **fields: Any) -> str:
    rig.session_id = session_id
    return rig.create(caller, **{"protocol_version": 2, **fields}).session_id


def answer(rig: Rig, caller: int, session: str, method: str, params: Any = None, seconds: float = 1.0) -> Json:
    request = rig.request(caller, session, method, params)
    rig.advance(seconds)
    return rig.rpc(caller, request)


def prompt(text: str = "hello") -> Json:
    return {"prompt": [{"type": "text", "text": text}]}


def alive(rig: Rig) -> list[str]:
    return [agent.process for agent in rig.agents.values() if not agent.exited]
