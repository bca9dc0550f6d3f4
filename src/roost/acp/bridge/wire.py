"""One side of a bridge: a JSON-RPC peer, and whole messages written beside it, in one order."""

from __future__ import annotations

import msgspec

from roost.errors import CodecError, ConnectionClosed, LimitError, LocalProtocolError, RemoteProtocolError, RpcError
from roost.rpc.events import PeerEvent
from roost.rpc.limits import DEFAULT_LIMITS, PeerLimits
from roost.rpc.messages import INTERNAL_ERROR, LIMIT_EXCEEDED
from roost.rpc.peer import Peer

encode_text = msgspec.json.Encoder().encode


class Wire:
    """Never raises for what the other side did, or for its being gone."""

    def __init__(self, *, answer_malformed: bool, limits: PeerLimits = DEFAULT_LIMITS) -> None:
        self._peer = Peer(answer_malformed=answer_malformed, limits=limits)
        self._messages: list[bytes] = []
        self.is_ended = False

    def receive(self, message: bytes) -> list[PeerEvent]:
        return self._peer.receive(message)

    def end(self, cause: str) -> list[PeerEvent]:
        self.is_ended = True
        return self._peer.end(cause)

    def push(self, message: bytes) -> None:
        """One whole message, behind those the peer has to send."""
        if not self.is_ended:
            self._gather()
            self._messages.append(message)

    def notify(self, method: str, params: bytes | None) -> None:
        if not self.is_ended:
            try:
                self._peer.notify(method, params)
            except CodecError:  # no Unicode text: nobody has such a method
                return

    def call(self, method: str, params: bytes | None) -> int:
        """The call's id. RpcError, ready to be passed back, when it cannot be made."""
        try:
            return self._peer.call(method, params)
        except LimitError as error:
            raise RpcError(LIMIT_EXCEEDED, f"Limit exceeded: {error.limit}", {"limit": error.limit}) from None
        except (ConnectionClosed, CodecError) as error:
            raise RpcError(INTERNAL_ERROR, f"the other side cannot be asked: {error}") from None

    def withdraw(self, call: int) -> None:
        if not self.is_ended:
            self._peer.withdraw(call)

    def forget(self, call: int) -> None:
        self._peer.forget(call)

    def answer(self, token: int, result: bytes) -> None:
        try:
            self._peer.answer(token, result)
        except (LocalProtocolError, ConnectionClosed):
            return

    def fail(self, token: int, error: RpcError) -> None:
        try:
            self._peer.fail(token, error)
        except CodecError:  # data that has no JSON form; the other side still gets an answer
            self._peer.fail(token, RpcError(INTERNAL_ERROR, "the error cannot be told"))
        except (LocalProtocolError, ConnectionClosed):
            return

    def drain(self) -> list[bytes]:
        self._gather()
        messages, self._messages = self._messages, []
        return messages

    def _gather(self) -> None:
        self._messages += self._peer.outgoing()


def rpc_error(error: RpcError | RemoteProtocolError | ConnectionClosed) -> RpcError:
    """A failed call as the error its asker gets (BR-7)."""
    if isinstance(error, RpcError):
        return error
    if isinstance(error, ConnectionClosed):
        return RpcError(INTERNAL_ERROR, f"the other side is gone: {error}")
    return RpcError(INTERNAL_ERROR, f"the other side broke the protocol: {error}")
