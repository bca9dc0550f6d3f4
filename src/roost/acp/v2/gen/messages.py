"""Messages and thoughts, streamed in chunks or set as a whole.

Generated from schema/acp.v2.json by tools/gen_acp. Run `make gen`; do not edit.
"""

from __future__ import annotations

from roost.acp.v2.gen.content import ContentBlock
from roost.acp.v2.gen.ids import MessageId
from roost.wire.model import Items, JsonObject, Lenient, Model, UNSET, UnsetType


class ContentChunk(Model, frozen=True, kw_only=True):
    """More content of a message, appended; the first one creates it.

    Stable. Schema: #/$defs/ContentChunk.
    """

    message_id: MessageId
    content: ContentBlock
    meta: Lenient[JsonObject | None] = None


class UserMessageChunk(ContentChunk, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="user_message_chunk"):
    """More of what the user said.

    Stable. Schema: #/$defs/ContentChunk.
    """


class AgentMessageChunk(ContentChunk, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="agent_message_chunk"):
    """More of what the agent says.

    Stable. Schema: #/$defs/ContentChunk.
    """


class AgentThoughtChunk(ContentChunk, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="agent_thought_chunk"):
    """More of what the agent thinks.

    Stable. Schema: #/$defs/ContentChunk.
    """


class UserMessage(Model, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="user_message"):
    """Creates or patches a message of the user.

    Stable. Schema: #/$defs/UserMessage.
    """

    message_id: MessageId
    content: Lenient[Items[ContentBlock] | None | UnsetType] = UNSET
    meta: Lenient[JsonObject | None | UnsetType] = UNSET


class AgentMessage(Model, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="agent_message"):
    """Creates or patches a message of the agent.

    Stable. Schema: #/$defs/AgentMessage.
    """

    message_id: MessageId
    content: Lenient[Items[ContentBlock] | None | UnsetType] = UNSET
    meta: Lenient[JsonObject | None | UnsetType] = UNSET


class AgentThought(Model, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="agent_thought"):
    """Creates or patches a thought of the agent.

    Stable. Schema: #/$defs/AgentThought.
    """

    message_id: MessageId
    content: Lenient[Items[ContentBlock] | None | UnsetType] = UNSET
    meta: Lenient[JsonObject | None | UnsetType] = UNSET
