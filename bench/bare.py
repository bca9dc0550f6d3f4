"""The agent of the measurements with nobody in between, and with a program in between that does nothing else.

`python -m bench.bare` is that program: for each byte on its stdin, a socket, it greets a new agent and says so.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

COMMAND = (sys.executable, "-I", "-S", str(Path(__file__).with_name("stream_agent.py")))
GREETING = ("initialize", "session/new")


def greet() -> subprocess.Popen[bytes]:
    """A new agent that has answered what every agent is asked first.

    In a session of its own, as agents are: where the system schedules sessions as groups, who starts one waits until
    the new one has its first turn.
    """
    process = subprocess.Popen(
        COMMAND,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd="/",
        env={"PATH": os.defpath},
        start_new_session=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    for number, method in enumerate(GREETING):
        process.stdin.write(b'{"jsonrpc":"2.0","id":%d,"method":"%s","params":{}}\n' % (number, method.encode()))
        process.stdin.flush()
        process.stdout.readline()
    return process


def leave(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    process.wait()
    process.stdout.close()


def start() -> float:
    """ms until an agent is there."""
    begun = time.perf_counter()
    process = greet()
    took = time.perf_counter() - begun
    leave(process)
    return took * 1e3


class Middleman:
    def __init__(self, pid: int, link: socket.socket) -> None:
        self.pid = pid
        self._link = link

    def start(self) -> float:
        """ms until an agent is there that was asked for here."""
        begun = time.perf_counter()
        self._link.send(b"?")
        assert self._link.recv(1) == b"!"
        took = time.perf_counter() - begun
        assert self._link.recv(1) == b"."  # it has gone again
        return took * 1e3


@contextlib.contextmanager
def middleman() -> Iterator[Middleman]:
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen([sys.executable, "-m", "bench.bare"], stdin=theirs.fileno())
    with ours:
        yield Middleman(process.pid, ours)
    process.wait()


def main() -> None:
    while os.read(0, 1):
        process = greet()
        os.write(0, b"!")
        leave(process)
        os.write(0, b".")


if __name__ == "__main__":
    main()
