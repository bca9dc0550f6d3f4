"""A bridge with a scripted peer on each side; everything that comes out is checked by the tables of its version."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from roost.acp.bridge.limits import BridgeLimits
from roost.acp.bridge.v1_agent import V1AgentBridge
from roost.acp.v2.gen.methods import NOTIFICATIONS, REQUESTS
from roost.wire.decode import decode
from tests.acp.bridge.bridge_rig import BridgeRig, Json

INFO = {"name": "test", "version": "1"}
CWD = "/work"
SERVICES = {"fs": {"readTextFile": True, "writeTextFile": True}, "terminal": True}

MODES = {"currentModeId": "ask", "availableModes": [{"id": "ask", "name": "Ask"}, {"id": "code", "name": "Code"}]}
AUTH = [
    {"id": "key", "name": "Key", "description": None},
    {"id": "web", "name": "Web", "type": "agent"},
    {"id": "tty", "name": "Terminal", "type": "terminal", "args": ["login"], "env": {"B": "2", "A": "1"}},
]


def strictly(type: Any, value: Any) -> None:
    """Fails when a reader had to forgive anything."""
    losses: list[str] = []
    decode(type, json.dumps(value).encode(), on_loss=lambda path, what: losses.append(f"{path}: {what}"))
    assert not losses, (losses, value)


class StrictV2:
    """Looks at every message for a v2 client."""

    def __init__(self) -> None:
        self.asked: dict[str, str] = {}  # method by id

    def asks(self, id: Any, method: str) -> None:
        self.asked[repr(id)] = method

    def check(self, message: Json) -> None:
        assert message["jsonrpc"] == "2.0"
        method = message.get("method")
        if method is None:
            asked = self.asked.pop(repr(message["id"]))  # each is answered once
            if "result" in message and not asked.startswith("_"):
                strictly(REQUESTS[asked].result, message["result"])
        elif not method.startswith(("_", "$/")):
            table = REQUESTS if "id" in message else NOTIFICATIONS
            strictly(table[method].params, message["params"])


class AgentRig(BridgeRig):
    """`ask` and `tell` as the v2 client, `reply`, `update` and `request` as the v1 agent."""

    def __init__(self, *, services: Json | None = None, limits: BridgeLimits | None = None, **options: Any) -> None:
        super().__init__()
        self.bridge = V1AgentBridge(services=services, limits=limits or BridgeLimits(), **options)
        self.checker = StrictV2()
        self._ids = 0

    # ---- the client

    def ask(self, method: str, params: Any = None, id: Any = None) -> Any:
        """Asks, and returns the id."""
        self._ids += 1
        id = f"c{self._ids}" if id is None else id
        self.checker.asks(id, method)
        self.north_sends({"id": id, "method": method, **({} if params is None else {"params": params})})
        return id

    # ---- the agent

    def update(self, session_id: str, update: Json, **more: Any) -> None:
        self.south_sends({"method": "session/update", "params": {"sessionId": session_id, "update": update, **more}})

    def check_north(self, message: Json) -> None:
        self.checker.check(message)

    # ---- openings

    def initialize(self, result: Json | None = None, capabilities: Json | None = None) -> Json:
        """The v2 answer."""
        self.ask("initialize", {"protocolVersion": 2, "info": INFO, "capabilities": capabilities or {}})
        request = self.asked()
        v1 = {"protocolVersion": 1, "agentCapabilities": {}, "agentInfo": {"name": "a", "version": "1"}}
        self.reply(request["id"], v1 if result is None else result)
        (answer,) = self.north()
        return answer["result"]

    def new(self, session_id: str = "s1", **result: Any) -> Json:
        self.ask("session/new", {"cwd": CWD})
        self.reply(self.asked()["id"], {"sessionId": session_id, **result})
        (answer,) = self.north()
        return answer["result"]

    def prompt(self, text: str = "hello", session_id: str = "s1") -> int:
        """The id of the v1 prompt."""
        self.ask("session/prompt", {"sessionId": session_id, "prompt": [{"type": "text", "text": text}]})
        return self.asked()["id"]

    def running(self, text: str = "hello", session_id: str = "s1") -> int:
        """A prompt that is accepted, and what came of that taken."""
        id = self.prompt(text, session_id)
        self.later(0.05)
        self.north()
        return id


def opened(agent: Json | None = None, *, client: Json | None = None, **options: Any) -> AgentRig:
    """A rig after `initialize` and `session/new`; `agent` are the v1 agent's capabilities."""
    rig = AgentRig(**options)
    rig.initialize(
        {"protocolVersion": 1, "agentCapabilities": agent or {}, "agentInfo": {"name": "a", "version": "1"}}, client
    )
    rig.new()
    return rig


def text(value: str) -> Json:
    return {"type": "text", "text": value}


def chunk(value: str, kind: str = "agent_message_chunk", **more: Any) -> Json:
    return {"sessionUpdate": kind, "content": text(value), **more}


def tags(updates: Iterable[Json]) -> list[str]:
    return [update.get("state", update["sessionUpdate"]) for update in updates]
