"""Children of a test: one that says everything back, and one whose end somebody else has collected."""

from __future__ import annotations

import os

ECHO = "import sys\nfor line in sys.stdin.buffer: sys.stdout.buffer.write(line); sys.stdout.buffer.flush()"


def collect(pid: int) -> None:
    os.waitpid(pid, 0)
