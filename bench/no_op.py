"""Asks a daemon for the same state again and again, and in turns a bare program for an echo.

    python -m bench.no_op SOCKET SECONDS

Prints the µs of both, one pair a line. The echo goes through a socket to a program that does nothing else, so it shows
what this machine's scheduler makes anybody wait for at that moment.
"""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import time

from bench.relay import AGENT
from roost.host import connect
from roost.sidecar.gen.messages import AcpGetSessionStateRequest

PAUSE = 0.002
ECHO = "import os\nwhile d := os.read(0, 65536): os.write(0, d)"
LINE = b"x" * 60 + b"\n"  # about as long as the request


async def main(path: str, seconds: float) -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        echo = subprocess.Popen([sys.executable, "-I", "-S", "-c", ECHO], stdin=theirs.fileno())
    reader, writer = await asyncio.open_connection(sock=ours)
    async with connect(path) as host:
        session = await host.create_session(AGENT, cwd="/")
        request = AcpGetSessionStateRequest(session.id)
        pairs = []
        end = time.perf_counter() + seconds
        while (start := time.perf_counter()) < end:
            await host.request(request)
            asked = time.perf_counter() - start
            await asyncio.sleep(PAUSE)
            start = time.perf_counter()
            writer.write(LINE)
            await reader.readline()
            pairs.append((asked * 1e6, (time.perf_counter() - start) * 1e6))
            await asyncio.sleep(PAUSE)
        print("\n".join(f"{asked:.1f} {echoed:.1f}" for asked, echoed in pairs))
    writer.close()
    await writer.wait_closed()
    echo.wait()


asyncio.run(main(sys.argv[1], float(sys.argv[2])))
