"""Asking the user for data, by form or by URL.

Generated from schema/acp.v2.json by tools/gen_acp. Run `make gen`; do not edit.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, TYPE_CHECKING, TypeAlias

from roost.acp.calls import Notification, Request
from roost.acp.v2.gen.forms import ElicitationContentValue, ElicitationSchema
from roost.acp.v2.gen.ids import ElicitationId, RequestId, SessionId, ToolCallId
from roost.wire.model import JsonObject, Lenient, Model, OpenUnion, UNSET, Unknown, UnsetType, check_one_of


class ElicitationSessionScope(Model, frozen=True, kw_only=True):
    """The elicitation belongs to a session, perhaps to one of its tool calls.

    Unstable. Schema: #/$defs/ElicitationSessionScope.
    """

    session_id: SessionId
    tool_call_id: Lenient[ToolCallId | None] = None


class ElicitationRequestScope(Model, frozen=True, kw_only=True):
    """The elicitation belongs to a request that is being answered, such as a login.

    Unstable. Schema: #/$defs/ElicitationRequestScope.
    """

    request_id: RequestId


class CreateFormElicitationRequest(
    Request["CreateElicitationResponse"], frozen=True, kw_only=True, tag_field="mode", tag="form"
):
    """Asks the user to fill in a form.

    To the client: request `elicitation/create`. Unstable. Schema: #/$defs/ElicitationFormMode.
    """

    METHOD: ClassVar[str] = "elicitation/create"
    ONE_OF: ClassVar[tuple[type[Model], ...]] = (ElicitationSessionScope, ElicitationRequestScope)

    message: str
    requested_schema: ElicitationSchema
    session_id: SessionId | UnsetType = UNSET
    tool_call_id: Lenient[ToolCallId | None] = None
    request_id: RequestId | UnsetType = UNSET
    meta: Lenient[JsonObject | None] = None

    def __post_init__(self) -> None:
        check_one_of(self)


class CreateUrlElicitationRequest(
    Request["CreateElicitationResponse"], frozen=True, kw_only=True, tag_field="mode", tag="url"
):
    """Asks the user to visit a URL; what happens there stays between the user and it.

    To the client: request `elicitation/create`. Unstable. Schema: #/$defs/ElicitationUrlMode.
    """

    METHOD: ClassVar[str] = "elicitation/create"
    ONE_OF: ClassVar[tuple[type[Model], ...]] = (ElicitationSessionScope, ElicitationRequestScope)

    message: str
    elicitation_id: ElicitationId
    url: str
    session_id: SessionId | UnsetType = UNSET
    tool_call_id: Lenient[ToolCallId | None] = None
    request_id: RequestId | UnsetType = UNSET
    meta: Lenient[JsonObject | None] = None

    def __post_init__(self) -> None:
        check_one_of(self)


class _OtherCreateElicitationRequest(Model, frozen=True, kw_only=True):
    """What a variant of CreateElicitationRequest needs beside its tag, whatever the tag."""

    ONE_OF: ClassVar[tuple[type[Model], ...]] = (ElicitationSessionScope, ElicitationRequestScope)

    message: str
    session_id: SessionId | UnsetType = UNSET
    request_id: RequestId | UnsetType = UNSET
    tool_call_id: Lenient[ToolCallId | None] = None

    def __post_init__(self) -> None:
        check_one_of(self)


if TYPE_CHECKING:
    CreateElicitationRequest: TypeAlias = CreateFormElicitationRequest | CreateUrlElicitationRequest | Unknown
else:
    CreateElicitationRequest = Annotated[
        CreateFormElicitationRequest | CreateUrlElicitationRequest,
        OpenUnion("mode", {
            "form": CreateFormElicitationRequest,
            "url": CreateUrlElicitationRequest,
        }, _OtherCreateElicitationRequest),
    ]
"""Asks the user for something.

Told apart by `mode`. Unstable. Schema: #/$defs/CreateElicitationRequest.
"""


class AcceptElicitationResponse(Model, frozen=True, kw_only=True, tag_field="action", tag="accept"):
    """The user agreed; for a form, with these values.

    Unstable. Schema: #/$defs/ElicitationAcceptAction.
    """

    content: dict[str, ElicitationContentValue] | None = None
    meta: Lenient[JsonObject | None] = None


class DeclineElicitationResponse(Model, frozen=True, kw_only=True, tag_field="action", tag="decline"):
    """The user said no.

    Unstable. Schema: #/$defs/CreateElicitationResponse.
    """

    meta: Lenient[JsonObject | None] = None


class CancelElicitationResponse(Model, frozen=True, kw_only=True, tag_field="action", tag="cancel"):
    """The user closed the question without an answer.

    Unstable. Schema: #/$defs/CreateElicitationResponse.
    """

    meta: Lenient[JsonObject | None] = None


if TYPE_CHECKING:
    CreateElicitationResponse: TypeAlias = (
        AcceptElicitationResponse
        | DeclineElicitationResponse
        | CancelElicitationResponse
        | Unknown
    )
else:
    CreateElicitationResponse = Annotated[
        AcceptElicitationResponse | DeclineElicitationResponse | CancelElicitationResponse,
        OpenUnion("action", {
            "accept": AcceptElicitationResponse,
            "decline": DeclineElicitationResponse,
            "cancel": CancelElicitationResponse,
        }),
    ]
"""How an elicitation ended. An unknown action agrees to nothing (FWD-9).

Told apart by `action`. Unstable. Schema: #/$defs/CreateElicitationResponse.
"""


class CompleteElicitationNotification(Notification, frozen=True, kw_only=True):
    """What was asked for by URL has been done.

    To the client: notification `elicitation/complete`. Unstable. Schema: #/$defs/CompleteElicitationNotification.
    """

    METHOD: ClassVar[str] = "elicitation/complete"

    elicitation_id: ElicitationId
    meta: Lenient[JsonObject | None] = None
