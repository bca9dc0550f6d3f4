"""Batches: reading one from the peer, and holding its replies until all are there.

A batch is answered by one array once every request in it has its reply, and by nothing when it held none (BAT-4,
BAT-5). We never send calls in batches ourselves (BAT-13).
"""

from __future__ import annotations

from functools import cache

import msgspec
from msgspec import Raw

from roost.errors import CodecError, LimitError

_ABSENT = Raw(b"")


class BatchReplies:
    """The reply slots of one inbound batch. Replies are kept in the order they come, which JSON-RPC leaves free."""

    __slots__ = ("_complete", "_open", "_replies")

    def __init__(self) -> None:
        self._replies: list[bytes] = []
        self._open = 0
        self._complete = False

    def owe(self) -> None:
        """One more element is a request. A duplicate id is a slot of its own (BAT-10)."""
        self._open += 1

    def settle(self, reply: bytes) -> bytes | None:
        """The reply for one owed slot. Returns the array when it was the last."""
        self._replies.append(reply)
        self._open -= 1
        return self._array()

    @property
    def waiting(self) -> bool:
        """Whether an owed slot has no reply yet."""
        return self._open > 0

    def complete(self) -> bytes | None:
        """No element follows. Returns the array when every slot has its reply already."""
        self._complete = True
        return self._array()

    def _array(self) -> bytes | None:
        if self._complete and not self._open and self._replies:
            return b"[" + b",".join(self._replies) + b"]"
        return None


def batch_items(message: bytes, bound: int) -> list[bytes]:
    """The elements of a message known to be a JSON array.

    Raises LimitError when there are more than `bound`, CodecError when they are nested too deeply.
    """
    try:
        window = _window(bound).decode(message)
    except RecursionError as error:
        raise CodecError(str(error)) from None
    items: list[bytes] = []
    for item in msgspec.structs.astuple(window):
        if not len(item):
            return items
        items.append(bytes(item))
    raise LimitError("batch_items", bound)


@cache
def _window(bound: int) -> msgspec.json.Decoder[msgspec.Struct]:
    """A decoder that keeps the first `bound` elements and one more, and steps over the rest.

    A list would first hold all of them, and 16 MiB of `1,1,1,…` is half a gigabyte of objects.
    """
    fields = [(f"item{n}", Raw, _ABSENT) for n in range(bound + 1)]
    return msgspec.json.Decoder(msgspec.defstruct("BatchWindow", fields, array_like=True, gc=False))
