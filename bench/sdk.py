"""The library: our client and agent, beside the official Python and TypeScript SDKs on the same streams.

python -m bench sdk

Each client is a program of its own reading the raw agent, each agent one that a raw reader reads. The official Python
SDK is an extra of this project (`bench`); the TypeScript one is found where the interoperability tests install it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from bench.measure import Report, cpu_seconds, median, plain_environment

HERE = Path(__file__).parent
PEERS = HERE / "peers"
TS_SDK, TS_VERSION = "@agentclientprotocol/sdk", "2.4.0"

CHUNKS = (20_000, 250, "chunk")
TOOLS = (5_000, 1_000, "tool")
ROUNDS = 5
PEER_ROUNDS = 3
TRIPS = 2_000
MEGABYTE = 1_000_000
IMPORT_ROUNDS = 7
CLIENT_TIMEOUT = 120

V2_AGENT = (sys.executable, "-I", "-S", str(HERE / "stream_agent.py"))
V1_AGENT = (sys.executable, "-I", "-S", str(PEERS / "v1_stream_agent.py"))
OURS = (sys.executable, str(PEERS / "roost_agent.py"))
OFFICIAL = (sys.executable, str(PEERS / "official_agent.py"))

Cost = dict[str, float]


def client(program: Sequence[str], stream: tuple[int, int, str], agent: Sequence[str], trips: int = 0) -> Cost | None:
    """What a client pays for a stream: µs of CPU per update, updates/s, µs per round trip. None: not installed."""
    count, size, kind = stream
    command = [*program, str(count), str(size), kind, str(trips), "--", *agent]
    result = subprocess.run(
        command, capture_output=True, text=True, check=False, env=plain_environment(), timeout=CLIENT_TIMEOUT
    )
    if result.returncode == 3:
        return None
    if result.returncode != 0:
        raise RuntimeError(result.stderr)
    cost: Cost = json.loads(result.stdout)
    return cost


def our_client(how: str) -> tuple[str, ...]:
    return (sys.executable, str(PEERS / "roost_client.py"), how)


def official_client() -> tuple[str, ...]:
    return (sys.executable, str(PEERS / "official_client.py"))


def typescript() -> Path | None:
    """The `node_modules` with the official TypeScript SDK; None without node, npm or a registry."""
    import pytest

    from tests.interop.installed import npm

    try:
        return npm(TS_SDK, TS_VERSION)
    except (pytest.skip.Exception, pytest.fail.Exception):
        return None


class Agent:
    """An agent program and a raw reader of what it says."""

    def __init__(self, command: Sequence[str], version: int) -> None:
        self.version = version
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=plain_environment()
        )
        self._id = 0
        hello: dict[str, object] = {"protocolVersion": version}
        if version == 2:
            hello |= {"info": {"name": "bench", "version": "1"}, "capabilities": {}}
        self._ask("initialize", hello)
        self._result()
        self._ask("session/new", {"cwd": "/", "mcpServers": []})
        self._session = self._result()["sessionId"]

    def stream(self, count: int, size: int) -> tuple[float, float]:
        """The agent's CPU µs per update, and updates/s."""
        assert self.process.stdout is not None
        prompt = [{"type": "text", "text": f"{count} {size}"}]
        end = b'"idle"' if self.version == 2 else b'"stopReason"'
        wall, cpu = time.perf_counter(), cpu_seconds(self.process.pid)
        self._ask("session/prompt", {"sessionId": self._session, "prompt": prompt})
        last = b""
        while not (end in last and last.endswith(b"\n")):
            data = os.read(self.process.stdout.fileno(), 256 * 1024)
            if not data:
                raise RuntimeError(f"{self.process.args!r} ended in the middle of a stream")
            last = (last + data)[-400:]
        return (cpu_seconds(self.process.pid) - cpu) / count * 1e6, count / (time.perf_counter() - wall)

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.stdout.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _ask(self, method: str, params: object) -> None:
        assert self.process.stdin is not None
        self._id += 1
        message = {"jsonrpc": "2.0", "id": self._id, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def _result(self) -> dict[str, str]:
        assert self.process.stdout is not None
        while line := self.process.stdout.readline():
            message = json.loads(line)
            if message.get("id") == self._id and "method" not in message:
                result: dict[str, str] = message["result"]
                return result
        raise RuntimeError(f"{self.process.args!r} did not answer")


def agent_cost(command: Sequence[str], version: int) -> float:
    agent = Agent(command, version)
    try:
        agent.stream(1_000, CHUNKS[1])
        return median([agent.stream(*CHUNKS[:2])[0] for _ in range(PEER_ROUNDS)])
    finally:
        agent.close()


def import_cost() -> float:
    """CPU ms of the client on top of asyncio and msgspec."""
    code = (
        "import time,asyncio,msgspec\nt=time.process_time()\n"
        "import roost; roost.connect\nprint((time.process_time()-t)*1e3)"
    )
    command = [sys.executable, "-c", code]
    return median(
        [float(subprocess.check_output(command, env=plain_environment(), timeout=30)) for _ in range(IMPORT_ROUNDS)]
    )


def main() -> Report:
    report = Report(f"sdk: {CHUNKS[0]} chunks of {CHUNKS[1]} B, {TOOLS[0]} tool calls of {TOOLS[1]} B")
    modules = typescript()
    streams = {"chunk": CHUNKS, "tool call": TOOLS}
    ours: dict[tuple[str, str], list[Cost]] = {}
    others: dict[tuple[str, str], list[Cost]] = {}
    clients: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {"Python": (official_client(), V1_AGENT)}
    if modules is not None:
        for version, agent in (("v1", V1_AGENT), ("v2", V2_AGENT)):
            program = ("node", str(PEERS / "ts_client.mjs"), str(modules), version)
            clients[f"TypeScript {version}"] = (program, agent)
    for turn in range(ROUNDS):  # one after the other, so that a busy moment of the machine hits all alike
        for name, stream in streams.items():
            for how in ("TYPED", "FOLDED", "ITERATED"):
                cost = client(our_client(how), stream, V2_AGENT)
                assert cost is not None
                ours.setdefault((how, name), []).append(cost)
            for other, (program, agent) in clients.items():
                if turn < PEER_ROUNDS and (found := client(program, stream, agent)) is not None:
                    others.setdefault((other, name), []).append(found)

    def cpu(costs: list[Cost]) -> float:
        return median([cost["cpu"] for cost in costs])

    typed, folded = cpu(ours["TYPED", "chunk"]), cpu(ours["FOLDED", "chunk"])
    report.row("client CPU per chunk, typed and dispatched", f"{typed:.2f} µs", "≤ 4 µs", met=typed <= 4)
    report.row("client CPU per chunk, folded too", f"{folded:.2f} µs", "≤ 8 µs", met=folded <= 8)
    report.row("client CPU per chunk, folded and iterated", f"{cpu(ours['ITERATED', 'chunk']):.2f} µs")
    rate = median([cost["rate"] for cost in ours["FOLDED", "chunk"]])
    report.row("chunks/s, folded", f"{rate:,.0f}")
    typed_tool, folded_tool = cpu(ours["TYPED", "tool call"]), cpu(ours["FOLDED", "tool call"])
    report.row("client CPU per tool call, typed and dispatched", f"{typed_tool:.2f} µs")
    report.row("client CPU per tool call, folded too", f"{folded_tool:.2f} µs", "≤ 8 µs", met=folded_tool <= 8)
    report.row("client CPU per tool call, folded and iterated", f"{cpu(ours['ITERATED', 'tool call']):.2f} µs")
    aims = {"Python": 15, "TypeScript v1": 12, "TypeScript v2": 12}
    for other, aim in aims.items():
        for name in streams:
            what = f"official {other} client"
            if (other, name) not in others:
                report.row(f"{what}, CPU per {name}", "not installed")
                continue
            theirs, mine = cpu(others[other, name]), cpu(ours["TYPED", name])
            report.row(f"{what}, CPU per {name}", f"{theirs:.1f} µs")
            if name == "chunk":
                report.row(f"{what} / ours", f"{theirs / mine:.1f} x", f"≥ {aim} x", met=theirs / mine >= aim)
            else:
                report.row(f"{what} / ours", f"{theirs / mine:.1f} x")

    own = agent_cost(OURS, 2)
    report.row("agent CPU per chunk", f"{own:.2f} µs")
    agents: dict[str, tuple[tuple[str, ...], int]] = {}
    if ("Python", "chunk") in others:
        agents["Python"] = (OFFICIAL, 1)
    if modules is not None:
        for version in (1, 2):
            agents[f"TypeScript v{version}"] = (
                ("node", str(PEERS / "ts_agent.mjs"), str(modules), f"v{version}"),
                version,
            )
    for other, (command, version) in agents.items():
        theirs = agent_cost(command, version)
        report.row(f"official {other} agent", f"{theirs:.1f} µs", f"{theirs / own:.1f} x ours")

    nothing = (0, 0, "chunk")
    pairs = {"ours": (our_client("FOLDED"), OURS)}
    for other, (command, _) in agents.items():
        pairs[f"official {other}"] = (clients[other][0], command)
    trips: dict[str, list[float]] = {}
    for _ in range(PEER_ROUNDS):
        for pair, (program, command) in pairs.items():
            cost = client(program, nothing, command, TRIPS)
            assert cost is not None
            trips.setdefault(pair, []).append(cost["trip"])
    for pair, times in trips.items():
        share = "" if pair == "ours" else f"ours is {median(trips['ours']) / median(times):.2f} of it"
        report.row(f"session/list and back, {pair}", f"{median(times):.0f} µs", share)

    one, eight = (
        median(
            [
                cost["cpu"]
                for cost in (client(our_client("FOLDED"), (4, size, "chunk"), V2_AGENT) for _ in range(ROUNDS))
                if cost
            ]
        )
        for size in (MEGABYTE, 8 * MEGABYTE)
    )
    report.row("one message of 1 MB / 8 MB, client CPU", f"{one / 1e3:.2f} / {eight / 1e3:.2f} ms")
    report.row("8 MB / 1 MB", f"{eight / one:.1f} x", "≤ 9 x", met=eight / one <= 9)
    cost = import_cost()
    report.row("import of the client", f"{cost:.1f} ms", "< 80 ms", met=cost < 80)
    return report
