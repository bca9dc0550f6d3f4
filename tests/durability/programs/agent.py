"""An agent that writes down whatever it hears before it acts on it. Stdlib only, ACP v2 or v1 as it is asked for.

    agent.py FOLDER [forget]

FOLDER/heard.log gets one JSON line per message, FOLDER/pids.log its process and that of a child it starts. With
`forget` it knows no session of an earlier process. A prompt's text says what happens:

    say N …   N pieces of a message, and the end of the turn
    burst N   the same, as fast as a pipe takes them
    drip N    the same, a millisecond apart
    hang      one piece, and no end
    ask       a permission; the turn ends when it is decided
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

FOLDER = Path(sys.argv[1])
FORGETS = "forget" in sys.argv[2:]
SESSIONS = FOLDER / "sessions.log"


def note(name: str, value: object) -> None:
    """Out of this process before it goes on, so that no kill can take it back."""
    file = os.open(FOLDER / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(file, json.dumps(value).encode() + b"\n")
    os.close(file)


class Agent:
    def __init__(self) -> None:
        self.version = 2
        self.session = ""
        self.asked = 0
        self.prompt_call: Any = None
        self.held: list[bytes] | None = None  # to be sent together

    def send(self, **message: Any) -> None:
        line = json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"
        if self.held is not None:
            self.held.append(line)
            return
        os.write(1, line)

    def let_go(self) -> None:
        data, self.held = memoryview(b"".join(self.held or ())), None
        while data:
            data = data[os.write(1, data) :]

    def update(self, **body: Any) -> None:
        self.send(method="session/update", params={"sessionId": self.session, "update": body})

    def piece(self, number: int) -> None:
        content = {"type": "text", "text": f"{number} "}
        mine = {"messageId": f"m{os.getpid()}-{self.prompt_call}"} if self.version == 2 else {}
        self.update(sessionUpdate="agent_message_chunk", content=content, **mine)

    def begin(self) -> None:
        if self.version == 2:
            self.send(id=self.prompt_call, result={"messageId": f"u{self.prompt_call}"})
            self.update(sessionUpdate="state_update", state="running")

    def end(self) -> None:
        if self.version == 2:
            self.update(sessionUpdate="state_update", state="idle", stopReason="end_turn")
        else:
            self.send(id=self.prompt_call, result={"stopReason": "end_turn"})

    def prompt(self, message: dict[str, Any]) -> None:
        self.prompt_call = message["id"]
        what, count, *_ = [*message["params"]["prompt"][-1]["text"].split(), ""]
        self.begin()
        if what == "ask":
            self.asked += 1
            options = [{"optionId": "y", "kind": "allow_once"}, {"optionId": "n", "kind": "reject_once"}]
            named = [{**option, "name": option["optionId"]} for option in options]
            tool_call = {"toolCallId": f"t{self.asked}", "title": "May I?"}
            params = {"sessionId": self.session, "options": named, "toolCall": tool_call, "title": "May I?"}
            self.send(id=f"ask-{self.asked}", method="session/request_permission", params=params)
            return
        if what == "hang":
            self.piece(0)
            return
        self.held = [] if what == "burst" else None
        for number in range(int(count)):
            self.piece(number)
            if what == "drip":
                time.sleep(0.001)
        self.let_go()
        self.end()

    def attach(self, message: dict[str, Any]) -> None:
        session_id = message["params"]["sessionId"]
        known = SESSIONS.exists() and json.dumps(session_id) in SESSIONS.read_text().splitlines()
        if known and not FORGETS:
            self.session = session_id
            self.send(id=message["id"], result={})
        else:
            error = {"code": -32002, "message": "no such session", "data": {"sessionId": session_id}}
            self.send(id=message["id"], error=error)

    def hear(self, message: dict[str, Any]) -> None:
        match message.get("method"):
            case "initialize":
                self.version = min(2, message["params"]["protocolVersion"])
                result: dict[str, Any] = {"protocolVersion": self.version, "info": {"name": "noting", "version": "1"}}
                if self.version == 2:
                    result["capabilities"] = {"session": {}}
                else:
                    result["agentCapabilities"] = {"loadSession": True}
                self.send(id=message["id"], result=result)
            case "session/new":
                self.session = f"session-{os.getpid()}-{time.time_ns()}"
                note("sessions.log", self.session)
                self.send(id=message["id"], result={"sessionId": self.session})
            case "session/resume" | "session/load":
                self.attach(message)
            case "session/prompt":
                self.prompt(message)
            case None:
                self.end()  # the permission is decided
            case _ if "id" in message:
                self.send(id=message["id"], result={})


def main() -> None:
    child = subprocess.Popen(["sleep", "600"], stdin=subprocess.DEVNULL, start_new_session=True)
    note("pids.log", [os.getpid(), child.pid])
    agent = Agent()
    for line in sys.stdin.buffer:
        message = json.loads(line)
        note("heard.log", message)
        agent.hear(message)


if __name__ == "__main__":
    main()
