"""A bridged agent that is served files and terminals, and what it and its caller hear."""

from __future__ import annotations

from typing import Any

from roost.acp.bridge.events import CommandRun, FileWrite
from roost.errors import RpcError
from roost.sidecar import commands, events
from tests.sidecar.rig import Rig
from tests.sidecar.scripted_agent import Json
from tests.sidecar.v1_agents import V1, ended, opened

SERVICES = {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True}
NOTE = "/w/note.md"
WRITE = FileWrite(NOTE, NOTE, True, False, "old\n")


def served(script: V1 | None = None, **options: Any) -> tuple[Rig, int, str]:
    rig, caller, session = opened(script or V1(silent=True), services=SERVICES, **options)
    rig.prompt(caller, session)
    return rig, caller, session


def ask(rig: Rig, method: str = "fs/read_text_file", id: Any = "r", **params: Any) -> commands.ServeAgent:
    rig.agent.ask(method, {"sessionId": rig.agent.session_id, "path": NOTE, **params}, id)
    return rig.served[-1]


def wish(rig: Rig, what: FileWrite | CommandRun = WRITE, id: Any = "w") -> commands.ServeAgent:
    """A request whose driver asks whether it may."""
    if isinstance(what, FileWrite):
        command = ask(rig, "fs/write_text_file", id, content="new\n")
    else:
        command = ask(rig, "terminal/create", id, command=what.line)
    rig.feed(events.ServiceWished(command.process, command.token, what))
    return command


def answered(rig: Rig, command: commands.ServeAgent, result: Any = None, error: RpcError | None = None) -> None:
    rig.feed(events.ServiceAnswered(command.process, command.token, result, error))


def answer_to(rig: Rig, id: Any) -> Json:
    [answer] = [message for message in rig.agent.answers() if message["id"] == id]
    return answer


def finish(rig: Rig, caller: int, session: str) -> None:
    rig.agent.result(rig.agent.requests("session/prompt")[-1], {"stopReason": "end_turn"})
    rig.advance(1)
    ended(rig, caller, session)
