"""Session settings the client may offer to the user.

Generated from schema/acp.v2.json by tools/gen_acp. Run `make gen`; do not edit.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Final, TYPE_CHECKING, TypeAlias

from roost.acp.calls import Request
from roost.acp.v2.gen.ids import SessionConfigGroupId, SessionConfigId, SessionConfigValueId, SessionId
from roost.wire.model import FirstOf, Items, JsonObject, Lenient, Model, OpenUnion, Unknown, Untagged


class SessionConfigOptionCategory:
    """What a setting is about, so that a client can place it.

    Names for some values; fields hold any str. Stable. Schema: #/$defs/SessionConfigOptionCategory.
    """

    MODE: Final = "mode"
    MODEL: Final = "model"
    MODEL_CONFIG: Final = "model_config"
    THOUGHT_LEVEL: Final = "thought_level"


class SessionConfigSelectOption(Model, frozen=True, kw_only=True):
    """One value of a select setting.

    Stable. Schema: #/$defs/SessionConfigSelectOption.
    """

    value: SessionConfigValueId
    name: str
    description: Lenient[str | None] = None
    meta: Lenient[JsonObject | None] = None


class SessionConfigSelectGroup(Model, frozen=True, kw_only=True):
    """Values of a select setting under a heading.

    Stable. Schema: #/$defs/SessionConfigSelectGroup.
    """

    group_id: SessionConfigGroupId
    name: str
    options: Lenient[Items[SessionConfigSelectOption]]
    meta: Lenient[JsonObject | None] = None


if TYPE_CHECKING:
    SessionConfigSelectOptions: TypeAlias = list[SessionConfigSelectOption] | list[SessionConfigSelectGroup]
else:
    SessionConfigSelectOptions = Annotated[Untagged, FirstOf(list[SessionConfigSelectOption], list[SessionConfigSelectGroup])]
"""The values of a select setting, plain or in groups, never mixed.

The first that fits, in this order. Stable. Schema: #/$defs/SessionConfigSelectOptions.
"""


class SessionConfigSelect(Model, frozen=True, kw_only=True, tag_field="type", tag="select"):
    """A setting with one value out of several.

    Stable. Schema: #/$defs/SessionConfigSelect.
    """

    config_id: SessionConfigId
    name: str
    description: Lenient[str | None] = None
    category: Lenient[str | None] = None  # SessionConfigOptionCategory
    current_value: SessionConfigValueId
    options: SessionConfigSelectOptions
    meta: Lenient[JsonObject | None] = None


class SessionConfigBoolean(Model, frozen=True, kw_only=True, tag_field="type", tag="boolean"):
    """A setting that is on or off.

    Stable. Schema: #/$defs/SessionConfigBoolean.
    """

    config_id: SessionConfigId
    name: str
    description: Lenient[str | None] = None
    category: Lenient[str | None] = None  # SessionConfigOptionCategory
    current_value: bool
    meta: Lenient[JsonObject | None] = None


class _OtherSessionConfigOption(Model, frozen=True, kw_only=True):
    """What a variant of SessionConfigOption needs beside its tag, whatever the tag."""

    config_id: SessionConfigId
    name: str


if TYPE_CHECKING:
    SessionConfigOption: TypeAlias = SessionConfigSelect | SessionConfigBoolean | Unknown
else:
    SessionConfigOption = Annotated[
        SessionConfigSelect | SessionConfigBoolean,
        OpenUnion("type", {"select": SessionConfigSelect, "boolean": SessionConfigBoolean}, _OtherSessionConfigOption),
    ]
"""A setting of a session and its current value.

Told apart by `type`. Stable. Schema: #/$defs/SessionConfigOption.
"""


class ConfigOptionUpdate(Model, frozen=True, kw_only=True, tag_field="sessionUpdate", tag="config_option_update"):
    """All settings of the session, as they are now.

    Stable. Schema: #/$defs/ConfigOptionUpdate.
    """

    config_options: Lenient[Items[SessionConfigOption]]
    meta: Lenient[JsonObject | None] = None


class SetSessionConfigIdRequest(
    Request["SetSessionConfigOptionResponse"], frozen=True, kw_only=True, tag_field="type", tag="id"
):
    """Picks a value of a select setting.

    To the agent: request `session/set_config_option`. Stable. Schema: #/$defs/SetSessionConfigOptionRequest.
    """

    METHOD: ClassVar[str] = "session/set_config_option"

    session_id: SessionId
    config_id: SessionConfigId
    value: SessionConfigValueId
    meta: Lenient[JsonObject | None] = None


class SetSessionConfigBooleanRequest(
    Request["SetSessionConfigOptionResponse"], frozen=True, kw_only=True, tag_field="type", tag="boolean"
):
    """Turns a boolean setting on or off.

    To the agent: request `session/set_config_option`. Stable. Schema: #/$defs/SetSessionConfigOptionRequest.
    """

    METHOD: ClassVar[str] = "session/set_config_option"

    session_id: SessionId
    config_id: SessionConfigId
    value: bool
    meta: Lenient[JsonObject | None] = None


class _OtherSetSessionConfigOptionRequest(Model, frozen=True, kw_only=True):
    """What a variant of SetSessionConfigOptionRequest needs beside its tag, whatever the tag."""

    session_id: SessionId
    config_id: SessionConfigId
    value: Any


if TYPE_CHECKING:
    SetSessionConfigOptionRequest: TypeAlias = SetSessionConfigIdRequest | SetSessionConfigBooleanRequest | Unknown
else:
    SetSessionConfigOptionRequest = Annotated[
        SetSessionConfigIdRequest | SetSessionConfigBooleanRequest,
        OpenUnion("type", {
            "id": SetSessionConfigIdRequest,
            "boolean": SetSessionConfigBooleanRequest,
        }, _OtherSetSessionConfigOptionRequest),
    ]
"""Changes one setting.

Told apart by `type`. Stable. Schema: #/$defs/SetSessionConfigOptionRequest.
"""


class SetSessionConfigOptionResponse(Model, frozen=True, kw_only=True):
    """All settings after the change.

    Stable. Schema: #/$defs/SetSessionConfigOptionResponse.
    """

    config_options: Lenient[Items[SessionConfigOption]]
    meta: Lenient[JsonObject | None] = None
