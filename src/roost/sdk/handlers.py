"""Who handles which method of a connection, and how raw params become what a handler is given."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec import Raw

from roost.acp.calls import Method
from roost.acp.v2.gen.methods import REQUESTS
from roost.errors import CodecError, LocalProtocolError, RemoteProtocolError, RpcError, format_path
from roost.rpc.messages import INVALID_PARAMS
from roost.sdk.incoming import Losses
from roost.wire.decode import decode, encode

log = logging.getLogger("roost.connection")

_LOGGED_LOSSES: Final = 100  # per method and connection: a peer that is wrong is wrong often


class Handler:
    """One registered handler. The type of its params is imported at the first message."""

    __slots__ = ("_logged", "_method", "_row", "_type", "call", "consumed", "raw", "with_losses", "with_size")

    def __init__(
        self,
        method: str,
        call: Callable[..., Any],
        table: Mapping[str, Method],
        *,
        raw: bool = False,
        with_losses: bool = False,
        with_size: bool = False,
    ) -> None:
        row = table.get(method)
        if row is None and not raw and not method.startswith("_"):
            raise LocalProtocolError(f"{method} is not in the protocol, and no extension: those start with _ (EXT-3)")
        self._method = method
        self._row = row
        self._type: Any = None if row is not None else Any
        self._logged = 0
        self.call = call
        self.raw = raw
        self.with_losses = with_losses
        self.with_size = with_size
        self.consumed = inspect.iscoroutinefunction(call)
        """Whether a notification goes to the ordered consumer instead of being handled at once."""

    def params(self, raw: Raw | None, losses: Losses) -> Any:
        """What the handler is given, `_meta` inside (EXT-6). `losses` gets what was forgiven. Raises CodecError."""
        if self.raw:
            return Raw(b"{}") if raw is None else raw
        if self._type is None:
            assert self._row is not None
            self._type = self._row.params
        value = decode(
            self._type, b"{}" if raw is None else raw, on_loss=lambda path, what: losses.append((path, what))
        )  # ENV-4: none is an empty object
        if losses:
            self._log(losses)
        return value

    def _log(self, losses: Losses) -> None:
        for path, what in losses:
            self._logged += 1
            if self._logged <= _LOGGED_LOSSES:
                log.warning("%s: %s: %s", self._method, format_path(path), what)  # L20: never the value


def invalid_params(reason: str, *path: str | int, **data: Any) -> RpcError:
    """What a request is answered whose params cannot be taken: why, and where in them; never the value."""
    text = f"Invalid params: {reason}" + (f" (at {format_path(path)})" if path else "")
    return RpcError(INVALID_PARAMS, text, {**({"path": format_path(path)} if path else {}), **data} or None)


def undecodable(error: CodecError) -> RpcError:
    return invalid_params(error.message, *error.path)


def encoded(value: Any) -> bytes | None:
    """JSON of a generated value or plain data; bytes and Raw are JSON already, None is none."""
    if value is None or isinstance(value, bytes):
        return value
    return bytes(value) if isinstance(value, Raw) else encode(value)


def typed_result(method: str, result: Raw) -> Any:
    """The answer to a call, as its type. RemoteProtocolError when it is malformed."""
    type_ = REQUESTS[method].result
    try:
        return decode(type_, result)
    except CodecError as error:
        if bytes(result) == b"null":  # ENV-16: as good as an object that may be empty
            try:
                return decode(type_, b"{}")
            except CodecError:
                pass
        raise RemoteProtocolError(f"the answer to {method} is malformed: {error}") from None


def empty_result(method: str) -> bytes:
    """What a handler that returns nothing means: an empty object, or null where any JSON may be the result."""
    return b"{}" if method in REQUESTS and method != "mcp/message" else b"null"
