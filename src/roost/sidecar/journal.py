"""The journal: what is remembered of a session, as values. The engine says what to keep, a Store keeps it.

Entries of one session are numbered from 1 without a hole; a number is never used again. Times are wall-clock
seconds and belong to the store: the engine reads no clock.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping

import msgspec

from roost.sidecar.gen.messages import AcpRuntimeKind


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
    GAP = "gap"  # older entries were removed: {"first": n, "last": n, "reason": "age", "size" or "compacted"}


class Entry(msgspec.Struct, frozen=True, gc=False):
    """One numbered entry. `at` is 0.0 until a store has stamped it."""

    session_id: str
    number: int
    kind: Kind
    body: bytes
    at: float = 0.0


class StoredLaunch(msgspec.Struct, frozen=True, kw_only=True):
    """How a session's agent is started, without secrets: of the environment and of MCP servers only the names.

    `mcp_servers` is JSON with every `env` and `headers` value taken out; `env_names` are what has to be given again.
    """

    agent_type: str
    runtime: AcpRuntimeKind
    cwd: str
    args: tuple[str, ...]
    env_names: tuple[str, ...]
    protocol_version: int
    client_capabilities: str
    mcp_servers: str


class StoredSession(msgspec.Struct, frozen=True, kw_only=True):
    """One session at rest. `live_id` is what the agent calls it; JSON texts as in AcpSessionCreatedResponse."""

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
    created_at: float = 0.0
    updated_at: float = 0.0


# ---- changes: what a store is told, in order. A batch is all or nothing.


class OpenSession(msgspec.Struct, frozen=True):
    session: StoredSession


class ChangeSession(msgspec.Struct, frozen=True):
    """Fields of StoredSession by name, encoded as they stand there; unknown sessions are ignored."""

    session_id: str
    fields: Mapping[str, object]


class Append(msgspec.Struct, frozen=True, gc=False):
    entry: Entry


class Compact(msgspec.Struct, frozen=True):
    """Replaces the entries `first` to `last` by fewer that fold to the same; the numbers left out are no gap."""

    session_id: str
    first: int
    last: int
    entries: tuple[Entry, ...]


class DeleteSession(msgspec.Struct, frozen=True):
    session_id: str


Change = OpenSession | ChangeSession | Append | Compact | DeleteSession
