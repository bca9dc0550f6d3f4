"""The relay: one agent's stream through the daemon to a caller, beside a plain pipe and the official Python client.

python -m bench relay
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path

from bench.measure import Report, cpu_seconds, median, percentile, plain_environment, rss_bytes
from roost.host import Host, connect
from roost.sidecar.gen.messages import AcpGetSessionStateRequest

HERE = Path(__file__).parent
AGENT = f"{sys.executable} -I -S {HERE / 'stream_agent.py'}"
COUNT = 20_000
SIZE = 200
ROUNDS = 5
ROUND_TRIPS = 3_000
IDLE_SESSIONS = 40


@contextlib.asynccontextmanager
async def daemon() -> AsyncIterator[tuple[int, str]]:
    """A daemon process of its own: its pid and its socket."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "roost.sock")
        command = (sys.executable, "-m", "roost.cli.main")
        subprocess.run([*command, "daemon", "--help"], check=True, capture_output=True, env=plain_environment())
        own = dict.fromkeys(("XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR"), folder)
        process = await asyncio.create_subprocess_exec(
            *command,
            "daemon",
            "--socket",
            path,
            stderr=asyncio.subprocess.PIPE,
            env={**plain_environment(), **own},  # not the journal of whoever measures
        )
        assert process.stderr is not None
        try:
            line = await asyncio.wait_for(process.stderr.readline(), 20)
            drain = asyncio.get_running_loop().create_task(process.stderr.read())
            assert os.path.exists(path), line
            yield process.pid, path
        finally:
            process.terminate()
            await process.wait()
            drain.cancel()


async def stream_once(host: Host, pid: int) -> tuple[float, float, float]:
    """Updates/s, daemon CPU µs and client CPU µs per update."""
    session = await host.create_session(AGENT, cwd="/")
    turn = session.prompt(f"{COUNT} {SIZE}")
    seen = 0
    wall, own, theirs = time.perf_counter(), time.process_time(), cpu_seconds(pid)
    async for _ in turn:
        seen += 1
    wall, own, theirs = time.perf_counter() - wall, time.process_time() - own, cpu_seconds(pid) - theirs
    assert seen == COUNT + 2, seen
    await session.close()
    return COUNT / wall, theirs / COUNT * 1e6, own / COUNT * 1e6


async def round_trips(host: Host) -> list[float]:
    session = await host.create_session(AGENT, cwd="/")
    request = AcpGetSessionStateRequest(session.id)
    times = []
    for _ in range(ROUND_TRIPS):
        start = time.perf_counter()
        await host.request(request)
        times.append((time.perf_counter() - start) * 1e6)
    await session.close()
    return times[ROUND_TRIPS // 10 :]


async def pipe_round_trips() -> list[float]:
    """A bare pipe's: one line to a program that sends it back, from an event loop like the caller's."""
    echo = "import os\nwhile d := os.read(0, 65536): os.write(1, d)"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-I", "-S", "-c", echo, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdin is not None
    assert process.stdout is not None
    times = []
    for _ in range(ROUND_TRIPS):
        start = time.perf_counter()
        process.stdin.write(b"x" * 60 + b"\n")
        await process.stdout.readline()
        times.append((time.perf_counter() - start) * 1e6)
    process.stdin.close()
    await process.wait()
    return times[ROUND_TRIPS // 10 :]


def pipe_copy() -> tuple[float, float]:
    """The same bytes through one more program that only copies: updates/s, CPU µs of the copier per update."""
    source = subprocess.Popen(
        [sys.executable, "-I", "-S", str(HERE / "stream_agent.py")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    copier = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", "import os\nwhile d := os.read(0, 262144):\n    os.write(1, d)"],
        stdin=source.stdout,
        stdout=subprocess.PIPE,
    )
    assert source.stdin is not None
    assert source.stdout is not None
    assert copier.stdout is not None
    source.stdout.close()
    cpu, wall = cpu_seconds(copier.pid), time.perf_counter()
    line = '{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"prompt":[{"type":"text","text":"%d %d"}]}}\n'
    source.stdin.write((line % (COUNT, SIZE)).encode())
    source.stdin.flush()
    lines = 0
    while lines < COUNT + 3:
        lines += os.read(copier.stdout.fileno(), 262144).count(b"\n")
    wall, cpu = time.perf_counter() - wall, cpu_seconds(copier.pid) - cpu
    source.stdin.close()
    source.wait()
    copier.stdout.close()
    copier.terminate()
    copier.wait()
    return COUNT / wall, cpu / COUNT * 1e6


def official_client() -> float | None:
    """CPU µs per update of the official Python SDK's client on the same stream; None when it is not installed."""
    agent = [sys.executable, "-I", "-S", str(HERE / "peers" / "v1_stream_agent.py")]
    command = [sys.executable, str(HERE / "peers" / "official_client.py"), str(COUNT), str(SIZE), "chunk", "0", "--"]
    result = subprocess.run([*command, *agent], capture_output=True, text=True, check=False)
    if result.returncode == 3:
        return None
    if result.returncode != 0:
        raise RuntimeError(result.stderr)
    return float(json.loads(result.stdout)["cpu"])


def import_cost() -> float:
    """CPU ms of `import roost` on top of asyncio and msgspec."""
    code = "import time,asyncio,msgspec\nt=time.process_time()\nimport roost\nprint((time.process_time()-t)*1e3)"
    command = [sys.executable, "-c", code]
    return median([float(subprocess.check_output(command, env=plain_environment())) for _ in range(5)])


async def run() -> Report:
    report = Report(f"relay: {COUNT} updates of {SIZE} bytes in one prompt")
    async with daemon() as (pid, path):
        idle = rss_bytes(pid)
        async with connect(path) as host:
            await stream_once(host, pid)
            rates, daemons, clients, copies, officials = [], [], [], [], []
            for _ in range(ROUNDS):
                rate, theirs, own = await stream_once(host, pid)
                rates.append(rate)
                daemons.append(theirs)
                clients.append(own)
                copies.append(pipe_copy())
            for _ in range(2):
                official = official_client()
                if official is not None:
                    officials.append(official)
            trips, bare = await round_trips(host), await pipe_round_trips()
            before = rss_bytes(pid)
            sessions = [await host.create_session(AGENT, cwd="/") for _ in range(IDLE_SESSIONS)]
            per_session = (rss_bytes(pid) - before) / IDLE_SESSIONS
            for session in sessions:
                await session.close()
    daemon_cpu, client_cpu = median(daemons), median(clients)
    report.row("updates/s", f"{median(rates):,.0f}")
    report.row("daemon CPU per update", f"{daemon_cpu:.2f} µs", "≤ 10 µs", met=daemon_cpu <= 10)
    report.row("client CPU per update (host API, events)", f"{client_cpu:.2f} µs")
    report.row("plain pipe copy", f"{median([rate for rate, _ in copies]):,.0f} /s")
    report.row("plain pipe copy, CPU", f"{median([cpu for _, cpu in copies]):.2f} µs")
    if officials:
        ratio = median(officials) / daemon_cpu
        report.row("official Python client, CPU per update", f"{median(officials):.1f} µs")
        report.row("official client / daemon", f"{ratio:.1f} x", "≥ 15 x", met=ratio >= 15)
    else:
        report.row("official Python client", "not installed", "pip install agent-client-protocol")
    p50, bare50 = percentile(trips, 0.5), percentile(bare, 0.5)
    report.row("no-op request, p50 / p99", f"{p50:.0f} / {percentile(trips, 0.99):.0f} µs")
    report.row("bare pipe round trip, p50 / p99", f"{bare50:.0f} / {percentile(bare, 0.99):.0f} µs")
    report.row("no-op request / bare pipe", f"{p50 / bare50:.2f} x", "≤ 3 x", met=p50 / bare50 <= 3)
    report.row("idle daemon", f"{idle / 1e6:.1f} MB", "≤ 30 MB", met=idle <= 30e6)
    report.row("per idle session, in the daemon", f"{per_session / 1e3:.0f} kB", "≤ 100 kB", met=per_session <= 100e3)
    cost = import_cost()
    report.row("import roost", f"{cost:.1f} ms", "≤ 60 ms", met=cost <= 60)
    return report


def main() -> Report:
    return asyncio.run(run())
