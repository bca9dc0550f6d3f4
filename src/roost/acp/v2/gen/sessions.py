"""The life of a session: new, list, resume, fork, close, delete.

Generated from schema/acp.v2.json by tools/gen_acp. Run `make gen`; do not edit.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, TYPE_CHECKING, TypeAlias

from roost.acp.calls import Request
from roost.acp.v2.gen.config import SessionConfigOption
from roost.acp.v2.gen.ids import AbsolutePath, SessionId, SessionListCursor
from roost.acp.v2.gen.mcp import McpServer
from roost.wire.model import Items, JsonObject, Lenient, Model, NeverType, OpenUnion, Unknown


class NewSessionRequest(Request["NewSessionResponse"], frozen=True, kw_only=True):
    """Creates a session bound to a directory.

    To the agent: request `session/new`. Stable. Schema: #/$defs/NewSessionRequest.
    """

    METHOD: ClassVar[str] = "session/new"

    cwd: AbsolutePath
    additional_directories: Lenient[Items[AbsolutePath]] = []
    mcp_servers: Lenient[Items[McpServer]] = []
    meta: Lenient[JsonObject | None] = None


class NewSessionResponse(Model, frozen=True, kw_only=True):
    """The new session.

    Stable. Schema: #/$defs/NewSessionResponse.
    """

    session_id: SessionId
    config_options: Lenient[Items[SessionConfigOption]] = []
    meta: Lenient[JsonObject | None] = None


class SessionInfo(Model, frozen=True, kw_only=True):
    """A session as a list shows it.

    Stable. Schema: #/$defs/SessionInfo.
    """

    session_id: SessionId
    cwd: AbsolutePath
    additional_directories: Lenient[Items[AbsolutePath]] = []
    title: Lenient[str | None] = None
    updated_at: Lenient[str | None] = None
    meta: Lenient[JsonObject | None] = None


class ListSessionsRequest(Request["ListSessionsResponse"], frozen=True, kw_only=True):
    """Asks for the known sessions, a page at a time.

    To the agent: request `session/list`. Stable. Schema: #/$defs/ListSessionsRequest.
    """

    METHOD: ClassVar[str] = "session/list"

    cwd: AbsolutePath | None = None
    cursor: SessionListCursor | None = None
    meta: Lenient[JsonObject | None] = None


class ListSessionsResponse(Model, frozen=True, kw_only=True):
    """One page of sessions.

    Stable. Schema: #/$defs/ListSessionsResponse.
    """

    sessions: Lenient[Items[SessionInfo]]
    next_cursor: Lenient[SessionListCursor | None] = None
    meta: Lenient[JsonObject | None] = None


class ReplayFromStart(Model, frozen=True, kw_only=True, tag_field="type", tag="start"):
    """Replay everything.

    Stable. Schema: #/$defs/ReplayFromStart.
    """

    meta: Lenient[JsonObject | None] = None


if TYPE_CHECKING:
    ReplayFrom: TypeAlias = ReplayFromStart | Unknown
else:
    ReplayFrom = Annotated[
        ReplayFromStart | NeverType,
        OpenUnion("type", {"start": ReplayFromStart}),
    ]
"""Where a resumed session's replay starts; none means no replay.

Told apart by `type`. Stable. Schema: #/$defs/ReplayFrom.
"""


class ResumeSessionRequest(Request["ResumeSessionResponse"], frozen=True, kw_only=True):
    """Attaches to an existing session.

    To the agent: request `session/resume`. Stable. Schema: #/$defs/ResumeSessionRequest.
    """

    METHOD: ClassVar[str] = "session/resume"

    session_id: SessionId
    cwd: AbsolutePath
    additional_directories: Lenient[Items[AbsolutePath]] = []
    mcp_servers: Lenient[Items[McpServer]] = []
    replay_from: Lenient[ReplayFrom | None] = None
    meta: Lenient[JsonObject | None] = None


class ResumeSessionResponse(Model, frozen=True, kw_only=True):
    """The session is attached, and all that was asked for has been replayed.

    Stable. Schema: #/$defs/ResumeSessionResponse.
    """

    config_options: Lenient[Items[SessionConfigOption]] = []
    meta: Lenient[JsonObject | None] = None


class ForkSessionRequest(Request["ForkSessionResponse"], frozen=True, kw_only=True):
    """Creates a session that starts with another one's context.

    To the agent: request `session/fork`. Unstable. Schema: #/$defs/ForkSessionRequest.
    """

    METHOD: ClassVar[str] = "session/fork"

    session_id: SessionId
    cwd: AbsolutePath
    additional_directories: Lenient[Items[AbsolutePath]] = []
    mcp_servers: Lenient[Items[McpServer]] = []
    meta: Lenient[JsonObject | None] = None


class ForkSessionResponse(Model, frozen=True, kw_only=True):
    """The new session.

    Unstable. Schema: #/$defs/ForkSessionResponse.
    """

    session_id: SessionId
    config_options: Lenient[Items[SessionConfigOption]] = []
    meta: Lenient[JsonObject | None] = None


class CloseSessionRequest(Request["CloseSessionResponse"], frozen=True, kw_only=True):
    """Stops a session's work and frees what it holds; its history stays.

    To the agent: request `session/close`. Stable. Schema: #/$defs/CloseSessionRequest.
    """

    METHOD: ClassVar[str] = "session/close"

    session_id: SessionId
    meta: Lenient[JsonObject | None] = None


class CloseSessionResponse(Model, frozen=True, kw_only=True):
    """The session is closed.

    Stable. Schema: #/$defs/CloseSessionResponse.
    """

    meta: Lenient[JsonObject | None] = None


class DeleteSessionRequest(Request["DeleteSessionResponse"], frozen=True, kw_only=True):
    """Removes a session from the list.

    To the agent: request `session/delete`. Stable. Schema: #/$defs/DeleteSessionRequest.
    """

    METHOD: ClassVar[str] = "session/delete"

    session_id: SessionId
    meta: Lenient[JsonObject | None] = None


class DeleteSessionResponse(Model, frozen=True, kw_only=True):
    """The session is gone.

    Stable. Schema: #/$defs/DeleteSessionResponse.
    """

    meta: Lenient[JsonObject | None] = None
