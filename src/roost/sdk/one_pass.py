"""Decoding the one notification that comes in streams: envelope and params together, in one pass over the message.

What is not exactly such a notification, well formed in every part, is None here and takes the ordinary way, which says
what is wrong with it. So the two ways never differ in what they give.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET, Raw, UnsetType

from roost.acp.v2.gen.methods import NOTIFICATIONS
from roost.rpc.messages import UNDECODABLE

_HEAD: Final = 128  # bytes in which writers put the method; a message that has it later takes the ordinary way


class OnePass:
    """A reader of the notifications of one method. The types are imported at the first message that may be one."""

    __slots__ = ("_decode", "_mark", "_method", "call")

    def __init__(self, method: str, call: Callable[[Any, int], None]) -> None:
        self._method = method
        self._mark = b'"%s"' % method.encode()
        self._decode: Callable[[bytes], Any] | None = None
        self.call = call

    def params(self, message: bytes) -> Any | None:
        """The params of a well-formed notification of this method; None for any other message."""
        if message.find(self._mark, 0, _HEAD) < 0:
            return None
        decode = self._decode
        if decode is None:
            decode = self._decode = self._decoder()
        try:
            envelope = decode(message)
            if not message.isascii():
                message.decode()  # the decoder checks no UTF-8 in what it skips or leaves raw (ENV-2)
        except UNDECODABLE:
            return None
        if envelope.id is UNSET and envelope.result is UNSET and envelope.error is UNSET:
            return envelope.params
        return None

    def _decoder(self) -> Callable[[bytes], Any]:
        absent = (Raw | UnsetType, UNSET)
        envelope = msgspec.defstruct(
            "OnePassEnvelope",
            [
                ("jsonrpc", Literal["2.0"]),
                ("method", Literal[self._method]),
                ("params", NOTIFICATIONS[self._method].params),
                *((name, *absent) for name in ("id", "result", "error")),
            ],
            gc=False,
        )
        return msgspec.json.Decoder(envelope).decode
