"""MCP servers of a simulated caller: it answers what programs of agents ask them, and asks and tells them things."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from roost.sidecar.gen.messages import AcpSessionRequest

if TYPE_CHECKING:
    from tests.simulation.client import Client

CLOCK = {"type": "acp", "name": "clock", "serverId": "srv-1"}
MAPS = {"type": "acp", "name": "maps", "serverId": "srv-2"}
ODD = (
    {"type": "acp", "name": "clock"},
    {"type": "acp", "name": 7, "serverId": None},
    {"type": "stdio", "name": "plain", "command": "/bin/true", "args": [], "env": []},
)


def some(client: Client, share: float) -> str:
    """The `mcpServers` of a session; with `share` there are any."""
    random = client.world.random
    if random.random() >= share:
        return "[]"
    servers = random.choice(([CLOCK], [CLOCK], [CLOCK, MAPS], [ODD[2], CLOCK]))
    return json.dumps(servers if random.random() < 0.95 else [random.choice(ODD)])


class Servers:
    """Those of one connection, and which of the connections to them are open."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._last = 0
        self._told = 0
        self.open: list[tuple[str, str]] = []  # the session, and the connection

    def answer(self, session_id: str, request: dict[str, Any]) -> dict[str, Any]:
        """The result of a request of the kind `mcp/…`."""
        params, random = request.get("params") or {}, self._client.world.random
        match request["method"]:
            case "mcp/connect":
                self._last += 1
                identifier: Any = f"{self._client.serial}-{self._last}"
                if random.random() < 0.1:
                    identifier = random.choice((None, 7, "", "same"))
                elif session_id:
                    self.open.append((session_id, identifier))
                return {"connectionId": identifier}
            case "mcp/message":
                inner = params.get("params") or {}
                return {"echo": [inner.get("of"), inner.get("number")]} if "of" in inner else {}
            case _:
                self.open = [entry for entry in self.open if entry[1] != params.get("connectionId")]
                return {}

    def act(self) -> None:
        """Says something to a program, or to none."""
        random = self._client.world.random
        if not self.open:
            return
        session_id, connection = random.choice(self.open)
        if random.random() < 0.05:
            connection = "nobody's"
        self._told += 1
        method = random.choice(("ping", "roots/list", "notifications/tools/list_changed", "notifications/message"))
        params: Any = {"connectionId": connection, "method": method}
        if random.random() < 0.7:
            params["params"] = random.choice(({"k": self._told}, [1], None))
        self._client.request(AcpSessionRequest(session_id, "mcp/message", json.dumps(params)))
