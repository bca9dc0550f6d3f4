"""The store's side of the driver: the engine's changes go in, its questions about stored sessions come out."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import cast

from roost.errors import LimitError, RoostError, StoreError
from roost.sidecar import commands, events
from roost.sidecar.journal import Entry, StoredSession
from roost.sidecar.transcript import Transcript
from roost.store.base import Store, StoreWatcher

# Of entries, in one answer to a caller; a larger one is an answer of its own. An answer has to fit in a frame.
HISTORY_BYTES = 4 * 1024 * 1024

log = logging.getLogger("roost.daemon")

# Beside the session's own files, where its agent may read; never shown to other users.
TRANSCRIPT_FOLDER = ".roost"


class Archivist:
    """Carries Persist and Load out. `feed` takes the events that answer."""

    def __init__(self, store: Store, feed: Callable[[events.Event], None]) -> None:
        self._store = store
        self._feed = feed
        self._tasks: set[asyncio.Task[None]] = set()
        store.watch(Watch(feed))

    def persist(self, command: commands.Persist) -> None:
        ticket = command.ticket
        if not ticket:
            self._store.write(command.changes)
            return

        def done(failure: StoreError | LimitError | None) -> None:
            self._feed(events.ChangesStored(ticket, None if failure is None else str(failure)))

        self._store.write(command.changes, done)

    def load(self, command: commands.Load) -> bool:
        """Whether the query is one for the store; the answer comes later."""
        query = command.query
        if isinstance(query, commands.AgentQuery | commands.AgentsQuery):
            return False
        task = asyncio.get_running_loop().create_task(self._answer(command.ticket, query))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return True

    async def _answer(self, ticket: int, query: commands.Query) -> None:
        value: object = None
        try:
            value = await self._look_up(query)
        except (RoostError, OSError) as error:
            log.error("the journal could not be read: %s", error)
        self._feed(events.RecordLoaded(ticket, value))

    async def _look_up(self, query: commands.Query) -> object:
        store = self._store
        match query:
            case commands.SessionQuery(session_id=session_id):
                return await store.session(session_id)
            case commands.HoldersQuery(names=names):
                return await store.holders(names)
            case commands.SessionsQuery(caller=caller, after=after, limit=limit):
                return await store.sessions(caller, after=after, limit=limit)
            case commands.HistoryQuery(session_id=session_id, after=number, limit=limit):
                return await self._history(session_id, number, limit)
            case commands.PromptQuery(session_id=session_id, key=key):
                return await store.prompt_by_key(session_id, key)
            case commands.TranscriptQuery(session_id=session_id, cwd=cwd):
                return await self._transcript(session_id, cwd)
        return None

    async def _history(self, session_id: str, after: int, limit: int) -> list[Entry]:
        entries: list[Entry] = []
        size = 0
        pages = cast("AsyncGenerator[list[Entry], None]", self._store.pages(session_id, after=after, limit=limit))
        async with aclosing(pages):
            async for page in pages:
                size += sum([len(entry.body) for entry in page])
                if entries and size > HISTORY_BYTES:
                    break
                entries += page
        return entries

    async def _transcript(self, session_id: str, cwd: str) -> str | None:
        """Writes the history as Markdown where the agent can read it; None when there is nothing, or no place."""
        session: StoredSession | None = await self._store.session(session_id)
        if session is None:
            return None
        transcript = Transcript(session.name)
        async for entry in self._store.entries(session_id):
            transcript.add(entry)
        text = transcript.text()
        return await asyncio.to_thread(write_transcript, cwd, session_id, text)

    async def close(self) -> None:
        if self._tasks:
            await asyncio.wait(self._tasks)


def write_transcript(cwd: str, session_id: str, text: str) -> str:
    """The file's path. Nothing is followed that the agent may have put in the way. Raises OSError."""
    folder = os.path.join(cwd, TRANSCRIPT_FOLDER)
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        pass
    home = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        safe = "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in session_id)[:100]
        name, draft = f"{safe}.md", f".{safe}.{os.getpid()}.draft"
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(draft, flags, 0o600, dir_fd=home), "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(draft, name, src_dir_fd=home, dst_dir_fd=home)
        ignore = os.open(".gitignore", flags, 0o600, dir_fd=home)
        with open(ignore, "w", encoding="utf-8") as file:
            file.write("*\n")
    finally:
        os.close(home)
    return os.path.join(folder, name)


class Watch(StoreWatcher):
    """What the store has to say goes to the log; that it does not keep up, to the engine through `feed`."""

    def __init__(self, feed: Callable[[events.Event], None] | None = None) -> None:
        self._feed = feed
        self._pressed = self._failing = False
        self._told = False  # that it is pressed

    def store_pressed(self, pressed: bool) -> None:
        self._pressed = pressed
        self._tell()

    def store_failed(self, error: StoreError | LimitError) -> None:
        log.error("the journal fails, and tries again: %s", error)
        if not isinstance(error, LimitError):  # that one is a disk too slow, and no reason to go on
            self._failing = True
            self._tell()

    def store_recovered(self) -> None:
        log.warning("the journal works again; everything is durable")
        self._failing = False
        self._tell()

    def _tell(self) -> None:
        """Agents wait for a slow disk, and not for one that fails: nobody knows how long that takes."""
        told = self._pressed and not self._failing
        if told != self._told and self._feed is not None:
            self._told = told
            self._feed(events.JournalPressed() if told else events.JournalEased())

    def store_complained(self, error: StoreError) -> None:
        log.warning("journal: %s", error)
