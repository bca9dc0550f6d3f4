"""The journal: what is remembered of a session, as values. The engine says what to keep, a Store keeps it.

Entries of one session are numbered from 1 without a hole; a number is never used again. Times are wall-clock
seconds and belong to the store: the engine reads no clock. Later on numbers may be missing: what was compacted lives on
in fewer entries, and where something is really gone a GAP says so.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Final

import msgspec

from roost.acp.dialect import V1, V2, Dialect, negotiate
from roost.sidecar.gen.messages import AcpRuntimeKind
from roost.sidecar.naming import id_in


class Kind(enum.StrEnum):
    """What an entry tells; its body is one JSON text."""

    UPDATE = "update"  # a notification of the agent, whole, as it was published
    PROMPT = "prompt"  # {"params": …, "call": id, "key": idempotency key or null}
    TURN = "turn"  # the end of a turn: {"stopReason": … or null, "usage": … or null, "call": id or null}
    PERMISSION = "permission"  # a question put to the caller: {"id": …, "params": …}
    REQUEST = "request"  # any other question of the agent: {"id": …, "method": …, "params": …}
    DECISION = "decision"  # the answer to either: {"id": …, "result": … or "error": …, "by": caller, policy, timeout …}
    EXIT = "exit"  # the agent is gone: {"exitCode": …, "restart": …, "count": …}
    RESUMED = "resumed"  # {"tier": "native" or "fallback", "liveId": …}
    INTERRUPTED = "interrupted"  # the daemon ended in mid-turn: {"call": id or null}
    GAP = "gap"  # entries that are gone, or never got here: {"first": n, "last": n, "reason": "age", "size" or "lost"}


class Entry(msgspec.Struct, frozen=True, gc=False):
    """One numbered entry. `at` is 0.0 until a store has stamped it.

    `first` is 0, or the first of the numbers that this entry alone stands for. Who has read up to one of them, and not
    to the end, finds some text here again: an UPDATE cannot be read on to from there, so start at `first`.
    """

    session_id: str
    number: int
    kind: Kind
    body: bytes
    at: float = 0.0
    first: int = 0


class StoredLaunch(msgspec.Struct, frozen=True, kw_only=True):
    """How a session's agent is started, without secrets: of the environment and of MCP servers only the names.

    `mcp_servers` is JSON with every `env` and `headers` value taken out; `env_names` are what has to be given again.
    `instructions`: what a variable of ours tells the agent, or a file; that variable is not among `env_names`.
    `decoy`: what the agent calls the session is a decoy (`decoy`), which its owner never hears.
    """

    agent_type: str
    runtime: AcpRuntimeKind
    cwd: str
    args: tuple[str, ...]
    env_names: tuple[str, ...]
    protocol_version: int
    client_capabilities: str
    mcp_servers: str
    decoy: bool = False
    instructions: str | None = None

    @property
    def dialect(self) -> Dialect:
        """What the session's updates are written in; as in Launch."""
        return negotiate(self.protocol_version, (V1, V2))


class StoredSession(msgspec.Struct, frozen=True, kw_only=True):
    """One session at rest. `session_id` is its key in the journal (`naming`), `live_id` what the agent calls it; JSON
    texts as in AcpSessionCreatedResponse."""

    session_id: str
    live_id: str
    owner: str
    launch: StoredLaunch
    title: str | None = None
    modes: str | None = None
    config_options: tuple[str, ...] = ()
    capabilities: str | None = None
    info: str | None = None
    usage: str | None = None  # the last usage_update or idle usage, as JSON
    last_number: int = 0
    turn_open: bool = False
    interrupted: bool = False
    closed: bool = False  # by its owner: it is woken by a resume only
    created_at: float = 0.0
    updated_at: float = 0.0

    @property
    def name(self) -> str:
        """The id its owner knows it by."""
        return id_in(self.session_id)


class Holder(msgspec.Struct, frozen=True):
    """Who has a stored session of that name, which is its id with its owner or with its agent."""

    name: str
    owner: str
    agent_type: str


class StoredPrompt(msgspec.Struct, frozen=True):
    """A prompt that had an idempotency key. `digest` is the SHA-256 of its params, as they stand in the entry.

    Known as long as its session is, also when the entry is not there any more.
    """

    number: int
    digest: bytes


# ---- changes: what a store is told, in order. A batch is all or nothing.

# What a session may change in later; the rest is fixed, or follows from its entries.
CHANGEABLE: Final = frozenset(
    {"live_id", "launch", "title", "modes", "config_options", "capabilities", "info", "usage", "turn_open"}
    | {"interrupted", "closed"}
)


class OpenSession(msgspec.Struct, frozen=True):
    """A new session; refused when the id is taken. `last_number` and times are the store's and start at 0 and now."""

    session: StoredSession


class ChangeSession(msgspec.Struct, frozen=True):
    """Fields of StoredSession by name, see CHANGEABLE; unknown sessions are ignored."""

    session_id: str
    fields: Mapping[str, object]

    def __post_init__(self) -> None:
        if not CHANGEABLE.issuperset(self.fields):
            raise ValueError(f"not changeable: {sorted(set(self.fields) - CHANGEABLE)}")


class Append(msgspec.Struct, frozen=True, gc=False):
    """The next entry, its number the one after the last; ignored when the session is unknown."""

    entry: Entry


class Restore(msgspec.Struct, frozen=True):
    """Entries of an import: with their times and holes, after what is there. The session's own time stays."""

    session_id: str
    entries: tuple[Entry, ...]


class AdoptSession(msgspec.Struct, frozen=True):
    """Gives a session to another owner; ignored when it is unknown."""

    session_id: str
    owner: str


class DeleteSession(msgspec.Struct, frozen=True):
    """Everything about the session; ignored when it is unknown."""

    session_id: str


class LearnVersion(msgspec.Struct, frozen=True):
    """The version of ACP that a program speaks, by its digest; of all there are, the `bound` latest are kept."""

    digest: str
    version: int
    bound: int


Change = OpenSession | ChangeSession | Append | Restore | AdoptSession | DeleteSession | LearnVersion


def gap(session_id: str, first: int, last: int, reason: str, at: float = 0.0) -> Entry:
    """Stands at `last` for everything from `first` on."""
    body = msgspec.json.encode({"first": first, "last": last, "reason": reason})
    return Entry(session_id, last, Kind.GAP, body, at, first)
