"""A program's own standard input and output as a message channel, out of reach for everything else in the program.

The real descriptors are taken away: afterwards descriptor 0 reads nothing, and what is printed goes to standard error.
So neither a stray `print` nor a child process can get between the messages (STD-2, STD-7).
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import IO

from roost.transport.lines import DEFAULT_MAX_MESSAGE_BYTES, LineChannel, connect_lines


async def open_stdio(*, limit: int = DEFAULT_MAX_MESSAGE_BYTES) -> LineChannel:
    """Takes standard input and output for messages, a line each. Once per process."""
    reader, writer = take_descriptors()
    return await connect_lines(reader, writer, peer=f"process {os.getppid()}", limit=limit)


def take_descriptors() -> tuple[IO[bytes], IO[bytes]]:
    """The real standard input and output as files no child inherits; 0 and 1 are something harmless from now on."""
    with suppress(OSError, ValueError):
        sys.stdout.flush()
    reader = os.fdopen(os.dup(0), "rb", buffering=0)
    writer = os.fdopen(os.dup(1), "wb", buffering=0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return reader, writer
