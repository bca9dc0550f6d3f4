"""The bench agent's stream for v1 clients: the same lines, and the prompt answered at the end."""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from stream_agent import SESSION, chunk, send, stream, tool

for line in sys.stdin.buffer:
    message = json.loads(line)
    method = message.get("method")
    if method == "initialize":
        result: object = {"protocolVersion": 1, "agentCapabilities": {}}
    elif method == "session/new":
        result = {"sessionId": SESSION}
    elif method == "session/prompt":
        words = message["params"]["prompt"][0]["text"].split()
        make = tool if words[2:] == ["tool"] else chunk
        stream(make(int(words[1])), int(words[0]))
        result = {"stopReason": "end_turn"}
    else:
        result = {}
    if "id" in message:
        send({"jsonrpc": "2.0", "id": message["id"], "result": result})
