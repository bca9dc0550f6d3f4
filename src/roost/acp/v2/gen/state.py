"""Whether a session works, waits for the user or is idle, and why it stopped.

Generated from schema/acp.v2.json by tools/gen_acp. Run `make gen`; do not edit.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, TYPE_CHECKING, TypeAlias

from msgspec import field

from roost.wire.model import CONSTANT, JsonObject, Lenient, Model, OpenUnion, Uint64, Unknown, Untagged


class StopReason:
    """Why the agent stopped working.

    Names for some values; fields hold any str. Stable. Schema: #/$defs/StopReason.
    """

    END_TURN: Final = "end_turn"
    MAX_TOKENS: Final = "max_tokens"
    MAX_TURN_REQUESTS: Final = "max_turn_requests"
    REFUSAL: Final = "refusal"
    CANCELLED: Final = "cancelled"


class Usage(Model, frozen=True, kw_only=True):
    """Tokens spent.

    Unstable. Schema: #/$defs/Usage.
    """

    total_tokens: Uint64
    input_tokens: Uint64
    output_tokens: Uint64
    thought_tokens: Lenient[Uint64 | None] = None
    cached_read_tokens: Lenient[Uint64 | None] = None
    cached_write_tokens: Lenient[Uint64 | None] = None
    meta: Lenient[JsonObject | None] = None


class RunningStateUpdate(Model, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="state_update"):
    """The session works on something.

    Stable. Schema: #/$defs/RunningStateUpdate.
    """

    state: Annotated[Literal["running"], CONSTANT] = field(default_factory=lambda: "running")
    meta: Lenient[JsonObject | None] = None


class IdleStateUpdate(Model, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="state_update"):
    """The session is ready for a prompt; with a stop reason, work just ended.

    Stable. Schema: #/$defs/IdleStateUpdate.
    """

    state: Annotated[Literal["idle"], CONSTANT] = field(default_factory=lambda: "idle")
    stop_reason: Lenient[str | None] = None  # StopReason
    usage: Lenient[Usage | None] = None  # unstable
    meta: Lenient[JsonObject | None] = None


class RequiresActionStateUpdate(Model, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="state_update"):
    """The session waits for the user.

    Stable. Schema: #/$defs/RequiresActionStateUpdate.
    """

    state: Annotated[Literal["requires_action"], CONSTANT] = field(default_factory=lambda: "requires_action")
    meta: Lenient[JsonObject | None] = None


if TYPE_CHECKING:
    StateUpdate: TypeAlias = RunningStateUpdate | IdleStateUpdate | RequiresActionStateUpdate | Unknown
else:
    StateUpdate = Annotated[
        Untagged,
        OpenUnion("state", {
            "running": RunningStateUpdate,
            "idle": IdleStateUpdate,
            "requires_action": RequiresActionStateUpdate,
        }),
    ]
"""What the session is doing. An unknown state is never idle (FWD-7).

Told apart by `state`. Stable. Schema: #/$defs/StateUpdate.
"""
