"""What one chunk of a message costs in each bridge: from the message that came to the message that goes.

python -m bench bridge
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from bench.measure import Report, median
from roost.acp.bridge.limits import BridgeLimits
from roost.acp.bridge.v1_agent import V1AgentBridge
from roost.acp.bridge.v1_client import V1ClientBridge

COUNT = 20_000
ROUNDS = 5
AIM = 6.0  # µs of CPU per chunk update
LINEAR = 3.0  # how much more an update may cost when there are ten times as many; were it square, ten
TEXT = "x" * 60


def line(**message: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}, separators=(",", ":")).encode()


def update(**members: Any) -> bytes:
    return line(method="session/update", params={"sessionId": "session-0001", "update": members})


def main() -> Report:
    report = Report("bridge: CPU of one update, in and out")
    chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": TEXT}}
    rows: list[tuple[str, Callable[[], Any], bytes, bool]] = [
        ("v1 agent, v2 client: text chunk", v1_agent, update(**chunk), True),
        ("v1 agent, v2 client: tool call", v1_agent, update(**tool("tool_call_update")), False),
        ("v2 agent, v1 client: text chunk", v1_client, update(**chunk, messageId="m1"), True),
        ("v2 agent, v1 client: tool call", v1_client, update(**tool("tool_call_update")), False),
    ]
    for name, opened, message, has_aim in rows:
        cost = measured(opened, message, COUNT)
        report.row(name, f"{cost:.2f} µs", f"≤ {AIM:g} µs" if has_aim else "", met=cost <= AIM if has_aim else None)
    few, many = growing(COUNT // 10), growing(COUNT)
    report.row("v2 agent, v1 client: tool content that grows", f"{many:.2f} µs")
    report.row(
        "  … ten times as much of it", f"{many / few:.2f} times", f"≤ {LINEAR:g} times", met=many <= LINEAR * few
    )
    return report


def tool(tag: str) -> dict[str, Any]:
    content = [{"type": "content", "content": {"type": "text", "text": TEXT}}]
    return {"sessionUpdate": tag, "toolCallId": "t1", "title": "Read", "status": "in_progress", "content": content}


def v1_agent() -> V1AgentBridge:
    """In the middle of a turn."""
    bridge = V1AgentBridge()
    info = {"name": "bench", "version": "1"}
    bridge.from_north(line(id=1, method="initialize", params={"protocolVersion": 2, "info": info}), 0.0)
    bridge.from_south(line(id=1, result={"protocolVersion": 1, "agentCapabilities": {}}), 0.0)
    bridge.from_north(line(id=2, method="session/new", params={"cwd": "/"}), 0.0)
    bridge.from_south(line(id=2, result={"sessionId": "session-0001"}), 0.0)
    prompt = {"sessionId": "session-0001", "prompt": [{"type": "text", "text": "go"}]}
    bridge.from_north(line(id=3, method="session/prompt", params=prompt), 0.0)
    bridge.north()
    return bridge


def v1_client() -> V1ClientBridge:
    bridge = V1ClientBridge(limits=BridgeLimits())
    bridge.from_north(line(id=1, method="initialize", params={"protocolVersion": 1}), 0.0)
    info = {"name": "bench", "version": "1"}
    result = {"protocolVersion": 2, "info": info, "capabilities": {"session": {}}}
    bridge.from_south(line(id=1, result=result), 0.0)
    bridge.from_north(line(id=2, method="session/new", params={"cwd": "/", "mcpServers": []}), 0.0)
    bridge.from_south(line(id=2, result={"sessionId": "session-0001"}), 0.0)
    bridge.north()
    return bridge


def measured(opened: Callable[[], Any], message: bytes, count: int) -> float:
    """µs of CPU per message, drained every 64 as a reader's chunk would be."""
    times = []
    for _ in range(ROUNDS):
        bridge = opened()
        started = time.process_time()
        for at in range(count):
            bridge.from_south(message, 1.0)
            if at % 64 == 63:
                bridge.north()
                bridge.next_deadline()
        times.append(time.process_time() - started)
        assert bridge.losses.counts.get("malformed_update", 0) == 0
    return median(times) / count * 1e6


def growing(count: int) -> float:
    """The same for pieces of one tool call's content, a thousand a second."""
    content = {"type": "content", "content": {"type": "text", "text": TEXT}}
    message = update(sessionUpdate="tool_call_content_chunk", toolCallId="t1", content=content)
    times = []
    for _ in range(3):
        bridge = v1_client()
        started = time.process_time()
        for at in range(count):
            bridge.from_south(message, at / 1000)
            deadline = bridge.next_deadline()
            if deadline is not None and deadline <= at / 1000:
                bridge.expire(at / 1000)
            if at % 64 == 63:
                bridge.north()
        times.append(time.process_time() - started)
    return median(times) / count * 1e6


if __name__ == "__main__":
    main().show()
