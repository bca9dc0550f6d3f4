"""An agent that has no end: it ignores SIGTERM and the end of its input, and writes for as long as it is read."""

import json
import os
import signal
import sys

signal.signal(signal.SIGTERM, signal.SIG_IGN)
RESULTS = {"initialize": {"protocolVersion": 1}, "session/new": {"sessionId": "flood"}}
PARAMS = {"sessionId": "flood", "update": {"sessionUpdate": "agent_message_chunk", "content": {"text": "x" * 900}}}
LINE = json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": PARAMS}).encode() + b"\n"

for text in sys.stdin:
    message = json.loads(text)
    if message.get("method") in RESULTS:
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": RESULTS[message["method"]]}
        os.write(1, json.dumps(answer).encode() + b"\n")
    else:
        break
while True:
    os.write(1, LINE)
