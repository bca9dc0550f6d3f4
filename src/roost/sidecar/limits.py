"""Every bound and every wait of the sidecar: named, defaulted, configurable.

Reaching a bound is an AcpErrorResponse `limit_exceeded` that names the setting here; at 80 % of it a warning is
noted once, re-armed below 50 %. Durations are seconds.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import msgspec

from roost.errors import ConfigError, SidecarError

WARN_AT = 0.8
REARM_AT = 0.5


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The sidecar's settings. Raises ConfigError for values that cannot work.

    `docs/limits.md` is generated from the names, defaults and comments of this class: meaning, an arrow, and what
    happens when it is reached.
    """

    max_frame_bytes: int = 16 * 1024 * 1024  # one frame from a caller; told in Welcome -> the connection is refused
    line_bytes: int = 16 * 1024 * 1024  # one line of an agent's output -> it is dropped; the requests in flight fail
    agent_input_bytes: int = 32 * 1024 * 1024  # waiting for an agent that does not read its input -> requests fail
    caller_output_bytes: int = 8 * 1024 * 1024  # waiting for a caller that does not read -> its agents are paused
    closing_output_bytes: int = 1024 * 1024  # read of an agent at its end though nobody keeps up -> it is paused again
    connections: int = 1024  # callers connected at once, those that have not said Hello too -> the next one is refused
    requests_per_connection: int = 1024  # unanswered requests of one connection -> the next one fails
    requests_per_session: int = 1024  # requests of one session that its agent has not answered -> the next one fails
    sessions_per_caller: int = 1024  # live sessions of one caller -> the next one is not opened
    processes: int = 1024  # agent programs running at once -> the next one is not started
    callbacks_per_session: int = 256  # questions of an agent open at once -> the next one is refused
    agent_batches: int = 64  # batches of one agent that wait for replies -> the requests of the next are refused
    agent_batch_items: int = 1024  # messages in one batch of an agent -> it is refused as a whole
    agent_request_id_bytes: int = 1024  # the id of an agent's request -> the request is refused
    agent_error_data_bytes: int = 64 * 1024  # `data` of an agent's error -> it is passed on and not looked into
    bootstrap_notifications: int = 65_536  # notifications before the session is open -> it is not opened
    bootstrap_bytes: int = 64 * 1024 * 1024  # and their total size -> it is not opened
    service_requests: int = 128  # files and terminals that a bridged agent waits for -> the next one is refused
    service_read_bytes: int = 8 * 1024 * 1024  # of a file, in one answer to a bridged agent -> it is refused
    service_write_bytes: int = 16 * 1024 * 1024  # of a file that a bridged agent writes at once -> it is refused
    terminals_per_session: int = 32  # that a bridged agent has not released -> the next one is refused
    terminal_output_bytes: int = 1024 * 1024  # a terminal's output, kept for its agent -> the oldest goes
    terminal_shown_bytes: int = 4 * 1024 * 1024  # a terminal's output, told to callers -> its last part at its end
    session_id_bytes: int = 1024  # the session id an agent chooses -> the session is not opened
    stderr_tail: int = 4000  # of an agent's stderr, kept for errors -> older ones go
    noise_tail: int = 2000  # of output that is no protocol, kept for errors -> the middle goes
    recent_activity: int = 16  # entries of recent ACP activity, kept for errors -> older ones go
    remembered_agents: int = 1024  # agents whose version of ACP is remembered -> the one learned longest ago goes
    restarts: int = 3  # automatic restarts of one session -> it is given up

    hello_timeout: float = 5.0  # from connecting to a complete Hello -> the connection is refused
    store_timeout: float = 10.0  # the journal's word that something is durable -> the request fails with `io`
    sleep_after: float = 1800.0  # nothing under way in a session of a named caller -> its agent is ended; 0: never
    load_timeout: float = 30.0  # the store's or the catalogue's answer -> the request fails
    initialize_timeout: float = 30.0  # the agent's answer to initialize -> the agent is ended
    negotiation_timeout: float = 15.0  # an unknown agent's answer to its first initialize -> it is asked for version 1
    session_open_timeout: float = 60.0  # its answer to session/new, session/load, session/resume -> the agent is ended
    request_timeout: float = 120.0  # its answer to any other request but a prompt -> error acp_timeout
    inactivity_timeout: float = 600.0  # a turn without output, not counting questions -> error acp_timeout and a cancel
    callback_timeout: float = 120.0  # a question put to the caller -> the agent is refused
    cancel_grace: float = 10.0  # from telling an agent to cancel to the end of its turn -> the agent is restarted
    input_close_grace: float = 0.5  # from closing an agent's input to its exit -> SIGTERM
    kill_grace: float = 5.0  # from SIGTERM to its exit -> SIGKILL
    abort_grace: float = 1.0  # the same for an agent whose start failed -> SIGKILL
    terminal_kill_grace: float = 2.0  # from SIGTERM to the exit of what an agent's terminal runs -> SIGKILL
    reap_timeout: float = 5.0  # from SIGKILL to its exit -> the process is given up
    restart_refill_after: float = 600.0  # without a crash -> the restart budget is full again
    restart_backoff: float = 0.5  # before the second restart in a row, doubled for each further one -> the restart
    stuck_caller_timeout: float = 60.0  # a caller that reads nothing at all -> it is disconnected

    def __post_init__(self) -> None:
        for field in msgspec.structs.fields(self):
            value = getattr(self, field.name)
            least = 0 if field.type is float or field.name in MAY_BE_ZERO else 1
            if not math.isfinite(value) or value < least:
                raise ConfigError(f"{field.name} has to be a number of at least {least}, not {value}")
        if self.line_bytes > self.max_frame_bytes:
            raise ConfigError("line_bytes cannot be more than max_frame_bytes: a line travels in one frame")


# Nothing may be kept, or tried again; every other bound of 0 would be a sidecar that does nothing.
MAY_BE_ZERO = frozenset(("restarts", "stderr_tail", "noise_tail", "recent_activity"))


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
        if observed and observed >= self.bound * WARN_AT:
            if not self._warned:
                self._warned = True
                self._warn(self.limit, observed, self.bound)
        elif observed < self.bound * REARM_AT:
            self._warned = False


def limit_exceeded(limit: str, bound: int, subject: str) -> SidecarError:
    return SidecarError("limit_exceeded", f"{subject}: limit {limit} of {bound} reached; raise {limit} to allow more")
