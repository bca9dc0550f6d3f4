"""What a rig of either bridge can do: messages in from both ends, messages out, time."""

from __future__ import annotations

import json
from typing import Any

from roost.acp.bridge.events import BridgeEvent

Json = dict[str, Any]


def line(message: Json) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode()


class BridgeRig:
    """North is the client, south the agent. What comes out is checked as it is read."""

    bridge: Any

    def __init__(self) -> None:
        self.now = 100.0
        self.events: list[BridgeEvent] = []

    # ---- the client

    def tell(self, method: str, params: Any) -> None:
        self.north_sends({"method": method, "params": params})

    def answer(self, id: Any, result: Any) -> None:
        self.north_sends({"id": id, "result": result})

    def north_sends(self, message: Json) -> None:
        self.bridge.from_north(line(message), self.now)

    # ---- the agent

    def request(self, id: Any, method: str, params: Any) -> None:
        self.south_sends({"id": id, "method": method, "params": params})

    def reply(self, id: Any, result: Any) -> None:
        self.south_sends({"id": id, "result": result})

    def refuse(self, id: Any, code: int, message: str = "no") -> None:
        self.south_sends({"id": id, "error": {"code": code, "message": message}})

    def south_sends(self, message: Json) -> None:
        self.bridge.from_south(line(message), self.now)

    # ---- what came out

    def north(self) -> list[Json]:
        messages = [json.loads(message) for message in self.bridge.north()]
        for message in messages:
            self.check_north(message)
        self.events += self.bridge.events()
        return messages

    def south(self) -> list[Json]:
        messages = [json.loads(message) for message in self.bridge.south()]
        for message in messages:
            self.check_south(message)
        return messages

    def check_north(self, message: Json) -> None: ...

    def check_south(self, message: Json) -> None: ...

    def updates(self) -> list[Json]:
        return [message["params"]["update"] for message in self.north() if message.get("method") == "session/update"]

    def asked(self) -> Json:
        """The one request the agent was asked."""
        (request,) = [message for message in self.south() if "id" in message and "method" in message]
        return request

    def later(self, seconds: float) -> None:
        self.now += seconds
        self.bridge.expire(self.now)
