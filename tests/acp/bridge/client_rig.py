"""A V1ClientBridge between scripted peers; what reaches the v2 agent is strict, the v1 client sees only v1."""

from __future__ import annotations

from typing import Any

from roost.acp.bridge.limits import BridgeLimits
from roost.acp.bridge.v1_client import V1ClientBridge
from roost.acp.dialect import V1
from roost.acp.v2.gen.methods import NOTIFICATIONS, REQUESTS
from tests.acp.bridge.bridge_rig import BridgeRig, Json
from tests.acp.bridge.rig import CWD, strictly, text

V1_UPDATES = frozenset(
    {
        "user_message_chunk",
        "agent_message_chunk",
        "agent_thought_chunk",
        "tool_call",
        "tool_call_update",
        "plan",
        "available_commands_update",
        "current_mode_update",
        "config_option_update",
        "session_info_update",
        "usage_update",
    }
)
CAPABILITIES: Json = {"session": {"mcp": {"stdio": {}, "http": {}}, "prompt": {"image": {}}, "delete": {}}}
INFO = {"name": "agent", "version": "1"}


class ClientRig(BridgeRig):
    """`ask` and `tell` as the v1 client, `reply`, `update` and `request` as the v2 agent."""

    def __init__(self, *, limits: BridgeLimits | None = None, **options: Any) -> None:
        super().__init__()
        self.bridge = V1ClientBridge(limits=limits or BridgeLimits(), **options)
        self._ids = 0
        self.open: set[str] = set()
        self.announced: set[str] = set()

    # ---- the client

    def ask(self, method: str, params: Any = None, id: Any = None) -> Any:
        self._ids += 1
        id = self._ids if id is None else id
        self.open.add(repr(id))
        self.north_sends({"id": id, "method": method, **({} if params is None else {"params": params})})
        return id

    # ---- the agent

    def update(self, update: Json, session_id: str = "s1", **more: Any) -> None:
        self.south_sends({"method": "session/update", "params": {"sessionId": session_id, "update": update, **more}})

    def state(self, state: str, **more: Any) -> None:
        self.update({"sessionUpdate": "state_update", "state": state, **more})

    # ---- what came out

    def check_north(self, message: Json) -> None:
        method = message.get("method")
        if method is None:
            self.open.remove(repr(message["id"]))  # each is answered once
        elif not method.startswith(("_", "$/")):
            row = V1.request(method, "client") if "id" in message else V1.notification(method, "client")
            assert row is not None, method
        if method == "session/update":
            update = message["params"]["update"]
            assert update["sessionUpdate"] in V1_UPDATES
            if update["sessionUpdate"] == "tool_call":
                assert isinstance(update["title"], str)
                self.announced.add(update["toolCallId"])
            elif update["sessionUpdate"] == "tool_call_update":
                assert update["toolCallId"] in self.announced

    def check_south(self, message: Json) -> None:
        method = message.get("method")
        if method is not None and not method.startswith(("_", "$/")):
            strictly((REQUESTS if "id" in message else NOTIFICATIONS)[method].params, message["params"])

    # ---- openings

    def initialize(self, result: Json | None = None, client: Json | None = None) -> Json:
        self.ask("initialize", {"protocolVersion": 1, "clientCapabilities": client or {}})
        v2 = {"protocolVersion": 2, "info": INFO, "capabilities": CAPABILITIES, **(result or {})}
        self.reply(self.asked()["id"], v2)
        (answer,) = self.north()
        return answer["result"]

    def new(self, session_id: str = "s1", **result: Any) -> Json:
        self.ask("session/new", {"cwd": CWD, "mcpServers": []})
        self.reply(self.asked()["id"], {"sessionId": session_id, **result})
        (answer,) = self.north()
        return answer["result"]

    def prompt(self, value: str = "hello", session_id: str = "s1") -> int:
        """Sent and accepted."""
        self.ask("session/prompt", {"sessionId": session_id, "prompt": [text(value)]}, id=f"p-{value}")
        call = self.asked()["id"]
        self.reply(call, {})
        return call

    def running(self, value: str = "hello") -> int:
        call = self.prompt(value)
        self.update({"sessionUpdate": "user_message", "messageId": f"u-{value}", "content": [text(value)]})
        self.state("running")
        assert self.north() == []
        return call


def ready(client: Json | None = None, **options: Any) -> ClientRig:
    rig = ClientRig(**options)
    rig.initialize(client=client)
    rig.new()
    return rig
