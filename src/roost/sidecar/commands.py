"""What the engine wants done: engine output, in the imperative, carried out in order."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from roost.sidecar.gen.messages import AcpCallback, AcpResponse
from roost.sidecar.journal import Change
from roost.sidecar.launch import Launch
from roost.sidecar.mcp_relay import RelayCommand

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
    """Stop reading the agent's stdout, and what its terminals print; its stderr is read on."""

    process: str


class ResumeAgent(msgspec.Struct, frozen=True, gc=False):
    process: str


class ForgetAgent(msgspec.Struct, frozen=True, gc=False):
    """The engine is done with a process that has exited, or that could not be ended."""

    process: str


class ServicePlace(msgspec.Struct, frozen=True):
    """Where a session's files and terminals are served: a session of an agent, from opening to closing.

    `terminals` begins the ids of its terminals, as nobody else's. `missing_file`: how a file is read that is not there.
    """

    session_id: str
    roots: tuple[str, ...]
    terminals: str
    missing_file: Literal["error", "empty"]


class ServeAgent(msgspec.Struct, frozen=True, gc=False):
    """Do what a bridged agent asks: a file or a terminal. Only to an engine made with `services`.

    Answered by one ServiceAnswered. What would change something is told before, as a ServiceWished, and done only if a
    DecideService of the same token allows it. What terminals do is told as it happens.
    """

    process: str
    token: int
    place: ServicePlace
    method: str
    params: dict[str, Any]


class DecideService(msgspec.Struct, frozen=True, gc=False):
    process: str
    token: int
    allowed: bool


class WithdrawService(msgspec.Struct, frozen=True, gc=False):
    """Nobody waits for that any more; it needs no ServiceAnswered."""

    process: str
    token: int


class EndServices(msgspec.Struct, frozen=True, gc=False):
    """Answer what is open and end every terminal: of a place, or of the agent (None), whose end ServicesEnded tells."""

    process: str
    place: ServicePlace | None


class AgentQuery(msgspec.Struct, frozen=True):
    """An agent type to be found. The answer is an AgentProgram, or None."""

    agent_type: str


class AgentsQuery(msgspec.Struct, frozen=True):
    """All agents that can be run. The answer is a list of AcpAgentEntry sorted by id."""


class SessionQuery(msgspec.Struct, frozen=True):
    """A stored session, by its key (`naming`). The answer is a StoredSession, or None."""

    session_id: str


class HoldersQuery(msgspec.Struct, frozen=True):
    """Whose stored sessions have these ids, with their owners or with their agents. The answer is a list of Holder."""

    names: tuple[str, ...]


class SessionsQuery(msgspec.Struct, frozen=True):
    """The stored sessions of a caller, newest first; `after`: time and key. The answer is a list of StoredSession."""

    caller: str
    after: tuple[float, str] | None
    limit: int


class HistoryQuery(msgspec.Struct, frozen=True):
    """Entries of a stored session with larger numbers. The answer is a list of Entry."""

    session_id: str
    after: int
    limit: int


class PromptQuery(msgspec.Struct, frozen=True):
    """The prompt of a stored session that had this idempotency key. The answer is a StoredPrompt, or None."""

    session_id: str
    key: str


class TranscriptQuery(msgspec.Struct, frozen=True):
    """The history of a stored session as a file that an agent with this cwd can read. The answer is its path."""

    session_id: str
    cwd: str


Query = (
    AgentQuery
    | AgentsQuery
    | SessionQuery
    | HoldersQuery
    | SessionsQuery
    | HistoryQuery
    | PromptQuery
    | TranscriptQuery
)


class Load(msgspec.Struct, frozen=True, gc=False):
    """Look something up; answered by RecordLoaded with the same ticket."""

    ticket: int
    query: Query


class Persist(msgspec.Struct, frozen=True, gc=False):
    """Changes for the journal, in order. With a ticket (not 0) they become durable at once; ChangesStored says so."""

    changes: tuple[Change, ...]
    ticket: int


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
    | RelayCommand
    | ServeAgent
    | DecideService
    | WithdrawService
    | EndServices
    | Load
    | Persist
    | Note
)
