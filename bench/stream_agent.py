"""A raw ACP v2 agent for measurements: streams what a prompt asks for as fast as a pipe takes it. Stdlib only.

The prompt's text is `COUNT SIZE [KIND]`: that many session/update notifications of about that many bytes each.
With no numbers the turn ends at once.
"""

from __future__ import annotations

import json
import os
import sys

SESSION = "bench-" + str(os.getpid())
BURST = 256 * 1024


def send(message: object) -> None:
    write(json.dumps(message, separators=(",", ":")).encode() + b"\n")


def write(data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]


def update(body: dict[str, object]) -> dict[str, object]:
    return {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": SESSION, "update": body}}


def chunk(size: int) -> bytes:
    def line(text: str) -> bytes:
        content = {"type": "text", "text": text}
        body = {"sessionUpdate": "agent_message_chunk", "messageId": "m1", "content": content}
        return json.dumps(update(body), separators=(",", ":")).encode() + b"\n"

    words = "I will look at the parser first, then fix the failing test. "
    room = max(1, size - len(line("")))
    return line((words * (room // len(words) + 1))[:room])


def tool(size: int) -> bytes:
    text = "def handler(request):\n    return request\n" * (size // 40 + 1)
    body = {
        "sessionUpdate": "tool_call_update",
        "toolCallId": "t1",
        "title": "Reading handlers.py",
        "kind": "read",
        "status": "in_progress",
        "content": [{"type": "content", "content": {"type": "text", "text": text[: max(1, size - 260)]}}],
        "locations": [{"path": "/srv/handlers.py", "line": 42}],
    }
    return json.dumps(update(body), separators=(",", ":")).encode() + b"\n"


def stream(line: bytes, count: int) -> None:
    per_burst = max(1, BURST // len(line))
    block = line * per_burst
    while count >= per_burst:
        write(block)
        count -= per_burst
    write(line * count)


def prompt(message: dict[str, object]) -> None:
    words = message["params"]["prompt"][0]["text"].split()  # type: ignore[index]
    # The id is of a later draft than ours, whose readers insist on it.
    send({"jsonrpc": "2.0", "id": message["id"], "result": {"messageId": "u1"}})
    send(update({"sessionUpdate": "state_update", "state": "running"}))
    if len(words) >= 2 and words[0].isdigit():
        make = tool if words[2:] == ["tool"] else chunk
        stream(make(int(words[1])), int(words[0]))
    send(update({"sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn"}))


def main() -> None:
    for line in sys.stdin.buffer:
        message = json.loads(line)
        method = message.get("method")
        if method == "initialize":
            info = {"name": "bench", "version": "1"}
            result: object = {"protocolVersion": 2, "info": info, "capabilities": {"session": {}}}
        elif method == "session/new":
            result = {"sessionId": SESSION}
        elif method == "session/prompt":
            prompt(message)
            continue
        else:
            result = {}
        if "id" in message:
            send({"jsonrpc": "2.0", "id": message["id"], "result": result})


if __name__ == "__main__":
    main()
