"""What a peer tells us: one event per message that means something, in the order the messages came.

`message` is the whole message (of a batch: the element) as JSON, so that a relay can pass on the original.
`params` and `result` are raw JSON inside it; `params` is None when absent or null.
"""

from __future__ import annotations

from msgspec import Raw, Struct

from roost.errors import ConnectionClosed, RemoteProtocolError, RpcError


class Called(Struct, frozen=True, gc=False):
    """The peer asks. `token` names this request to `Peer.answer` and `Peer.fail`; two with one id have two tokens."""

    token: int
    method: str
    params: Raw | None
    raw_id: bytes
    message: bytes


class Notified(Struct, frozen=True, gc=False):
    """The peer tells. Nothing is ever sent back, whatever is wrong with it (ENV-7)."""

    method: str
    params: Raw | None
    message: bytes


class Answered(Struct, frozen=True, gc=False):
    """A call of ours succeeded."""

    call: int
    result: Raw
    message: bytes


class Failed(Struct, frozen=True):
    """A call of ours failed.

    RpcError: the peer said so; code REQUEST_CANCELLED means it was cancelled (CAN-7). RemoteProtocolError: its response
    was malformed. ConnectionClosed: no response will come, and `message` is empty.
    """

    call: int
    error: RpcError | RemoteProtocolError | ConnectionClosed
    message: bytes = b""


class Withdrawn(Struct, frozen=True, gc=False):
    """The peer no longer wants its request `token`, which must still be answered: REQUEST_CANCELLED will do (CAN-4)."""

    token: int


class Malformed(Struct, frozen=True, gc=False):
    """Not a message, or not a legal one. For logs and counters: whatever was to be sent about it has been."""

    code: int
    reason: str
    message: bytes


class Unmatched(Struct, frozen=True, gc=False):
    """A response to nothing that is open: late, second or invented (ENV-13). For logs and counters."""

    message: bytes


class Refused(Struct, frozen=True, gc=False):
    """A request or a batch beyond a bound of PeerLimits, and answered so. For logs and counters."""

    limit: str
    bound: int
    message: bytes


PeerEvent = Called | Notified | Answered | Failed | Withdrawn | Malformed | Unmatched | Refused
