"""Giving the agent work, and stopping it.

Generated from schema/acp.v2.json by tools/gen_acp. Run `make gen`; do not edit.
"""

from __future__ import annotations

from typing import ClassVar

from roost.acp.calls import Notification, Request
from roost.acp.v2.gen.content import ContentBlock
from roost.acp.v2.gen.ids import SessionId
from roost.wire.model import JsonObject, Lenient, Model


class PromptRequest(Request["PromptResponse"], frozen=True, kw_only=True):
    """Gives the agent a message to work on.

    To the agent: request `session/prompt`. Stable. Schema: #/$defs/PromptRequest.
    """

    METHOD: ClassVar[str] = "session/prompt"

    session_id: SessionId
    prompt: list[ContentBlock]
    meta: Lenient[JsonObject | None] = None


class PromptResponse(Model, frozen=True, kw_only=True):
    """The message was accepted; the work's end is told by a state update.

    Stable. Schema: #/$defs/PromptResponse.
    """

    meta: Lenient[JsonObject | None] = None


class CancelSessionNotification(Notification, frozen=True, kw_only=True):
    """Stops whatever a session is working on.

    To the agent: notification `session/cancel`. Stable. Schema: #/$defs/CancelSessionNotification.
    """

    METHOD: ClassVar[str] = "session/cancel"

    session_id: SessionId
    meta: Lenient[JsonObject | None] = None
