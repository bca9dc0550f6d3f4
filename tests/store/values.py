"""Sessions, entries and stores: what the tests of stores share."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

from roost.errors import LimitError, StoreError
from roost.sidecar.gen.messages import AcpRuntimeKind
from roost.sidecar.journal import Append, Change, Entry, Kind, OpenSession, StoredLaunch, StoredSession
from roost.store.base import Store, StoreWatcher

# Every wait for a disk or a thread: far more than it needs, so that only a hang reaches it.
PATIENCE = 20.0


def launch(version: int = 2) -> StoredLaunch:
    return StoredLaunch(
        agent_type="wren",
        runtime=AcpRuntimeKind.PYTHON,
        cwd="/work",
        args=("--fast",),
        env_names=("API_KEY",),
        protocol_version=version,
        client_capabilities="{}",
        mcp_servers="[]",
        instructions="Be brief.",
    )


def session(session_id: str = "s", owner: str = "me", version: int = 2, **fields: Any) -> StoredSession:
    return StoredSession(
        session_id=session_id, live_id=f"live-{session_id}", owner=owner, launch=launch(version), **fields
    )


def opened(session_id: str = "s", owner: str = "me", version: int = 2, **fields: Any) -> OpenSession:
    return OpenSession(session(session_id, owner, version, **fields))


def entry(number: int, kind: Kind = Kind.UPDATE, body: Any = None, session_id: str = "s", at: float = 0.0) -> Append:
    text = body if isinstance(body, bytes) else json.dumps({"n": number} if body is None else body).encode()
    return Append(Entry(session_id, number, kind, text, at))


def update(number: int, session_id: str = "s", at: float = 0.0, **members: Any) -> Append:
    message = {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "live", "update": members}}
    return entry(number, Kind.UPDATE, message, session_id, at)


def chunk(number: int, text: str, message: str = "m", session_id: str = "s", at: float = 0.0) -> Append:
    content = {"type": "text", "text": text}
    return update(number, session_id, at, sessionUpdate="agent_message_chunk", messageId=message, content=content)


def prompt(number: int, text: str = "go", key: str | None = None, call: Any = 1, session_id: str = "s") -> Append:
    params = {"prompt": [{"type": "text", "text": text}]}
    return entry(number, Kind.PROMPT, {"params": params, "call": call, "key": key}, session_id)


def turn(number: int, session_id: str = "s", at: float = 0.0) -> Append:
    return entry(number, Kind.TURN, {"stopReason": "end_turn", "usage": None, "call": 1}, session_id, at)


async def outcome(store: Store, changes: Sequence[Change]) -> StoreError | LimitError | None:
    """Writes with a promise and waits for it."""
    future: asyncio.Future[StoreError | LimitError | None] = asyncio.get_running_loop().create_future()
    store.write(changes, future.set_result)
    return await asyncio.wait_for(future, PATIENCE)


async def durable(store: Store, *changes: Change) -> None:
    error = await outcome(store, changes)
    assert error is None, error


async def history(store: Store, session_id: str = "s", after: int = 0, limit: int | None = None) -> list[Entry]:
    return [entry async for entry in store.entries(session_id, after=after, limit=limit)]


async def numbers(store: Store, session_id: str = "s") -> list[int]:
    return [entry.number for entry in await history(store, session_id)]


async def until(true: Callable[[], bool]) -> None:
    """Waits for what another thread does by itself, of which nothing tells."""
    async with asyncio.timeout(PATIENCE):
        while not true():  # noqa: ASYNC110
            await asyncio.sleep(0.001)


class Clock:
    """Wall-clock time that a test sets."""

    def __init__(self, now: float = 1_700_000_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


class Ear(StoreWatcher):
    """Remembers what a store says by itself, and lets a test wait for it."""

    def __init__(self) -> None:
        self.heard: list[Any] = []
        self._changed = asyncio.Event()

    def _note(self, what: Any) -> None:
        self.heard.append(what)
        self._changed.set()

    def store_pressed(self, pressed: bool) -> None:
        self._note("pressed" if pressed else "relieved")

    def store_failed(self, error: StoreError | LimitError) -> None:
        self._note(error)

    def store_recovered(self) -> None:
        self._note("recovered")

    def store_complained(self, error: StoreError) -> None:
        self._note(error)

    async def until(self, what: Any) -> None:
        async with asyncio.timeout(PATIENCE):
            while what not in self.heard:
                self._changed.clear()
                await self._changed.wait()
