"""A small agent of protocol version 1, for chaos: `python -S -E agent.py [--child]`. Only the standard library.

A prompt is its text: `COUNT PAUSE` prints so many numbered updates with that many milliseconds between them; with
`ask` behind it, a permission is asked for half-way. Each update says by whom it was printed (`p`, the pid) and which
it is (`n`, from 1). `--child` leaves a descendant in a session of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

PID = str(os.getpid())


class Agent:
    def __init__(self) -> None:
        self.count = 0
        self.asked = 0
        self.session_id = f"s-{PID}-{os.urandom(4).hex()}"
        self.cancelled = False

    def say(self, message: dict) -> None:  # type: ignore[type-arg]
        sys.stdout.buffer.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        sys.stdout.buffer.flush()

    def hear(self) -> dict:  # type: ignore[type-arg]
        line = sys.stdin.buffer.readline()
        if not line:
            sys.exit(0)
        message = json.loads(line)
        if message.get("method") == "session/cancel":
            self.cancelled = True
        return message  # type: ignore[no-any-return]

    def update(self) -> None:
        self.count += 1
        content = {"type": "text", "text": "é" * 40}
        update = {"sessionUpdate": "agent_message_chunk", "content": content, "p": PID, "n": self.count}
        self.say({"method": "session/update", "params": {"sessionId": self.session_id, "update": update}})

    def prompt(self, request: dict) -> None:  # type: ignore[type-arg]
        self.cancelled = False
        words = request["params"]["prompt"][-1]["text"].split()
        count, pause = int(words[0]), int(words[1]) / 1000
        for place in range(count):
            if "ask" in words and place == count // 2:
                self.ask()
            self.update()
            if pause:
                time.sleep(pause)
        reason = "cancelled" if self.cancelled else "end_turn"
        self.say({"id": request["id"], "result": {"stopReason": reason, "p": PID, "n": self.count}})

    def ask(self) -> None:
        self.asked += 1
        options = [{"optionId": "yes", "kind": "allow_once", "name": "yes"}]
        params = {"sessionId": self.session_id, "options": options}
        self.say({"id": f"ask-{self.asked}", "method": "session/request_permission", "params": params})
        while "method" in self.hear():
            pass  # nothing else is sent meanwhile but a cancel, and the answer follows it

    def run(self) -> None:
        while True:
            request = self.hear()
            method = request.get("method")
            if method == "initialize":
                result = {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}}
                self.say({"id": request["id"], "result": result})
            elif method == "session/new":
                self.say({"id": request["id"], "result": {"sessionId": self.session_id}})
            elif method == "session/load":
                self.session_id = request["params"]["sessionId"]
                self.say({"id": request["id"], "result": {}})
            elif method == "session/prompt":
                self.prompt(request)
            elif "id" in request:
                self.say({"id": request["id"], "error": {"code": -32601, "message": "Method not found"}})


if __name__ == "__main__":
    if "--child" in sys.argv:
        sleep = [sys.executable, "-S", "-E", "-c", "import time; time.sleep(600)"]
        devnull = subprocess.DEVNULL
        subprocess.Popen(sleep, stdin=devnull, stdout=devnull, stderr=devnull, start_new_session=True)
    Agent().run()
