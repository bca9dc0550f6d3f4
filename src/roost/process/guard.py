"""The program that ends a daemon's agents when the daemon is gone, however it went.

It is started as a file, by `python -I -S`, in a session of its own, and loads its sibling `table.py` and nothing
else of Roost. It blocks until one of two things happens: the pipe on its stdin ends, or the daemon's pid does. Then
it kills whatever still belongs to the daemon's token, looks twice more for late comers, and exits; unless it was
dismissed. Signals that a service manager or a terminal sends to the whole group do not end it: it has to be there
after everybody else.

Stdin carries one line for each agent: `+ NAME PID START` when it was started, `- NAME` when its tree was seen to be
empty; and `dismiss` when all of them were.
"""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Callable

Roots = dict[str, tuple[int, int]]

_CHUNK_BYTES = 65536


class Register:
    """The agents that may still be alive, as told in lines that may be split anywhere."""

    def __init__(self) -> None:
        self.roots: Roots = {}
        self.dismissed = False
        self._rest = b""

    def feed(self, chunk: bytes) -> None:
        """Take in some bytes. A line that is no line of ours is passed over: the mark finds that agent as well."""
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            words = line.decode("ascii", "replace").split()
            if len(words) == 4 and words[0] == "+" and words[2].isdigit() and words[3].isdigit():
                self.roots[words[1]] = (int(words[2]), int(words[3]))
            elif len(words) == 2 and words[0] == "-":
                self.roots.pop(words[1], None)
            elif words == ["dismiss"]:
                self.dismissed = True


def wait_for_the_end(register: Register, daemon: int, stdin: int = 0) -> None:
    """Block until the daemon is gone: it closed the pipe, or died while somebody else holds the pipe open."""
    watched = _watch(daemon)
    poll = select.poll()
    poll.register(stdin, select.POLLIN)
    if watched is not None:
        poll.register(watched, select.POLLIN)
    gone = os.getppid() != daemon
    while not gone:
        gone = watched in [fd for fd, _ in poll.poll()]
        if not gone:
            chunk = os.read(stdin, _CHUNK_BYTES)
            if not chunk:
                return
            register.feed(chunk)
    # What it had still written is in the pipe, and whoever else holds the other end must not keep us here.
    os.set_blocking(stdin, False)
    try:
        while chunk := os.read(stdin, _CHUNK_BYTES):
            register.feed(chunk)
    except BlockingIOError:
        pass


def main(exterminate: Callable[[str, Roots], object]) -> None:
    """Run as `guard.py TOKEN PID-OF-THE-DAEMON`."""
    for sig in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGQUIT):
        signal.signal(sig, signal.SIG_IGN)
    register = Register()
    wait_for_the_end(register, int(sys.argv[2]))
    if not register.dismissed:
        exterminate(sys.argv[1], register.roots)


def _watch(pid: int) -> int | None:
    """A descriptor that becomes readable when the process ends, where there is such a thing."""
    if sys.platform != "linux":
        return None
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None


if __name__ == "__main__":
    sys.path.append(os.path.dirname(os.path.abspath(__file__)))
    main(__import__("table").exterminate)
