"""An agent as a function: what it hears, what it says, and what is done to it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from roost.sidecar import events
from roost.sidecar.launch import Launch

if TYPE_CHECKING:
    from tests.sidecar.rig import Rig

Json = dict[str, Any]


class Agent:
    """A scripted agent: `hear` is called with each message; what is not handled there gets a plain v1 or v2 answer."""

    def __init__(self, rig: Rig, process: str, launch: Launch) -> None:
        self.rig = rig
        self.process = process
        self.launch = launch
        self.heard: list[Json] = []
        self.signals: list[int] = []
        self.input_closed = False
        self.exited = False
        self.done: set[Any] = set()  # for scripts: ids it has answered
        self.paused = False
        self.hear: Callable[[Agent, Json], bool | None] = rig.script
        self.session_id = rig.session_id or f"s-{process}"
        self.capabilities: Json = dict(rig.capabilities)
        self._held: list[events.Event] = []
        self.exits_on: frozenset[int] = frozenset((9, 15))
        self.exits_on_eof = True

    # what it does

    def say(self, message: Json) -> None:
        self.write(json.dumps(message).encode() + b"\n")

    def write(self, data: bytes) -> None:
        self._told(events.AgentWrote(self.process, data))

    def _told(self, event: events.Event) -> None:
        """What happens on stdout stays in the pipe while nobody reads it."""
        if self.paused:
            self._held.append(event)
        else:
            self.rig.feed(event)

    def resume(self) -> None:
        self.paused = False
        held, self._held = self._held, []
        for event in held:
            self.rig.feed(event)

    def stderr(self, data: bytes) -> None:
        self.rig.feed(events.AgentWroteStderr(self.process, data))

    def result(self, request: Json, result: Any) -> None:
        self.say({"jsonrpc": "2.0", "id": request["id"], "result": result})

    def error(self, request: Json, code: int, message: str, data: Any = None) -> None:
        error: Json = {"code": code, "message": message}
        if data is not None:
            error["data"] = data
        self.say({"jsonrpc": "2.0", "id": request["id"], "error": error})

    def update(self, **update: Any) -> None:
        self.notify("session/update", {"sessionId": self.session_id, "update": update})

    def notify(self, method: str, params: Any) -> None:
        self.say({"jsonrpc": "2.0", "method": method, "params": params})

    def ask(self, method: str, params: Any, id: Any = "ask-1") -> None:
        self.say({"jsonrpc": "2.0", "id": id, "method": method, "params": params})

    def exit(self, code: int | None) -> None:
        if not self.exited:
            self.exited = True
            self._told(events.AgentExited(self.process, code))

    # what is done to it

    def hears(self, data: bytes) -> None:
        for line in data.splitlines():
            parsed = json.loads(line, parse_int=lambda digits: int(digits) if len(digits) < 4000 else digits)
            for message in parsed if isinstance(parsed, list) else [parsed]:
                self.heard.append(message)
                if not self.hear(self, message):
                    self.answer(message)

    def answer(self, message: Json) -> None:
        method = message.get("method")
        if "id" not in message or method is None:
            return
        if method == "initialize":
            version = message["params"]["protocolVersion"]
            if version == 2:
                info = {"name": "scripted", "version": "1"}
                caps = {"session": {}, **self.capabilities}
                self.result(message, {"protocolVersion": 2, "info": info, "capabilities": caps})
            else:
                self.result(message, {"protocolVersion": version, "agentCapabilities": self.capabilities})
        elif method == "session/new":
            self.result(message, {"sessionId": self.session_id})
        elif method == "session/prompt" and self.launch.protocol_version == 1:
            self.result(message, {"stopReason": "end_turn"})
        elif method == "session/prompt":
            self.result(message, {})
            self.update(sessionUpdate="state_update", state="running")
            self.update(sessionUpdate="state_update", state="idle", stopReason="end_turn")
        else:
            self.result(message, {})

    def requests(self, method: str) -> list[Json]:
        return [message for message in self.heard if message.get("method") == method]

    def answers(self) -> list[Json]:
        return [message for message in self.heard if "method" not in message]
