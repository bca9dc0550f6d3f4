"""What agents answer, also where the answer breaks a rule that agents are known to break."""

from __future__ import annotations

from typing import Any

import msgspec

from roost.errors import RpcError
from roost.sidecar.payloads import UNREADABLE


class Answer(msgspec.Struct, frozen=True, gc=False):
    """A response as it came: the whole line, and its parts."""

    text: bytes
    result: bytes | None
    error: RpcError | None


class _LooseResponse(msgspec.Struct):
    error: dict[str, Any] | None = None
    result: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


def loose_answer(message: bytes) -> Answer | None:
    """A response that breaks a rule agents are known to break, as far as it goes: an error object without a message
    or with a textual code; `"error":null` beside a result."""
    try:
        message.decode()
        loose = msgspec.json.decode(message, type=_LooseResponse)
    except UNREADABLE:
        return None
    if loose.error is None:
        return None if loose.result is msgspec.UNSET else Answer(message, bytes(loose.result), None)
    if loose.result is not msgspec.UNSET:
        return None
    code, text = loose.error.get("code"), loose.error.get("message")
    error = RpcError(
        code if isinstance(code, int) else 0, text if isinstance(text, str) else "", loose.error.get("data")
    )
    return Answer(message, None, error)
