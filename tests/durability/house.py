"""A house to kill: a daemon process with its journal, its agents' notes, and what is found after it is gone."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from roost.acp.fold import fold
from roost.acp.view import SessionView
from roost.host import Host, Session, connect
from roost.sidecar.gen.messages import AcpSessionRequest, AcpSessionRpcResponse
from roost.sidecar.journal import Entry, Kind, StoredSession
from roost.sidecar.naming import key_of
from roost.store.sqlite import SqliteStore
from tests.acp.views import plain_view, update_of
from tests.cli.rig import ended

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).with_name("programs")
PATIENCE = 20.0  # seconds for anything real; only a hang reaches it
ME = "me"


class House:
    """One folder, and the daemons that live in it one after the other."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.notes = folder / "notes"
        self.work = folder / "work"
        self.journal = folder / "journal.db"
        self.notes.mkdir()
        self.work.mkdir()
        self.agent = f"{sys.executable} -I -S {PROGRAMS / 'agent.py'} {self.notes}"
        self.forgetful = f"{self.agent} forget"
        self._daemons = 0

    @asynccontextmanager
    async def daemon(self, **options: Any) -> AsyncIterator[Daemon]:
        """A daemon that listens. It is killed at the end, if it has not been before."""
        daemon = await self._start(options)
        try:
            assert daemon.first == "ready", daemon.first
            yield daemon
        finally:
            await daemon.kill()

    async def refused(self, **options: Any) -> dict[str, str]:
        """What a daemon says that cannot use the journal. It has ended by itself."""
        daemon = await self._start(options)
        try:
            async with asyncio.timeout(PATIENCE):
                assert await daemon.process.wait() == 0
        finally:
            await daemon.kill()
        fault: dict[str, str] = json.loads(daemon.first)
        return fault

    async def _start(self, options: dict[str, Any]) -> Daemon:
        self._daemons += 1
        socket = self.folder / f"s{self._daemons}"
        options.setdefault("state", str(self.folder / "state"))
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            str(PROGRAMS / "daemon.py"),
            str(socket),
            str(self.journal),
            json.dumps(options),
            stdout=asyncio.subprocess.PIPE,
            stdin=asyncio.subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        )
        assert process.stdout is not None
        try:
            async with asyncio.timeout(PATIENCE):
                line = await process.stdout.readline()
        except BaseException:
            process.kill()
            await process.wait()
            raise
        return Daemon(process, str(socket), line.decode().strip())

    # ---- what the agents wrote down

    def heard(self, method: str | None) -> list[dict[str, Any]]:
        """The messages of one method that any agent heard; None: the answers to its questions."""
        lines = self._lines("heard.log")
        return [message for message in lines if message.get("method") == method]

    def prompts(self) -> list[str]:
        """The text of each prompt that reached an agent."""
        return [message["params"]["prompt"][-1]["text"] for message in self.heard("session/prompt")]

    def agents_ended(self) -> bool:
        """Whether all agents there ever were, and their children, are gone; waits for it."""
        return ended(*[pid for pids in self._lines("pids.log") for pid in pids])

    def _lines(self, name: str) -> list[Any]:
        file = self.notes / name
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    # ---- what is in the journal

    async def stored(self, session_id: str) -> tuple[StoredSession | None, list[Entry]]:
        """With no daemon around."""
        store = SqliteStore(self.journal, check=True)
        await store.open()
        try:
            key = key_of(ME, session_id)
            return await store.session(key), [entry async for entry in store.entries(key)]
        finally:
            await store.close()


class Daemon:
    def __init__(self, process: asyncio.subprocess.Process, socket: str, first: str) -> None:
        self.process = process
        self.socket = socket
        self.first = first

    def strike(self) -> None:
        """SIGKILL, now."""
        if self.process.returncode is None:
            os.kill(self.process.pid, signal.SIGKILL)

    async def died(self) -> None:
        """Waits for its end by SIGKILL, whoever sent it."""
        async with asyncio.timeout(PATIENCE):
            assert await self.process.wait() == -signal.SIGKILL

    async def kill(self) -> None:
        self.strike()
        await self.process.wait()

    async def stop(self) -> None:
        """An orderly end."""
        self.process.terminate()
        async with asyncio.timeout(PATIENCE):
            assert await self.process.wait() == 0

    @asynccontextmanager
    async def host(self, caller: str | None = ME) -> AsyncIterator[Host]:
        async with asyncio.timeout(PATIENCE), connect(self.socket, caller=caller) as host:
            yield host


async def ask(host: Host, session_id: str, method: str, **params: Any) -> Any:
    """One session request by hand: the result, of a session this host need not know."""
    response = await host.request(AcpSessionRequest(session_id, method, json.dumps(params) if params else None))
    assert isinstance(response, AcpSessionRpcResponse)
    answer = json.loads(response.response)
    assert "error" not in answer, answer
    return answer["result"]


async def listed(host: Host) -> dict[str, str]:
    """The caller's sessions, and the state of each."""
    rows = (await ask(host, "", "_roost/sessions"))["sessions"]
    return {row["sessionId"]: row["state"] for row in rows}


async def history(host: Host, session_id: str) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = []
    while True:
        after = entries[-1]["number"] if entries else 0
        page = (await ask(host, session_id, "_roost/history", after=after, limit=1000))["entries"]
        if not page:
            return entries
        # What was compacted since the last page stands for entries read before.
        while entries and entries[-1]["number"] >= page[0]["first"]:
            entries.pop()
        entries += page


def prompt(text: str, key: str | None = None) -> dict[str, Any]:
    params: dict[str, Any] = {"prompt": [{"type": "text", "text": text}]}
    return params if key is None else {**params, "_meta": {"roost/idempotencyKey": key}}


async def send(session: Session, text: str, key: str | None = None) -> Any:
    """A prompt; returns when it is answered, which in version 2 is when it is accepted."""
    return await session.request("session/prompt", prompt(text, key))


def kinds(entries: list[Entry]) -> list[Kind]:
    return [entry.kind for entry in entries if entry.kind is not Kind.UPDATE]


def body(entry: Entry) -> Any:
    return msgspec.json.decode(entry.body)


def shown(updates: list[dict[str, Any]]) -> Any:
    """What a reader sees after these updates."""
    view = SessionView()
    for update in updates:
        fold(view, update_of(update))
    return plain_view(view)


def updates(entries: list[Entry]) -> list[dict[str, Any]]:
    return [body(entry)["params"]["update"] for entry in entries if entry.kind is Kind.UPDATE]


def texts(found: list[dict[str, Any]]) -> dict[str, str]:
    """What each message comes to: a whole message takes the place of its pieces, a piece is added."""
    by_message: dict[str, str] = {}
    for update in found:
        if update["sessionUpdate"] not in ("agent_message", "agent_message_chunk"):
            continue
        message = update.get("messageId", "")
        content = update["content"]
        text = "".join(block["text"] for block in (content if isinstance(content, list) else [content]))
        is_piece = update["sessionUpdate"] == "agent_message_chunk"
        by_message[message] = by_message.get(message, "") + text if is_piece else text
    return by_message


def said(found: list[dict[str, Any]]) -> str:
    """All the text of an agent's messages."""
    return "".join(texts(found).values())
