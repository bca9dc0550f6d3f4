"""session/update: everything observable about a session.

Generated from schema/acp.v2.json by tools/gen_acp. Run `make gen`; do not edit.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, TYPE_CHECKING, TypeAlias

from roost.acp.calls import Notification
from roost.acp.v2.gen.config import ConfigOptionUpdate
from roost.acp.v2.gen.ids import SessionId
from roost.acp.v2.gen.messages import (
    AgentMessage,
    AgentMessageChunk,
    AgentThought,
    AgentThoughtChunk,
    UserMessage,
    UserMessageChunk,
)
from roost.acp.v2.gen.plans import PlanRemoved, PlanUpdate
from roost.acp.v2.gen.state import StateUpdate
from roost.acp.v2.gen.terminals import TerminalOutputChunk, TerminalUpdate
from roost.acp.v2.gen.tools import SessionToolCallUpdate, ToolCallContentChunk
from roost.wire.model import Items, JsonObject, Lenient, Model, NeverType, OpenUnion, UNSET, Uint64, Unknown, UnsetType


class TextCommandInput(Model, frozen=True, kw_only=True, tag_field="type", tag="text"):
    """A command that takes the rest of the line as text.

    Stable. Schema: #/$defs/TextCommandInput.
    """

    hint: str
    meta: Lenient[JsonObject | None] = None


if TYPE_CHECKING:
    AvailableCommandInput: TypeAlias = TextCommandInput | Unknown
else:
    AvailableCommandInput = Annotated[
        TextCommandInput | NeverType,
        OpenUnion("type", {"text": TextCommandInput}),
    ]
"""What a command expects after its name.

Told apart by `type`. Stable. Schema: #/$defs/AvailableCommandInput.
"""


class AvailableCommand(Model, frozen=True, kw_only=True):
    """A slash command the user can type.

    Stable. Schema: #/$defs/AvailableCommand.
    """

    name: str
    description: str
    input: Lenient[AvailableCommandInput | None] = None
    meta: Lenient[JsonObject | None] = None


class AvailableCommandsUpdate(
    Model, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="available_commands_update"
):
    """All slash commands, as they are now.

    Stable. Schema: #/$defs/AvailableCommandsUpdate.
    """

    available_commands: Lenient[Items[AvailableCommand]]
    meta: Lenient[JsonObject | None] = None


class SessionInfoUpdate(Model, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="session_info_update"):
    """Patches what a session list shows: what is omitted stays, null clears.

    Stable. Schema: #/$defs/SessionInfoUpdate.
    """

    title: Lenient[str | None | UnsetType] = UNSET
    updated_at: Lenient[str | None | UnsetType] = UNSET
    meta: Lenient[JsonObject | None | UnsetType] = UNSET


class Cost(Model, frozen=True, kw_only=True):
    """Money spent.

    Stable. Schema: #/$defs/Cost.
    """

    amount: float
    currency: str
    meta: Lenient[JsonObject | None] = None


class UsageUpdate(Model, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="usage_update"):
    """How full the context is, and what the session has cost.

    Stable. Schema: #/$defs/UsageUpdate.
    """

    used: Uint64
    size: Uint64
    cost: Lenient[Cost | None] = None
    meta: Lenient[JsonObject | None] = None


if TYPE_CHECKING:
    SessionUpdate: TypeAlias = (
        UserMessageChunk
        | UserMessage
        | AgentMessageChunk
        | AgentMessage
        | AgentThoughtChunk
        | AgentThought
        | StateUpdate
        | ToolCallContentChunk
        | SessionToolCallUpdate
        | TerminalUpdate
        | TerminalOutputChunk
        | PlanUpdate
        | PlanRemoved
        | AvailableCommandsUpdate
        | ConfigOptionUpdate
        | SessionInfoUpdate
        | UsageUpdate
        | Unknown
    )
else:
    SessionUpdate = Annotated[
        (
            UserMessageChunk
            | UserMessage
            | AgentMessageChunk
            | AgentMessage
            | AgentThoughtChunk
            | AgentThought
            | ToolCallContentChunk
            | SessionToolCallUpdate
            | TerminalUpdate
            | TerminalOutputChunk
            | PlanUpdate
            | PlanRemoved
            | AvailableCommandsUpdate
            | ConfigOptionUpdate
            | SessionInfoUpdate
            | UsageUpdate
        ),
        OpenUnion("sessionUpdate", {
            "user_message_chunk": UserMessageChunk,
            "user_message": UserMessage,
            "agent_message_chunk": AgentMessageChunk,
            "agent_message": AgentMessage,
            "agent_thought_chunk": AgentThoughtChunk,
            "agent_thought": AgentThought,
            "state_update": StateUpdate,
            "tool_call_content_chunk": ToolCallContentChunk,
            "tool_call_update": SessionToolCallUpdate,
            "terminal_update": TerminalUpdate,
            "terminal_output_chunk": TerminalOutputChunk,
            "plan_update": PlanUpdate,
            "plan_removed": PlanRemoved,
            "available_commands_update": AvailableCommandsUpdate,
            "config_option_update": ConfigOptionUpdate,
            "session_info_update": SessionInfoUpdate,
            "usage_update": UsageUpdate,
        }),
    ]
"""One observable change of a session.

Told apart by `sessionUpdate`. Stable. Schema: #/$defs/SessionUpdate.
"""


class UpdateSessionNotification(Notification, frozen=True, kw_only=True):
    """Tells the client of one change of a session.

    To the client: notification `session/update`. Stable. Schema: #/$defs/UpdateSessionNotification.
    """

    METHOD: ClassVar[str] = "session/update"

    session_id: SessionId
    update: SessionUpdate
    meta: Lenient[JsonObject | None] = None
