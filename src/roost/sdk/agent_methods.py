"""The session methods of one connection: what a client asks, checked, and done on the agent's sessions.

What can be decided at once is decided in the plain functions, in the order the requests came; what takes time is the
coroutine they return.
"""

from __future__ import annotations

import logging
from collections.abc import Coroutine
from copy import deepcopy
from typing import Any

from roost.acp import v2
from roost.errors import RpcError, StoreError
from roost.rpc.messages import INTERNAL_ERROR, INVALID_REQUEST
from roost.sdk.agent_attachment import apply_attachment, check_attachment, check_prompt
from roost.sdk.agent_link import AgentLink, check_absolute
from roost.sdk.agent_listing import page_of
from roost.sdk.agent_session import AgentSession
from roost.sdk.agent_sessions import AgentSessions
from roost.sdk.handlers import invalid_params
from roost.sdk.history import History
from roost.sdk.incoming import Deferred, Incoming
from roost.sdk.store import SessionRecord
from roost.wire.decode import encode

log = logging.getLogger("roost.agent")


class SessionMethods:
    """Registers itself on the link's connection."""

    def __init__(self, link: AgentLink, sessions: AgentSessions) -> None:
        self._link = link
        self._agent = link.agent
        self._sessions = sessions
        on_request = link.connection.on_request
        on_request("session/new", self._new)
        on_request("session/list", self._list)
        on_request("session/resume", self._resume)
        on_request("session/close", self._close)
        on_request("session/delete", self._delete)
        on_request("session/fork", self._fork)
        on_request("session/prompt", self._prompt)
        on_request("session/set_config_option", self._set_config_option)
        link.connection.on_notification("session/cancel", self._cancel)

    # ---- new and fork

    def _new(self, request: v2.NewSessionRequest, incoming: Incoming) -> Coroutine[Any, Any, None]:
        self._link.require_login()
        check_attachment(self._link, request)
        record = self._new_record(request.cwd)
        return self._create(request, record, History(self._agent.history_limits), "new", incoming)

    def _new_record(self, cwd: str) -> SessionRecord:
        now = self._agent.now()
        return SessionRecord(
            session_id=self._agent.new_session_id(),
            cwd=cwd,
            owner=self._link.principal,
            created_at=now,
            updated_at=now,
            epoch=1,
        )

    async def _create(
        self,
        request: v2.NewSessionRequest | v2.ForkSessionRequest,
        record: SessionRecord,
        history: History,
        origin: str,
        incoming: Incoming,
    ) -> None:
        session = self._sessions.bring_up(self._link, record, history)
        apply_attachment(session, request)
        try:
            await self._sessions.attach(session, origin)
        except BaseException:
            await self._forget(session)
            raise
        if isinstance(request, v2.ForkSessionRequest):
            incoming.answer(v2.ForkSessionResponse(session_id=session.id, config_options=session.config.listed()))
        else:
            incoming.answer(v2.NewSessionResponse(session_id=session.id, config_options=session.config.listed()))
        session.release()  # SES-4: the response goes first
        self._sessions.announce(session)

    async def _forget(self, session: AgentSession) -> None:
        """It never came to be: nobody knows its id."""
        try:
            await self._agent.store.delete(session.id)
        except StoreError as error:
            log.error("%s", error)

    def _fork(self, request: v2.ForkSessionRequest, incoming: Incoming) -> Coroutine[Any, Any, None]:
        self._link.require_login()
        check_attachment(self._link, request)
        return self._fork_session(request, incoming)

    async def _fork_session(self, request: v2.ForkSessionRequest, incoming: Incoming) -> None:
        async with self._sessions.alone(request.session_id):
            live = self._sessions.attached(self._link, request.session_id)
            if live is not None:
                if live.turns.busy:
                    raise RpcError(INVALID_REQUEST, "The session is working; fork it when it is idle")
                if not await live.save():
                    raise RpcError(INTERNAL_ERROR, "The session cannot be stored", {"sessionId": live.id})
            source = await self._sessions.load(self._link, request.session_id)
        record = self._new_record(request.cwd)
        record.title = source.record.title
        record.config = dict(source.record.config)
        record.data = deepcopy(source.record.data)
        record.epoch = source.record.epoch + 1  # the copied history keeps its ids; new ones differ
        history = History.of(source.history, self._agent.history_limits)
        await self._create(request, record, history, "fork", incoming)

    # ---- resume

    def _resume(self, request: v2.ResumeSessionRequest, incoming: Incoming) -> Coroutine[Any, Any, None]:
        self._link.require_login()
        check_attachment(self._link, request)
        if request.replay_from is not None and not isinstance(request.replay_from, v2.ReplayFromStart):
            raise invalid_params("this place to replay from is not supported", "replayFrom", "type")  # SES-20
        return self._resume_session(request, incoming)

    async def _resume_session(self, request: v2.ResumeSessionRequest, incoming: Incoming) -> None:
        async with self._sessions.alone(request.session_id):
            session = self._sessions.attached(self._link, request.session_id)
            if session is not None:
                history = self._take_over(session, request)
                await self._show(session, request, history, incoming)
                return
            session, history = await self._wake(request)
            try:
                await self._show(session, request, history, incoming)
            except BaseException:
                await self._sessions.shut(session)
                raise

    def _take_over(self, session: AgentSession, request: v2.ResumeSessionRequest) -> list[v2.SessionUpdate]:
        """The session is attached already: its work goes on, and is seen from here (SES-23, SES-25)."""
        if request.cwd != session.cwd:
            raise _other_directory()
        if session.link is not self._link:
            self._sessions.require_room(self._link)
        apply_attachment(session, request)
        history = session.hold()
        session.move_to(self._link)
        return history

    async def _wake(self, request: v2.ResumeSessionRequest) -> tuple[AgentSession, list[v2.SessionUpdate]]:
        stored = await self._sessions.load(self._link, request.session_id)
        record = stored.record
        if request.cwd != record.cwd:
            raise _other_directory()
        record.epoch += 1
        history = History.of(stored.history, self._agent.history_limits)
        replay = history.updates()  # before the author's code has anything to add
        session = self._sessions.bring_up(self._link, record, history)
        apply_attachment(session, request)
        await self._sessions.attach(session, "resume")
        return session, replay

    async def _show(
        self,
        session: AgentSession,
        request: v2.ResumeSessionRequest,
        history: list[v2.SessionUpdate],
        incoming: Incoming,
    ) -> None:
        try:
            if request.replay_from is not None:
                await self._replay(session, history)
            if session.turns.busy:
                self._send(session, session.state)  # SES-25
            incoming.answer(v2.ResumeSessionResponse(config_options=session.config.listed()))
        finally:
            session.release()
        self._sessions.announce(session)

    async def _replay(self, session: AgentSession, updates: list[v2.SessionUpdate]) -> None:
        """The whole conversation, before the response (SES-17); as fast as the client reads, and no faster."""
        for update in updates:
            self._send(session, update)
            await self._link.connection.drain()

    def _send(self, session: AgentSession, update: v2.SessionUpdate) -> None:
        """To this client, and not remembered: it is known already."""
        notification = v2.UpdateSessionNotification(session_id=session.id, update=update)
        self._link.connection.notify_raw("session/update", encode(notification))

    # ---- list, close, delete

    async def _list(self, request: v2.ListSessionsRequest, incoming: Incoming) -> v2.ListSessionsResponse:
        if request.cwd is not None:
            check_absolute(request.cwd, "cwd")
        try:
            records = await self._agent.store.records()
        except StoreError as error:
            log.error("%s", error)
            raise RpcError(INTERNAL_ERROR, "The sessions cannot be listed") from None
        own = [record for record in records if record.owner == self._link.principal]
        return page_of(own, request.cwd, request.cursor, self._link.limits.page_sessions)

    async def _close(self, request: v2.CloseSessionRequest, incoming: Incoming) -> v2.CloseSessionResponse:
        async with self._sessions.alone(request.session_id):
            session = self._sessions.attached(self._link, request.session_id)
            if session is None:
                await self._sessions.load(self._link, request.session_id)  # unknown is an error, inactive is closed
            else:
                await self._sessions.shut(session)
        return v2.CloseSessionResponse()

    async def _delete(self, request: v2.DeleteSessionRequest, incoming: Incoming) -> v2.DeleteSessionResponse:
        async with self._sessions.alone(request.session_id):
            session = self._sessions.attached(self._link, request.session_id)
            if session is not None:
                await self._sessions.shut(session)  # SES-28
            try:
                stored = await self._agent.store.load(request.session_id)
                if stored is not None and stored.record.owner == self._link.principal:
                    await self._agent.store.delete(request.session_id)
            except StoreError as error:
                log.error("%s", error)
                raise RpcError(INTERNAL_ERROR, "The session cannot be deleted") from None
        return v2.DeleteSessionResponse()

    # ---- the work

    def _prompt(self, request: v2.PromptRequest, incoming: Incoming) -> Deferred:
        self._link.require_login()
        session = self._sessions.get(self._link, request.session_id)
        check_prompt(self._link, request.prompt)
        return session.turns.submit(request, incoming)

    def _cancel(self, notification: v2.CancelSessionNotification) -> None:
        session = self._sessions.find(self._link, notification.session_id)
        if session is not None:
            session.turns.cancel()

    def _set_config_option(self, request: Any, incoming: Incoming) -> Coroutine[Any, Any, Any]:
        if not isinstance(request, v2.SetSessionConfigIdRequest | v2.SetSessionConfigBooleanRequest):
            raise invalid_params("this type of value is not supported", "type")
        session = self._sessions.get(self._link, request.session_id)
        before = session.config.listed()
        session.config.assign(request.config_id, request.value)
        return self._config_changed(session, request.config_id, before)

    async def _config_changed(
        self, session: AgentSession, config_id: str, before: list[v2.SessionConfigOption]
    ) -> v2.SetSessionConfigOptionResponse:
        try:
            await self._agent.config_changed(session, config_id)
        except BaseException:
            session.config.replace(before)
            raise
        await session.save()
        return v2.SetSessionConfigOptionResponse(config_options=session.config.listed())


def _other_directory() -> RpcError:
    return invalid_params("the session has another directory", "cwd")  # SES-21
