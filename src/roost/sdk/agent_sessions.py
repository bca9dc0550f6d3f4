"""The sessions an agent has attached, over all its connections; and bringing one up or down."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from roost.errors import ConnectionClosed, RpcError, StoreError
from roost.rpc.messages import INTERNAL_ERROR, LIMIT_EXCEEDED, RESOURCE_NOT_FOUND
from roost.sdk.agent_config import ConfigOptions
from roost.sdk.agent_session import AgentSession
from roost.sdk.agent_turns import TurnQueue
from roost.sdk.history import History
from roost.sdk.store import SessionRecord, StoredSession

if TYPE_CHECKING:
    from roost.sdk.agent import Agent
    from roost.sdk.agent_link import AgentLink

log = logging.getLogger("roost.agent")


class AgentSessions:
    """Attached sessions by id. One at a time is brought up, taken over or brought down under one id."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._attached: dict[str, AgentSession] = {}
        self._ending: dict[str, asyncio.Task[None]] = {}
        self._locks: dict[str, tuple[asyncio.Lock, int]] = {}  # with how many use it

    def of(self, link: AgentLink) -> list[AgentSession]:
        """Those attached to a connection."""
        return [session for session in self._attached.values() if session.link is link]

    def find(self, link: AgentLink, session_id: str) -> AgentSession | None:
        """The session if it is attached to this very connection (SEC-6)."""
        session = self._attached.get(session_id)
        return session if session is not None and session.link is link else None

    def get(self, link: AgentLink, session_id: str) -> AgentSession:
        """`find`, or RpcError -32002 (ERR-3)."""
        session = self.find(link, session_id)
        if session is None:
            raise unknown_session(session_id)
        return session

    def attached(self, link: AgentLink, session_id: str) -> AgentSession | None:
        """The session if it is attached anywhere, and is this client's."""
        session = self._attached.get(session_id)
        return session if session is not None and session.link.principal == link.principal else None

    @asynccontextmanager
    async def alone(self, session_id: str) -> AsyncIterator[None]:
        """Nobody else brings this session up or down meanwhile."""
        lock, users = self._locks.get(session_id) or (asyncio.Lock(), 0)
        self._locks[session_id] = (lock, users + 1)
        try:
            async with lock:
                if session_id in self._ending:
                    await asyncio.wait({self._ending[session_id]})
                yield
        finally:
            users = self._locks[session_id][1] - 1
            if users:
                self._locks[session_id] = (lock, users)
            else:
                del self._locks[session_id]

    async def load(self, link: AgentLink, session_id: str) -> StoredSession:
        """What the store has. RpcError: nothing (-32002), not this client's (the same), or it cannot be read."""
        try:
            stored = await self._agent.store.load(session_id)
        except StoreError as error:
            log.error("session %s: %s", session_id, error)
            raise RpcError(INTERNAL_ERROR, "The session cannot be loaded", {"sessionId": session_id}) from None
        if stored is None or stored.record.owner != link.principal:
            raise unknown_session(session_id)
        return stored

    def require_room(self, link: AgentLink) -> None:
        """RpcError: the connection has as many sessions as it may."""
        bound = link.limits.sessions
        if len(self.of(link)) >= bound:
            raise RpcError(LIMIT_EXCEEDED, "Limit exceeded: sessions", {"limit": "sessions", "bound": bound})

    def bring_up(self, link: AgentLink, record: SessionRecord, history: History) -> AgentSession:
        """A session for this connection, not yet attached: the author's code still has to agree."""
        self.require_room(link)
        config = ConfigOptions(self._agent.config)
        config.restore(record.config)
        session = AgentSession(link, record, history, config)
        session.turns = TurnQueue(
            session, self._agent.answer, limit=link.limits.queued_prompts, grace=link.limits.cancel_grace
        )
        return session

    async def attach(self, session: AgentSession, origin: str) -> None:
        """The author's code gets to know the session; then it is stored, and there."""
        await self._agent.session_opened(session, origin)
        await session.save()
        self._attached[session.id] = session
        if session.link.connection.is_over:  # it ended meanwhile, and knows nothing of this one
            await self.shut(session)
            raise ConnectionClosed("the connection has ended")

    def announce(self, session: AgentSession) -> None:
        """Slash commands that the client is told right after the session came to be there, or came to be its own."""
        commands = self._agent.commands_of(session)
        if commands and (not session.offered_to(session.link) or len(commands) != len(session.commands)):
            session.offer(commands)

    async def shut(self, session: AgentSession) -> None:
        """Work is cancelled and comes to idle, all is stored, and the session is no longer attached (SES-26).

        Once begun it goes on, even when whoever asked for it is cancelled.
        """
        ending = self._ending.get(session.id)
        if ending is None:
            ending = asyncio.get_running_loop().create_task(self._shut(session), name=f"roost-close {session.id}")
            self._ending[session.id] = ending
        await asyncio.shield(ending)

    async def _shut(self, session: AgentSession) -> None:
        try:
            await session.turns.close()
            try:
                await self._agent.session_closed(session)
            except Exception:
                log.exception("the author's code failed to close session %s", session.id)
            await session.save()
            await session.detach()
        finally:
            del self._ending[session.id]
            if self._attached.get(session.id) is session:
                del self._attached[session.id]

    async def shut_all(self, link: AgentLink) -> None:
        """The connection has ended (STD-5, PER-10)."""
        await asyncio.gather(*(self.shut(session) for session in self.of(link)))


def unknown_session(session_id: str) -> RpcError:
    return RpcError(RESOURCE_NOT_FOUND, "No such session", {"sessionId": session_id})
