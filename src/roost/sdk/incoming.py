"""A request of the peer while it has no response yet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol, TypeAlias

from msgspec import Raw

from roost.errors import RpcError
from roost.rpc.messages import peek
from roost.rpc.peer import Called
from roost.wire.decode import decode

Losses: TypeAlias = list[tuple[tuple[str | int, ...], str]]


class Deferred:
    """What a request handler returns when the response comes later, by `answer` or `fail` of its Incoming."""


DEFERRED: Final = Deferred()


class Responder(Protocol):
    """Who sends responses: the connection."""

    def is_open(self, token: int) -> bool: ...

    def respond(self, incoming: Incoming, result: Any) -> None: ...

    def refuse(self, incoming: Incoming, error: RpcError) -> None: ...

    def forgotten(self, token: int, method: str) -> None: ...


class Incoming:
    """One request of the peer. `message` is the whole of it, as it came.

    `losses` tells what leniency dropped from its params (path, what happened). Dropping the last reference to a
    deferred one answers it with an internal error, so that the peer never waits for nothing (ENV-17).
    """

    __slots__ = ("__weakref__", "_on_withdrawn", "_responder", "losses", "message", "method", "token", "withdrawn")

    def __init__(self, responder: Responder, event: Called) -> None:
        self._responder = responder
        self._on_withdrawn: Callable[[], None] | None = None
        self.token = event.token
        self.method = event.method
        self.message = event.message
        self.losses: Losses = []
        self.withdrawn = False

    @property
    def id(self) -> str | int | None:
        """The request's id, which an elicitation that belongs to it refers to (ELI-2)."""
        raw = peek(self.message).id
        assert isinstance(raw, Raw)
        value: str | int | None = decode(str | int | None, raw)
        return value

    @property
    def is_open(self) -> bool:
        """Whether it still wants its response."""
        return self._responder.is_open(self.token)

    def answer(self, result: Any) -> None:
        """Responds with a generated value, plain JSON data or Raw; None is an empty object where the type has one.

        Does nothing when it has its response already.
        """
        self._responder.respond(self, result)

    def fail(self, error: RpcError) -> None:
        """Responds with an error. Does nothing when it has its response already."""
        self._responder.refuse(self, error)

    def on_withdrawn(self, call: Callable[[], None]) -> None:
        """`call()` when the peer takes the request back, where a running task would be cancelled instead.

        The request still wants its response: REQUEST_CANCELLED will do (CAN-4).
        """
        self._on_withdrawn = call
        if self.withdrawn:
            call()

    def withdraw(self) -> bool:
        """The peer has taken it back. Returns whether somebody was told."""
        self.withdrawn = True
        if self._on_withdrawn is None:
            return False
        self._on_withdrawn()
        return True

    def __del__(self) -> None:
        if self._responder.is_open(self.token):
            self._responder.forgotten(self.token, self.method)
