"""One connection to one agent, from the handshake to the end: what may be sent is checked, and how it ended is told.

Version, capabilities and all that follows from them belong to the connection and die with it (INI-18).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, Final, Protocol, TypeVar, cast, runtime_checkable

import msgspec
from msgspec import Raw

from roost.acp import v2
from roost.acp.calls import Notification, Request
from roost.acp.dialect import V2, accepted
from roost.errors import (
    AgentExited,
    CodecError,
    ConnectionClosed,
    LimitError,
    LocalProtocolError,
    RemoteProtocolError,
    TransportError,
    UnsupportedVersion,
    format_path,
)
from roost.rpc.peer import Malformed, PeerEvent
from roost.sdk.client_gates import check_method
from roost.sdk.client_limits import ClientLimits
from roost.sdk.connection import Connection
from roost.sdk.handlers import typed_result
from roost.transport.messages import MessageChannel
from roost.wire.decode import decode, encode_checked

R = TypeVar("R")

log = logging.getLogger("roost.client")

SUPPORTED: Final = (V2,)
"""The versions a client speaks itself, the latest of which it asks for (INI-2). Version 1 is behind a bridge."""

# What an agent answers with an empty object cannot be too long, so no answer to these was among messages that were.
_SMALL_ANSWERS: Final = frozenset(
    {
        "session/prompt",
        "session/close",
        "session/delete",
        "auth/login",
        "auth/logout",
        "providers/set",
        "providers/disable",
        "nes/start",
        "nes/close",
    }
)


@runtime_checkable
class Mortal(Protocol):
    """A channel to a process, which can tell how that ended."""

    exit_code: int | None

    @property
    def last_words(self) -> str:
        """The end of what it said on stderr."""

    async def wait_exited(self) -> int: ...


class _Version(msgspec.Struct):
    protocolVersion: Raw


class ClientLink:
    """A connection before, during and after its use. `agent` is what the agent said of itself."""

    def __init__(self, channel: MessageChannel, limits: ClientLimits, *, tolerant: bool) -> None:
        self.channel = channel
        self.limits = limits
        self.connection = Connection(channel, answer_malformed=not tolerant, limits=limits.connection)
        self.agent: v2.InitializeResponse
        self.is_closing = False
        """Whether it is we who end it."""
        self.noise = 0
        """How many lines were no messages (STD-4)."""
        self.overflows = 0
        """How many messages were too long and are lost (ENV-21)."""
        self.connection.on_oddity = self._note_oddity
        self.connection.on_overflow = self._note_overflow

    # ---- the handshake

    async def initialize(self, request: v2.InitializeRequest, patience: float) -> Raw:
        """Asks for our latest version (INI-2). What comes back is for `accept`.

        RpcError: the agent refused. TransportError: it did not answer in so many seconds, or ended.
        """
        self.connection.start()
        try:
            async with asyncio.timeout(patience):
                return await self.connection.call_raw("initialize", encode_checked(request))
        except TimeoutError:
            words = f"{self.peer} did not answer initialize within {patience:g} seconds{self._said()}"
            raise TransportError(words) from None
        except ConnectionClosed as error:
            raise await self.explain(error) from error

    def accept(self, answer: Raw) -> v2.InitializeResponse:
        """Reads an answer by the version it names (INI-3 to INI-5).

        UnsupportedVersion: it speaks another one. RemoteProtocolError: its answer is malformed.
        """
        version = named_version(answer)
        if accepted(version, SUPPORTED) is None:
            raise self.unsupported(version)
        losses: list[str] = []
        try:
            self.agent = decode(
                v2.InitializeResponse, answer, on_loss=lambda path, what: losses.append(f"{format_path(path)}: {what}")
            )
        except CodecError as error:  # INI-16
            raise RemoteProtocolError(f"the answer to initialize is malformed: {error}") from None
        for loss in losses:
            log.warning("initialize: %s", loss)  # INI-12: not offered, then
        return self.agent

    def unsupported(self, version: int) -> UnsupportedVersion:
        spoken = ", ".join(str(dialect.version) for dialect in SUPPORTED)
        text = f"{self.peer} speaks ACP version {version}; this client speaks {spoken}"
        return UnsupportedVersion(version, text)

    # ---- to the agent

    async def call(self, request: Request[R], *, answered: Callable[[Raw], None] | None = None) -> R:
        """Asks. CapabilityError or LocalProtocolError: nothing was sent; see `Connection.call` for the rest.

        A closed connection is told with the agent's exit code and last words, where there are any (AgentExited).
        """
        check_method(self.agent, request.METHOD)
        data = encode_checked(request)
        return cast(R, typed_result(request.METHOD, await self.call_raw(request.METHOD, data, answered=answered)))

    async def call_raw(self, method: str, params: Any, *, answered: Callable[[Raw], None] | None = None) -> Raw:
        """Asks by any method, without checks."""
        try:
            return await self.connection.call_raw(method, params, answered=answered)
        except ConnectionClosed as error:
            raise await self.explain(error) from error

    def start_call(self, request: Request[Any], answered: Callable[[Raw], None]) -> tuple[int, asyncio.Future[Raw]]:
        """Asks at once, checked; see `Connection.start_call`."""
        check_method(self.agent, request.METHOD)
        return self.connection.start_call(request.METHOD, encode_checked(request), answered=answered)

    def notify(self, notification: Notification) -> None:
        """Tells. Raises as `call` does, and LimitError when the agent has not read for too long."""
        check_method(self.agent, notification.METHOD)
        self.connection.notify_raw(notification.METHOD, encode_checked(notification))

    async def tell(self, notification: Notification) -> None:
        """The same, and waits while the agent reads more slowly than it is told."""
        self.notify(notification)
        await self.connection.drain()

    # ---- what is known

    @property
    def peer(self) -> str:
        return self.channel.peer

    def _note_overflow(self, count: int, limit: int) -> None:
        # Nobody can tell what it was. It may have been an answer, and a call that never returns is worse than one that
        # fails with the reason.
        self.overflows += count
        error = LimitError("max_line_bytes", limit, f"a message of {self.peer} over {limit} bytes was lost")
        self.connection.fail_open_calls(error, but=_SMALL_ANSWERS)

    def _note_oddity(self, event: PeerEvent) -> None:
        if isinstance(event, Malformed):
            self.noise += 1
            if self.noise == 1:
                log.warning("%s writes what is no message; such lines are skipped", self.peer)

    # ---- the end

    async def close(self) -> None:
        """Ends the connection, and the agent's process where it is ours."""
        self.is_closing = True
        await self.connection.close()
        if isinstance(self.channel, Mortal):
            await self.channel.wait_exited()

    async def explain(self, error: ConnectionClosed) -> ConnectionClosed:
        """The same, with what is known about the agent's end."""
        channel = self.channel
        if self.is_closing or not isinstance(channel, Mortal) or isinstance(error, AgentExited):
            return error
        try:
            async with asyncio.timeout(self.limits.exit_grace):
                await channel.wait_exited()
        except TimeoutError:
            return ConnectionClosed(f"{error}{self._said()}")
        code = channel.exit_code
        how = (
            f"ended with exit code {code}" if code is not None and code >= 0 else f"was killed by signal {-(code or 0)}"
        )
        return AgentExited(f"{self.peer} {how}{self._said()}", code, channel.last_words)

    def _said(self) -> str:
        words = self.channel.last_words if isinstance(self.channel, Mortal) else ""
        return f"; its last words were:\n{words}" if words else ""


def named_version(answer: Raw) -> int:
    """The version an answer is shaped by, whatever else is in it (INI-5, INI-8)."""
    try:
        return decode(v2.ProtocolVersion, decode(_Version, answer).protocolVersion)
    except CodecError:
        raise RemoteProtocolError("the answer to initialize names no protocol version") from None


def require_open(link: ClientLink | None) -> ClientLink:
    """LocalProtocolError: there is no connection yet, or no more."""
    if link is None:
        raise LocalProtocolError("the client is not connected")
    return link
