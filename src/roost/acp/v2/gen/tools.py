"""Tool calls: their patches, their content, where they look.

Generated from schema/acp.v2.json by tools/gen_acp. Run `make gen`; do not edit.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, TYPE_CHECKING, TypeAlias

from roost.acp.v2.gen.content import ContentBlock
from roost.acp.v2.gen.diffs import Diff
from roost.acp.v2.gen.ids import AbsolutePath, ToolCallId
from roost.acp.v2.gen.terminals import Terminal
from roost.wire.model import Items, JsonObject, Lenient, Model, OpenUnion, UNSET, Uint32, Unknown, UnsetType


class ToolKind:
    """What a tool call is for, so that a client can pick an icon.

    Names for some values; fields hold any str. Stable. Schema: #/$defs/ToolKind.
    """

    READ: Final = "read"
    EDIT: Final = "edit"
    DELETE: Final = "delete"
    MOVE: Final = "move"
    SEARCH: Final = "search"
    EXECUTE: Final = "execute"
    THINK: Final = "think"
    FETCH: Final = "fetch"
    SWITCH_MODE: Final = "switch_mode"
    OTHER: Final = "other"


class ToolCallStatus:
    """How far a tool call is.

    Names for some values; fields hold any str. Stable. Schema: #/$defs/ToolCallStatus.
    """

    PENDING: Final = "pending"
    IN_PROGRESS: Final = "in_progress"
    COMPLETED: Final = "completed"
    FAILED: Final = "failed"
    CANCELLED: Final = "cancelled"


class ToolCallLocation(Model, frozen=True, kw_only=True):
    """A file a tool call looks at or changes, to follow along.

    Stable. Schema: #/$defs/ToolCallLocation.
    """

    path: AbsolutePath
    line: Lenient[Uint32 | None] = None
    meta: Lenient[JsonObject | None] = None


class Content(Model, frozen=True, kw_only=True, tag_field="type", tag="content"):
    """A content block as part of a tool call.

    Stable. Schema: #/$defs/Content.
    """

    content: ContentBlock
    meta: Lenient[JsonObject | None] = None


if TYPE_CHECKING:
    ToolCallContent: TypeAlias = Content | Diff | Terminal | Unknown
else:
    ToolCallContent = Annotated[
        Content | Diff | Terminal,
        OpenUnion("type", {"content": Content, "diff": Diff, "terminal": Terminal}),
    ]
"""One piece of what a tool call shows.

Told apart by `type`. Stable. Schema: #/$defs/ToolCallContent.
"""


class ToolCallUpdate(Model, frozen=True, kw_only=True):
    """Creates or patches a tool call: what is omitted stays, null clears.

    Stable. Schema: #/$defs/ToolCallUpdate.
    """

    tool_call_id: ToolCallId
    name: Lenient[str | None | UnsetType] = UNSET  # unstable
    title: Lenient[str | None | UnsetType] = UNSET
    kind: Lenient[str | None | UnsetType] = UNSET  # ToolKind
    status: Lenient[str | None | UnsetType] = UNSET  # ToolCallStatus
    content: Lenient[Items[ToolCallContent] | None | UnsetType] = UNSET
    locations: Lenient[Items[ToolCallLocation] | None | UnsetType] = UNSET
    raw_input: Lenient[Any] = UNSET
    raw_output: Lenient[Any] = UNSET
    meta: Lenient[JsonObject | None | UnsetType] = UNSET


class SessionToolCallUpdate(
    ToolCallUpdate, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="tool_call_update"
):
    """The tool call patch as a session update.

    Stable. Schema: #/$defs/ToolCallUpdate.
    """


class ToolCallContentChunk(Model, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="tool_call_content_chunk"):
    """One more piece of content of a tool call, appended.

    Stable. Schema: #/$defs/ToolCallContentChunk.
    """

    tool_call_id: ToolCallId
    content: ToolCallContent
    meta: Lenient[JsonObject | None] = None
