"""What one update costs inside the engine: from the chunk an agent wrote to the frame a caller gets."""

from __future__ import annotations

import json
import time

from bench.measure import Report, median
from roost.sidecar import commands, events
from roost.sidecar.engine import Engine
from roost.sidecar.gate import Gate
from roost.sidecar.gen.messages import AcpCreateSessionRequest, AcpGetSessionStateRequest, AcpRuntimeKind
from roost.sidecar.launch import AgentProgram

SESSION = "session-0001"
UPDATE_BYTES = 250
CHUNK_BYTES = 64 * 1024  # what one read of a pipe gives at most
ROUNDS = 7
REPEATS = 100
AIM = 2.5  # µs, the relay's budget for looking at a line and passing it on


def main() -> Report:
    report = Report("engine: one agent_message_chunk of 250 bytes, from the agent's chunk to the caller's frame")
    for callers in (1, 4):
        engine, process = opened(callers)
        handled, framed = measured(engine, process, callers)
        report.row(f"{callers} connection(s): engine alone", f"{handled:.2f} µs")
        aim = AIM * callers
        report.row(f"{callers} connection(s): and framed", f"{framed:.2f} µs", f"≤ {aim:g} µs", met=framed <= aim)
    return report


def opened(callers: int) -> tuple[Engine, str]:
    """An engine with one session that so many connections hear, and the name of its process."""
    engine = Engine()
    for number in range(1, callers + 1):
        engine.handle(events.CallerArrived(number, "bench", True), 0.0)
    request = AcpCreateSessionRequest("a", AcpRuntimeKind.PYTHON, "/", [], {}, 1, "{}", "[]", True)
    engine.handle(events.RequestArrived(1, 1, request), 0.0)
    engine.handle(events.RecordLoaded(1, AgentProgram(agent_type="a", entrypoint="a")), 0.0)
    process = next(command.process for command in engine.commands() if isinstance(command, commands.SpawnAgent))
    engine.handle(events.AgentStarted(process, None), 0.0)
    for number, result in ((1, {"protocolVersion": 1}), (2, {"sessionId": SESSION})):
        line = json.dumps({"jsonrpc": "2.0", "id": number, "result": result}).encode()
        engine.handle(events.AgentWrote(process, line + b"\n"), 0.0)
    for number in range(2, callers + 1):
        engine.handle(events.RequestArrived(number, number, AcpGetSessionStateRequest(SESSION)), 0.0)
    engine.commands()
    return engine, process


def update_line() -> bytes:
    """One line of exactly UPDATE_BYTES, its newline included."""

    def line(text: str) -> bytes:
        content = {"type": "text", "text": text}
        update = {"sessionUpdate": "agent_message_chunk", "messageId": "m1", "content": content}
        message = {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": SESSION, "update": update}}
        return json.dumps(message, separators=(",", ":")).encode() + b"\n"

    return line("x" * (UPDATE_BYTES - len(line(""))))


def measured(engine: Engine, process: str, callers: int) -> tuple[float, float]:
    """µs of CPU per update: in the engine, and with the frames put together as well."""
    count = CHUNK_BYTES // UPDATE_BYTES
    event = events.AgentWrote(process, update_line() * count)
    gates = [
        Gate(server="bench", assigned="~1", max_frame_bytes=1 << 24, admit=lambda hello: None) for _ in range(callers)
    ]
    handled, framed = [], []
    for _ in range(ROUNDS):
        started = time.process_time()
        for _ in range(REPEATS):
            engine.handle(event, 0.0)
            engine.commands()
        handled.append(time.process_time() - started)
        started = time.process_time()
        for _ in range(REPEATS):
            engine.handle(event, 0.0)
            for command in engine.commands():
                if isinstance(command, commands.Publish):
                    gates[command.connection - 1].publish(command.payload)
            for gate in gates:
                gate.outgoing()
        framed.append(time.process_time() - started)
    return median(handled) / REPEATS / count * 1e6, median(framed) / REPEATS / count * 1e6
