"""What every method shares: errors, request cancellation, extensions.

Generated from schema/acp.v2.json by tools/gen_acp. Run `make gen`; do not edit.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final, TypeAlias

from roost.acp.calls import Notification
from roost.acp.v2.gen.ids import RequestId
from roost.wire.model import Int32, JsonObject, Lenient, Model


class ErrorCode:
    """Error codes with a meaning in this protocol.

    Names for some values; fields hold any int. Stable. Schema: #/$defs/ErrorCode.
    """

    PARSE_ERROR: Final = -32700
    INVALID_REQUEST: Final = -32600
    METHOD_NOT_FOUND: Final = -32601
    INVALID_PARAMS: Final = -32602
    INTERNAL_ERROR: Final = -32603
    REQUEST_CANCELLED: Final = -32800
    AUTHENTICATION_REQUIRED: Final = -32000
    RESOURCE_NOT_FOUND: Final = -32002


class Error(Model, frozen=True, kw_only=True):
    """Why a request failed.

    Stable. Schema: #/$defs/Error.
    """

    code: Int32  # ErrorCode
    message: str
    data: Lenient[Any] = None


class CancelRequestNotification(Notification, frozen=True, kw_only=True):
    """Takes back a request the sender made; the answer still comes, often as an error.

    Either way: notification `$/cancel_request`. Stable. Schema: #/$defs/CancelRequestNotification.
    """

    METHOD: ClassVar[str] = "$/cancel_request"

    request_id: RequestId
    meta: Lenient[JsonObject | None] = None

ExtRequest: TypeAlias = Any
"""Params of a request outside the protocol, whose method starts with `_`.

Stable. Schema: #/$defs/ExtRequest.
"""

ExtResponse: TypeAlias = Any
"""Result of such a request.

Stable. Schema: #/$defs/ExtResponse.
"""

ExtNotification: TypeAlias = Any
"""Params of a notification outside the protocol.

Stable. Schema: #/$defs/ExtNotification.
"""
