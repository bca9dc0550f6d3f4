"""Sessions under small limits, and what is said when one is reached."""

from __future__ import annotations

from typing import Any

from roost.sidecar.gen.messages import AcpErrorResponse
from tests.sidecar.rig import Rig
from tests.sidecar.scripted_agent import Agent, Json


def silent(agent: Agent, message: Json) -> bool:
    return message.get("method") in ("session/prompt", "_slow")


def opened(**limits: Any) -> tuple[Rig, int, str]:
    rig = Rig(silent, **limits)
    rig.capabilities = {"loadSession": True}
    caller = rig.connect()
    return rig, caller, rig.create(caller).session_id


def warnings(rig: Rig, limit: str) -> list[str]:
    return [note.text for note in rig.notes if note.level == "warning" and note.text.startswith(f"{limit} is ")]


def refused(answer: Any, limit: str, bound: int) -> None:
    assert isinstance(answer, AcpErrorResponse), answer
    assert answer.code == "limit_exceeded"
    assert f"limit {limit} of {bound} reached" in answer.message
    assert f"raise {limit}" in answer.message
