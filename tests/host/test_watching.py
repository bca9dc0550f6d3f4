"""Several programs of one caller: who only watches a session has no say in what its agent asks."""

from __future__ import annotations

import asyncio
import os
import shlex
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from roost.daemon.daemon import Daemon
from roost.host.connect import attach
from roost.host.events import HostRequest, Notification, PermissionRequest
from roost.host.host import Host
from roost.host.session import Session
from roost.sidecar.gen.messages import AcpCallback, AcpCallbackResponse, AcpHostRequestCallbackResponse
from roost.sidecar.limits import Limits

PATIENCE = 20
SCRIPTED = f"{shlex.quote(sys.executable)} -m roost.testing.scripted --v1"
READ = 'request fs/read_text_file {"path": "/x"}'


class Pair:
    """Two programs of the same caller, and what the second one answers to a question."""

    def __init__(self, first: Host, second: Host) -> None:
        self.first = first
        self.second = second
        self.answers: list[AcpCallbackResponse | None] = []
        self._answered = asyncio.Event()
        self._answer = second.link._on_callback
        second.link._on_callback = self._asked

    async def _asked(self, callback: AcpCallback) -> AcpCallbackResponse | None:
        answer = await self._answer(callback)
        self.answers.append(answer)
        self._answered.set()
        return answer

    async def once_the_second_was_asked(self) -> None:
        """Whatever it has answered, the daemon has heard."""
        await asyncio.wait_for(self._answered.wait(), PATIENCE)
        await self.second.list_agents()

    async def slowly(self, request: PermissionRequest) -> str:
        await self.once_the_second_was_asked()
        return "once"

    async def never(self, request: PermissionRequest) -> str:
        await asyncio.Event().wait()
        return "once"

    async def read(self, request: HostRequest) -> dict[str, Any]:
        await self.once_the_second_was_asked()
        return {"content": "what is there"}


@asynccontextmanager
async def a_pair() -> AsyncIterator[Pair]:
    daemon = Daemon(limits=Limits(), roots=[], environment=dict(os.environ))
    await daemon.open()
    try:
        first, second = await attach(daemon, caller="me"), await attach(daemon, caller="me")
        try:
            yield Pair(first, second)
        finally:
            await first.close()
            await second.close()
    finally:
        await daemon.close()


async def said(session: Session, prompt: str) -> str:
    """What the agent says in this turn."""
    texts = []
    async with asyncio.timeout(PATIENCE):
        async for event in session.prompt(prompt):
            if isinstance(event, Notification):
                texts.append(event.text)
    return "\n".join(texts)


async def test_who_only_watches_rejects_nothing(tmp_path: Path) -> None:
    async with a_pair() as pair:
        session = await pair.first.create_session(
            SCRIPTED, cwd=str(tmp_path), protocol_version=1, on_permission=pair.slowly
        )
        await pair.second.known_session(session.id, 1).state()
        assert "permission: opt-allow_once" in await said(session, "permission May I?")
        assert pair.answers == [None]


async def test_who_only_watches_leaves_other_questions_to_the_others_too(tmp_path: Path) -> None:
    async with a_pair() as pair:
        session = await pair.first.create_session(SCRIPTED, cwd=str(tmp_path), protocol_version=1, on_request=pair.read)
        assert pair.second.mcp is not None  # it serves its own MCP servers, and no files
        await pair.second.known_session(session.id, 1).state()
        assert "what is there" in await said(session, READ)
        assert pair.answers == [None]


async def test_who_watches_and_has_somebody_to_decide_may_decide(tmp_path: Path) -> None:
    async def once(request: PermissionRequest) -> str:
        return "once"

    async with a_pair() as pair:
        session = await pair.first.create_session(
            SCRIPTED, cwd=str(tmp_path), protocol_version=1, on_permission=pair.never
        )
        watched = pair.second.known_session(session.id, 1)
        watched.on_permission = once
        await watched.state()
        assert "permission: opt-allow_once" in await said(session, "permission May I?")


async def test_who_prompts_without_anybody_to_decide_rejects_at_once(tmp_path: Path) -> None:
    async with a_pair() as pair:
        session = await pair.first.create_session(
            SCRIPTED, cwd=str(tmp_path), protocol_version=1, on_permission=pair.never
        )
        known = pair.second.known_session(session.id, 1)
        assert "permission: opt-reject_once" in await said(known, "permission May I?")


async def test_who_resumes_without_anybody_to_decide_rejects_at_once(tmp_path: Path) -> None:
    async with a_pair() as pair:
        session = await pair.first.create_session(
            SCRIPTED, cwd=str(tmp_path), protocol_version=1, on_permission=pair.never
        )
        await pair.second.resume_session(session.id, SCRIPTED, cwd=str(tmp_path))
        assert "permission: opt-reject_once" in await said(session, "permission May I?")


async def test_who_resumes_and_serves_nothing_says_so_at_once(tmp_path: Path) -> None:
    async with a_pair() as pair:
        session = await pair.first.create_session(SCRIPTED, cwd=str(tmp_path), protocol_version=1, on_request=pair.read)
        await pair.second.resume_session(session.id, SCRIPTED, cwd=str(tmp_path))
        assert "-32601" in await said(session, READ)
        assert pair.answers == [AcpHostRequestCallbackResponse(None)]


async def test_who_has_opened_a_session_rejects_at_once_what_it_does_not_decide(tmp_path: Path) -> None:
    async with a_pair() as pair:
        session = await pair.second.create_session(SCRIPTED, cwd=str(tmp_path), protocol_version=1)
        assert "permission: opt-reject_once" in await said(session, "permission May I?")
        await session.close()
        assert not pair.second._takes_part
