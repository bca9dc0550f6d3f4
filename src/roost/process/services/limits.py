"""Every bound and every wait of the v1 client services: named, defaulted, configurable.

Reaching one is answered -32603 with `data: {"limit", "bound"}`, and nothing of what passed it is kept.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from roost.errors import ConfigError


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceLimits:
    """The settings of one session's services. Raises ConfigError for values that cannot work.

    The defaults keep every answer well inside a line of 16 MiB, and what a hostile agent can make this program hold
    below 200 MiB: 32 terminals of 1 MiB output and 1 MiB input each, 64 MiB of writes that wait, and one read.
    """

    path_bytes: int = 4096  # Linux's PATH_MAX
    path_steps: int = 256  # names on the way to a file, those in symbolic links included
    links: int = 40  # symbolic links on the way, as many as Linux follows
    read_bytes: int = 8 * 1024 * 1024  # what one read answers, measured as JSON, where a control character takes six
    scan_bytes: int = 256 * 1024 * 1024  # read on the way to the asked line
    write_bytes: int = 16 * 1024 * 1024  # one file written: no more fits in a line anyway
    waiting_write_bytes: int = 64 * 1024 * 1024  # content that waits for somebody's permission or the disk
    directory_entries: int = 10_000
    open_requests: int = 128  # unanswered at once; a wait for an exit is one
    terminals: int = 32  # not released
    output_bytes: int = 1024 * 1024  # kept of one terminal when nothing is asked (sidecar 5.3)
    max_output_bytes: int = 1024 * 1024  # ... and whatever is asked (sidecar 5.3)
    shown_bytes: int = 4 * 1024 * 1024  # of one terminal, told to whoever shows it; then a count, and its end
    input_bytes: int = 1024 * 1024  # given to a terminal and not taken by its command
    kill_grace: float = 2.0  # from SIGTERM to SIGKILL, in seconds; the agent waits for the answer

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            least = 0 if field.name == "kill_grace" else 1
            if not math.isfinite(value) or value < least:
                raise ConfigError(f"{field.name} has to be a number of at least {least}, not {value}")
        if self.output_bytes > self.max_output_bytes:
            raise ConfigError("output_bytes cannot be more than max_output_bytes")
