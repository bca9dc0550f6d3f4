"""Every bound and every wait of the sidecar: named, defaulted, configurable.

Reaching a bound is an AcpErrorResponse `limit_exceeded` that names the setting here; at 80 % of it a warning is
noted once, re-armed below 50 %. Durations are seconds.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from roost.errors import SidecarError

WARN_AT = 0.8
REARM_AT = 0.5


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The sidecar's settings. `docs/limits.md` is generated from the names, defaults and comments of this class."""

    max_frame_bytes: int = 16 * 1024 * 1024  # one frame between caller and daemon; told in Welcome
    line_bytes: int = 16 * 1024 * 1024  # one line of an agent's output
    agent_input_bytes: int = 32 * 1024 * 1024  # waiting for an agent that does not read its input
    caller_output_bytes: int = 8 * 1024 * 1024  # waiting for a caller that does not read; its agents pause above
    requests_per_connection: int = 1024  # requests of one connection that are not answered yet
    sessions_per_caller: int = 1024  # live sessions of one caller
    processes: int = 1024  # agent programs running at once
    callbacks_per_session: int = 256  # permission and host requests open at once in one session
    bootstrap_notifications: int = 65_536  # notifications an agent may send before its session is open
    bootstrap_bytes: int = 64 * 1024 * 1024  # and their total size
    stderr_tail: int = 4000  # characters of an agent's last stderr output that are kept for errors
    noise_tail: int = 2000  # characters of non-protocol output on stdout that are kept for errors
    recent_activity: int = 16  # entries of the recent ACP activity told by a time-out
    restarts: int = 3  # automatic restarts of one session before it is given up

    hello_timeout: float = 5.0  # from connecting to a complete Hello
    initialize_timeout: float = 30.0  # the agent's answer to initialize (see docs/decisions/timeouts.md)
    session_open_timeout: float = 60.0  # the agent's answer to session/new, session/load, session/resume
    request_timeout: float = 120.0  # any other request
    inactivity_timeout: float = 600.0  # a prompt, without any output of that agent; paused while someone is asked
    callback_timeout: float = 120.0  # a permission or host request put to the caller
    cancel_grace: float = 10.0  # an agent that was told to cancel and has not ended its turn
    input_close_grace: float = 0.5  # from closing an agent's input to SIGTERM
    kill_grace: float = 5.0  # from SIGTERM to SIGKILL
    abort_grace: float = 1.0  # the same for an agent whose start failed
    reap_timeout: float = 5.0  # from SIGKILL to giving a process up
    restart_refill_after: float = 600.0  # without a crash, after which the restart budget is full again
    restart_backoff: float = 0.5  # before the second restart in a row; doubled for each further one
    stuck_caller_timeout: float = 60.0  # a caller that reads nothing at all, then it is disconnected


class Gauge:
    """Watches one bound: refuses what would pass it, and warns at 80 % of it."""

    __slots__ = ("_warn", "_warned", "bound", "limit")

    def __init__(self, limit: str, bound: int, warn: Callable[[str, int, int], None]) -> None:
        self.limit = limit
        self.bound = bound
        self._warn = warn
        self._warned = False

    def admit(self, wanted: int, subject: str) -> None:
        """Raises SidecarError `limit_exceeded` when `wanted` (the new total) passes the bound."""
        if wanted > self.bound:
            raise limit_exceeded(self.limit, self.bound, subject)
        self.watch(wanted)

    def watch(self, observed: int) -> None:
        """Takes note of a level without refusing it."""
        if observed >= self.bound * WARN_AT:
            if not self._warned:
                self._warned = True
                self._warn(self.limit, observed, self.bound)
        elif observed < self.bound * REARM_AT:
            self._warned = False


def limit_exceeded(limit: str, bound: int, subject: str) -> SidecarError:
    return SidecarError("limit_exceeded", f"{subject}: limit {limit} of {bound} reached; raise {limit} to allow more")
