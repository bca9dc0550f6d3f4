"""Agents that answer the handshake in their own way, and what becomes of a create."""

from __future__ import annotations

from typing import Any

from roost.sidecar.gen.messages import AcpSessionCreatedResponse
from tests.sidecar.rig import Rig
from tests.sidecar.scripted_agent import Agent, Json


def answering(**answers: Any) -> Rig:
    """Agents that answer a method with this result; `initialize` and `new` name the two handshake steps."""
    results = {"initialize": answers.get("initialize"), "session/new": answers.get("new")}

    def script(agent: Agent, message: Json) -> bool:
        result = results.get(message.get("method", ""))
        if result is not None:
            agent.result(message, result)
        return result is not None

    return Rig(script)


def created(rig: Rig, **fields: Any) -> AcpSessionCreatedResponse:
    return rig.create(rig.connect(), **fields)
