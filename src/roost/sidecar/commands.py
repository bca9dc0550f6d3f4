"""What the engine wants done: engine output, in the imperative, carried out in order."""

from __future__ import annotations

import msgspec

from roost.sidecar.gen.messages import AcpCallback, AcpResponse
from roost.sidecar.launch import Launch

SIGKILL = 9
SIGTERM = 15


class Reply(msgspec.Struct, frozen=True, gc=False):
    connection: int
    request: int
    response: AcpResponse


class Publish(msgspec.Struct, frozen=True, gc=False):
    """One encoded AcpEvent for one connection."""

    connection: int
    payload: bytes


class AskCaller(msgspec.Struct, frozen=True, gc=False):
    """Put a question to a caller; its answer comes back as CallerAnswered with the same number."""

    connection: int
    callback: int
    payload: AcpCallback


class Disconnect(msgspec.Struct, frozen=True, gc=False):
    """End a connection: tell it why (a Refused frame with id 0), then close it."""

    connection: int
    code: str
    message: str


class SpawnAgent(msgspec.Struct, frozen=True, gc=False):
    """Start a program; answered by AgentStarted or AgentFailedToStart."""

    process: str
    launch: Launch


class WriteAgent(msgspec.Struct, frozen=True, gc=False):
    process: str
    data: bytes


class CloseAgentInput(msgspec.Struct, frozen=True, gc=False):
    process: str


class SignalAgent(msgspec.Struct, frozen=True, gc=False):
    """Send a signal to the agent and everything it started."""

    process: str
    signal: int


class PauseAgent(msgspec.Struct, frozen=True, gc=False):
    """Stop reading the agent's stdout; its stderr is read on."""

    process: str


class ResumeAgent(msgspec.Struct, frozen=True, gc=False):
    process: str


class ForgetAgent(msgspec.Struct, frozen=True, gc=False):
    """The engine is done with a process that has exited, or that could not be ended."""

    process: str


class AgentQuery(msgspec.Struct, frozen=True):
    """An agent type to be found. The answer is an AgentProgram, or None."""

    agent_type: str


class AgentsQuery(msgspec.Struct, frozen=True):
    """All agents that can be run. The answer is a list of AcpAgentEntry sorted by id."""


class SessionQuery(msgspec.Struct, frozen=True):
    """A stored session of this caller. The answer is a SessionRecord, FOREIGN, or None."""

    session_id: str
    caller: str


Query = AgentQuery | AgentsQuery | SessionQuery


class Load(msgspec.Struct, frozen=True, gc=False):
    """Look something up; answered by RecordLoaded with the same ticket."""

    ticket: int
    query: Query


class Note(msgspec.Struct, frozen=True, gc=False):
    """Something for the log. `level` is one of debug, info, warning, error; `bug` marks a broken invariant."""

    level: str
    text: str
    bug: bool = False


Command = (
    Reply
    | Publish
    | AskCaller
    | Disconnect
    | SpawnAgent
    | WriteAgent
    | CloseAgentInput
    | SignalAgent
    | PauseAgent
    | ResumeAgent
    | ForgetAgent
    | Load
    | Note
)
