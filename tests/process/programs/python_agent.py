#!/usr/bin/env python3
"""A small ACP v2 agent in Python, of the standard library only; as node_agent.cjs."""

from __future__ import annotations

import json
import os
import sys
from typing import Any


def write(**message: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False), flush=True)


def update(**body: Any) -> None:
    write(method="session/update", params={"sessionId": "python-1", "update": body})


def say(text: str) -> None:
    update(sessionUpdate="agent_message_chunk", messageId="m", content={"type": "text", "text": text})


def work(text: str) -> None:
    update(sessionUpdate="state_update", state="running")
    if text == "where":
        told = {"program": sys.executable, "args": sys.argv[1:], "greeting": os.environ.get("GREETING")}
        say(json.dumps({**told, "cwd": os.getcwd(), "prefix": sys.prefix}))
    elif text == "ask":
        options = [{"optionId": "y", "name": "Yes", "kind": "allow_once"}]
        params = {"sessionId": "python-1", "toolCall": {"toolCallId": "t", "title": "Go?"}, "options": options}
        write(id="q", method="session/request_permission", params=params)
        say(json.dumps(json.loads(sys.stdin.readline())["result"]["outcome"]))
    else:
        say(text)
    update(sessionUpdate="state_update", state="idle", stopReason="end_turn")


for line in sys.stdin:
    message = json.loads(line)
    method = message.get("method")
    if method == "initialize":
        info = {"name": "python", "version": "1"}
        write(id=message["id"], result={"protocolVersion": 2, "info": info, "capabilities": {"session": {}}})
    elif "id" in message and method is not None:
        write(id=message["id"], result={"sessionId": "python-1"} if method == "session/new" else {})
        if method == "session/prompt":
            work(message["params"]["prompt"][0]["text"])
