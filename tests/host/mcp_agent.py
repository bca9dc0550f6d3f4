"""An agent that knows of MCP servers only that they are programs. It uses each before it opens a session. It speaks ACP
v1, or v2 with `--v2`.

A prompt is a list as JSON: a server's name, a method, its params; the answer is what it says. `[NAME, "opened"]` tells
how that server answered at first, `[NAME, "kill"]` ends its program the hard way, `["die"]` the agent itself.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

Json = dict[str, Any]


def send(file: Any, **message: Any) -> None:
    file.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    file.flush()


class Server:
    """A running MCP server, and a client for it that does one thing at a time."""

    def __init__(self, entry: Json) -> None:
        env = {variable["name"]: variable["value"] for variable in entry["env"]}
        pipe = subprocess.PIPE
        self.process = subprocess.Popen([entry["command"], *entry["args"]], env=env, stdin=pipe, stdout=pipe, text=True)
        self.heard: list[Json] = []
        self.last_id = 0
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "agent", "version": "1"}}
        self.opened = self.request("initialize", hello)
        self.tools: Any = None
        if "code" not in self.opened:
            send(self.process.stdin, method="notifications/initialized")
            self.tools = self.request("tools/list", {})

    def request(self, method: str, params: Json) -> Any:
        self.last_id += 1
        send(self.process.stdin, id=self.last_id, method=method, params=params)
        assert self.process.stdout is not None
        while line := self.process.stdout.readline():
            message = json.loads(line)
            if message.get("method") == "roots/list":
                send(self.process.stdin, id=message["id"], result={"roots": [{"uri": "file:///work"}]})
            elif "method" in message:
                self.heard.append(message)
            elif message["id"] == self.last_id:
                return message.get("result", message.get("error"))
        return {"ended": self.process.wait()}


V1 = {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}}
V2 = {
    "protocolVersion": 2,
    "info": {"name": "programs", "version": "1"},
    "capabilities": {"session": {"mcp": {"stdio": {}}}},
}
IDLE = {"sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn"}


def tell(update: Json) -> None:
    send(sys.stdout, method="session/update", params={"sessionId": "s1", "update": update})


def main() -> None:
    is_v2 = "--v2" in sys.argv
    servers: dict[str, Server] = {}
    for line in sys.stdin:
        message = json.loads(line)
        method, number, params = message.get("method"), message.get("id"), message.get("params", {})
        if method == "initialize":
            send(sys.stdout, id=number, result=V2 if is_v2 else V1)
        elif method in ("session/new", "session/load"):
            servers = {entry["name"]: Server(entry) for entry in params["mcpServers"]}
            send(sys.stdout, id=number, result={"sessionId": "s1"})
        elif method == "session/prompt":
            if is_v2:
                send(sys.stdout, id=number, result={})
                tell({"sessionUpdate": "user_message", "messageId": f"u{number}", "content": params["prompt"]})
                tell({"sessionUpdate": "state_update", "state": "running"})
            name, *rest = json.loads(params["prompt"][0]["text"])
            if name == "die":
                os._exit(3)
            server = servers[name]
            if rest[0] == "opened":
                answer: Any = server.opened
            elif rest[0] == "kill":
                server.process.kill()
                answer = {"ended": server.process.wait()}
            else:
                answer = server.request(rest[0], rest[1])
            said = {"answer": answer, "tools": server.tools, "heard": server.heard, "pid": server.process.pid}
            content = {"type": "text", "text": json.dumps(said)}
            tell({"sessionUpdate": "agent_message_chunk", "messageId": f"m{number}", "content": content})
            if is_v2:
                tell(IDLE)
            else:
                send(sys.stdout, id=number, result={"stopReason": "end_turn"})
        elif method == "session/close" and is_v2:
            send(sys.stdout, id=number, result={})
        elif number is not None and method is not None:
            send(sys.stdout, id=number, error={"code": -32601, "message": "Method not found"})


if __name__ == "__main__":
    main()
