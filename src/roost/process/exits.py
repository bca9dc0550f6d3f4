"""Noticing that a child ended, at once and without a thread, while its pid still means nobody else.

The exit status is looked at, not collected: until `reap` the dead child keeps its pid, and with it the number of
its process group, so that signals to that group cannot hit strangers.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress

# A child that was killed this moment is dead within microseconds, unless it hangs in the kernel. Seconds.
_REAP_TIMEOUT = 1.0


class ExitWatch:
    """Calls `noticed(exit_code)` once, in the loop, when the child has ended.

    The code is negative for a signal; None when somebody else collected it (a host program that reaps every child
    it sees).
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, child: subprocess.Popen[bytes], noticed: Callable[[int | None], None]
    ) -> None:
        self._loop = loop
        self._child = child
        self._noticed = noticed
        self._fd = -1
        self.pinned = True
        if sys.platform == "linux":
            # An old kernel, or a container that forbids the call, gets the thread.
            with suppress(OSError):
                self._fd = os.pidfd_open(child.pid)
        if self._fd >= 0:
            try:
                loop.add_reader(self._fd, self._ended)
            except OSError:
                os.close(self._fd)
                raise
        else:
            threading.Thread(target=self._wait, name=f"roost-wait-{child.pid}", daemon=True).start()

    def reap(self) -> None:
        """Collect the status of a child that has ended or was killed; from now on its pid may mean somebody else."""
        self.pinned = False
        with suppress(subprocess.TimeoutExpired):
            self._child.wait(_REAP_TIMEOUT)

    def close(self) -> None:
        """Stop watching. Nothing is noticed from now on."""
        self._noticed = _nothing
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            self._loop.remove_reader(fd)
            os.close(fd)

    def _ended(self) -> None:
        noticed, code = self._noticed, self._look()
        self.close()
        noticed(code)

    def _look(self) -> int | None:
        """The exit code, leaving the dead child where it is."""
        if sys.platform != "linux":
            self.pinned = False
            return self._child.returncode
        try:
            status = os.waitid(os.P_PID, self._child.pid, os.WEXITED | os.WNOWAIT)
        except ChildProcessError:
            status = None
        if status is None:
            self.pinned = False
            return None
        return status.si_status if status.si_code == os.CLD_EXITED else -status.si_status

    def _wait(self) -> None:
        """In a thread: wait the portable way, which collects the status where it cannot only be looked at."""
        if sys.platform == "linux":
            with suppress(ChildProcessError):
                os.waitid(os.P_PID, self._child.pid, os.WEXITED | os.WNOWAIT)
        else:
            self._child.wait()
        # The loop may be closed by now: then nobody is left to be told.
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._ended)


def _nothing(_code: int | None) -> None:
    pass
