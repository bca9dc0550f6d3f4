"""The bench agent's stream for v1 clients: the same lines, and the prompt answered at the end."""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from stream_agent import SESSION, chunk, send, stream

COUNT, SIZE = int(sys.argv[1]), int(sys.argv[2])

for line in sys.stdin.buffer:
    message = json.loads(line)
    method = message.get("method")
    if method == "initialize":
        result: object = {"protocolVersion": 1, "agentCapabilities": {}}
    elif method == "session/new":
        result = {"sessionId": SESSION}
    elif method == "session/prompt":
        stream(chunk(SIZE), COUNT)
        result = {"stopReason": "end_turn"}
    else:
        result = {}
    if "id" in message:
        send({"jsonrpc": "2.0", "id": message["id"], "result": result})
