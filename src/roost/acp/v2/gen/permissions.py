"""Asking the user before something is done.

Generated from schema/acp.v2.json by tools/gen_acp. Run `make gen`; do not edit.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, TYPE_CHECKING, TypeAlias

from roost.acp.calls import Request
from roost.acp.v2.gen.ids import AbsolutePath, PermissionOptionId, SessionId, TerminalId, ToolCallId
from roost.acp.v2.gen.tools import ToolCallUpdate
from roost.wire.model import JsonObject, Lenient, Model, OpenUnion, Unknown


class PermissionOptionKind:
    """What choosing an option means, so that a client can pick an icon or a key.

    Names for some values; fields hold any str. Stable. Schema: #/$defs/PermissionOptionKind.
    """

    ALLOW_ONCE: Final = "allow_once"
    ALLOW_ALWAYS: Final = "allow_always"
    REJECT_ONCE: Final = "reject_once"
    REJECT_ALWAYS: Final = "reject_always"


class PermissionOption(Model, frozen=True, kw_only=True):
    """One choice offered to the user.

    Stable. Schema: #/$defs/PermissionOption.
    """

    option_id: PermissionOptionId
    name: str
    kind: str  # PermissionOptionKind
    meta: Lenient[JsonObject | None] = None


class ToolCallPermissionSubject(Model, frozen=True, kw_only=True, tag_field="type", tag="tool_call"):
    """The permission is about a tool call.

    Stable. Schema: #/$defs/ToolCallPermissionSubject.
    """

    tool_call: ToolCallUpdate


class CommandPermissionSubject(Model, frozen=True, kw_only=True, tag_field="type", tag="command"):
    """The permission is about a command line.

    Stable. Schema: #/$defs/CommandPermissionSubject.
    """

    command: str
    cwd: AbsolutePath
    tool_call_id: Lenient[ToolCallId | None] = None
    terminal_id: Lenient[TerminalId | None] = None
    meta: Lenient[JsonObject | None] = None


if TYPE_CHECKING:
    RequestPermissionSubject: TypeAlias = ToolCallPermissionSubject | CommandPermissionSubject | Unknown
else:
    RequestPermissionSubject = Annotated[
        ToolCallPermissionSubject | CommandPermissionSubject,
        OpenUnion("type", {
            "tool_call": ToolCallPermissionSubject,
            "command": CommandPermissionSubject,
        }),
    ]
"""What the permission is about.

Told apart by `type`. Stable. Schema: #/$defs/RequestPermissionSubject.
"""


class RequestPermissionRequest(Request["RequestPermissionResponse"], frozen=True, kw_only=True):
    """Asks the user whether something may be done.

    To the client: request `session/request_permission`. Stable. Schema: #/$defs/RequestPermissionRequest.
    """

    METHOD: ClassVar[str] = "session/request_permission"

    session_id: SessionId
    title: str
    description: Lenient[str | None] = None
    subject: RequestPermissionSubject | None = None
    options: list[PermissionOption]
    meta: Lenient[JsonObject | None] = None


class CancelledPermissionOutcome(Model, frozen=True, kw_only=True, tag_field="outcome", tag="cancelled"):
    """The work was cancelled before the user chose.

    Stable. Schema: #/$defs/RequestPermissionOutcome.
    """


class SelectedPermissionOutcome(Model, frozen=True, kw_only=True, tag_field="outcome", tag="selected"):
    """The user chose an option.

    Stable. Schema: #/$defs/SelectedPermissionOutcome.
    """

    option_id: PermissionOptionId
    meta: Lenient[JsonObject | None] = None


if TYPE_CHECKING:
    RequestPermissionOutcome: TypeAlias = CancelledPermissionOutcome | SelectedPermissionOutcome | Unknown
else:
    RequestPermissionOutcome = Annotated[
        CancelledPermissionOutcome | SelectedPermissionOutcome,
        OpenUnion("outcome", {
            "cancelled": CancelledPermissionOutcome,
            "selected": SelectedPermissionOutcome,
        }),
    ]
"""How a permission request ended. An unknown outcome permits nothing (FWD-9).

Told apart by `outcome`. Stable. Schema: #/$defs/RequestPermissionOutcome.
"""


class RequestPermissionResponse(Model, frozen=True, kw_only=True):
    """The answer to a permission request.

    Stable. Schema: #/$defs/RequestPermissionResponse.
    """

    outcome: RequestPermissionOutcome
    meta: Lenient[JsonObject | None] = None
