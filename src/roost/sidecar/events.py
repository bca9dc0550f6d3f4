"""What the engine is told: engine input, in the past tense.

`connection` is the driver's number for one connection of a caller; `process` the sidecar's name of a running agent
(`acp-agent-3`); `ticket` a number the engine gave out with a Load.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from roost.errors import RpcError
from roost.sidecar.gen.messages import AcpCallbackResponse, AcpRequest
from roost.sidecar.mcp_relay import RelayEvent

if TYPE_CHECKING:
    from roost.acp.bridge.events import Wish


class CallerArrived(msgspec.Struct, frozen=True, gc=False):
    """A connection was greeted. The sessions of a named caller outlive its connections (design of the frames)."""

    connection: int
    caller: str
    named: bool


class CallerLeft(msgspec.Struct, frozen=True, gc=False):
    connection: int


class CallerBlocked(msgspec.Struct, frozen=True, gc=False):
    """More waits for this connection than it reads (`caller_output_bytes`)."""

    connection: int


class CallerUnblocked(msgspec.Struct, frozen=True, gc=False):
    connection: int


class RequestArrived(msgspec.Struct, frozen=True, gc=False):
    """Answered by exactly one Reply with the same two numbers, ever."""

    connection: int
    request: int
    payload: AcpRequest


class CallerAnswered(msgspec.Struct, frozen=True, gc=False):
    connection: int
    callback: int
    payload: AcpCallbackResponse


class AgentStarted(msgspec.Struct, frozen=True, gc=False):
    """`pid` is None where the host knows none."""

    process: str
    pid: int | None


class AgentFailedToStart(msgspec.Struct, frozen=True, gc=False):
    """`code` is a wire error code: `execution`, `unsupported`, `io` …"""

    process: str
    code: str
    message: str


class AgentWrote(msgspec.Struct, frozen=True, gc=False):
    process: str
    chunk: bytes


class AgentWroteStderr(msgspec.Struct, frozen=True, gc=False):
    process: str
    chunk: bytes


class AgentInputQueued(msgspec.Struct, frozen=True, gc=False):
    """How many bytes wait for an agent that does not read its input (0: none any more)."""

    process: str
    queued: int


class AgentExited(msgspec.Struct, frozen=True, gc=False):
    """After everything the agent wrote. `exit_code` is negative for a signal, None when it could not be learned."""

    process: str
    exit_code: int | None


class ServiceWished(msgspec.Struct, frozen=True, gc=False):
    """What a ServeAgent would do, and may not do before a DecideService."""

    process: str
    token: int
    wish: Wish


class ServiceAnswered(msgspec.Struct, frozen=True, gc=False):
    """The one answer to a ServeAgent: JSON data, or the error for the agent."""

    process: str
    token: int
    result: Any
    error: RpcError | None = None


class TerminalStarted(msgspec.Struct, frozen=True, gc=False):
    process: str
    session_id: str
    terminal_id: str
    command: str
    cwd: str


class TerminalPrinted(msgspec.Struct, frozen=True, gc=False):
    process: str
    session_id: str
    terminal_id: str
    data: bytes


class TerminalEnded(msgspec.Struct, frozen=True, gc=False):
    """By itself with `exit_code`, or by a `signal`; both None when that is not known."""

    process: str
    session_id: str
    terminal_id: str
    exit_code: int | None
    signal: str | None


class ServicesEnded(msgspec.Struct, frozen=True, gc=False):
    """The answer to an EndServices for a whole agent: nothing it has started runs any more."""

    process: str


ServiceEvent = ServiceWished | ServiceAnswered | TerminalStarted | TerminalPrinted | TerminalEnded | ServicesEnded


class RecordLoaded(msgspec.Struct, frozen=True, gc=False):
    """The answer to a Load. `value` is what the query asked for; None: there is no such thing."""

    ticket: int
    value: Any


class VersionsRecalled(msgspec.Struct, frozen=True, gc=False):
    """What the journal has of the versions that agents speak, by the digests of their programs, oldest first."""

    versions: Mapping[str, int]


class ChangesStored(msgspec.Struct, frozen=True, gc=False):
    """The answer to a Persist with a ticket. `failure` None: it is durable; else why it is not."""

    ticket: int
    failure: str | None


class JournalPressed(msgspec.Struct, frozen=True, gc=False):
    """Much is told that is not durable yet, so no agent of a kept session is read for the moment."""


class JournalEased(msgspec.Struct, frozen=True, gc=False):
    """The journal has caught up, or has failed: they are read again."""


class ShutdownRequested(msgspec.Struct, frozen=True, gc=False):
    """The daemon ends: every session is closed, and no new one is opened."""


Event = (
    CallerArrived
    | CallerLeft
    | CallerBlocked
    | CallerUnblocked
    | RequestArrived
    | CallerAnswered
    | AgentStarted
    | AgentFailedToStart
    | AgentWrote
    | AgentWroteStderr
    | AgentInputQueued
    | AgentExited
    | RelayEvent
    | ServiceEvent
    | RecordLoaded
    | VersionsRecalled
    | ChangesStored
    | JournalPressed
    | JournalEased
    | ShutdownRequested
)
