"""Which sessions are open on a client, and where each update goes: to its session, or to one that is about to be."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Raw

from roost.acp import v2
from roost.acp.v2.gen.updates import SessionUpdate, UpdateSessionNotification
from roost.errors import RemoteProtocolError, RpcError
from roost.sdk.handlers import typed_result
from roost.sdk.session import Session

if TYPE_CHECKING:
    from roost.sdk.client import Client
    from roost.sdk.client_link import ClientLink

log = logging.getLogger("roost.client")


class SessionTable:
    """The sessions by their ids.

    An answer takes effect in the reader itself, before the message behind it: the session is there when its first
    update is, and what came before the answer was kept for it (SES-4).
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self.sessions: dict[str, Session] = {}
        self._servers: dict[str, set[str]] = {}  # the MCP servers of this program that each session uses
        self._opening = 0  # calls in flight that will give us sessions
        self._early: dict[str, list[tuple[SessionUpdate, int]]] = {}
        self._early_count = self._early_bytes = 0
        self.ignored = 0
        """Updates of sessions that are not ours (SES-5)."""

    # ---- updates

    def update(self, notification: UpdateSessionNotification, size: int) -> None:
        """A session/update of `size` bytes has come."""
        session = self.sessions.get(notification.session_id)
        if session is not None:
            session.apply(notification.update, size)
        elif self._opening:
            self._keep(notification.session_id, notification.update, size)
        else:
            self.ignored += 1

    def _keep(self, session_id: str, update: SessionUpdate, size: int) -> None:
        limits = self._client.limits
        if self._early_count >= limits.early_updates or self._early_bytes + size > limits.early_update_bytes:
            self.ignored += 1
            log.warning("an update for a session that is not open yet was dropped: too many of them (early_updates)")
            return
        self._early.setdefault(session_id, []).append((update, size))
        self._early_count += 1
        self._early_bytes += size

    # ---- opening

    async def open(
        self, request: v2.NewSessionRequest | v2.ForkSessionRequest, cwd: str, servers: Sequence[v2.McpServer]
    ) -> Session:
        """Asks for a session that has no id yet."""
        opened: list[Session] = []

        def answered(result: Raw) -> None:
            response = typed_result(request.METHOD, result)
            if response.session_id in self.sessions:
                return
            session = Session(self._client, self._client.link, response.session_id, cwd)
            self._register(session, servers)
            opened.append(session)
            for update, size in self._early.pop(response.session_id, ()):
                session.apply(update, size)
            if response.config_options:
                session.set_config_options(response.config_options)

        self._opening += 1
        try:
            call: Any = self._client.call_gated(request, answered=_if_sound(answered))
            await call
        finally:
            self._opening -= 1
            if not self._opening:
                self.ignored += sum(map(len, self._early.values()))
                self._early.clear()
                self._early_count = self._early_bytes = 0
        if not opened:
            raise RemoteProtocolError(f"{request.METHOD} gave an id that is in use (SES-11)")
        return opened[0]

    async def resume(self, request: v2.ResumeSessionRequest, servers: Sequence[v2.McpServer]) -> Session:
        """Attaches to a session by its id, which may be open here already."""
        try:
            return await self._resume(request, servers)
        except RpcError as error:
            if not await self._client.has_logged_in(error):
                raise
        return await self._resume(request, servers)

    async def _resume(self, request: v2.ResumeSessionRequest, servers: Sequence[v2.McpServer]) -> Session:
        link = self._client.link
        known = self.sessions.get(request.session_id)
        session = known or Session(self._client, link, request.session_id, request.cwd)
        if known is None:
            self._register(session, servers)
        replays = request.replay_from is not None
        if replays:
            session.begin_replay()

        def answered(result: Raw) -> None:
            if replays:
                session.end_replay()
            options = typed_result(request.METHOD, result).config_options
            if options:
                session.set_config_options(options)

        try:
            await link.call(request, answered=_if_sound(answered))
        except BaseException:
            if replays:  # half of a conversation is none
                session.view.clear()
                session.end_replay()
            if known is None:
                self.forget(session)
            raise
        self._servers[request.session_id] = _ids(servers)
        return session

    def _register(self, session: Session, servers: Sequence[v2.McpServer]) -> None:
        self.sessions[session.id] = session
        self._servers[session.id] = _ids(servers)

    # ---- the end

    def forget(self, session: Session, error: Exception | None = None) -> None:
        """The session is over here."""
        if self.sessions.get(session.id) is session:
            del self.sessions[session.id]
            gone = self._servers.pop(session.id, set())
            self._client.close_mcp(gone.difference(*self._servers.values()))
        session.end(error)

    def end_all(self, link: ClientLink, error: Exception) -> None:
        """The connection is over, and all its sessions with it."""
        for session in list(self.sessions.values()):
            if session.link is link:
                self.forget(session, error)


def _if_sound(answered: Callable[[Raw], None]) -> Callable[[Raw], None]:
    """Leaves a malformed answer to the call itself, which raises for it."""

    def checked(result: Raw) -> None:
        try:
            answered(result)
        except RemoteProtocolError:
            pass

    return checked


def _ids(servers: Sequence[v2.McpServer]) -> set[str]:
    return {server.server_id for server in servers if isinstance(server, v2.McpServerAcp)}
